"""Which guards compete where a backend answers with another failure than the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.backend.observed import Observed, ObservedFailure
from conformance.contract.model import Contract, Guard

_MOST = 3  # guards that a report names


def competing(contract: Contract, inputs: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """The guard that decides a call, and the one whose code the backend answers; several where nothing may refuse it.

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
    answered = false[:1] or (same if decides is None else [])
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
