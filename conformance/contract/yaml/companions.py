"""The files beside a contract: its cases, and the values that its family shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from conformance.contract.yaml.source import MalformedContract, Problem, Source

ENDING: Final = ".cases.yaml"
SHARED: Final = "values.yaml"  # the values that several contracts of a family use
VALUES: Final = "values"
KEYS: Final = ("values", "bases", "vectors", "workloads")  # keys that may be in the cases' file, not in the contract


def companion_of(contract: Path) -> Path:
    """The path of the file that may have the cases of a contract's file."""
    return contract.with_name(contract.stem + ENDING)


def with_shared(contract: Source, shared: Source) -> Source:
    """A contract that may also use the values of its family; raises MalformedContract if a name is in both."""
    own = contract.value.get(VALUES, {}) if isinstance(contract.value, dict) else {}
    common = shared.value.get(VALUES) if isinstance(shared.value, dict) else None
    if not isinstance(common, dict) or len(shared.value) > 1:
        raise MalformedContract([shared.problem((), "C002", f"expected a map with the key {VALUES} alone")])
    if not isinstance(own, dict):
        return contract  # a mistake that `written_out` reports
    problems = [
        Problem(contract.key_at((VALUES, name)), "C005", f"{name} twice", f"{shared.file} has it; choose another name")
        for name in own
        if name in common
    ]
    if problems:
        raise MalformedContract(problems)
    return replace(
        contract,
        value={**contract.value, VALUES: {**common, **own}},
        values={**shared.values, **contract.values},
        keys={**shared.keys, **contract.keys},
    )


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
