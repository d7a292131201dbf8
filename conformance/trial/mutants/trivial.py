"""Trivially wrong backends, served as `python:conformance.trial.mutants.trivial:NAME`.

What they score is the corpus's floor.

null answers every call with an empty result, echo with its own inputs, constant with one well-typed value, zero (it
reports success for everything) with well-typed zeros; always_fail refuses every call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from conformance.contract.library import load_library
from conformance.contract.model import Contract
from conformance.contract.suite import Suite
from conformance.contract.types import FIXED_BYTES, FLOAT_BYTES, Enum, ListOf, MapOf, Scalar, Struct, Type

REFUSAL: Final = "CONTRACT_VIOLATION"  # the code that most guards refuse with
Reply = Callable[[Contract, Mapping[str, Any]], Mapping[str, Any]]


class Refused(Exception):
    """A contract failure as a python: backend raises it."""

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        super().__init__(code)
        self.code, self.data = code, dict(data)


@dataclass(frozen=True)
class Trivial:
    """A backend for every operator that looks at nothing but the contract's types."""

    name: str
    answer: Reply

    @cached_property
    def contracts(self) -> Mapping[str, Contract]:
        """Every operator's contract."""
        spec = Path(os.environ["TALLY_SPEC_DIR"])
        return load_library(Suite(spec.parent, folders=(spec.name, "", ""))).contracts

    def hello(self) -> dict[str, Any]:
        """Claim every operator."""
        return {
            "protocol": 1,
            "name": self.name,
            "version": "1",
            "language": "Python",
            "wires": ["json", "cbor"],
            "operators": sorted(self.contracts),
            "max_in_flight": 64,
        }

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Reply from the types alone; raises Refused."""
        return dict(self.answer(self.contracts[method], params))


def _refuse(contract: Contract, params: Mapping[str, Any]) -> Mapping[str, Any]:
    known = {**params, "failure_code": REFUSAL, "failure_operator": contract.operator}
    raise Refused(REFUSAL, {one.name: known.get(one.name, filled(one.type, 0)) for one in contract.failure.fields})


def filled(type_: Type, unit: int) -> Any:
    """A native value of a type with `unit` (0 or 1) for every number, length and byte."""
    match type_:
        case Scalar("bool"):
            return bool(unit)
        case Scalar("string" | "handle"):
            return "1" * unit
        case Scalar("bytes"):
            return b"\1" * unit
        case Scalar(name) if name in FIXED_BYTES:
            return bytes([unit]) * FIXED_BYTES[name]
        case Scalar(name) if name in FLOAT_BYTES:
            return float(unit)
        case Scalar():
            return unit
        case Enum(values):
            return values[0]
        case ListOf(item):
            return [filled(item, unit)] * unit
        case MapOf(item):
            return {"1": filled(item, unit)} if unit else {}
        case Struct():
            return _filled_struct(type_, unit)
    return {}


def _filled_struct(struct: Struct, unit: int) -> dict[str, Any]:
    return {one.name: filled(one.type, unit) for one in struct.fields if not one.optional}


null: Final = Trivial("null", lambda contract, params: {})
echo: Final = Trivial("echo", lambda contract, params: params)
constant: Final = Trivial("constant", lambda contract, params: _filled_struct(contract.outputs, 1))
zero: Final = Trivial("zero", lambda contract, params: _filled_struct(contract.outputs, 0))
always_fail: Final = Trivial("always_fail", _refuse)
TRIVIAL: Final = (null, echo, constant, zero, always_fail)
