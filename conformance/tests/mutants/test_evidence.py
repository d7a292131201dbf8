"""The kill matrix says what each mutant breaks and what notices it, and lint asks every clause and row for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from conformance.codec.codebook import codebook_of
from conformance.lint.catalogue import lint
from conformance.lint.checks import check_text, claimable
from conformance.lint.rule import LintTarget
from conformance.tests.mutant_results import DECODE, cases_of, codebook
from conformance.tests.shipped import shipped_library, shipped_subject
from conformance.tests.small_corpus import rule_with
from conformance.trial.cases import check_of
from conformance.trial.check import Difference, FailedCall, Result, Verdict
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.forked import Forked
from conformance.trial.mutants.checks import BrokenParts, MutantChecks
from conformance.trial.mutants.kill_matrix import (
    KillMatrix,
    MutantRow,
    Status,
    evidence_of,
    matrix_problems,
    matrix_summary,
    matrix_text,
    merged_matrix,
    read_matrix,
)
from conformance.trial.mutants.run import MutantOptions, measure_matrix
from conformance.vectors.case import CallStep
from conformance.vectors.frozen.corpus import load_corpus

READ = "UML_OS.Checkpoint.ReadContainer_v1"
BOOLEANS = "decode-booleans"
GUARD = f"guard:{DECODE}#cursors-only"
LOST = f"ensures:{DECODE}#nothing-lost"


@cache
def decoded() -> KillMatrix:
    return measure_matrix(shipped_library(), cases_of(DECODE), [BOOLEANS])


def everything() -> frozenset[str]:
    contracts = shipped_library().contracts.values()
    return frozenset(check_text(one, kind, name) for one in contracts for kind, name, _, _ in claimable(one))


def judged(code: str, evidence: Mapping[str, frozenset[str]] | None, subject: LintTarget | None = None) -> list[str]:
    found = lint(replace(subject or shipped_subject(), evidence=evidence), [rule_with(code)])
    return [finding.message for finding in found]


# -- what answers show


def test_a_mutant_that_answers_where_a_guard_refuses_breaks_the_guard_and_the_postcondition() -> None:
    row = decoded().rows[BOOLEANS]
    assert row.broken == {LOST: len(row.killed), GUARD: len(row.killed)}
    assert row.noticed_by >= {GUARD, LOST, *("group:{}::{}".format(*id_.split("::")[:2]) for id_ in row.killed)}


def test_a_refusal_is_broken_only_by_a_mutant_that_declares_it() -> None:
    evidence, mutant = BrokenParts(codebook()), shipped_library().mutants["read-identity-unread"]
    (case,) = (case for case in cases_of(READ) if case.id.endswith("::chain::trace"))
    step, one = next((step, one) for step, one in evidence.foreseen(case).items() if one.refusals)
    said = Difference("outcome", f"failure {one.call.code}", "a result")
    result = Result(check_of(case), Verdict.FAIL, "result", step, difference=said, call=FailedCall(READ, {}))
    chain = f"refuses:{READ}#chain-mismatch"
    assert evidence.broken(replace(mutant, breaks=()), [(case, result)]) == {}
    assert evidence.broken(replace(mutant, breaks=(chain,)), [(case, result)]) == {chain: 1}
    lost = Result(check_of(case), Verdict.ERROR, "crash")
    assert evidence.broken(replace(mutant, breaks=(chain,)), [(case, lost)]) == {chain: 1}


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.ERROR])
def test_a_refusal_of_a_recipe_is_broken_too_though_lint_does_not_read_the_call(verdict: Verdict) -> None:
    walks, ids = "Batch.CollectRows", "refuses:Batch.CollectRows#row-ids-in-16-bits"
    mutant = shipped_library().mutants["collect-row-ids-unlimited"]
    (case,) = (case for case in cases_of(walks) if case.id.endswith("rows-beyond-16-bits::one-row-more"))
    step = case.steps[0].name if isinstance(case.steps[0], CallStep) else ""
    said = Difference("outcome", "failure LIMIT_EXCEEDED", "a result")
    result = Result(check_of(case), verdict, "result", step, difference=said, call=FailedCall(walks, {}))
    evidence = BrokenParts(codebook())
    assert evidence.broken(mutant, [(case, result)]) == {ids: 1}
    assert evidence.broken(replace(mutant, breaks=()), [(case, result)]) == {}


def test_a_mutant_that_is_not_seen_to_break_what_it_declares_is_red() -> None:
    library = shipped_library()
    declared = {BOOLEANS: replace(library.mutants[BOOLEANS], breaks=(GUARD, f"guard:{DECODE}#canonical"))}
    assert list(matrix_problems(decoded(), declared)) == [
        f"{BOOLEANS} must break guard:{DECODE}#canonical, but no check shows that it does"
    ]


# -- kinds, merging, what is known already


def test_laws_and_fuzzing_notice_by_themselves_in_forked_processes(tmp_path: Path) -> None:
    library = shipped_library()
    small = replace(library, contracts={DECODE: library.contracts[DECODE]})  # drawing calls for all takes 6 s
    power = MutantChecks(small, load_corpus(library.suite), codebook())
    effort = MutantOptions(("vectors", "laws", "fuzz"), power)
    fresh = measure_matrix(library, cases_of(DECODE), [BOOLEANS], Forked(1), effort=effort)
    row = fresh.rows[BOOLEANS]
    assert row.fuzz == frozenset({DECODE})
    assert row.laws is not None
    assert row.crash is None
    assert replace(row, laws=None, fuzz=None) == decoded().rows[BOOLEANS]
    assert matrix_summary(fresh)["killed_by_fuzzing"] == matrix_summary(fresh)["tried_on_laws_and_fuzzing"] == 1
    file = tmp_path / MATRIX_FILE
    file.write_text(matrix_text(fresh))
    assert read_matrix(file) == fresh


def test_rows_of_some_mutants_take_the_place_of_the_committed_ones() -> None:
    kept = MutantRow("other", Status.KILLED, frozenset({"O::g::gone", *decoded().cases[:1]}), "b", sources="s")
    old = KillMatrix(("O::g::gone", *decoded().cases[:1]), {"other": kept, BOOLEANS: kept}, {"O::g::gone": "1"})
    whole = merged_matrix(old, decoded())
    assert list(whole.rows) == [BOOLEANS, "other"]
    assert whole.rows[BOOLEANS] == decoded().rows[BOOLEANS]
    assert whole.rows["other"].killed == frozenset(decoded().cases[:1])
    assert whole.digests == {}  # the kept row was not asked any of these cases


def test_what_is_known_of_the_same_source_is_believed_and_what_changed_is_asked() -> None:
    known = decoded()
    assert measure_matrix(shipped_library(), cases_of(DECODE), [BOOLEANS], effort=MutantOptions(known=known)) == known
    first = min(known.rows[BOOLEANS].killed)
    spared = replace(known.rows[BOOLEANS], killed=frozenset(), behaviour="")
    for digests, killed in ((known.digests, frozenset[str]()), ({**known.digests, first: "changed"}, {first})):
        old = KillMatrix(known.cases, {BOOLEANS: spared}, digests)
        again = measure_matrix(shipped_library(), cases_of(DECODE), [BOOLEANS], effort=MutantOptions(known=old))
        assert again.rows[BOOLEANS].killed == killed
    foreign = KillMatrix(known.cases, {BOOLEANS: replace(spared, sources="another")}, known.digests)
    assert measure_matrix(shipped_library(), cases_of(DECODE), [BOOLEANS], effort=MutantOptions(known=foreign)) == known


def test_a_mutant_that_died_by_fuzzing_alone_is_fuzzed_again() -> None:
    library, row = shipped_library(), decoded().rows[BOOLEANS]
    small = replace(library, contracts={DECODE: library.contracts[DECODE]})
    power = MutantChecks(small, load_corpus(library.suite), codebook())
    clauses = BrokenParts(codebook()).digest(library.mutants[BOOLEANS], ())
    alone = replace(row, killed=frozenset(), laws=frozenset(), fuzz=frozenset({"gone"}), clauses=clauses)
    for known, found in ((alone, DECODE), (replace(row, laws=frozenset(), fuzz=alone.fuzz), "gone")):
        effort = MutantOptions(("vectors", "laws", "fuzz"), power, replace(decoded(), rows={BOOLEANS: known}))
        again = measure_matrix(library, cases_of(DECODE), [BOOLEANS], effort=effort).rows[BOOLEANS]
        assert (again.fuzz, again.killed) == (frozenset({found}), known.killed)


def test_a_row_is_read_again_if_the_clauses_or_what_the_mutant_must_break_changed() -> None:
    known = decoded()
    stale = replace(known.rows[BOOLEANS], broken={"guard:gone": 1})
    for row, believed in ((stale, True), (replace(stale, clauses="others"), False)):
        old = KillMatrix(known.cases, {BOOLEANS: row}, known.digests)
        again = measure_matrix(shipped_library(), cases_of(DECODE), [BOOLEANS], effort=MutantOptions(known=old))
        assert again.rows[BOOLEANS] == (row if believed else known.rows[BOOLEANS])


def test_the_clauses_of_a_row_are_those_of_the_operators_that_its_cases_call() -> None:
    library, cases = shipped_library(), cases_of(DECODE)
    mutant, contract = library.mutants[BOOLEANS], library.contracts[DECODE]
    guard, *others = contract.requires
    renamed = replace(contract, requires=(replace(guard, id="renamed"), *others))
    other = codebook_of(replace(library, contracts={**library.contracts, DECODE: renamed}))
    digest = BrokenParts(codebook()).digest(mutant, cases)
    assert BrokenParts(other).digest(mutant, cases) != digest
    assert BrokenParts(codebook()).digest(replace(mutant, breaks=("guard:other",)), cases) != digest
    assert BrokenParts(other).digest(mutant, ()) == BrokenParts(codebook()).digest(mutant, ())


# -- what lint asks for


def test_a_matrix_that_does_not_say_what_breaks_is_no_evidence() -> None:
    assert evidence_of(KillMatrix((), {"x": MutantRow("x", Status.KILLED, frozenset({"O::g::a"}))})) is None
    assert judged("L411", None) == judged("L412", None) == []


def test_every_clause_and_row_needs_a_mutant_that_dies_of_it() -> None:
    all_of_it = dict.fromkeys(shipped_library().mutants, everything())
    before = judged("L411", all_of_it)
    assert [message for message in before if "no mutant breaks guard" in message] == []
    without = dict.fromkeys(shipped_library().mutants, everything() - {GUARD})
    assert set(judged("L411", without)) - set(before) == {"no mutant breaks guard 'cursors-only'"}


def test_a_row_is_not_carried_by_what_it_does_not_name() -> None:
    row = shipped_library().requirement("N39")
    assert row is not None
    without = dict.fromkeys(shipped_library().mutants, everything() - set(row.checks))
    said = "no check that N39 names kills a mutant that breaks it"
    assert said in judged("L411", without)
    assert said not in judged("L411", dict.fromkeys(shipped_library().mutants, everything()))


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((), "no mutant breaks ensures 'twin'"),
        (("canonical-map",), ""),
        (
            ("nothing-of-the-kind",),
            "postcondition 'twin' is implied by 'nothing-of-the-kind', which the contract does not have",
        ),
    ],
)
def test_a_postcondition_that_others_imply_needs_no_mutant_of_its_own(others: tuple[str, ...], said: str) -> None:
    subject = shipped_subject()
    contract = subject.library.contracts["UML_OS.Data.EncodeCursors_v1"]
    (clause,) = contract.ensures
    twin = replace(clause, id="twin", implied_by=others)
    changed = replace(contract, ensures=(clause, twin))
    library = replace(subject.library, contracts={**subject.library.contracts, contract.operator: changed})
    messages = judged("L411", dict.fromkeys(library.mutants, everything()), replace(subject, library=library))
    assert [message for message in messages if "'twin'" in message] == [said] * bool(said)
