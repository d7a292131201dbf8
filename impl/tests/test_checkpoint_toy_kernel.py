"""A toy kernel, checkpointed and restored: what it does afterwards is what it would have done."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from impl.reference import backend
from impl.reference.canonical_cbor import encode_canonical
from impl.tests.batch_calls import TOKEN, call_batch
from impl.tests.checkpoint_calls import bound_header, call, link_of, reading

DATASET = "d"
CARDINALITY = 37


@dataclass(frozen=True, slots=True)
class Kernel:
    """A model that counts the samples it has seen, the place in the data, and the hash of the trace so far."""

    t: int
    counters: tuple[int, ...]
    cursor: tuple[int, int]
    trace_tail_hash: bytes


START = Kernel(t=0, counters=(0,) * CARDINALITY, cursor=(0, 0), trace_tail_hash=bytes(32))


def step(kernel: Kernel) -> tuple[Kernel, bytes]:
    """Take one step; return the kernel after it and the bytes of its trace record."""
    epoch, index = kernel.cursor
    batch = call_batch(n=CARDINALITY, batch_size=5, block=8, epoch=epoch, index=index, t=kernel.t)
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
    trace = []
    for _ in range(steps):
        kernel, record = step(kernel)
        trace.append(record)
    return kernel, trace


def save(kernel: Kernel, root: Path, previous: bytes | None) -> bytes:
    epoch, index = kernel.cursor
    cursors = {DATASET: {"epoch": epoch, "global_index": index}}
    files = {
        "tensors/rank=0/shard=0.bin": bytes(kernel.counters),
        "optimizer/rank=0/state.bin": kernel.t.to_bytes(8, "little"),
        "rng/state.cbor": encode_canonical(["rng_state", 0, 0, 0, 0, 0, 0]),
        "data/cursors.cbor": backend.call("UML_OS.Data.EncodeCursors_v1", {"cursors": cursors})["cursors_cbor"],
        "tmmu/plan.cbor": encode_canonical([]),
        "artifacts/artifact_index.cbor": encode_canonical([]),
    }
    known: dict[str, Any] = {"t": kernel.t, "trace_tail_hash_at_checkpoint": kernel.trace_tail_hash}
    if previous is not None:
        known["checkpoint_hash_prev"] = previous
    files["trace/link.cbor"] = link_of(bound_header(files, **known))
    manifest = {"dataset_snapshot_id": "toy", "artifact_index_hash": bytes(32)}
    header = bound_header(files, **known)
    answer = call("WriteContainer", root=str(root), name=f"{kernel.t}", header=header, files=files, manifest=manifest)
    checkpoint_hash: bytes = answer["checkpoint_hash"]
    return checkpoint_hash


def load(root: Path, name: str, previous: bytes | None) -> Kernel:
    expected: dict[str, Any] = {"run_id": "r", "replay_token": TOKEN}
    if previous is not None:
        expected["checkpoint_hash_prev"] = previous
    answer = call("ReadContainer", **reading(root, name, expected=expected))
    files, header = answer["files"], answer["header"]
    decoded = backend.call("UML_OS.Data.DecodeCursors_v1", {"cursors_cbor": files["data/cursors.cbor"]})
    cursor = decoded["cursors"][DATASET]
    return Kernel(
        t=int.from_bytes(files["optimizer/rank=0/state.bin"], "little"),
        counters=tuple(files["tensors/rank=0/shard=0.bin"]),
        cursor=(cursor["epoch"], cursor["global_index"]),
        trace_tail_hash=header["trace_tail_hash_at_checkpoint"],
    )


@pytest.mark.parametrize("saved_after", [0, 1, 7, 8, 9, 15])
def test_a_restored_run_leaves_the_same_trace_as_one_that_was_never_stopped(tmp_path: Path, saved_after: int) -> None:
    kernel, _ = run(START, saved_after)
    save(kernel, tmp_path, None)
    whole, later = run(kernel, 20)
    restored = load(tmp_path, str(saved_after), None)
    assert restored == kernel
    assert run(restored, 20) == (whole, later)


def test_a_chain_of_checkpoints_leaves_the_same_trace(tmp_path: Path) -> None:
    uninterrupted, trace = run(START, 24)
    kernel, previous = START, None
    collected: list[bytes] = []
    for _ in range(4):
        kernel, records = run(kernel, 6)
        collected += records
        checkpoint_hash = save(kernel, tmp_path, previous)
        kernel = load(tmp_path, str(kernel.t), previous)
        previous = checkpoint_hash
    assert collected == trace
    assert kernel == uninterrupted


def test_a_kernel_restored_from_another_step_leaves_another_trace(tmp_path: Path) -> None:
    kernel, _ = run(START, 5)
    save(kernel, tmp_path, None)
    _, later = run(step(kernel)[0], 5)
    assert run(load(tmp_path, "5", None), 5)[1] != later
