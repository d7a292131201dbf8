"""L205: what sequences.yaml names exists, and its expressions compile."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.family import SequenceDeclaration
from conformance.contract.source import Path
from conformance.lint.rule import Found, rule
from conformance.lint.subject import Subject
from conformance.vectors.call_sequence import problems_of
from conformance.vectors.case import CallStep, Case


@rule("L205", "sequences-derivable")
def sequences_derivable(subject: Subject) -> Iterator[Found]:
    """The operator, case, paths and helper calls of every sequence exist, and its expressions compile."""
    for declaration in subject.library.sequences.values():
        for problem in problems_of(declaration, subject.library):
            yield problem.position, problem.message, declaration.operator, problem.hint
        cases = (case for some in subject.cases.values() for case in some)
        case = next((case for case in cases if case.id == declaration.case), None)
        for path, message, hint in _of_case(declaration, case):
            where = declaration.source.at((*declaration.path, *path))
            yield where, message, declaration.operator, hint


def _of_case(declaration: SequenceDeclaration, case: Case | None) -> Iterator[tuple[Path, str, str]]:
    if case is None:
        yield ("case",), f"no vector has the id {declaration.case!r}", "name a frozen case of the operator"
        return
    replay = declaration.replay
    if replay is None:
        if case.kind == "trace" or declaration.operator not in case.operators:
            hint = f"name one that calls {declaration.operator} once, or a long run of it"
            yield ("case",), f"{case.id} gives no inputs for the first call", hint
        return
    names = [step.name for step in case.steps if isinstance(step, CallStep)]
    for key, wanted in (("before", replay.before), ("round", replay.round)):
        for k, name in enumerate(wanted):
            if name not in names:
                yield ("replay", key, k), f"{case.id} has no step {name!r}", f"its steps are {', '.join(names)}"
