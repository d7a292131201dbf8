"""The error registry: every failure code with its number, its constant message and its diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import cbor2
from cel_expr_python import cel

from conformance.contract.canonical import encode_item
from conformance.contract.functions import Function
from conformance.contract.source import Position, Source
from conformance.contract.types import INTEGER_RANGES

_PYTHON_TYPES: Final[Mapping[str, type]] = {"string": str, "bytes": bytes, "bool": bool}


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One registered failure code."""

    code: str
    number: int
    subsystem: str
    severity: str
    message: str
    diagnostics: Mapping[str, str]
    position: Position


def errors_from(source: Source) -> dict[str, ErrorCode]:
    """The registry of a schema-valid errors.yaml, by code."""
    entries = source.value["errors"]
    return {
        body["code"]: ErrorCode(
            body["code"],
            body["number"],
            body["subsystem"],
            body["severity"],
            body["message"],
            body.get("diagnostics", {}),
            source.at(("errors", k)),
        )
        for k, body in enumerate(entries)
    }


def registry_functions(errors: Mapping[str, ErrorCode]) -> Sequence[Function]:
    """The named functions over the registry: whether a code is in it, and what its entry says."""

    def registered(code: str) -> bool:
        return code in errors

    def diagnostics_match(code: str, item: bytes) -> bool:
        declared = errors[code].diagnostics
        given = cbor2.loads(bytes(item))
        if not isinstance(given, dict) or given.keys() != declared.keys():
            return False
        # A repeated key is lost in decoding, so the item would become shorter.
        whole = len(encode_item(given)) == len(item)
        return whole and all(_is_of(given[name], kind) for name, kind in declared.items())

    text = cel.Type.STRING
    return (
        Function("registered", [[text]], cel.Type.BOOL, registered),
        Function("error_number", [[text]], cel.Type.UINT, lambda code: errors[code].number),
        Function("error_severity", [[text]], text, lambda code: errors[code].severity),
        Function("error_subsystem", [[text]], text, lambda code: errors[code].subsystem),
        Function("error_message", [[text]], text, lambda code: errors[code].message),
        Function("diagnostics_match", [[text, cel.Type.BYTES]], cel.Type.BOOL, diagnostics_match),
    )


def _is_of(value: Any, kind: str) -> bool:
    if kind in INTEGER_RANGES:
        low, high = INTEGER_RANGES[kind]
        return type(value) is int and low <= value <= high
    return type(value) is _PYTHON_TYPES[kind]
