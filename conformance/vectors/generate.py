"""The inputs of an accumulation's calls, in order, in constant memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from conformance.contract.model import Contract
from conformance.vectors.case import Accumulation
from conformance.vectors.natural import to_wire
from conformance.vectors.typepath import replaced, type_at


def inputs_of(accumulation: Accumulation, contract: Contract, call: int) -> Mapping[str, Any]:
    """The inputs of a call of a sweep or random accumulation; calls count from 0."""
    inputs: Any = accumulation.inputs
    for path in sorted(accumulation.parameters):
        number = _number(accumulation, path, call)
        inputs = replaced(inputs, path, to_wire(type_at(contract.inputs, path), number))
    return dict(inputs)


def _number(accumulation: Accumulation, path: str, call: int) -> int:
    parameter = accumulation.parameters[path]
    if accumulation.generator == "sweep":
        return int(parameter["start"]) + int(parameter["step"]) * call
    return random_number(accumulation.seed, path, call, int(parameter["below"]))


def random_number(seed: str, path: str, call: int, below: int) -> int:
    """SHA-256 of the lines seed, path and call number, as one big-endian number, modulo `below`.

    Over 256 bits the modulus biases a uint64 by less than 2^-192, and any language can repeat it.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}\n{path}\n{call}".encode()).digest(), "big") % below
