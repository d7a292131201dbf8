"""`tally run` as its users meet it: verdicts, files, lists of expected failures, and backends that misbehave."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from conformance.cli import outputs
from conformance.cli.main import status_of
from conformance.report import writer
from conformance.report.record import Record, read_record
from conformance.report.writer import FORMATS, Format, Observations
from conformance.tests.cli.test_cli_house import edit
from conformance.tests.processes import ROOT
from conformance.tests.small_house import BAD, CONTRACT, OPERATOR, VECTORS

FEW = ("--profile", "quick", "-k", f"{OPERATOR}::pinned-orders")
WHY = ("--reason", "nine rounds are what the hardware does", "--issue", "https://example.org/issues/1")
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("no_diagnosis", "small")


@pytest.fixture
def small(built_once: Path, look_at: Callable[[Path], None]) -> None:
    """The command line looks at one operator and three mutants, which are read in a tenth of a second."""
    look_at(built_once)


def run(*arguments: str | Path, few: bool = True) -> int:
    return status_of(["run", *map(str, arguments), *(FEW if few else ())])


def program(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_the_reference_is_tried_where_no_backend_is_named(capsys: Capture) -> None:
    assert run() == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith("CONFORMANT in the selected checks: 4 checks, 1 of ")
    assert "reference: cases, laws and behaviour (4)" in printed.err


def test_a_wrong_backend_is_red_and_its_failures_can_be_repeated_by_the_printed_command(capsys: Capture) -> None:
    assert run("--backend", BAD) == 1
    printed = capsys.readouterr().out
    (command,) = {line for line in printed.splitlines() if line.startswith("repeat")}
    words = shlex.split(command.removeprefix("repeat"))
    assert words[:2] == ["tally", "run"]
    assert status_of(words[1:]) == 1
    again = capsys.readouterr().out
    assert f": {words[-1]}\n" in again


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("no-such-program --fast", "--backend 'no-such-program --fast': T001 command not found"),
        ("mutant:xyz", "there is no mutant 'xyz'"),
        ("mutant:seed-words-big", "did you mean seed-words-big-endian?"),
        ("python:no_such_module", "there is no module 'no_such_module'"),
    ],
)
def test_a_backend_that_is_not_there_is_no_judgement(backend: str, said: str, capsys: Capture) -> None:
    assert status_of(["run", "--backend", backend, "--profile", "quick"]) == 2
    assert said in capsys.readouterr().err


def test_a_backend_that_says_no_hello_is_red_and_its_stderr_is_shown(capsys: Capture) -> None:
    backend = program("import sys; sys.stdin.readline(); sys.stderr.write('no licence\\n'); sys.exit(3)")
    assert run("--backend", backend) == 1
    said = capsys.readouterr().err
    assert "T002 the backend exited (3) before the handshake" in said
    assert "    | no licence" in said


def test_a_command_that_ends_before_it_reads_anything_is_no_judgement(capsys: Capture) -> None:
    assert run("--backend", shlex.join([sys.executable, "no-such-file.py"])) == 2
    said = capsys.readouterr().err
    assert "T002 the backend exited (2) before the handshake" in said
    assert "is the command right?" in said


def test_a_required_operator_that_is_not_declared_is_red(
    tmp_path: Path, look_at: Callable[[Path], None], capsys: Capture
) -> None:
    look_at(ROOT)
    assert status_of(["new-backend", "--language", "python", "--operator", "EncodeCursors_v1", str(tmp_path)]) == 0
    command = shlex.join([sys.executable, str(tmp_path / "backend.py")])
    assert run("--backend", command, "--require", OPERATOR, "--output", tmp_path) == 1
    assert f"NOT CONFORMANT in the selected checks: required, but not declared: {OPERATOR}; " in capsys.readouterr().out
    assert read_record((tmp_path / "record.json").read_bytes())["missing"] == [OPERATOR]
    assert run("--backend", command, "--require", "all") == 1
    assert run("--require", "all") == 0


def test_an_operator_that_no_contract_has_cannot_be_required(
    look_at: Callable[[Path], None], capsys: Capture
) -> None:
    look_at(ROOT)
    for name, meant in (("EncodeCursor_v1", "EncodeCursors_v1"), ("Stream.Open", "Stream")):
        assert run("--require", "all", "--require", name) == 2
        assert meant in capsys.readouterr().err


def test_nothing_selected_is_no_judgement(capsys: Capture) -> None:
    assert status_of(["run", "--profile", "quick", "-k", "no-such-check"]) == 2
    assert capsys.readouterr().out.splitlines()[-1].startswith("NO JUDGEMENT: nothing ran")


def test_a_backend_that_declares_none_of_the_selected_operators_is_no_judgement(
    tmp_path: Path, look_at: Callable[[Path], None], capsys: Capture
) -> None:
    look_at(ROOT)
    assert status_of(["new-backend", "--language", "python", "--operator", "EncodeCursors_v1", str(tmp_path)]) == 0
    assert run("--backend", shlex.join([sys.executable, str(tmp_path / "backend.py")])) == 2
    assert "4 not applicable" in capsys.readouterr().out


def test_a_new_backend_fails_its_first_vector_and_says_what_is_missing(tmp_path: Path, capsys: Capture) -> None:
    assert status_of(["new-backend", "--language", "python", "--operator", OPERATOR, str(tmp_path)]) == 0
    assert run("--backend", shlex.join([sys.executable, str(tmp_path / "backend.py")])) == 1
    assert "'not written yet: seeded_block_permute in operators.py'" in capsys.readouterr().out


def test_one_unfit_backend_does_not_take_the_others_down(capsys: Capture) -> None:
    mute = program("input()")  # reads the hello and leaves
    assert run("--backend", mute, "--backend", "reference") == 1
    printed = capsys.readouterr()
    assert "T002" in printed.err
    assert "CONFORMANT in the selected checks" in printed.out


def test_the_record_is_written_where_asked_and_pages_beside_it(tmp_path: Path) -> None:
    assert run("--output", tmp_path / "out", "--format", "junit", "--format", "text") == 0
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["junit.xml", "observations.json", "record.json", "report.txt"]
    record = read_record((tmp_path / "out" / "record.json").read_bytes())
    assert record.verdict == "CONFORMANT"
    assert record["counts"]["run"] == 4
    assert ET.parse(tmp_path / "out" / "junit.xml").getroot().get("tests") == "4"


def test_a_format_goes_to_the_file_that_is_named_and_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--format", "json=out/a.json", "--format", "ctrf=b.json") == 0
    assert sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.*")) == ["b.json", "out/a.json"]
    assert read_record((tmp_path / "out" / "a.json").read_bytes()).verdict == "CONFORMANT"


def test_a_file_of_one_record_is_no_place_for_two_backends(tmp_path: Path, capsys: Capture) -> None:
    both = ("--backend", "reference", "--backend", BAD)
    assert run(*both, "--format", f"ctrf={tmp_path / 'a'}") == 2
    assert "one file of this format shows one backend" in capsys.readouterr().err
    assert run(*both, "--format", f"markdown={tmp_path / 'a'}") == 1
    assert f"| `{OPERATOR}` | 4/4 pass | 1/4 FAIL |" in (tmp_path / "a").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "nonsense"], "'nonsense' is not one of badge, ctrf, "),
        (["--format", "json="], "'json=' has no path"),
        (["--format", "badge=-", "--format", "ctrf=-"], "another file of this run goes to the same place"),
        (["--format", "badge=gone/a", "--format", "ctrf=gone/../gone/a"], "another file of this run goes to the same"),
        (["--format", "badge", "--format", "html=reports/last/record.json"], "another file of this run goes to the"),
        (["-k", ""], "-k needs a pattern"),
        (["--update-expected"], "--update-expected needs --expected-failures"),
        (["--backend", BAD, "--expected-failures", "new.yaml", "--update-expected"], "T006"),
    ],
)
def test_options_that_mean_nothing_are_a_usage_error(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert said in " ".join(printed.err.split())
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "ctrf=a-file/x"],
        ["--format", "ctrf=a-folder"],
        ["--output", "a-file/reports"],
        ["--output", "n" * 300],
        ["--output", "with-a-record"],
    ],
    ids=lambda words: words[-1][:20],
)
def test_a_place_that_takes_no_file_is_known_before_anything_runs(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").write_text("mine")
    Path("a-folder").mkdir()
    Path("with-a-record/record.json").mkdir(parents=True)
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert "T011 cannot be written" in printed.err
    assert "Traceback" not in printed.err
    assert "cases, laws" not in printed.err


def test_an_old_report_does_not_outlive_a_run_that_judges_nothing(tmp_path: Path) -> None:
    file = tmp_path / "badge.json"
    assert run("--format", f"badge={file}") == 0
    assert file.exists()
    assert run("--format", f"badge={file}", "--backend", "no-such-program") == 2
    assert not file.exists()


def test_a_part_and_the_whole_merge_to_the_whole(tmp_path: Path) -> None:
    part, whole, merged = (tmp_path / name for name in ("part.json", "whole.json", "merged.json"))
    assert run("--format", f"json={part}") == 0
    assert run("--profile", "quick", "--format", f"json={whole}", few=False) == 0
    assert status_of(["report", "merge", str(part), str(whole), "--output", str(merged)]) == 0
    assert merged.read_bytes() == whole.read_bytes()
    counts = read_record(whole.read_bytes())["counts"]
    assert counts["loaded"] == counts["selected"]


def lenient(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """A writer that would like another verdict."""
    for record in records:
        members = cast(dict[str, Any], record.members)
        members["verdict"] = members["sentence"] = "CONFORMANT"
    return "fine"


def test_a_writer_cannot_change_the_verdict(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Format("fine.txt", f"{__name__}:lenient")
    monkeypatch.setattr(outputs, "FORMATS", {"badge": bad, "json": FORMATS["json"]})
    monkeypatch.setattr(writer, "FORMATS", {"badge": bad, "json": FORMATS["json"]})
    wanted = ("--format", "badge", "--output", tmp_path, "--format", f"badge={tmp_path / 'a'}")
    assert run("--backend", BAD, *wanted, "--format", f"json={tmp_path / 'b'}") == 1
    assert "NOT CONFORMANT in the selected checks" in capsys.readouterr().out
    for file in (tmp_path / "record.json", tmp_path / "b"):
        assert read_record(file.read_bytes()).verdict == "NOT CONFORMANT"


def test_every_backend_has_its_own_folder_where_there_are_several(tmp_path: Path) -> None:
    assert run("--backend", "reference", "--backend", BAD, "--output", tmp_path) == 1
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["mutant-philox-nine-rounds", "reference"]


def test_backends_whose_names_look_alike_do_not_overwrite_each_other(tmp_path: Path) -> None:
    assert run("--backend", program("pass"), "--backend", program("pass;"), "--output", tmp_path) == 2
    first, second = sorted(folder.name for folder in tmp_path.iterdir())
    assert second == f"{first}-again"


def test_a_list_that_cannot_be_written_is_a_complaint(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a-file").write_text("mine")
    file = tmp_path / "a-file" / "expected.yaml"
    assert run("--backend", BAD, "--expected-failures", file, "--update-expected", *WHY) == 2
    assert "T011 cannot be written" in capsys.readouterr().err


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_list_excuses_what_it_names_and_nothing_else(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "expected.yaml"
    assert run("--backend", BAD, "--expected-failures", file, "--update-expected", *WHY) == 0
    assert run("--backend", BAD, "--expected-failures", file) == 0
    assert "3 checks failed as expected" in capsys.readouterr().out
    assert run("--backend", "reference", "--expected-failures", file) == 1
    assert "listed as an expected failure, but passes" in capsys.readouterr().out
    file.write_text(file.read_text().replace('::eight"', '::eighty"'))
    assert run("--backend", BAD, "--expected-failures", file) == 1
    printed = capsys.readouterr().out
    assert f"no check has this id: {OPERATOR}::pinned-orders::eighty" in " ".join(printed.split())
    assert f"{OPERATOR}::pinned-orders::eight\n" in printed


def test_an_update_of_a_part_keeps_what_it_did_not_try(tmp_path: Path) -> None:
    file = tmp_path / "expected.yaml"
    assert run("--backend", BAD, "--expected-failures", file, "--update-expected", *WHY) == 0
    whole = file.read_text()
    assert whole.count("- check:") == 3
    eight = ("--profile", "quick", "-k", f"{OPERATOR}::pinned-orders::eight")
    assert run("--backend", BAD, "--expected-failures", file, "--update-expected", *eight, few=False) == 0
    assert file.read_text() == whole
    assert run("--backend", "reference", "--expected-failures", file, "--update-expected", *eight, few=False) == 0
    assert file.read_text().count("- check:") == 2


def test_a_malformed_list_is_named_with_its_place_and_nothing_runs(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "expected.yaml"
    file.write_text("- check: A::b\n  reason: short\n  issue: none\n")
    assert run("--expected-failures", file) == 2
    printed = capsys.readouterr()
    assert f"{file}:2:11: X002" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("type: bytes16", "type: bytes17", "C003 unknown type 'bytes17'"),
        ("type: bytes16", f"type: {'list<' * 3000}uint8{'>' * 3000}", "C003 a type of more than 16 types"),
        ("else: CONTRACT_VIOLATION", "else: CONTRACT_VIOLATON", "did you mean CONTRACT_VIOLATION"),
        ("else: CONTRACT_VIOLATION", "else: CONTRACT_VIOLATION\n  else: X", "C001 duplicate key 'else'"),
        ("num_blocks > 0u", "num_blocks > 0", "C004"),
        ("purity: pure", "purity: [pure", "C001 bad YAML"),
    ],
)
def test_a_malformed_contract_stops_everything(
    old: str, new: str, said: str, built: Path, tmp_path: Path, capsys: Capture
) -> None:
    edit(built / CONTRACT, old, new)
    assert run("--output", tmp_path / "out") == 2
    printed = capsys.readouterr()
    assert f"spec/data/{OPERATOR}.yaml:" in printed.err
    assert said in printed.err
    assert printed.out == ""
    assert not (tmp_path / "out").exists()


def test_an_altered_vector_stops_everything(built: Path, capsys: Capture) -> None:
    edit(built / VECTORS, '"0"', '"1"')
    assert run() == 2
    assert f"vectors/data/{OPERATOR}.json: T004 case" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000])
def test_an_index_that_is_none_stops_everything(text: str, built: Path, capsys: Capture) -> None:
    (built / "vectors" / "index.json").write_text(text)
    assert run() == 2
    said = capsys.readouterr().err
    assert "vectors/index.json: T004 " in said
    assert "Traceback" not in said


def test_cases_without_a_contract_stop_everything(built: Path, capsys: Capture) -> None:
    other = "spec/data/UML_OS.Data.SeededIntraBlockMap_v1.yaml"
    (built / CONTRACT).rename(built / other)
    shutil.copy(ROOT / other, built / other)
    (built / "spec" / "data" / "mutants.yaml").unlink()
    assert run() == 2
    said = capsys.readouterr().err
    assert f"vectors: T004 there are cases of {OPERATOR}, but no contract" in said


def test_an_empty_corpus_is_no_judgement(built: Path, capsys: Capture) -> None:
    (built / "vectors" / "index.json").unlink()
    assert run() == 2
    assert "T004 there are no vectors here" in capsys.readouterr().err
