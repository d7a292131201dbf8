"""L308: a guard that bounds a size says what it counts, and frozen cases are made on both sides of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.contract.limit import SizeLimit, size_limits
from conformance.contract.model import Contract, Guard
from conformance.contract.types import walk
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject

_WRAPPERS: Final = ("bytes(", "canonical(")  # around an input that is measured


class LimitsHaveUnits:
    """A guard that bounds a size names its unit, measures in it, and has a group of cases beside the limit."""

    code, name, level = "L308", "limits-have-units", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Limits without a unit, with another one than they count, or without cases in letters of several bytes."""
        for contract in subject.contracts:
            for guard in contract.requires:
                limits = list(size_limits(guard.expression.text))
                for message, hint in _wrong(contract, guard, limits):
                    yield Finding(guard.position, self.code, f"guard {guard.id!r}: {message}", contract.operator, hint)


def _wrong(contract: Contract, guard: Guard, limits: list[SizeLimit]) -> Iterator[tuple[str, str]]:
    if not limits:
        if guard.unit:
            yield f"it has the unit {guard.unit} and bounds no size", "remove `unit`"
        return
    for limit in limits:
        counted = limit.unit(contract.environment)
        if not guard.unit:
            yield f"{limit.measure} is at most {limit.most} of what?", f"add `unit: {counted}`, which it counts"
        elif counted != guard.unit:
            hint = "measure a text in bytes with size(bytes(text)), in characters with size(text)"
            yield f"{limit.measure} counts {counted}, not {guard.unit}", hint
        if _is_input(contract, limit.subject) and not any(
            group.body.get("limit") == guard.id for group in contract.groups
        ):
            hint = f"add `{{group: ..., base: ..., limit: {guard.id}, grow: <path of an input>}}`"
            yield "no group has cases on both sides of the limit", hint


def _is_input(contract: Contract, subject: str) -> bool:
    """Whether an input of the operator itself is measured: no case can be made as long as a computed value must be.

    A method's contract has no groups of its own.
    """
    for wrapper in _WRAPPERS:
        if subject.startswith(wrapper) and subject.endswith(")"):
            subject = subject[len(wrapper) : -1]
    return contract.method is None and subject in {path for path, _ in walk(contract.inputs)}
