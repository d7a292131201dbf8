"""The laws of checkpoints go red for writers and readers that are wrong in one way."""

from __future__ import annotations

from typing import Any

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, each_of
from conformance.trial.laws.checkpoint_blob import RESTORE, SERIALIZE
from conformance.trial.laws.checkpoint_container import READ
from conformance.trial.laws.checkpoint_header import IDENTITY


def unsalted_once(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return {**result, "checkpoint_blob": result["checkpoint_blob"] + bytes(memory["calls"] == 2)}


def another_step(inputs: Native, result: Native, memory: Memory) -> Native:
    header = dict(result["header"])
    return {**result, "header": {**header, "t": header["t"] ^ 1}}


def mended(inputs: Native, memory: Memory) -> Native:
    """Whatever comes is taken for the first blob that came."""
    return {**inputs, "checkpoint_blob": memory.setdefault("blob", inputs["checkpoint_blob"])}


def first_of(count: int) -> Any:
    """The blob is looked at up to a number of bytes; the rest is taken from a blob that was right."""

    def question(inputs: Native, memory: Memory) -> Native:
        blob: bytes = memory.setdefault("blob", inputs["checkpoint_blob"]) or b""
        return {**inputs, "checkpoint_blob": inputs["checkpoint_blob"][:count] + blob[count:]}

    return question


def without(field: str) -> Any:
    def question(inputs: Native, memory: Memory) -> Native:
        return {**inputs, "expected": {name: held for name, held in inputs["expected"].items() if name != field}}

    return question


def expecting_nothing(inputs: Native, memory: Memory) -> Native:
    return {**inputs, "expected": {}}


CHECKPOINT: list[Sin] = [
    ("checkpoint-round-trip", "a salt", Wrong(answer=unsalted_once, operator=SERIALIZE), "opposite order"),
    ("checkpoint-round-trip", "another step", Wrong(answer=another_step, operator=RESTORE), "not the saved one"),
    ("checkpoint-blob-damage", "the first remembered", Wrong(mended, operator=RESTORE), "must be refused"),
    ("checkpoint-blob-damage", "the tail unread", Wrong(first_of(900), operator=RESTORE), "must be refused"),
    *(
        ("checkpoint-identity", f"{field} unread", Wrong(without(field), operator=RESTORE), f"another {field}")
        for field in IDENTITY
    ),
    ("container-damage", "the full hash unread", Wrong(expecting_nothing, operator=READ), "must be refused"),
]


@each_of(CHECKPOINT)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
