"""The state of a run as a checkpoint container; the next number of ranks is not part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from model import MOMENTUM, POINTS, RATE, Floats, first_weights

from tallystick import Cursor, Sampler, read_container, write_container
from tallystick.checkpoint import REQUIRED, decode_cursors, encode_canonical, encode_cursors, roots_of

DATASET = "moons"
BATCH = 12  # samples of all ranks together: 1, 2, 3, 4, 6 or 12 ranks can share them
BLOCK = 16
TOKEN = sha256(b"the seed of this run").digest()
SETTINGS = [DATASET, POINTS, BATCH, BLOCK, RATE, MOMENTUM]
MANIFEST_HASH = sha256(repr(SETTINGS).encode()).digest()
NAMES = {"tenant_id": "example", "run_id": "moons"}
IDENTITY: dict[str, Any] = {**NAMES, "replay_token": TOKEN, "manifest_hash": MANIFEST_HASH}
WEIGHTS, VELOCITY = "tensors/rank=0/shard=0.bin", "optimizer/rank=0/state.bin"
CURSORS, LINK = "data/cursors.cbor", "trace/link.cbor"
INDEX = "artifacts/artifact_index.cbor"
# The reader of a training checkpoint asks for these too; this run has nothing to keep in them.
UNUSED = {
    "rng/state.cbor": encode_canonical(["rng_state", 0, 0, 0, 0, 0, 0]),
    "tmmu/plan.cbor": encode_canonical([]),
    INDEX: encode_canonical([]),
}


@dataclass(frozen=True)
class State:
    """Hold all that the next step depends on, and two hashes that bind it to what came before."""

    step: int
    weights: Floats
    velocity: Floats
    cursor: Cursor
    trace: bytes = bytes(32)  # the hash of the losses so far
    previous: bytes | None = None  # the checkpoint before


def first_state() -> State:
    """Return the state that a run begins with."""
    weights = first_weights()
    return State(0, weights, np.zeros_like(weights), Cursor(0, 0))


def sampler_of(rank: int, world_size: int) -> Sampler:
    """Return the sampler of one rank."""
    return Sampler(
        cardinality=POINTS, global_batch_size=BATCH, block_size=BLOCK, seed_token=TOKEN, manifest_hash=MANIFEST_HASH,
        dataset_key=DATASET, rank=rank, world_size=world_size,
    )  # fmt: skip


def save(root: Path, state: State) -> bytes:
    """Write the container named after the step: all of it is there after a crash, or nothing. Return its hash."""
    files = {
        WEIGHTS: state.weights.astype("<f8").tobytes(),
        VELOCITY: state.velocity.astype("<f8").tobytes(),
        CURSORS: encode_cursors(cursors={DATASET: state.cursor}).cursors_cbor,
        **UNUSED,
    }
    files[LINK] = encode_canonical(_link(_header(state, files)))
    manifest = {"dataset_snapshot_id": DATASET, "artifact_index_hash": sha256(UNUSED[INDEX]).digest()}
    header = _header(state, files)
    return write_container(root, str(state.step), header=header, files=files, manifest=manifest).checkpoint_hash


def newest(root: Path) -> State:
    """Return the state of the last container, every byte of it verified; that of a new run where there is none."""
    steps = [int(folder.name) for folder in root.iterdir() if folder.name.isdigit()]
    if not steps:
        return first_state()
    restored = read_container(root, str(max(steps)), expected=IDENTITY)
    files, header = restored.files, restored.header
    return State(
        step=header["t"],
        weights=np.frombuffer(files[WEIGHTS], "<f8"),
        velocity=np.frombuffer(files[VELOCITY], "<f8"),
        cursor=decode_cursors(cursors_cbor=files[CURSORS]).cursors[DATASET],
        trace=header["trace_tail_hash_at_checkpoint"],
        previous=sha256(encode_canonical(dict(header))).digest(),
    )


def _header(state: State, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the header; hashes of what this run has not are those of their own names."""
    header: dict[str, Any] = {name: sha256(name.encode()).digest() for name in REQUIRED}
    header |= {
        **IDENTITY,
        "spec_version": "1.0.0",
        "checkpoint_schema_version": "1.0.0",
        "t": state.step,
        "trace_tail_hash_at_checkpoint": state.trace,
        **roots_of(files),
    }
    return header if state.previous is None else {**header, "checkpoint_hash_prev": state.previous}


def _link(header: Mapping[str, Any]) -> dict[str, Any]:
    names = ("run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev")
    return {name: header[name] for name in names if name in header}
