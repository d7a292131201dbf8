"""The guards at stake in a wrong answer: the two that compete, or the one whose limit was refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.backend.outcome import Observed, ObservedFailure
from conformance.contract.expression import BadExpression
from conformance.contract.model import Contract, Guard
from conformance.contract.syntax import Comparison, comparisons

_MOST: Final = 3  # guards that a report names


def at_stake(contract: Contract, inputs: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """What the details of a failure say of guards: `guards` that compete, and `limits`.

    `limits` are, for a call that no guard refuses, all guards of the answered code at whose limit the call lies. Where
    it lies at several limits, only other calls show which of them the backend has wrong.
    """
    guards = competing(contract, inputs, observed)
    if not guards:
        return {}
    if "decides" in guards:
        return {"guards": guards}
    activation, code = contract.environment.bind(inputs), guards["answered"][0]["code"]
    same = [guard for guard in contract.requires if guard.code == code]
    limits = {guard.id: guard.expression.text for guard in same if is_at_limit(contract, guard, activation)}
    return {"guards": guards, "limits": limits} if limits else {"guards": guards}


def competing(contract: Contract, inputs: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """The guard that decides a call, and the one whose code the backend answers.

    Where no guard refuses the call, the second is each guard at whose limit the call lies; where it lies at none, the
    only guard with this code.

    `inputs` are native, with the state of a machine. Each entry holds the guard's id, code, requirements and rulings: a
    report cites those, not everything that the case is about. Empty where no guard is at stake.
    """
    if not contract.foresees(inputs):
        return {}
    decides = contract.refusal(inputs)
    code = observed.code if isinstance(observed, ObservedFailure) else ""
    if decides is None and not code:
        return {}
    activation = contract.environment.bind(inputs)
    same = [guard for guard in contract.requires if guard.code == code and guard is not decides]
    false = [guard for guard in same if not guard.expression.holds(activation)]
    # In a wrong order, the first that refuses with this code is the one that competes.
    answered = false[:1]
    if decides is None:
        alone = len(same) == 1 and all(refusal.code != code for refusal in contract.refuses)
        near = [guard for guard in same if is_at_limit(contract, guard, activation)]
        answered = near or (same if alone else [])
    if decides is None and not answered:
        return {}
    members = {
        "decides": _named(decides) if decides is not None else None,
        "answered": [_named(guard) for guard in answered[:_MOST]],
    }
    return {name: value for name, value in members.items() if value}


def _named(guard: Guard) -> dict[str, Any]:
    return {
        "id": guard.id,
        "code": guard.code,
        "that": guard.expression.text,
        "requirements": list(guard.requirements),
        "rulings": list(guard.rulings),
    }


def is_at_limit(contract: Contract, guard: Guard, activation: Any) -> bool:
    """Whether a true guard refuses the call as soon as one of its limits is one stricter."""
    return any(not holds for holds in _stricter(contract, guard, activation))


def _stricter(contract: Contract, guard: Guard, activation: Any) -> Iterator[bool]:
    """Whether the guard still holds with each of its comparisons one stricter."""
    for comparison in comparisons(guard.expression.text):
        for text in _tightened(comparison):
            try:
                expression = contract.environment.compile(comparison.replaced(text))
            except BadExpression:
                continue  # a literal of the other type of integers
            yield expression.holds(activation)
            break


def _tightened(comparison: Comparison) -> Iterator[str]:
    left, right = f"({comparison.left})", f"({comparison.right})"
    match comparison.sign:
        case "<=":
            yield f"{left} < {right}"
        case ">=":
            yield f"{left} > {right}"
        case "<":
            yield from (f"{left} + {one} < {right}" for one in ("1u", "1"))
        case ">":
            yield from (f"{left} > {right} + {one}" for one in ("1u", "1"))
