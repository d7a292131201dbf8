"""Faults in requirements.yaml, coverage.yaml, rulings.yaml and errors.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from conformance.contract.family import Passage, Requirement, SequenceDeclaration
from conformance.contract.model import Contract
from conformance.contract.yaml.machine_file import OPEN_HANDLE
from conformance.lint.checks import check_of, check_text, claimable, mentions
from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.edits import (
    Edit,
    Fault,
    drop,
    put,
    with_contract,
    with_coverage,
    with_requirements,
    with_sequences,
    with_tables,
)


def page_faults(subject: LintTarget) -> Iterator[Fault]:
    """Every fault of one line of one page."""
    for family, page in subject.library.requirements.items():
        for k, row in enumerate(page.requirements):
            for code, name, edit in _row_edits(k, row):
                yield Fault(code, f"{row.id}: {name}", partial(with_requirements, subject, family, edit))
    for family, coverage in subject.library.coverage.items():
        for k, passage in enumerate(coverage.passages):
            for code, name, edit in _passage_edits(k, passage):
                where = f"{coverage.document} {passage}: {name}"
                yield Fault(code, where, partial(with_coverage, subject, family, edit))
    for contract in subject.contracts:
        yield from _deletions(subject, contract)
        if contract.family in subject.library.requirements and contract.inputs.fields:
            word = contract.inputs.fields[0].name.upper()
            forbid = put(("forbidden_names",), [word])
            fault = partial(with_requirements, subject, contract.family, forbid)
            yield Fault("L204", f"{word} forbidden, which {contract.operator} takes", fault)
    named = {mention.name for contract in subject.contracts for mention in mentions(contract, "ruling")}
    for id_, ruling in subject.library.rulings.items():
        if id_ not in named:  # a test covers it, and no contract would name an unknown ruling
            continue
        rulings = {other: body for other, body in subject.library.rulings.items() if other != id_}
        yield Fault("L105", f"{id_} removed", partial(with_tables, subject, rulings=rulings))
        more = {**subject.library.rulings, "ZA99": replace(ruling, id="ZA99", requirements=())}
        yield Fault("L105", f"{id_} under a number that nothing names", partial(with_tables, subject, rulings=more))
    for declaration in subject.library.sequences.values():
        for name, edit in _sequence_edits(declaration):
            where = f"sequence of {declaration.operator}: {name}"
            yield Fault("L205", where, partial(with_sequences, subject, declaration, edit))
    for code, error in subject.library.errors.items():
        errors = {**subject.library.errors, code: replace(error, message=error.message.rstrip("."))}
        yield Fault("L403", f"{code} without a full stop", partial(with_tables, subject, errors=errors))


def _row_edits(k: int, row: Requirement) -> Iterator[tuple[str, str, Edit]]:
    checks = ("requirements", k, "checks")
    for n, text in enumerate(row.checks):
        yield "L106", f"{text} misspelt", put((*checks, n), f"{text}x")
        if check_of(text).kind in ("guard", "ensures", "law", "group", "workload"):
            yield "L107", f"{text} left out", drop((*checks, n))
    yield "L104", "renumbered", put(("requirements", k, "id"), "ZZ98")
    yield "L402", "a row that no passage names", put(("requirements", k, "id"), "ZZ98")
    if row.checks and row.kind != "L":
        yield "L401", "with a lint rule as its only check", put(checks, ["lint:L101"])
        if any(check_of(text).kind in ("guard", "ensures", "law", "group") for text in row.checks):
            reason = "There was no time for it."
            exclude = put(("requirements", k, "excluded"), reason)
            yield "L401", "excluded though it is tested", lambda tree: exclude(tree.drop(checks))
    yield "L401", "twice", lambda tree: tree.add(("requirements",), tree.at(("requirements", k)))
    yield "L403", "excluded in one word", put(("requirements", k, "excluded"), "untestable")


def _sequence_edits(declaration: SequenceDeclaration) -> Iterator[tuple[str, Edit]]:
    where = declaration.path
    yield "an unknown operator", put((*where, "operator"), "No.Such.Operator")
    yield "an unknown case", put((*where, "case"), f"{declaration.case}x")
    if declaration.replay is not None:
        yield "an unknown step", put((*where, "replay", "round", 0), "no-such-step")
        return
    yield "a case of another operator", put((*where, "case"), "UML_OS.Error.Emit_v1::no-such::case")
    yield "an input that is not there", put((*where, "position"), f"{declaration.at}x")
    yield "an output that is not there", put((*where, "values"), f"{declaration.values}x")
    yield "a length that is no number", put((*where, "length"), "true")
    for k, step in enumerate(declaration.steps):
        here = (*where, "derivation", k)
        if step.call:
            yield f"{step.name}: an unknown helper", put((*here, "call"), f"{step.call}x")
            yield f"{step.name}: an output that is not there", put((*here, "path"), f"{step.path}x")
            yield f"{step.name}: a missing input", drop((*here, "use" if step.uses else "with"))
        if step.value:
            yield f"{step.name}: a name that is not there", put((*here, "value"), f"no_such_name + {step.value}")
        yield f"{step.name}: a name that is taken", put((*here, "step"), "position")


def _passage_edits(k: int, passage: Passage) -> Iterator[tuple[str, str, Edit]]:
    where = ("passages", k)
    yield "L402", "left out", drop(where)
    yield "L402", "a line longer", put((*where, "lines", 1), passage.last + 1)
    yield "L402", "without a digest", put((*where, "digest"), "")
    empty = {"lines": [passage.first, passage.last], "excluded": "  "}
    yield "L402", "without requirement, ruling or reason", put(where, empty)
    yield "L104", "an unknown requirement", put((*where, "requirements"), ["ZZ98"])
    yield "L105", "an unknown ruling", put((*where, "rulings"), ["ZA98"])
    if passage.excluded:
        yield "L403", "excluded in one word", put((*where, "excluded"), "untestable")


def _deletions(subject: LintTarget, contract: Contract) -> Iterator[Fault]:
    """Parts that a requirement names, deleted from their contract."""
    keys = {"guard": "requires", "ensures": "ensures", "edge": "edge_cases", "law": "laws", "group": "vectors"}
    keys |= {"workload": "workloads", "invariant": "invariants"}
    # The guard over the handle comes first in a method, and requirements name it at the machine.
    counts = {"guard": int(any(guard.id == OPEN_HANDLE for guard in contract.requires))}
    for kind, name, _, _ in claimable(contract):
        k = counts.setdefault(kind, 0)
        counts[kind] += 1
        if kind in keys and name != OPEN_HANDLE:
            gone = partial(with_contract, subject, contract, drop((keys[kind], k)))
            yield Fault("L106", f"{check_text(contract, kind, name)} deleted", gone)
