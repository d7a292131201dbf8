"""A backend that declares only some operators: a stand-in answers the other calls of a check."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.backend.carrier import StandIn
from conformance.backend.driver import RESTART, Call, Conversation, Driver
from conformance.backend.outcome import RawResult
from conformance.backend.resolve import resolve
from conformance.cli.main import status_of
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.tests.halving import BOTH, TWIN, backend, codebook, result_of, tried
from conformance.tests.processes import fake_command
from conformance.tests.shipped import shipped_library
from conformance.tests.small_corpus import OPERATOR, case, step
from conformance.tests.small_spec import SHIPPED
from conformance.trial.check import RunResult, Verdict
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.case import CallStep, Case, ExpectedResult, RestartStep
from conformance.vectors.frozen.corpus import Corpus, load_corpus
from conformance.vectors.frozen.vector_file import Index
from conftest import not_run

FAIL, ERROR = Verdict.FAIL, Verdict.ERROR
RIGHT = backend("right", operators=BOTH)
pytestmark = pytest.mark.usefixtures("no_diagnosis")


def own(name: str, half: str = "1") -> Any:
    """A step that the backend on trial answers."""
    return step(name, {"whole": "2"}, {"half": half})


def foreign(name: str, half: str = "1") -> Any:
    """A step that it does not declare."""
    return replace(own(name, half), operator=TWIN)


def mixed(*steps: Any) -> list[Case]:
    """One trace of the operator on trial."""
    return [case("mixed", *steps)]


def run_of(*steps: Any, own_sin: str = "right", stand_in: str = RIGHT, **options: Any) -> Any:
    return tried(backend(own_sin, operators=(OPERATOR,)), mixed(*steps), reference=stand_in, **options)


def test_what_is_not_declared_is_answered_by_the_stand_in() -> None:
    run = run_of(own("a"), foreign("b"), own("c"))
    assert run.conformant
    assert run.counts.not_applicable == 0
    wrong = run_of(own("a"), foreign("b"), stand_in=backend("zeros", operators=BOTH))
    assert result_of(wrong, "mixed").verdict is FAIL


def test_an_operator_that_is_not_declared_stays_not_applicable() -> None:
    run = tried(backend("right", operators=(TWIN,)), mixed(own("a"), foreign("b")), reference=RIGHT)
    assert result_of(run, "mixed").verdict is Verdict.NOT_APPLICABLE


def test_a_stand_in_that_is_wrong_before_the_backend_is_asked_leaves_no_judgement() -> None:
    run = run_of(foreign("a"), own("b"), stand_in=backend("zeros", operators=BOTH))
    assert run.empty
    assert "is wrong before the backend is asked anything" in run.obstacles[0]
    assert result_of(run, "mixed").verdict is ERROR


@pytest.mark.parametrize(("sin", "said"), [("leaves_when_called", "a crash"), ("sleeps_when_called", "a timeout")])
def test_a_stand_in_that_is_lost_is_the_backend_s_failure_once_that_was_asked(
    sin: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.trial.options.DEFAULT_TIMEOUT", 0.3)
    stand_in = backend(sin, operators=BOTH)
    before = run_of(foreign("a"), own("b"), stand_in=stand_in, timeout=0.3)
    assert before.obstacles
    assert not before.conformant
    after = run_of(own("a"), foreign("b"), stand_in=stand_in, timeout=0.3)
    assert not after.obstacles
    found = result_of(after, "mixed")
    assert found.verdict is FAIL
    assert f"is lost on what the backend left: {said}" in found.message


def test_a_reference_that_is_lost_in_fuzzing_leaves_no_judgement() -> None:
    stand_in = backend("leaves_on_six", operators=BOTH)
    run = tried(RIGHT, reference=stand_in, select=(f"{OPERATOR}?fuzz",), examples=40, profile="standard")
    assert run.results[0].verdict is ERROR
    assert run.obstacles[0].startswith(f"{OPERATOR}?fuzz: the reference")
    assert run.empty


def test_a_stand_in_that_cannot_answer_leaves_no_judgement_whatever_was_asked_before() -> None:
    for stand_in in (backend("right", operators=(OPERATOR,)), "python -c pass"):
        run = run_of(own("a"), foreign("b"), stand_in=stand_in)
        assert "cannot answer" in run.obstacles[0]
        assert run.empty


def test_a_restart_is_one_of_both(tmp_path: Path) -> None:
    counts = {side: str(tmp_path / side) for side in ("own", "other")}
    steps = (own("a"), foreign("b"), RestartStep(), own("c"), foreign("d"))
    run = tried(
        backend("counts", operators=(OPERATOR,), count=counts["own"]),
        mixed(*steps),
        reference=backend("counts", operators=BOTH, count=counts["other"]),
    )
    assert run.conformant
    assert [len(Path(file).read_bytes()) for file in counts.values()] == [2, 2]


def test_only_the_first_hello_says_what_is_declared() -> None:
    """A backend that lost its operators in a later hello would have all its work done by the stand-in."""
    command = resolve(backend("zeros", operators=(TWIN,)), SHIPPED)
    stand_in = StandIn(resolve(RIGHT, SHIPPED), 10.0)
    driver = Driver(command, DIALECTS["json"], codebook(), 10.0, stand_in=stand_in, declared=frozenset({OPERATOR}))

    def talk() -> Any:
        return (yield [Call(OPERATOR, {"whole": "2"})])

    (finished,) = driver.run([Conversation("one", talk)])
    assert finished.finding == [RawResult({"half": "0"})]


def test_a_loss_of_the_stand_in_that_does_not_come_again_is_no_judgement(tmp_path: Path) -> None:
    once = backend("leaves_once", operators=BOTH, count=str(tmp_path / "once"))
    run = run_of(own("a"), foreign("b"), stand_in=once)
    assert result_of(run, "mixed").verdict is Verdict.PASS
    assert "no check repeats it alone" in run.obstacles[0]


def test_the_operators_that_were_called_are_told_however_a_conversation_is_held() -> None:
    driver = Driver(resolve(RIGHT, SHIPPED), DIALECTS["json"], codebook(), 10.0)

    def talk() -> Any:
        yield [Call(OPERATOR, {"whole": "2"})]
        yield RESTART
        yield [Call(TWIN, {"whole": "2"})]

    for how in ({"alone": True}, {"alone": True, "in_step": True}):
        (finished,) = driver.run([Conversation("one", talk, **how)])
        assert finished.called == {OPERATOR, TWIN}


def test_a_method_declared_without_its_machine_is_no_hello() -> None:
    """Its handles would have to cross from one side to the other."""
    codes = codebook_of(shipped_library())
    assert codes.stray_method(["Stream.Open"]) == ("Stream.Open", "Stream")
    assert codes.stray_method(["Stream.Open", "Stream", "No.Such"]) is None


# -- shipped contracts

READ, WRITE = "UML_OS.Checkpoint.ReadContainer_v1", "UML_OS.Checkpoint.WriteContainer_v1"
RECOVER = "UML_OS.Checkpoint.RecoverRun_v1"


def partly(sin: str, *operators: str) -> str:
    """The command line of the reference that declares these operators only."""
    return fake_command("partly", sin, "reference", list(operators))


def shipped_run(backend: str, cases: Iterable[Case], **options: Any) -> RunResult:
    """Some cases of the shipped corpus alone, by vectors."""
    found = tuple(cases)
    corpus = Corpus({one.operator: tuple(c for c in found if c.operator == one.operator) for one in found}, Index({}))
    return run_trial(shipped_library(), corpus, RunOptions(backend=backend, profile="quick", **options))


def shipped_cases(operator: str) -> tuple[Case, ...]:
    return load_corpus(shipped_library().suite).cases[operator]


def test_a_reader_that_verifies_nothing_is_not_conformant_though_it_declares_nothing_else() -> None:
    """It was "CONFORMANT: 8 of 8" as long as a check counted only where all of its operators were declared."""
    cases = [case for case in shipped_cases(READ) if WRITE in case.operators][:12]
    honest = shipped_run(partly("none", READ), cases)
    assert honest.conformant
    assert honest.counts.run == 12
    assert honest.counts.not_applicable == 0
    believing = shipped_run(partly("believes", READ), cases)
    assert not believing.conformant
    assert not believing.obstacles


def test_a_recovery_that_rolls_everything_back_is_not_conformant() -> None:
    cases = [case for case in shipped_cases(RECOVER) if len(case.operators) > 1][:12]
    run = shipped_run(partly("rolls-back", RECOVER), cases)
    assert run.counts.run == 12
    assert not run.conformant
    assert not run.obstacles


def written_then_read() -> Case:
    """A case of the reader, kept as one of the writer: the stand-in reads what the backend on trial left."""
    (case, *_) = [
        case
        for case in shipped_cases(READ)
        if [getattr(step, "operator", "") for step in case.steps] == [WRITE, READ]
        and all(isinstance(step, CallStep) and isinstance(step.expected, ExpectedResult) for step in case.steps)
    ]
    return replace(case, id=case.id.replace(READ, WRITE), operator=WRITE)


def test_a_bad_writer_is_found_out_by_what_the_stand_in_reads_later() -> None:
    assert shipped_run(partly("none", WRITE), [written_then_read()]).conformant
    run = shipped_run(partly("empties", WRITE), [written_then_read()])
    (result,) = run.results
    assert (result.verdict, result.outcome) == (FAIL, "failure")
    assert result.call is not None
    assert result.call.operator == READ
    assert not run.conformant
    assert not run.obstacles


@pytest.mark.parametrize("sin", ["pipes", "endless", "zero-device"])
def test_nothing_that_a_backend_plants_holds_the_stand_in(sin: str) -> None:
    if sin == "zero-device" and os.geteuid() != 0:
        not_run("a device needs root")
    run = shipped_run(partly(sin, WRITE), [written_then_read()])
    (result,) = run.results
    assert result.verdict is FAIL
    assert result.outcome == "failure"  # refused by what it reads, not lost
    assert not run.obstacles


def test_an_operator_that_is_not_declared_is_not_explained_by_the_stand_in_s_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check = "UML_OS.Data.SeededBlockPermute_v1::pinned-orders::eight"
    assert status_of(["explain", "--backend", partly("none", READ), check]) == 2
    assert "T008 it does not declare what is asked: UML_OS.Data.SeededBlockPermute_v1" in capsys.readouterr().err
