"""A toy kernel that is stopped, restored and continued: `python examples/checkpoint/toy_kernel.py [FOLDER]`.

Its model counts the samples that NextBatch hands out. It is checkpointed as a container, and the run that goes on from
the container leaves, byte for byte, the trace of a run that was never stopped (seed 002 §10).
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from impl.reference import backend
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.manifest import (
    checkpoint_merkle_root,
    optimizer_state_root_hash,
    shards_of,
    tensors_root_hash,
)
from impl.reference.checkpoint.schema import REQUIRED

DATASET = "numbers"
CARDINALITY = 37
TOKEN = sha256(b"the run's replay token").digest()
MANIFEST_HASH = sha256(b"the run's manifest").digest()
MANIFEST = {
    "datasets": {
        DATASET: {"id": DATASET, "version": "1", "hash": sha256(b"data").digest(), "cardinality": CARDINALITY}
    },
    "global_batch_size": 5,
    "data": {"sampler_block_size": 8},
}
PARAMETERS = "tensors/rank=0/shard=0.bin"
OPTIMIZER = "optimizer/rank=0/state.bin"
CURSORS = "data/cursors.cbor"
LINK = "trace/link.cbor"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Hold all that a step depends on: the step, the model, the place in the data, the hash of the trace so far."""

    t: int
    counters: tuple[int, ...]
    cursor: tuple[int, int]
    trace_tail_hash: bytes


START = Kernel(t=0, counters=(0,) * CARDINALITY, cursor=(0, 0), trace_tail_hash=bytes(32))


def step(kernel: Kernel) -> tuple[Kernel, bytes]:
    """Take one step; return the kernel after it and the bytes of its trace record."""
    epoch, index = kernel.cursor
    batch = backend.call(
        "UML_OS.Data.NextBatch_v2",
        {
            "manifest": MANIFEST,
            "dataset_key": DATASET,
            "world_size": 1,
            "rank": 0,
            "stage_type": "train",
            "cursor_in": {"epoch": epoch, "global_index": index},
            "kernel_replay_token": TOKEN,
            "manifest_hash": MANIFEST_HASH,
            "t": kernel.t,
        },
    )
    counters = list(kernel.counters)
    for sample in batch["batch_sample_indices"]:
        counters[sample] = (counters[sample] * 3 + kernel.t + 1) % 251
    record = encode_canonical([batch["trace_record"], sha256(bytes(counters)).digest()])
    after = Kernel(
        t=kernel.t + 1,
        counters=tuple(counters),
        cursor=(batch["cursor_next"]["epoch"], batch["cursor_next"]["global_index"]),
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
    epoch, index = kernel.cursor
    cursors = {DATASET: {"epoch": epoch, "global_index": index}}
    files = {
        PARAMETERS: bytes(kernel.counters),
        OPTIMIZER: kernel.t.to_bytes(8, "little"),
        CURSORS: backend.call("UML_OS.Data.EncodeCursors_v1", {"cursors": cursors})["cursors_cbor"],
        "rng/state.cbor": encode_canonical(["rng_state", 0, 0, 0, 0, 0, 0]),
        "tmmu/plan.cbor": encode_canonical([]),
        "artifacts/artifact_index.cbor": encode_canonical([]),
    }
    files[LINK] = encode_canonical(_link(_header(kernel, files, previous)))
    params = {
        "root": str(root),
        "name": str(kernel.t),
        "header": _header(kernel, files, previous),
        "files": files,
        "manifest": {"dataset_snapshot_id": "toy", "artifact_index_hash": bytes(32)},
    }
    written: bytes = backend.call("UML_OS.Checkpoint.WriteContainer_v1", params)["checkpoint_hash"]
    return written


def load(root: Path, t: int, previous: bytes | None = None) -> Kernel:
    """Return the kernel that was saved after step t; ContractFailure where that is damaged, or another run's."""
    expected = {"run_id": "toy", "replay_token": TOKEN, "manifest_hash": MANIFEST_HASH}
    if previous is not None:
        expected["checkpoint_hash_prev"] = previous
    params = {"root": str(root), "name": str(t), "stage": "train", "expected": expected}
    answer = backend.call("UML_OS.Checkpoint.ReadContainer_v1", params)
    files, header = answer["files"], answer["header"]
    decoded = backend.call("UML_OS.Data.DecodeCursors_v1", {"cursors_cbor": files[CURSORS]})
    cursor = decoded["cursors"][DATASET]
    return Kernel(
        t=int.from_bytes(files[OPTIMIZER], "little"),
        counters=tuple(files[PARAMETERS]),
        cursor=(cursor["epoch"], cursor["global_index"]),
        trace_tail_hash=header["trace_tail_hash_at_checkpoint"],
    )


def _header(kernel: Kernel, files: Mapping[str, bytes], previous: bytes | None) -> dict[str, Any]:
    """Return the header; hashes of what a toy has not are those of their own names."""
    shards = shards_of(files)
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
        "checkpoint_merkle_root": checkpoint_merkle_root(shards),
        "tensors_root_hash": tensors_root_hash(shards),
        "optimizer_state_root_hash": optimizer_state_root_hash(shards),
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
