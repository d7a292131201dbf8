"""The laws of checkpoints go red for writers and readers that are wrong in one way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from checks.laws.checkpoint import IDENTITY, READ, RESTORE, SERIALIZE
from checks.laws.checkpoint_runs import RECOVER
from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers, asks


def unsalted_once(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return {**result, "checkpoint_blob": result["checkpoint_blob"] + bytes(memory["calls"] == 2)}


def another_step(inputs: Native, result: Native, memory: Memory) -> Native:
    header = dict(result["header"])
    return {**result, "header": {**header, "t": header["t"] ^ 1}}


def always_committed(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"state": "committed"}


def of_a_copy(inputs: Native, memory: Memory) -> Native:
    """The files of the first call count for ever."""
    copy = memory.setdefault("copy", f"{inputs['root']} as it was")
    if not Path(copy).exists():
        shutil.copytree(inputs["root"], copy)
    return {**inputs, "root": copy}


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


SINS: list[Sin] = [
    answers("checkpoint-round-trip", "a salt", SERIALIZE, unsalted_once, "opposite order"),
    answers("checkpoint-round-trip", "another step", RESTORE, another_step, "not the saved one"),
    asks("checkpoint-blob-damage", "the first remembered", RESTORE, mended, "must be refused"),
    asks("checkpoint-blob-damage", "the tail unread", RESTORE, first_of(900), "must be refused"),
    *(
        asks("checkpoint-identity", f"{field} unread", RESTORE, without(field), f"another {field}")
        for field in IDENTITY
    ),
    answers("run-cut-off", "never taken back", RECOVER, always_committed, "the state"),
    asks("run-damage", "the files of an earlier call", RECOVER, of_a_copy, "is changed in byte 0 was answered"),
    asks("container-damage", "the full hash unread", READ, expecting_nothing, "must be refused"),
]
