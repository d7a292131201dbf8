"""L305 and L306: frozen results satisfy every postcondition, and each one alone catches some wrong result."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.lint.call import Evaluator, FrozenCall
from conformance.lint.corruption import corruptions, same_shape
from conformance.lint.determinism import invariant_calls
from conformance.lint.names import place
from conformance.lint.rule import FoundIn, LintTarget, contract_rule
from conformance.lint.valueless import valueless
from conformance.vectors.conversation.contradiction import equations_of

_STATES: Final = 40  # different states of a machine that are corrupted


def _broken_invariants(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Invariants that the state after a frozen call breaks, one finding for each."""
    told: set[str] = set()
    for call in invariant_calls(subject, contract) if contract.invariants else ():
        for clause in contract.broken_invariants(call.after):
            if clause.id not in told:
                told.add(clause.id)
                message = f"invariant {clause.id!r} is not true after {call}, where the state is {call.after}"
                hint = "correct the invariant, or what the operation makes of the state"
                yield clause.position, message, hint


def _never_alone(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Invariants that no state breaks alone; the tried states differ from a reached one in one variable."""
    if contract.machine is None or not contract.invariants:
        return
    states = {repr(sorted(call.after.items())): call.after for call in invariant_calls(subject, contract)}
    pending = {clause.id: clause for clause in contract.invariants}
    company: dict[str, set[str]] = {}
    for state in list(states.values())[:_STATES]:
        for _, wrong in corruptions(contract.machine.state, state):
            found = {clause.id for clause in contract.broken_invariants(wrong)}
            if len(found) == 1:
                pending.pop(found.pop(), None)
            for id_ in found:
                company.setdefault(id_, found - {id_})
    for id_, clause in pending.items():
        message = f"no corrupted state breaks invariant {id_!r}"
        hint = "it says nothing: relate the variables to each other, or to a bound"
        if others := sorted(company.get(id_, ())):
            message = f"whatever breaks invariant {id_!r} breaks {', '.join(others)} as well"
            hint = "remove it, or narrow the other"
        yield clause.position, message, hint


_CALLS: Final = 40  # successful calls of an operator whose results are corrupted
_OTHERS: Final = 12  # answers to other questions that are tried as wrong results
_REPAIRS: Final = 4  # rounds that make the other broken equations true again
_ATTEMPTS: Final = 40  # wrong results that are repaired for one postcondition


@contract_rule("L305", "postconditions-hold")
def postconditions_hold(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every successful frozen call is in the domain and satisfies every postcondition and invariant."""
    yield from _broken_invariants(subject, contract)
    evaluator = subject.evaluator(contract)
    told: set[str] = set()
    successes = [call for call in subject.calls(contract.operator) if call.succeeds]
    texts = [(one.id, f"postcondition {one.id!r}", one.expression.text, one.position) for one in contract.ensures]
    for k, one in enumerate(contract.domain):
        texts.append((f"domain {k}", f"domain {one.text!r}", one.text, contract.source.at(("domain", k))))
    for key, what, text, where in texts:
        judged = [call for call in successes if evaluator.judges(text, call)]
        if error := valueless(evaluator, contract, what, text, where, judged):
            told.add(key)
            yield error
    for call in successes:
        found = evaluator.contradiction(contract, call)
        for k in found.domain:
            if f"domain {k}" not in told:
                told.add(f"domain {k}")
                message = f"{call} succeeds outside the domain ({contract.domain[k].text})"
                yield contract.source.at(("domain", k)), message, "widen the domain or drop the case"
        for clause in found.postconditions:
            if clause.id not in told:
                told.add(clause.id)
                message = f"postcondition {clause.id!r} is not true of the frozen result of {call}"
                hint = f"correct the postcondition, or the reference; the case is in {place(contract, call)}"
                yield clause.position, message, hint


@contract_rule("L306", "postconditions-bite")
def postconditions_bite(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every postcondition, and every invariant, is the only one that catches some systematically corrupted value."""
    yield from _never_alone(subject, contract)
    if not contract.ensures:
        return
    trial = _Trial(subject, contract)
    trial.run()
    for clause in contract.ensures:
        if clause.id not in trial.pending or set(clause.implied_by) & trial.company.get(clause.id, set()):
            continue
        if not trial.calls:
            message = f"no frozen result to try postcondition {clause.id!r} on"
            hint = "add a case that succeeds with a result of at most 64 elements"
        elif clause.id not in trial.company:
            message = f"no corrupted result breaks postcondition {clause.id!r}"
            hint = "it says nothing: state a relation between the result and the inputs"
        else:
            others = ", ".join(sorted(trial.company[clause.id]))
            message = f"whatever breaks postcondition {clause.id!r} breaks {others} as well"
            hint = "remove it, or narrow the other"
        yield clause.position, message, hint


class _Trial:
    """Corrupts one result after the other until every postcondition has caught one alone."""

    def __init__(self, subject: LintTarget, contract: Contract) -> None:
        self.contract = contract
        self.evaluator: Evaluator = subject.evaluator(contract)
        self.clauses = {clause.id: clause for clause in contract.ensures}
        self.expressions = {clause.id: self.evaluator.expression(clause.expression.text) for clause in contract.ensures}
        self.repairs = {clause.id: tuple(equations_of(clause.expression.text)) for clause in contract.ensures}
        self.pending = set(self.clauses)
        self.company: dict[str, set[str]] = {}  # the smallest set of others that broke together with it
        self.attempts = dict.fromkeys(self.clauses, 0)
        self.calls = self._calls(subject)

    def run(self) -> None:
        results = [call.result for call in self.calls if call.result is not None]
        for k, call in enumerate(_spread(self.calls, _CALLS)):
            around = _spread(results[k + 1 :] + results[:k], _OTHERS)
            others = [other for other in around if not same_shape(other, call.result)]
            wrongs = [*corruptions(self.contract.outputs, call.result), *(("", other) for other in others)]
            for path, wrong in wrongs:
                if not self.pending:
                    return
                self._try(call, path, wrong)

    def _calls(self, subject: LintTarget) -> list[FrozenCall]:
        contract = self.contract
        whole = [call for call in subject.calls(contract.operator) if call.result is not None]
        # An axis gives many calls that differ in one leaf; they would fill most of the sample.
        axes = {group.name for group in contract.groups if "axis" in group.body}
        whole = [call for call in whole if call.case.group not in axes] or whole
        texts = [clause.expression.text for clause in contract.ensures]
        judged = [call for call in whole if all(self.evaluator.judges(text, call) for text in texts)]
        return [call for call in judged if not self._broken(call, call.result, self.clauses)]

    def _broken(self, call: FrozenCall, result: Any, ids: Any) -> set[str]:
        if result is call.result:
            return {id_ for id_ in ids if not self.evaluator.holds(self.clauses[id_].expression.text, call)}
        activation = self.evaluator.bind(call, result)
        return {id_ for id_ in ids if not self.expressions[id_].holds(activation)}

    def _try(self, call: FrozenCall, path: str, wrong: Any) -> None:
        if not self._broken(call, wrong, self.pending):
            return
        broken = self._broken(call, wrong, self.clauses)
        for id_ in sorted(broken & self.pending):
            self.attempts[id_] += 1
            alone = broken == {id_}
            if not alone and self.attempts[id_] <= _ATTEMPTS:
                alone = self._breaks_alone(call, path, wrong, id_)
            if alone:
                self.pending.discard(id_)
            else:
                rest = broken - {id_}
                self.company[id_] = min(self.company.get(id_, rest), rest, key=len)

    def _breaks_alone(self, call: FrozenCall, path: str, wrong: Any, target: str) -> bool:
        """Whether the target alone is broken once the other broken equations are made true again.

        A result that is wrong consistently (a wrong field, and a digest over that wrong field) must be caught too.
        """
        result = copy.deepcopy(wrong)
        changed = {path}
        for _ in range(_REPAIRS):
            broken = self._broken(call, result, self.clauses)
            if target not in broken or broken == {target}:
                return target in broken
            progress = False
            for id_ in sorted(broken - {target}):
                progress |= self._repair(call, result, id_, changed)
            if not progress:
                return False
        return False

    def _repair(self, call: FrozenCall, result: Any, id_: str, changed: set[str]) -> bool:
        progress = False
        for path, source in self.repairs[id_]:
            if path in changed or not self.evaluator.compiles(source):
                continue
            value = self.evaluator.expression(source).evaluate(self.evaluator.bind(call, result))
            if value is not None and _replace_at(result, path.split("."), value):
                changed.add(path)
                progress = True
        return progress


def _replace_at(holder: Any, path: Sequence[str], value: Any) -> bool:
    for name in path[:-1]:
        holder = holder.get(name) if isinstance(holder, Mapping) else None
    if not isinstance(holder, dict) or path[-1] not in holder:
        return False
    holder[path[-1]] = bytes(value) if isinstance(value, bytearray) else value
    return True


def _spread(items: Sequence[Any], limit: int) -> list[Any]:
    """At most `limit` items, evenly from the whole sequence."""
    if len(items) <= limit:
        return list(items)
    return [items[k * len(items) // limit] for k in range(limit)]
