"""Faults in the corpus: without some cases nothing tests a guard, an edge case or one side of a boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from conformance.contract.cel.syntax import Relation
from conformance.contract.model import Contract, EdgeCase, Guard
from conformance.lint.call import FrozenCall
from conformance.lint.guards import reads_files, sides
from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.edits import Fault, put, with_cases, with_contract, without_cases
from conformance.vectors.case import Case
from conformance.vectors.conversation.state_tracking import comparisons_of


def case_faults(subject: LintTarget) -> Iterator[Fault]:
    """Every fault that leaves out or misplaces cases."""
    for contract in subject.contracts:
        yield from _guards(subject, contract)
        yield from _edges(subject, contract)
        yield from _boundaries(subject, contract)
        yield from _single(subject, contract)
        yield from _groups(subject, contract)
        yield from _files(subject, contract)


def _fault(
    code: str, name: str, subject: LintTarget, operator: str, found: Callable[[], Iterable[FrozenCall]]
) -> Fault:
    """The fault that drops the cases of some calls, which are looked for when the fault is made."""
    return Fault(code, f"{operator}: {name}", lambda: _without(subject, operator, found()))


def _without(subject: LintTarget, operator: str, calls: Iterable[FrozenCall]) -> LintTarget:
    ids = {call.case.id for call in calls}
    return without_cases(subject, operator, lambda case: case.id in ids)


def _guards(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    for guard in contract.requires:
        refused, passed = partial(_refused, subject, contract, guard), partial(_true, subject, contract, guard)
        yield _fault("L301", f"no case for guard {guard.id}", subject, contract.operator, refused)
        yield _fault("L301", f"no case inside guard {guard.id}", subject, contract.operator, passed)


def _refused(subject: LintTarget, contract: Contract, guard: Guard) -> list[FrozenCall]:
    evaluator = subject.evaluator(contract)
    return [call for call in subject.calls(contract.operator) if evaluator.refusal(contract.requires, call) is guard]


def _true(subject: LintTarget, contract: Contract, clause: Guard | EdgeCase) -> list[FrozenCall]:
    expression = clause.when if isinstance(clause, EdgeCase) else clause.expression
    evaluator = subject.evaluator(contract)
    return [call for call in subject.calls(contract.operator) if evaluator.holds(expression.text, call)]


def _edges(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    for edge in contract.edge_cases:
        met = partial(_true, subject, contract, edge)
        yield _fault("L302", f"no case for edge {edge.id}", subject, contract.operator, met)


def _boundaries(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    evaluator = subject.evaluator(contract)
    for k, guard in enumerate(contract.requires):
        for comparison in comparisons_of(guard.expression):
            for side in (0, 1) if evaluator.compiles(comparison.left) and evaluator.compiles(comparison.right) else ():
                name = f"guard {guard.id}: no case on side {side + 1} of {comparison.text}"
                touching = partial(_touching, subject, contract, k, comparison, side)
                yield _fault("L303", name, subject, contract.operator, touching)


def _touching(subject: LintTarget, contract: Contract, guard: int, comparison: Relation, side: int) -> list[FrozenCall]:
    """The calls on one side of a comparison, among those that every earlier guard lets through."""
    evaluator, earlier = subject.evaluator(contract), contract.requires[:guard]
    judged = [call for call in subject.calls(contract.operator) if evaluator.refusal(earlier, call) is None]
    return list(sides(evaluator, comparison, judged).values())[side]


def _single(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    for guard in contract.requires if contract.machine is None else ():
        alone = partial(_with_one_call, subject, contract, guard)
        yield Fault("L412", f"{contract.operator}: guard {guard.id} with one call", alone)


def _with_one_call(subject: LintTarget, contract: Contract, guard: Guard) -> LintTarget | None:
    first, *rest = _refused(subject, contract, guard)
    dropped = [call for call in rest if call.case.id != first.case.id]
    return replace(_without(subject, contract.operator, dropped), evidence={}) if dropped else None


def _is_of(group: str, case: Case) -> bool:
    return case.group == group


def _groups(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    cases = subject.cases.get(contract.operator, ())
    for name in sorted({case.group for case in cases}):
        dropped = partial(without_cases, subject, contract.operator, partial(_is_of, name))
        yield Fault("L108", f"{contract.operator}: group {name} without its cases", dropped)
    if cases:
        twice = partial(with_cases, subject, contract.operator, (*cases, cases[0]))
        yield Fault("L108", f"{contract.operator}: a case twice", twice)
        strayed = (replace(cases[0], id=f"{contract.operator}::elsewhere::x"), *cases[1:])
        yield Fault(
            "L108",
            f"{contract.operator}: a case under another name",
            partial(with_cases, subject, contract.operator, strayed),
        )


def _files(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    """An operator that says it touches files, and has only cases that look at none."""
    for group in contract.groups:
        name = f"{contract.operator}: no look at files in {group.name}"
        yield Fault("L307", name, partial(_blind, subject, contract, group.name))


def _blind(subject: LintTarget, contract: Contract, kept: str) -> LintTarget:
    told = with_contract(subject, contract, put(("purity",), "io"))
    blind = [case for case in subject.cases.get(contract.operator, ()) if case.group == kept and not reads_files(case)]
    return with_cases(told, contract.operator, blind)
