"""An outcome held to its contract's types: what the harness compares, freezes and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.backend.outcome import Failure, Lost, Outcome, Result
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.codec.illtyped import IllTyped, shorten


@dataclass(frozen=True, slots=True)
class ObservedResult:
    """A well-typed result in JSON wire form, without volatile fields; the handles in it only serve to be given back."""

    fields: Mapping[str, Any]
    handles: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ObservedFailure:
    """A well-typed contract failure."""

    code: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """A framed answer whose content is not of the declared types."""

    error: IllTyped


Observed = ObservedResult | ObservedFailure | BadAnswer | Lost


def observe(outcome: Outcome, operator: str, codebook: Codebook, dialect: Dialect) -> Observed:
    """What an outcome says, once held to the types of the operator's contract."""
    forms = codebook[operator]
    try:
        if isinstance(outcome, Result):
            fields = dialect.incoming(forms.outputs, outcome.value)
            if not forms.given:
                return ObservedResult(fields)
            return ObservedResult(fields, {name: outcome.value[name] for name in forms.given if name in outcome.value})
        if isinstance(outcome, Failure):
            return _failure(outcome, operator, codebook, dialect)
    except IllTyped as error:
        return BadAnswer(error)
    return outcome


def _failure(outcome: Failure, operator: str, codebook: Codebook, dialect: Dialect) -> ObservedFailure:
    code = outcome.message
    number = codebook.numbers.get(code) if type(code) is str else None
    if number is None:
        raise IllTyped("a registered failure code", f"{shorten(code)} ({shorten(outcome.code)})", ("error", "message"))
    if type(outcome.code) is not int or outcome.code != number:
        raise IllTyped(f"{number}, the number of {code}", outcome.code, ("error", "code"))
    try:
        data = dialect.incoming(codebook[operator].failure, outcome.data)
    except IllTyped as error:
        raise error.inside("data").inside("error") from None
    return ObservedFailure(code, data)
