"""L307: an operator that touches files has cases that look at the files."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.lint.finding import Finding
from conformance.lint.subject import Subject
from conformance.vectors.case import CallStep, Case, FileStep, TreeStep
from conformance.vectors.placeholder import is_root


class FilesLookedAt:
    """An operator of purity io has a frozen case that looks at a tree, or that reads in a root what was put there."""

    code, name, level = "L307", "files-looked-at", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Operators that touch files, and whose files nobody looks at."""
        for contract in subject.contracts:
            if contract.method is not None:
                continue  # its cases are the machine's
            if contract.purity == "io" and not any(map(looks, subject.cases.get(contract.operator, ()))):
                where = contract.source.at(("purity",))
                message = f"no case of {contract.operator} looks at the files that it touches"
                hint = "add a trace with a `tree` step, or one that reads back what it has put or written"
                yield Finding(where, self.code, message, contract.operator, hint)


def looks(case: Case) -> bool:
    """Whether a case sees what stands in a root: by a tree, or by a call in a root that an earlier step was given."""
    touched: set[str] = set()
    for step in case.steps:
        if isinstance(step, TreeStep):
            return True
        if isinstance(step, FileStep):
            touched.add(step.body["root"])
        elif isinstance(step, CallStep):
            roots = {value["root"] for value in step.inputs.values() if is_root(value)}
            if roots & touched:
                return True
            touched |= roots
    return False
