"""Comparison of what came with what had to come: pure functions over JSON wire values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.backend.command import describe
from conformance.backend.observed import BadAnswer, Observed, ObservedFailure, ObservedResult
from conformance.backend.outcome import Crash, Timeout
from conformance.codec.illtyped import show_path, shorten
from conformance.contract.types import Field, ListOf, MapOf, Struct, Type
from conformance.trial.check import Difference
from conformance.vectors.case import Expected, ExpectedFailure
from conformance.vectors.compact import is_compacted, list_difference

Path = tuple[str | int, ...]


def difference(expected: Expected, observed: Observed, outputs: Struct, failure: Struct) -> Difference | None:
    """The first place where a framed answer is not what was expected; None where it is right.

    Fields are looked at in the contract's order, so that the first difference is the same for every backend.
    """
    if isinstance(observed, BadAnswer):
        error = observed.error
        return Difference(show_path(error.path), error.expected, shorten(error.found), "ill-typed")
    if isinstance(expected, ExpectedFailure):
        return _failure_difference(expected, observed, failure)
    if isinstance(observed, ObservedFailure):
        return Difference("outcome", "a result", f"failure {observed.code}")
    assert isinstance(observed, ObservedResult)
    return _difference(expected.fields, observed.fields, outputs, ())


def _failure_difference(expected: ExpectedFailure, observed: Observed, failure: Struct) -> Difference | None:
    if isinstance(observed, ObservedResult):
        return Difference("outcome", f"failure {expected.code}", "a result")
    assert isinstance(observed, ObservedFailure)
    if observed.code != expected.code:
        return Difference("error.message", expected.code, observed.code)
    return _difference(expected.data, observed.data, failure, ("error", "data"))


def _difference(expected: Any, actual: Any, type_: Type, path: Path) -> Difference | None:
    if isinstance(type_, Struct):
        return _struct_difference(expected, actual, type_.fields, path)
    if isinstance(type_, ListOf):
        return _list_difference(expected, actual, type_, path)
    if isinstance(type_, MapOf):
        fields = tuple(Field(key, type_.item, optional=True) for key in sorted({*expected, *actual}))
        return _struct_difference(expected, actual, fields, path)
    return None if _same(expected, actual) else Difference(show_path(path), expected, actual)


def _struct_difference(
    expected: Mapping[str, Any], actual: Mapping[str, Any], fields: tuple[Field, ...], path: Path
) -> Difference | None:
    for member in fields:
        inside = (*path, member.name)
        if member.name not in expected:
            if member.name in actual:
                return Difference(show_path(inside), "absent", actual[member.name])
        elif member.name not in actual:
            return Difference(show_path(inside), expected[member.name], "absent")
        elif (found := _difference(expected[member.name], actual[member.name], member.type, inside)) is not None:
            return found
    return None


def _list_difference(expected: Any, actual: Any, type_: ListOf, path: Path) -> Difference | None:
    if is_compacted(expected):
        return list_difference(expected, actual, type_.item, show_path(path))
    for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if (found := _difference(left, right, type_.item, (*path, index))) is not None:
            return found
    if len(expected) != len(actual):
        return Difference(f"{show_path(path)}.length", len(expected), len(actual))
    return None


def _same(expected: Any, actual: Any) -> bool:
    # True == 1 in Python; both sides were held to one type before, so only self-describing values can mix them.
    return bool(expected == actual) and repr(expected) == repr(actual)


def outcome_name(observed: Observed) -> str:
    """The glossary's word for what the backend did."""
    match observed:
        case ObservedResult() | BadAnswer():
            return "result"
        case ObservedFailure():
            return "failure"
        case Crash():
            return "crash"
        case Timeout():
            return "timeout"
    return "protocol_error"


def answer_of(observed: Observed) -> Any:
    """A well-typed answer in JSON wire form, None where there was none."""
    match observed:
        case ObservedResult(fields):
            return {"result": fields}
        case ObservedFailure(code, data):
            return {"failure": {"code": code, "data": data}}
    return None


def loss_sentence(observed: Observed) -> str:
    """How the backend was lost, in one sentence."""
    assert not isinstance(observed, ObservedResult | ObservedFailure | BadAnswer)
    return describe(observed)

