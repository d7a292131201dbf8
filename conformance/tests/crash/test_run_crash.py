"""`tally run --crash`: the crash workloads of the declared operators are checks like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.report.record import Record, encode_record, read_record, record_of
from conformance.tests.crash_store import library, writer
from conformance.trial.check import Kind, RunResult, Verdict
from conformance.trial.crash import trial as crash_trial
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.vector_file import Index

GOOD = writer("single_file", "control")
NO_SYNC = writer("single_file", "no-fsync-of-the-file")
REPLACED = "Store.Save_v1%replaced"


@pytest.fixture(autouse=True)
def strace(tool: Callable[[str], str]) -> str:
    return tool("strace")


def tried(backend: str, crash: bool = True, **options: Any) -> RunResult:
    chosen: dict[str, Any] = {"profile": "quick", "select": ("%replaced", "%two-folders"), **options}
    return run_trial(library(), Corpus({}, Index({})), RunOptions(backend, reference=GOOD, crash=crash, **chosen))


def record(run: RunResult) -> Record:
    return read_record(encode_record(record_of(run, library())))


def test_the_level_that_is_reached_stands_in_record_and_verdict() -> None:
    run = tried(GOOD)
    by_id = {result.check.id: result for result in run.results}
    assert by_id[REPLACED].verdict is Verdict.PASS
    assert by_id[REPLACED].check.kind is Kind.CRASH
    assert by_id["Store.Publish_v1%two-folders"].verdict is Verdict.NOT_APPLICABLE
    seen = run.observations["crash_states"][REPLACED]
    assert list(seen) == ["kill", "ext4", "posix"]
    assert all(0 < counts["tried"] <= counts["total"] and counts["bad"] == 0 for counts in seen.values())
    assert run.observations["durations"][REPLACED] > 0
    judged = record(run)
    assert judged["crash"] == {REPLACED: {"asked": "posix", "reached": "posix", "sampled": True}}
    assert judged.sentence.endswith("crash safety posix in 1 workload, a sample of states")
    assert encode_record(judged) == encode_record(record(tried(GOOD)))


def test_a_level_below_the_one_asked_for_is_red() -> None:
    run = tried(NO_SYNC)
    (result,) = [one for one in run.results if one.check.id == REPLACED]
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith("crash level kill, posix is asked for: ")
    seen = run.observations["crash_states"][REPLACED]
    assert (seen["kill"]["bad"], seen["ext4"]["bad"] > 0) == (0, True)
    judged = record(run)
    assert judged.verdict == "NOT CONFORMANT"
    assert "crash safety kill in 1 workload" in judged.sentence


def test_what_cannot_be_traced_leaves_no_judgement(monkeypatch: pytest.MonkeyPatch) -> None:
    def untraceable(*_: Any) -> Any:
        raise Untraceable("it maps a file")

    monkeypatch.setattr(crash_trial, "try_workload", untraceable)
    judged = record(tried(GOOD))
    assert judged.verdict == "NO JUDGEMENT"
    assert judged.sentence == f"NO JUDGEMENT: {REPLACED}: untraceable: it maps a file"
    assert judged["crash"][REPLACED]["reached"] == ""


def test_without_being_asked_nothing_is_crashed_and_the_record_says_so() -> None:
    run = tried(GOOD, crash=False)
    assert not run.results
    assert record(run)["crash"] == "not tried"
