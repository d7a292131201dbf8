"""A toy kernel that is stopped, restored and continued: `python examples/checkpoint/toy_kernel.py [FOLDER]`.

Its model counts the samples that NextBatch hands out. It is checkpointed as a container, and the run that goes on from
the container leaves, byte for byte, the trace of a run that was never stopped (seed 002 §10).
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tallystick import Cursor, Sampler, read_container, write_container
from tallystick.checkpoint import REQUIRED, decode_cursors, encode_canonical, encode_cursors, roots_of

DATASET = "numbers"
CARDINALITY = 37
TOKEN = sha256(b"the run's replay token").digest()
MANIFEST_HASH = sha256(b"the run's manifest").digest()
SAMPLER = Sampler(
    cardinality=CARDINALITY,
    global_batch_size=5,
    seed_token=TOKEN,
    manifest_hash=MANIFEST_HASH,
    dataset_key=DATASET,
    block_size=8,
)
PARAMETERS = "tensors/rank=0/shard=0.bin"
OPTIMIZER = "optimizer/rank=0/state.bin"
CURSORS = "data/cursors.cbor"
LINK = "trace/link.cbor"
INDEX = "artifacts/artifact_index.cbor"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Hold all that a step depends on: the step, the model, the place in the data, the hash of the trace so far."""

    t: int
    counters: tuple[int, ...]
    cursor: Cursor
    trace_tail_hash: bytes


START = Kernel(t=0, counters=(0,) * CARDINALITY, cursor=Cursor(0, 0), trace_tail_hash=bytes(32))


def step(kernel: Kernel) -> tuple[Kernel, bytes]:
    """Take one step; return the kernel after it and the bytes of its trace record."""
    batch = SAMPLER.batch_at(kernel.cursor, kernel.t)
    counters = list(kernel.counters)
    for sample in batch:
        counters[sample] = (counters[sample] * 3 + kernel.t + 1) % 251
    record = encode_canonical([asdict(batch.trace_record), sha256(bytes(counters)).digest()])
    after = Kernel(
        t=kernel.t + 1,
        counters=tuple(counters),
        cursor=batch.cursor_next,
        trace_tail_hash=sha256(kernel.trace_tail_hash + record).digest(),
    )
    return after, record


def run(kernel: Kernel, steps: int) -> tuple[Kernel, list[bytes]]:
    """Take so many steps; return the kernel after them and their trace."""
    trace = []
    for _ in range(steps):
        kernel, record = step(kernel)
        trace.append(record)
    return kernel, trace


def save(kernel: Kernel, root: Path, previous: bytes | None = None) -> bytes:
    """Write the container named after the step, chained to the one before; return its checkpoint_hash."""
    files = {
        PARAMETERS: bytes(kernel.counters),
        OPTIMIZER: kernel.t.to_bytes(8, "little"),
        CURSORS: encode_cursors(cursors={DATASET: kernel.cursor}).cursors_cbor,
        "rng/state.cbor": encode_canonical(["rng_state", 0, 0, 0, 0, 0, 0]),
        "tmmu/plan.cbor": encode_canonical([]),
        INDEX: encode_canonical([]),
    }
    files[LINK] = encode_canonical(_link(_header(kernel, files, previous)))
    header = _header(kernel, files, previous)
    manifest = {"dataset_snapshot_id": "toy", "artifact_index_hash": sha256(files[INDEX]).digest()}
    return write_container(root, str(kernel.t), header=header, files=files, manifest=manifest).checkpoint_hash


def load(root: Path, t: int, previous: bytes | None = None) -> Kernel:
    """Return the kernel that was saved after step t; ContractFailure where that is damaged, or another run's."""
    expected = {"run_id": "toy", "replay_token": TOKEN, "manifest_hash": MANIFEST_HASH}
    if previous is not None:
        expected["checkpoint_hash_prev"] = previous
    restored = read_container(root, str(t), expected=expected)
    files, header = restored.files, restored.header
    return Kernel(
        t=int.from_bytes(files[OPTIMIZER], "little"),
        counters=tuple(files[PARAMETERS]),
        cursor=decode_cursors(cursors_cbor=files[CURSORS]).cursors[DATASET],
        trace_tail_hash=header["trace_tail_hash_at_checkpoint"],
    )


def _header(kernel: Kernel, files: Mapping[str, bytes], previous: bytes | None) -> dict[str, Any]:
    """Return the header; hashes of what a toy has not are those of their own names."""
    header: dict[str, Any] = {name: sha256(name.encode()).digest() for name in REQUIRED}
    header |= {
        "tenant_id": "example",
        "run_id": "toy",
        "spec_version": "1.0.0",
        "checkpoint_schema_version": "1.0.0",
        "replay_token": TOKEN,
        "t": kernel.t,
        "manifest_hash": MANIFEST_HASH,
        "trace_tail_hash_at_checkpoint": kernel.trace_tail_hash,
        **roots_of(files),
    }
    return header if previous is None else {**header, "checkpoint_hash_prev": previous}


def _link(header: Mapping[str, Any]) -> dict[str, Any]:
    names = ("run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev")
    return {name: header[name] for name in names if name in header}


def main(arguments: list[str]) -> int:
    """Run 30 steps twice, once without a stop and once over a checkpoint; return 1 where the traces differ."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(arguments[0] if arguments else folder)
        root.mkdir(parents=True, exist_ok=True)
        kernel, _ = run(START, 12)
        checkpoint_hash = save(kernel, root)
        print(f"saved after step 12   {root / '12'}, checkpoint_hash {checkpoint_hash.hex()[:16]}")
        whole, later = run(kernel, 18)
        restored, again = run(load(root, 12), 18)
        print(f"never stopped         {len(later)} more records, trace ends with {whole.trace_tail_hash.hex()[:16]}")
        print(f"restored at step 12   {len(again)} more records, trace ends with {restored.trace_tail_hash.hex()[:16]}")
        same = (restored, again) == (whole, later)
        print("the same trace" if same else "ANOTHER TRACE")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
