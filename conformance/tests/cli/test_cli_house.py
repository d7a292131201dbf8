"""`tally vectors`, `tally lint` and `tally mutants` over a small copy of the house."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import conformance.cli.mutants
import conformance.trial.mutants.floor
from conformance.cli.known_failures import remember
from conformance.cli.main import status_of
from conformance.tests.small_house import CONTRACT, KEPT, OPERATOR, VECTORS, furnish
from conformance.tests.small_spec import suite_at
from conformance.trial.mutants.trivial import TRIVIAL

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def house(tmp_path: Path, look_at: Callable[[Path], None]) -> Path:
    """The small house, where the command line looks."""
    furnish(tmp_path)
    look_at(tmp_path)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_a_build_writes_vectors_index_and_lock_and_a_second_one_nothing(house: Path, capsys: Capture) -> None:
    assert status_of(["vectors", "build"]) == 0
    assert f"wrote {VECTORS}" in capsys.readouterr().out
    assert (house / "spec" / "contracts.lock").is_file()
    assert status_of(["vectors", "build"]) == 0
    assert capsys.readouterr().out.endswith("74 cases, 74 kept as frozen; 0 files changed\n")
    assert status_of(["vectors", "check"]) == 0
    assert "74 cases regenerated or kept: unchanged" in capsys.readouterr().out


def test_a_value_that_two_derivations_do_not_share_is_not_written(house: Path, capsys: Capture) -> None:
    edit(house / CONTRACT, "- 7\n      - 4", "- 4\n      - 7")
    assert status_of(["vectors", "build"]) == 1
    printed = capsys.readouterr().err
    assert f"{CONTRACT}:" in printed
    assert "nothing was written" in printed
    assert not (house / "vectors").exists()


def test_a_touched_vector_is_found_by_its_line(built: Path, capsys: Capture) -> None:
    edit(built / VECTORS, "why", "wny")
    assert status_of(["vectors", "check"]) == 1
    assert f"{VECTORS}:1:1: V00" in capsys.readouterr().err


def test_a_diff_names_what_changed_by_operator_and_requirement(built: Path, capsys: Capture) -> None:
    assert status_of(["vectors", "diff"]) == 0
    assert capsys.readouterr().out == "74 cases: unchanged\n"
    edit(built / CONTRACT, "- 65\n", "- 66\n")
    assert status_of(["vectors", "diff", "--cases"]) == 1
    printed = capsys.readouterr().out
    assert f"{OPERATOR} N11: 4 added, 4 removed" in printed
    assert f"    added {OPERATOR}::sizes::num_blocks=66,epoch_seed=ascending" in printed


def test_a_malformed_contract_leaves_everything_as_it_was(built: Path, capsys: Capture) -> None:
    before = {file: file.read_bytes() for file in sorted(built.rglob("*.json"))}
    edit(built / CONTRACT, "type: bytes16", "type: bytes17")
    for command in ("vectors build", "vectors check", "vectors diff", "lint --coverage", "mutants"):
        assert status_of(command.split()) == 2
        assert f"{CONTRACT}:" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in sorted(built.rglob("*.json"))} == before


@pytest.mark.parametrize("format_", ["text", "json", "sarif"])
def test_lint_reports_a_finding_in_every_format(format_: str, built: Path, capsys: Capture) -> None:
    assert status_of(["lint", "--format", format_]) == 1
    printed = capsys.readouterr().out
    if format_ == "text":
        assert f"{CONTRACT}:" in printed
        assert "findings in 1 contract and 74 cases" in printed
    elif format_ == "json":
        assert json.loads(printed)["findings"]
    else:
        assert json.loads(printed)["runs"][0]["results"]


@pytest.mark.parametrize("format_", ["text", "json", "sarif"])
def test_lint_reports_a_malformed_contract_in_every_format(format_: str, built: Path, capsys: Capture) -> None:
    edit(built / CONTRACT, "type: bytes16", "type: bytes17")
    assert status_of(["lint", "--format", format_]) == 2
    printed = capsys.readouterr().out
    assert "C003" in printed
    assert format_ == "text" or json.loads(printed)


def test_lint_holds_the_corpus_to_the_lock(built: Path, capsys: Capture) -> None:
    edit(built / "spec" / "contracts.lock", '"cases": 74', '"cases": 75')
    assert status_of(["lint"]) == 1
    assert f"V010 {OPERATOR} has 74 cases" in capsys.readouterr().out


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants and trivial backends answer alike every time (other tests hold them to it); asking them costs seconds.

    One trivial backend stands for all. The measuring is done in this process, because a child would take what it knows
    with it.
    """
    monkeypatch.setattr(conformance.cli.mutants, "in_child_process", lambda work, progress: work(progress))
    monkeypatch.setattr(conformance.trial.mutants.floor, "TRIVIAL", TRIVIAL[:1])
    for name in ("measure_matrix", "measure_floor"):
        monkeypatch.setattr(conformance.cli.mutants, name, _once(getattr(conformance.cli.mutants, name)))


def _once(measure: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def once(library: Any, cases: Any, *rest: Any, **options: Any) -> Any:
        key = tuple(rest[0]) if rest and isinstance(rest[0], tuple) else ()
        if key not in known:
            known[key] = measure(library, cases, *rest, **options)
        return known[key]

    return once


@pytest.mark.usefixtures("measured_once")
def test_mutants_are_killed_written_and_compared(built: Path, capsys: Capture) -> None:
    assert status_of(["mutants", *KEPT]) == 0
    printed = capsys.readouterr().out
    assert "control                control alive     0 of 74" in printed
    assert "philox-nine-rounds     killed" in printed
    assert status_of(["mutants"]) == 1
    assert "hint: run `tally mutants --write`" in capsys.readouterr().out
    assert status_of(["mutants", "--write"]) == 0
    assert sorted(file.name for file in (built / "reports").iterdir()) == ["floor.json", "kill-matrix.json"]
    assert status_of(["mutants"]) == 0
    edit(built / "reports" / "kill-matrix.json", '"status": "killed"', '"status": "survived"')
    assert status_of(["mutants"]) == 1
    assert "was survived, is killed" in capsys.readouterr().out


def test_a_mutant_that_no_case_notices_is_red(built: Path, capsys: Capture) -> None:
    harmless = "patch: {file: philox.py, find: the counter-based generator, replace: a counter-based generator}"
    edit(built / "spec" / "data" / "mutants.yaml", "control: true", harmless)
    assert status_of(["mutants", "control"]) == 1
    assert "red: control survived: no frozen case notices" in capsys.readouterr().out


def test_nobody_is_judged_by_contracts_that_lint_finds_fault_with(built: Path, capsys: Capture) -> None:
    # The small house has no requirement files, so every clause hangs in the air.
    assert status_of(["run"]) == 2
    said = capsys.readouterr().err
    assert "spec: T010 lint has" in said
    assert "run `tally lint`" in said
    assert status_of(["run", "--profile", "quick"]) == 0


@pytest.mark.parametrize("failed", [{}, {"a check that is gone": True}])
def test_a_verdict_on_all_checks_needs_clean_contracts_also_where_no_check_failed_last(
    failed: dict[str, bool], built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("TALLY_CACHE", str(tmp_path / "cache"))
    remember(suite_at(built), "reference", failed)
    assert status_of(["run", "--last-failed", "--fuzz-examples", "1", "--output", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert "spec: T010 lint has" in printed.err
    assert "CONFORMANT" not in printed.out
    assert not (tmp_path / "out" / "record.json").exists()


def test_parts_that_make_a_whole_need_clean_contracts(built: Path, tmp_path: Path, capsys: Capture) -> None:
    part = str(tmp_path / "part.json")
    assert status_of(["run", "-k", "*", "--fuzz-examples", "1", "--format", f"json={part}"]) == 0
    assert status_of(["report", "merge", part]) == 2
    printed = capsys.readouterr()
    assert "spec: T010 lint has" in printed.err
    assert '"verdict"' not in printed.out
