"""Train on any number of ranks, from the newest checkpoint of a folder on.

    python examples/training/train.py FOLDER [--ranks 2] [--steps 60] [--kill-after STEP]

A line of FOLDER/losses.jsonl is one step: its loss and the samples of all ranks. Every ten steps a checkpoint is
written to FOLDER/checkpoints. At the end the run is committed to FOLDER/result. `--kill-after` ends every process by
SIGKILL when that step is done.
"""

import json
import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from checkpoints import BATCH, NAMES, State, newest, sampler_of, save
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from model import sums_of, updated
from ranks import Ranks, together

from tallystick import ContractFailure, commit_run, recover_run

SIGNING_KEY = sha256(b"everybody has the key of an example").digest()
PUBLIC_KEY = Ed25519PrivateKey.from_private_bytes(SIGNING_KEY).public_key().public_bytes_raw()
EVERY = 10  # steps from one checkpoint to the next


@dataclass(frozen=True)
class Plan:
    """Hold where a run is, how long it is, and after which step it is killed."""

    folder: Path
    steps: int
    kill_after: int | None


def train(plan: Plan, ranks: Ranks) -> None:
    """Take the steps that are left; every rank takes them, and rank 0 alone writes."""
    checkpoints, losses = plan.folder / "checkpoints", plan.folder / "losses.jsonl"
    sampler = sampler_of(ranks.rank, ranks.world_size)
    state = newest(checkpoints)
    if ranks.rank == 0:
        go_back(losses, state)
        print(f"{ranks.world_size} ranks, {state.step} steps are done", flush=True)
    while state.step < plan.steps:
        state, line = step(state, sampler.batch_at(state.cursor, state.step), ranks)
        if ranks.rank == 0:
            append(losses, line)
            if state.step % EVERY == 0 or state.step == plan.steps:
                state = replace(state, previous=save(checkpoints, state))
            if state.step == plan.kill_after:
                print(f"step {state.step}: SIGKILL to every rank", flush=True)
                ranks.kill()
    if ranks.rank == 0:
        commit(plan.folder / "result", losses, state)


def step(state: State, batch: Any, ranks: Ranks) -> tuple[State, bytes]:
    """Return the state after one step of all ranks, and its line of losses.jsonl."""
    samples, sums = ranks.joined(list(batch), sums_of(state.weights, batch))
    loss, weights, velocity = updated(state.weights, state.velocity, sums, len(samples))
    line = json.dumps({"step": state.step + 1, "loss": loss, "samples": samples}).encode() + b"\n"
    trace = sha256(state.trace + line).digest()
    return State(state.step + 1, weights, velocity, batch.cursor_next, trace, state.previous), line


def append(losses: Path, line: bytes) -> None:
    """Add a line, so that it survives a crash: a checkpoint never knows more steps than the file."""
    with losses.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def go_back(losses: Path, state: State) -> None:
    """Cut off the lines of steps that will be done again; the others must be those that the checkpoint knows."""
    lines = losses.read_bytes().splitlines(keepends=True)[: state.step] if losses.exists() else []
    trace = bytes(32)
    for line in lines:
        trace = sha256(trace + line).digest()
    if trace != state.trace:
        raise SystemExit(f"{losses} is not the trace of the checkpoint of step {state.step}")
    losses.write_bytes(b"".join(lines))


def commit(root: Path, losses: Path, state: State) -> None:
    """Make losses, weights and the last checkpoint's hash visible together, signed, or nothing of them."""
    if recovered(root) != "committed":
        shutil.rmtree(root)  # what an interrupted commit left
        root.mkdir()
        lineage = state.previous or b""
        commit_run(
            root, **NAMES, signing_key=SIGNING_KEY,
            trace=losses.read_bytes(), checkpoint=state.weights.tobytes(), lineage=lineage,
            t=state.step, replay_token=state.trace,
        )  # fmt: skip
    print(f"step {state.step}: the run is {recovered(root)}, trace {state.trace.hex()[:16]}")


def recovered(root: Path) -> str:
    """Return the state of the committed run after finishing or taking back an interrupted commit."""
    return recover_run(root, public_key=PUBLIC_KEY).state


def main(arguments: Sequence[str]) -> int:
    """Read the arguments, start the ranks and wait for them."""
    parser = ArgumentParser(description="Train on any number of ranks, from the newest checkpoint on.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=1, help=f"processes; a divisor of {BATCH}")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--kill-after", type=int, metavar="STEP")
    given = parser.parse_args(arguments)
    for folder in ("checkpoints", "result"):
        (given.folder / folder).mkdir(parents=True, exist_ok=True)
    try:
        together(given.ranks, partial(train, Plan(given.folder, given.steps, given.kill_after)))
    except ContractFailure as refusal:
        print(refusal, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
