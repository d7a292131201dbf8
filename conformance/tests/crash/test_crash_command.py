"""`tally crash`, and what it says where nothing can be judged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.backend.outcome import Failure, Outcome, RawResult
from conformance.cli.main import status_of
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import load_library
from conformance.tests import crash_store, small_spec
from conformance.tests.crash_store import CONTRACTS, ERRORS, writer
from conformance.trial.crash.workload import AnswerKind, WorkloadClient, WorkloadStep, crash_workloads
from conformance.vectors.draft import Unusable

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path, look_at: Callable[[Path], None]) -> Path:
    """The contracts of the writers, where the command line looks."""
    others = {"errors.yaml": ERRORS} | {f"store/Store.{name}_v1.yaml": text for name, text in CONTRACTS.items()}
    small_spec.write_spec(tmp_path, others=others)
    look_at(tmp_path)
    return tmp_path


@pytest.fixture
def strace(tool: Callable[[str], str]) -> str:
    return tool("strace")


def crash(*arguments: str) -> int:
    """The exit status of one command line."""
    return status_of(["crash", *arguments])


def test_workloads_are_listed_with_the_level_that_they_ask_for(store: Path, capsys: Capture) -> None:
    assert crash("--list") == 0
    line = "Store.Save_v1%three-saves  (posix)  One file is saved three times under one name.\n"
    assert line in capsys.readouterr().out


@pytest.mark.usefixtures("strace")
def test_a_full_trial_states_the_level(store: Path, capsys: Capture) -> None:
    output = store / "reports" / "crash.json"
    backend = writer("single_file", "control")
    assert crash("--backend", backend, "--workload", "replaced", "--full", "--output", str(output)) == 0
    printed = capsys.readouterr().out
    assert "  posix  0 bad of 22 states tried, of 22\n" in printed
    assert printed.endswith("  level: posix, posix is asked for\n")
    (report,) = json.loads(output.read_text())
    assert (report["level"], report["satisfied"], report["first_bad"]) == ("posix", True, None)
    assert report["states"]["kill"] == {"bad": {}, "total": 6, "tried": 6}


@pytest.mark.usefixtures("strace")
def test_a_bad_state_is_shown_with_its_operations_and_the_status_is_1(store: Path, capsys: Capture) -> None:
    arguments = ["--backend", writer("single_file", "no-fsync-of-the-file"), "--workload", "replaced", "--states", "20"]
    assert crash(*arguments) == 1
    printed = capsys.readouterr().out
    assert "LOST       write store/kept.tmp [20, 40)" in printed
    assert "no level stated, already bad under ext4, posix is asked for; --full tries every state" in printed
    assert crash(*arguments, "--model", "kill") == 0


@pytest.mark.usefixtures("strace")
def test_a_workload_may_ask_for_less_than_posix(store: Path, capsys: Capture) -> None:
    file = store / "spec/store/Store.Save_v1.yaml"
    file.write_text(file.read_text().replace("  - name: replaced\n", "  - name: replaced\n    level: kill\n"))
    assert crash("--backend", writer("single_file", "no-fsync"), "--workload", "replaced", "--full") == 0
    assert capsys.readouterr().out.endswith("  level: kill, kill is asked for\n")


@pytest.mark.usefixtures("strace")
def test_what_cannot_be_traced_is_no_judgement(store: Path, capsys: Capture) -> None:
    assert crash("--backend", writer("single_file", "shared-mapping"), "--workload", "replaced") == 2
    told = capsys.readouterr().err
    assert "T011 untraceable: a shared writable mapping of store/kept.tmp" in told
    assert "change the files by calls that are modelled, such as write and rename" in told


def test_without_strace_nothing_is_run(store: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    only = store / "bin"
    only.mkdir()
    (only / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    monkeypatch.setenv("PATH", str(only))
    assert crash("--backend", writer("single_file", "control"), "--workload", "replaced") == 2
    assert "T010 not run: strace not found" in capsys.readouterr().err


def test_a_strace_that_may_not_trace_is_not_run(store: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = store / "strace"
    forbidden.write_text("#!/bin/sh\necho 'strace: ptrace(PTRACE_TRACEME): Operation not permitted' >&2\nexit 1\n")
    forbidden.chmod(0o755)
    monkeypatch.setenv("PATH", f"{store}:/usr/bin:/bin")
    assert crash("--backend", writer("single_file", "control"), "--workload", "replaced") == 2
    assert "not run: strace cannot trace here: strace: ptrace(PTRACE_TRACEME)" in capsys.readouterr().err


def test_an_unknown_workload_is_told_its_neighbour(store: Path, capsys: Capture) -> None:
    assert crash("--workload", "tree-saves") == 2
    assert "did you mean three-saves?" in capsys.readouterr().err


def test_a_backend_without_the_operators_is_not_applicable_and_nothing_ran(store: Path, capsys: Capture) -> None:
    assert crash("--backend", writer("whole_folder", "control"), "--workload", "replaced") == 2
    said = capsys.readouterr()
    assert "not applicable" in said.out
    assert "nothing ran" in said.err


def test_full_and_a_number_of_states_exclude_each_other(store: Path, capsys: Capture) -> None:
    assert crash("--full", "--states", "3") == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("call: Store.Load_v1", "call: Store.Lode_v1", "unknown operator 'Store.Lode_v1'"),
        ("path: kept.tmp", "path: ../kept.tmp", "leaves its root"),
        ("path: kept.tmp", "path: /kept.tmp", "leaves its root"),
        ('bytes: "ff"', 'bytes: "fg"', "not hexadecimal"),
        ("{step: second, ", "{step: first, ", "the step 'first' occurs twice"),
        ("set: {root: {root: store}, name", "set: {root: {root: /tmp}, name", "the name of a root"),
        ("{root: store, files: kept}", "{root: store, files: kept, where: lode}", "names no earlier step"),
        ("step: second, ", "step: second, use: {content: third.size}, ", "names no earlier step"),
        ("step: second, ", "step: second, use: {content: first.sise}, ", "has no output 'sise'"),
        ("step: again, set: {root: {root: store}, name", "step: again, set: {root: {root: store}, nome", "nome"),
    ],
)
def test_a_mistake_in_a_workload_is_found_at_its_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = CONTRACTS["Save"]
    assert old in text
    others = {f"store/Store.{name}_v1.yaml": one for name, one in CONTRACTS.items()}
    others |= {"errors.yaml": ERRORS, "store/Store.Save_v1.yaml": text.replace(old, new, 1)}
    library = load_library(small_spec.write_spec(tmp_path, others=others))
    with pytest.raises(Unusable) as caught:
        list(crash_workloads(library, codebook_of(library)))
    assert said in caught.value.problem.message
    assert caught.value.problem.position.line > text.count("\n", 0, text.index("workloads:"))


def test_the_version_that_must_not_be_lost_is_that_of_the_last_acknowledged_step() -> None:
    plan = crash_store.plan("three-saves")
    assert [plan.floor(answers) for answers in range(4)] == [0, 1, 2, 3]
    first, second, third = plan.steps
    loose = replace(plan, steps=(first, replace(second, acknowledged=False), third))
    assert [loose.floor(answers) for answers in range(4)] == [0, 1, 1, 3]


def test_nothing_there_is_said_by_a_code_or_by_fields_of_the_answer() -> None:
    step = crash_store.plan("three-saves").verify[0]
    assert isinstance(step, WorkloadStep)
    questioner = WorkloadClient(crash_store.codebook(), DIALECTS["json"])
    record = {"failure_code": "META_MISSING", "failure_operator": "Store.Load_v1"}
    missing = Failure(1202, "META_MISSING", record)

    def kind(*absent: str | Mapping[str, str], outcome: Outcome = missing) -> AnswerKind:
        return questioner.answer(replace(step, absent=absent), outcome).kind

    assert kind("META_MISSING") is AnswerKind.ABSENT
    assert kind({"failure_operator": "Store.Load_v1"}) is AnswerKind.ABSENT
    assert kind({"failure_operator": "Store.Save_v1"}) is AnswerKind.FAILURE
    assert kind("CONTRACT_VIOLATION") is AnswerKind.FAILURE
    assert kind() is AnswerKind.FAILURE
    assert kind({"content": ""}, outcome=RawResult({"content": ""})) is AnswerKind.ABSENT
    assert kind({"content": "00"}, outcome=RawResult({"content": ""})) is AnswerKind.RESULT
    assert kind({"content": ""}, outcome=RawResult({"content": 7})) is AnswerKind.BAD
