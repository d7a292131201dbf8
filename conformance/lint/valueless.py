"""Conditions that are true in no frozen call because they cannot be evaluated: the finding is the error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from conformance.contract.cel.advice import without_value
from conformance.contract.model import Contract
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Position
from conformance.lint.call import Evaluator, FrozenCall
from conformance.lint.rule import Finding, FoundIn

_SAID: Final = " has no value in "
_UNBOUND: Final = re.compile(r'No value with name "([^"]*)"')  # a let without a value


def valueless(
    evaluator: Evaluator, contract: Contract, what: str, text: str, place: Position, calls: Sequence[FrozenCall]
) -> FoundIn | None:
    """The finding that a condition, `what` at this place, or a let that it uses cannot be evaluated.

    None if the condition is true in one of the calls, or false in all of them.
    """
    values = [evaluator.value(text, call) for call in calls]
    if True in values or None not in values or not evaluator.compiles(text):
        return None
    expression, environment = evaluator.expression(text), contract.result_environment
    lets = {let.name: let.expression for let in (*environment.lets, *environment.after)}
    first = calls[values.index(None)]
    activation = evaluator.bind(first, first.result)
    error = expression.error(activation)
    while (unbound := _UNBOUND.search(error)) and unbound[1] in lets:
        key, name = ("becomes" if unbound[1].startswith("next.") else "let"), unbound[1].removeprefix("next.")
        what, place = f"{key} {name!r}", contract.source.at((key, name))
        error = lets[unbound[1]].error(activation)
    message, hint = without_value(error)
    missing = values.count(None)
    among = "any call" if missing == len(values) else f"{missing} of {counted(len(values), 'call')}, and is never true"
    return place, f"{what}{_SAID}{among}: {message}", hint


def is_valueless(finding: Finding) -> bool:
    """Whether a finding is about a condition that cannot be evaluated."""
    return _SAID in finding.message
