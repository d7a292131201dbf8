"""What a certification asks could not be prepared for: a table of all public answers fails, for every operator."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from conformance.backend.driver import Driver, RestartRequest, Talk
from conformance.backend.outcome import Lost
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.cache import Cache
from conformance.contract.model import LawUse
from conformance.contract.types import Struct
from conformance.tests.fuzz.tasks import Silent, task_of
from conformance.tests.halving import client, corpus, library
from conformance.tests.halving import codebook as small_codebook
from conformance.tests.processes import ROOT, fake_command
from conformance.tests.shipped import shipped_library
from conformance.tests.small_corpus import OPERATOR
from conformance.trial.challenge import challenge, challenges_of, newly_asked_share
from conformance.trial.challenge.challenge import drawn_runs, fuzz_calls, long_runs, takes_files
from conformance.trial.challenge.laws import drawn_instances
from conformance.trial.check import Verdict
from conformance.trial.client import Client, attempt, driver_of
from conformance.trial.fuzz import Fuzzing, fuzzings_of
from conformance.trial.fuzz.files import edited_trees
from conformance.trial.law import Law, LawTalk, Split, Tools, known_laws
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import load_corpus

NONCE, OTHER = "5eed" * 16, "0dd5" * 16
FEW = 12  # drawn calls of an operator; a certification asks more
LONG = 30  # seconds
MOST_CALLS, MOST_TEXT = 3000, 5_000_000  # of one drawn instance of a law; its calls, and the letters of their inputs
# A pure operator, one that keeps files, and a machine, for which the table is shown to know what it should.
PROVED = ("UML_OS.Checkpoint.CommitRun_v1", "UML_OS.Data.SeededBlockPermute_v1", "Pipeline.Provider")
SERVING = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import impl.serve; impl.serve.main(['reference'])"
OPERATORS = sorted(
    name for name, contract in shipped_library().contracts.items() if contract.machine is None or contract.own_machine
)


# A table of each takes four minutes of CPU.
FULL = os.environ.get("TALLY_CHALLENGE_FULL") == "1"
TRIED = OPERATORS if FULL else PROVED


@cache
def codebook() -> Codebook:
    return codebook_of(shipped_library())


def cases_of(operator: str) -> tuple[Case, ...]:
    return load_corpus(shipped_library().suite).cases.get(operator, ())


@pytest.fixture(scope="module")
def right() -> Iterator[Client]:
    """The reference in one process for all tests."""
    with Client(driver_of("reference", codebook())) as asked:
        yield asked


def wrong(backend: str, ways: Iterable[Fuzzing], right: Client, seed: str = "") -> set[str]:
    """The ways of fuzzing in which a backend is wrong, not those that so few calls leave unfinished."""
    found = set()
    with Client(Driver(resolve(backend, shipped_library().suite), DIALECTS["json"], codebook(), LONG, LONG)) as asked:
        for way in ways:
            cases = cases_of(way.contract.operator)
            result, _ = way.fuzz(cases, asked, right, codebook(), examples=FEW, seed=seed, trusted=False)
            if result.verdict is not Verdict.PASS and "reached too little" not in result.message:
                found.add(way.check.group)
    return found


def challenge_of(operator: str) -> Fuzzing:
    """The part of the challenge that every operator gets: drawn calls, or changed calls of frozen cases."""
    contract = shipped_library().contracts[operator]
    wanted = "calls" if takes_files(contract) else "again"
    (way,) = [one for one in challenges_of(contract, cases_of(operator)) if one.check.group == wanted]
    return way


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing costs more than asking, and a book has long inputs as it has short ones."""
    if not FULL:
        monkeypatch.setattr("conformance.trial.fuzz.machine.long_leaves", lambda _: ())
    monkeypatch.setattr(challenge, "_CALLS", FEW)
    monkeypatch.setattr(challenge, "DEFAULT_EXAMPLES", FEW)
    monkeypatch.setattr(challenge, "_PROGRAMS", FEW // 3)


@pytest.mark.parametrize("operator", TRIED)
def test_a_table_of_all_public_answers_fails(operator: str, tmp_path: Path, right: Client, few: None) -> None:
    """A small part of the challenge is enough.

    Of the usual fuzzing the drawn calls are written down; the listed ones are the same for every seed, and none of the
    challenge. For three operators all of it is.
    """
    book = str(tmp_path / "book")
    recorder, table = fake_command("table", book, sys.executable, "-P", "-c", SERVING), fake_command("table", book)
    challenge, contract = challenge_of(operator), shipped_library().contracts[operator]
    whole = operator in PROVED or takes_files(contract)
    usual = list(fuzzings_of(contract, cases_of(operator))) if whole else [challenge]
    if contract.machine is not None and not FULL:
        # No table has what a machine makes of damaged files: that depends on times as well.
        usual = [way for way in usual if way.check.group != "files"]
    assert not attempt(recorder, cases_of(operator), codebook(), LONG).wrong
    assert wrong(table, [challenge], right, NONCE), "of the corpus"
    assert not wrong(recorder, usual, right)
    assert wrong(table, [challenge], right, NONCE), "of the corpus and of the usual fuzzing"
    if operator in PROVED:
        calls = [way for way in usual if way.check.group == "fuzz"]  # none if files alone are fuzzed
        if calls:
            assert wrong(table, calls, right) == set(), "it is no table of all public answers"


# -- the liar


@pytest.mark.parametrize("sin", ["lies_the_second_time", "wrong_in_a_corner"])
def test_who_answers_differently_twice_fails_the_challenge(sin: str) -> None:
    contract = library().contracts[OPERATOR]
    (way,) = [one for one in challenges_of(contract, corpus().cases[OPERATOR]) if one.check.group == "again"]
    with client(sin) as asked, client("right") as right:
        result, _ = way.fuzz(corpus().cases[OPERATOR], asked, right, small_codebook(), seed=NONCE)
    assert (result.verdict, result.check.id) == (Verdict.FAIL, f"{OPERATOR}?again")


def test_a_challenge_does_not_read_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend runs with the rights of its user and could write there that no call can be asked."""

    def opened(room: str) -> Cache:
        raise AssertionError(room)

    monkeypatch.setattr("conformance.trial.fuzz.seed.open_cache", opened)
    contract, cases = library().contracts[OPERATOR], corpus().cases[OPERATOR]
    (way,) = [one for one in challenges_of(contract, cases) if one.check.group == "again"]
    with client("right") as asked, client("right") as right:
        result, figures = way.fuzz(cases, asked, right, small_codebook(), seed=NONCE)
    assert result.verdict is Verdict.PASS
    assert figures["unforeseen"] > 20


# -- what the nonce decides


def test_every_operator_gets_calls_that_only_the_nonce_decides(right: Client, few: None) -> None:
    """Of the bundled suite; the smallest number of unforeseen calls that an operator gets is far from none."""
    figures = {}
    for operator in OPERATORS:
        way = challenge_of(operator)
        cases = cases_of(operator)
        result, figures[way.check.id] = way.fuzz(cases, right, right, codebook(), examples=FEW, seed=NONCE)
        assert result.verdict is Verdict.PASS, (operator, result.message)
    assert newly_asked_share(figures).keys() == set(OPERATORS)
    assert min(newly_asked_share(figures).values()) >= FEW // 3


def test_a_changed_case_ends_with_a_call_that_may_leave_files_which_the_contract_leaves_open() -> None:
    recover, asked = "UML_OS.Checkpoint.RecoverRun_v1", Silent()
    contract = codebook()[recover].contract
    fuzz_calls(task_of(contract, cases_of(recover), asked, asked, codebook(), examples=12))
    assert asked.called
    assert all(sum(map(contract.owns, called)) == 1 for called in asked.called)


def test_an_operator_whose_only_inputs_are_roots_is_asked_about_changed_trees(
    right: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recover = "UML_OS.Checkpoint.RecoverRun_v1"
    contract, cases = shipped_library().contracts[recover], cases_of(recover)
    monkeypatch.setattr(challenge, "without_places", lambda _: Struct(()))
    tasks = [task_of(contract, cases, right, right, codebook(), examples=FEW, seed=nonce) for nonce in (NONCE, OTHER)]
    result, figures = fuzz_calls(tasks[0])
    assert (result.verdict, figures["unforeseen"] > FEW // 3) == (Verdict.PASS, True)
    made = [[example.edits for example in edited_trees(task, FEW)] for task in tasks]
    assert made[0] != made[1]


def test_another_nonce_asks_other_long_runs_and_the_same_nonce_the_same() -> None:
    found = 0
    for operator in OPERATORS:
        contract, cases = shipped_library().contracts[operator], cases_of(operator)
        if not long_runs(cases):
            continue
        runs, again, others = (list(drawn_runs(contract, cases, codebook(), seed)) for seed in (NONCE, NONCE, OTHER))
        assert runs == again
        assert all(run not in others and run not in long_runs(cases) for run in runs)
        found += len(runs)
    assert found >= 4


def test_a_law_is_drawn_with_parameters_that_no_other_run_has() -> None:
    tools, seen = Tools(codebook(), DIALECTS["json"]), 0
    for contract in shipped_library().contracts.values():
        for use in contract.laws:
            law = known_laws(shipped_library().suite)[use.law]
            usual = {instance.slug for instance in law.instances(tools, use)}
            slugs = [
                {one.slug for one in islice(drawn_instances(law, use, tools, Random(seed)), 2)}
                for seed in (NONCE, NONCE, OTHER)
            ]
            assert not usual & slugs[0]
            assert slugs[0] == slugs[1]
            seen += slugs[0] != slugs[2]
    assert seen >= 20


# -- what a drawn law costs


class Highest(Random):
    """Draws the largest number that may be drawn."""

    def randint(self, a: int, b: int) -> int:
        return b


def numbered(law: Law) -> bool:
    """Whether an instance may have a number beyond those that the contract lists."""
    return isinstance(law.split, Split) and bool(law.split.counts)


def few_calls(talk: LawTalk) -> Talk[tuple[int, int]]:
    """The number of calls of a talk and the letters of their inputs; it ends where they become too many."""
    calls = size = 0
    try:
        asked = next(talk)
        while calls <= MOST_CALLS and size <= MOST_TEXT:
            if not isinstance(asked, RestartRequest):
                calls += len(asked)
                size += sum(len(str(call.inputs)) for call in asked)
            asked = talk.send((yield asked))
    except StopIteration:
        pass
    return calls, size


@pytest.mark.parametrize(
    ("operator", "use"),
    [
        pytest.param(operator, use, id=f"{operator}-{use.law}")
        for operator, contract in shipped_library().contracts.items()
        for use in contract.laws
        if numbered(known_laws(shipped_library().suite)[use.law])
    ],
)
def test_the_highest_number_that_is_drawn_makes_no_law_long(operator: str, use: LawUse, right: Client) -> None:
    """A certification draws numbers far beyond the listed ones; a law whose calls grow with them would not end."""
    law = known_laws(shipped_library().suite)[use.law]
    instance = next(drawn_instances(law, use, Tools(codebook(), DIALECTS["json"]), Highest()))
    found = right.run(lambda: few_calls(instance.start()), instance.alone)
    assert not isinstance(found, Lost)
    calls, size = found
    assert 0 < calls <= MOST_CALLS
    assert size <= MOST_TEXT
