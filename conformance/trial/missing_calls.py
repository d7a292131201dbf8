"""The calls that a contract's cases lack: both sides of every guard, neighbouring faults, edge cases, every outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.contract.cel.syntax import Relation
from conformance.contract.model import Contract, Guard
from conformance.contract.yaml.source import names
from conformance.lint.call import Evaluator, FrozenCall
from conformance.lint.guards import FALSE, TRUE, WORDS, sides
from conformance.vectors.conversation.state_tracking import NEIGHBOURS, comparisons_of

_TWICE: Final = 2  # calls that a guard decides, so that none is right by chance (L412)
_NAMES: Final = {-1: "below", 0: "on", 1: "above"}
Meets = Callable[[Evaluator, FrozenCall], bool]


@dataclass(frozen=True, slots=True)
class MissingCall:
    """A kind of call that is missing: of which part of the contract, in words, and how to tell such a call."""

    part: str
    name: str  # short, and safe in an id
    what: str
    requirements: tuple[str, ...]
    meets: Meets = field(repr=False, compare=False)
    aims: tuple[Relation, ...] = field(default=(), repr=False)  # comparisons that such calls lie beside


def missing_calls(contract: Contract, evaluator: Evaluator, calls: Sequence[FrozenCall]) -> tuple[MissingCall, ...]:
    """The kinds of call that none of these calls shows, in the order of the contract."""
    found: list[MissingCall] = []
    for one, most in _all(contract, evaluator):
        missing = most - sum(one.meets(evaluator, call) for call in calls)
        found += [one] * max(0, missing)
    return tuple(found)


def _all(contract: Contract, evaluator: Evaluator) -> Iterator[tuple[MissingCall, int]]:
    """Every kind of call that the rules ask for, with how many."""
    guards = contract.requires
    for number, guard in enumerate(guards):
        part, needs, aims = f"guard {guard.id}", guard.requirements, comparisons_of(guard.expression)
        refused = f"{guard.id} is the first guard that is not true"
        yield MissingCall(part, "refused", refused, needs, _refused_by(contract, guard), aims), _TWICE
        yield MissingCall(part, "let-through", f"{guard.id} is true", needs, _is_true(guard.expression.text), aims), 1
        yield from _sides(contract, guard, number, aims, evaluator)
        if number + 1 < len(guards):
            after = guards[number + 1]
            what = f"{guard.id} and the next guard, {after.id}, are both not true"
            yield (
                MissingCall(part, f"before-{after.id}", what, needs, _meets_two_guards(contract, guard, after), aims),
                1,
            )
    needs = next((clause.requirements for clause in contract.ensures if clause.requirements), ())
    yield MissingCall("result", "answered", "no guard refuses the call", needs, _succeeds(contract)), 1
    for number, edge in enumerate(contract.edge_cases):
        part, text = f"edge case {edge.id}", edge.when.text
        needs = tuple(names(contract.source.value["edge_cases"][number], "requirement"))
        aims = comparisons_of(edge.when)
        yield MissingCall(part, "met", f"the edge case {edge.id} is met", needs, _is_true(text), aims), 1
        yield MissingCall(part, "not-met", f"the edge case {edge.id} is not met", needs, _is_not(text), aims), 1


def _sides(
    contract: Contract, guard: Guard, number: int, aims: Iterable[Relation], evaluator: Evaluator
) -> Iterator[tuple[MissingCall, int]]:
    earlier = contract.requires[:number]
    for count, one in enumerate(aims, start=1):
        for name, words in _words(one, evaluator):
            what = f"{guard.id}: {one.text} decides {words}"
            meets = _meets_limit(earlier, one, words)
            yield MissingCall(f"guard {guard.id}", f"{name}-{count}", what, guard.requirements, meets, (one,)), 1


def _words(one: Relation, evaluator: Evaluator) -> list[tuple[str, str]]:
    """The sides of a comparison, as a name and as the lint rule words them; none where a side has no value alone."""
    if not (evaluator.compiles(one.left) and evaluator.compiles(one.right)):
        return []
    kinds = {evaluator.expression(side).compiled.return_type().name() for side in (one.left, one.right)}
    if one.sign in NEIGHBOURS and kinds <= {"INT", "UINT"}:
        return [(_NAMES[apart], WORDS[apart]) for apart in NEIGHBOURS[one.sign]]
    return [("true", TRUE), ("false", FALSE)]


def _meets_limit(earlier: Sequence[Guard], one: Relation, words: str) -> Meets:
    def meets(evaluator: Evaluator, call: FrozenCall) -> bool:
        passed = all(evaluator.holds(guard.expression.text, call) for guard in earlier)
        return passed and bool(sides(evaluator, one, [call]).get(words))

    return meets


def _refused_by(contract: Contract, guard: Guard) -> Meets:
    return lambda evaluator, call: evaluator.refusal(contract.requires, call) is guard


def _meets_two_guards(contract: Contract, guard: Guard, after: Guard) -> Meets:
    refused = _refused_by(contract, guard)
    return lambda evaluator, call: refused(evaluator, call) and evaluator.value(after.expression.text, call) is False


def _succeeds(contract: Contract) -> Meets:
    return lambda evaluator, call: evaluator.refusal(contract.requires, call) is None


def _is_true(text: str) -> Meets:
    return lambda evaluator, call: evaluator.holds(text, call)


def _is_not(text: str) -> Meets:
    return lambda evaluator, call: not evaluator.holds(text, call)
