"""The cases of a large contract in a file of their own: `Stream.cases.yaml` beside `Stream.yaml`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath
from typing import Final

from conformance.contract.position import MalformedContract, Problem
from conformance.contract.source import Source

ENDING: Final = ".cases.yaml"
KEYS: Final = ("values", "bases", "vectors", "workloads")  # what may be in it instead of in the contract


def companion_of(contract: FilePath) -> FilePath:
    """Where the cases of a contract's file may be."""
    return contract.with_name(contract.stem + ENDING)


def joined(contract: Source, cases: Source) -> Source:
    """One source of a contract and its cases, every value at its own position; raises MalformedContract."""
    if not isinstance(contract.value, dict) or not isinstance(cases.value, dict):
        raise MalformedContract([cases.problem((), "C002", "expected a map", f"keys here: {', '.join(KEYS)}")])
    problems = [
        Problem(cases.key_at((key,)), "C002", f"unknown key {key!r} in a file of cases", f"allowed: {', '.join(KEYS)}")
        for key in cases.value
        if key not in KEYS
    ]
    problems += [
        Problem(cases.key_at((key,)), "C005", f"{key} twice", f"it is at {contract.key_at((key,))} already; keep one")
        for key in cases.value
        if key in KEYS and key in contract.value
    ]
    if problems:
        raise MalformedContract(problems)
    return replace(
        contract,
        value={**contract.value, **cases.value},
        values={**cases.values, **contract.values},
        keys={**cases.keys, **contract.keys},
        text=contract.text + cases.text,
    )
