"""Where fuzzing starts from: complete inputs of the contract, sorted by the guard that refuses them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from conformance.codec.codebook import OperatorForms
from conformance.contract.model import Contract
from conformance.vectors.case import CallStep, Case

ACCEPTED = ""  # the side that no guard refuses
Native = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Native inputs by the id of the first guard that is false for them, ACCEPTED where none is; smallest first."""

    by_side: Mapping[str, tuple[Native, ...]]

    @property
    def all(self) -> tuple[Native, ...]:
        """Every seed."""
        return tuple(native for side in sorted(self.by_side) for native in self.by_side[side])


def seeds_of(forms: OperatorForms, cases: Sequence[Case]) -> Seeds:
    """The inputs of an operator's frozen calls, those kept that are cheap enough to ask again and again."""
    contract = forms.contract
    found: dict[str, dict[str, Native]] = {}
    for step in chain.from_iterable(map(_whole_calls, cases)):
        if step.operator == contract.operator:
            native: Native = forms.inputs.to_native(step.inputs)
            if (side := side_of(contract, native)) is not None:
                found.setdefault(side, {})[repr(step.inputs)] = native
    ordered = {
        side: tuple(natives[key] for key in sorted(natives, key=lambda text: (len(text), text)))
        for side, natives in sorted(found.items())
    }
    return Seeds(ordered)


def _whole_calls(case: Case) -> Iterator[CallStep]:
    """The calls of a case whose inputs stand in it, not in what an earlier step answers."""
    earlier: set[str] = set()
    for step in case.steps:
        if isinstance(step, CallStep):
            if not _refers(step.inputs, earlier):
                yield step
            earlier.add(step.name)


def _refers(value: Any, steps: Container[str]) -> bool:
    """Whether a JSON wire value holds a reference to one of the steps."""
    if isinstance(value, dict):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            return value["from"].partition(".")[0] in steps
        return any(_refers(part, steps) for part in value.values())
    return isinstance(value, list) and any(_refers(part, steps) for part in value)


def side_of(contract: Contract, native: Native) -> str | None:
    """On which side of the guards an input lies; None where it is not to be asked (outside domain or fuzz limits)."""
    activation = contract.environment.bind(native)
    for guard in contract.requires:
        if not guard.expression.holds(activation):
            return guard.id
    inside = all(expression.holds(activation) for expression in (*contract.domain, *contract.fuzz_limits))
    return ACCEPTED if inside else None
