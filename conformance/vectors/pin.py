"""The values that a requirement page fixes, read from the YAML of a case or step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.codec.illtyped import IllTyped
from conformance.contract.model import Contract
from conformance.contract.types import ListOf, Type
from conformance.vectors.draft import Place
from conformance.vectors.natural import to_wire
from conformance.vectors.question import Pin
from conformance.vectors.typepath import UnknownPath, type_at

MARKER_KEYS: Final = frozenset({"count", "sha256", "head", "tail"})


def pin_of(body: Mapping[str, Any], place: Place, contract: Contract) -> Pin:
    """The pin that `body` holds; raises Unusable."""
    if "failure" in body:
        code = body["failure"]
        raisable = contract.codes
        if code not in raisable:
            known = ", ".join(sorted(raisable)) or "no code"
            hint = f"`requires` and `refuses` declare: {known}"
            raise (place / "failure").problem("C008", f"the operator never fails with {code!r}", hint)
        return Pin({}, code, place.position)
    values = {}
    for path, value in body["result"].items():
        here = place / "result" / path
        try:
            type_ = type_at(contract.outputs, path)
        except UnknownPath as error:
            message = f"unknown path {path!r} among the outputs of {contract.operator}"
            raise here.key_problem("C008", message, error.hint) from None
        try:
            values[path] = pinned_value(type_, value)
        except IllTyped as error:
            raise here.problem("C009", f"ill-typed pin {path}: {error}", f"it is of type {type_}") from None
    return Pin(values, "", place.position)


def pinned_value(type_: Type, value: Any) -> Any:
    """A pinned value in wire form; a long list may be pinned by count, sha256, head and tail."""
    if isinstance(type_, ListOf) and isinstance(value, dict) and value and value.keys() <= MARKER_KEYS:
        return {key: to_wire(type_, part) if key in ("head", "tail") else part for key, part in value.items()}
    return to_wire(type_, value)
