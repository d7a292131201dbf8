"""The command line as a whole: quick to start, and its exit status means one thing everywhere."""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.cli.console import CommandError, nearest
from conformance.contract.yaml.source import MalformedContract, Position, Problem
from conformance.tests.processes import ROOT, python

HEAVY = ("cel_expr_python", "numpy", "hypothesis", "rich", "jsonschema", "cbor2", "yaml", "pytest")


def test_the_version_imports_nothing_heavy() -> None:
    code = "import sys\nfrom conformance.cli.main import status_of\nstatus_of(['--version'])\nstatus_of(['--help'])\n"
    code += f"print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python("-c", code).stdout.splitlines()[-1] == "[]"


def test_ctrl_c_while_the_modules_are_imported_ends_as_later(tmp_path: Path) -> None:
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["tally"]
    module, _, function = script.partition(":")
    (tmp_path / "click.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom {module} import {function}\n{function}()"
    done = python("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "interrupted: no judgement\n")


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["run", "--nonsense"], ["run", "--profile", "fast"], ["schema", "a", "b"]]
)
def test_a_usage_error_has_a_code_and_is_no_judgement(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.status_of(arguments) == 2
    command = "tally" if arguments == ["nonsense"] else f"tally {arguments[0]}"
    said = capsys.readouterr().err
    assert said.startswith(f"{command}: T006 ")
    assert said.endswith(f"\n    hint: `{command} --help` says what it takes\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--output="],
        ["run", "--suite", ""],
        ["init", ""],
        ["keys", "new", ""],
        ["report", "show", ""],
        ["verify", "x", "--artifact", ""],
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such is what a shell makes of a variable that is not set."""
    monkeypatch.chdir(tmp_path)
    assert main.status_of(arguments) == 2
    assert "a path is empty; is a variable of the shell not set?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_help_says_the_status_of_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main.status_of(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert f"{raising(KeyboardInterrupt(), monkeypatch)} no judgement or Ctrl-C, 128 + n" in said


@pytest.mark.parametrize("wrong", ["nan", "inf", "1e999"])
@pytest.mark.parametrize("command", ["run", "crash", "certify", "explain"])
def test_a_timeout_is_a_finite_number(command: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.status_of([command, "--timeout", wrong]) == 2
    assert f"{wrong} is not a finite number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize("prefix", [".", "..", "/"])
def test_keys_need_names(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.status_of(["keys", "new", prefix]) == 2
    assert f"T006 {prefix!r} is a folder" in capsys.readouterr().err


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(main.tally, "main", fail)
    return main.status_of([])


def test_a_malformed_contract_is_no_judgement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = Problem(Position("spec/data/x.yaml", 3, 7), "C003", "unknown type 'uint65'", "use uint64")
    assert raising(MalformedContract([problem]), monkeypatch) == 2
    assert capsys.readouterr().err.startswith(
        "spec/data/x.yaml:3:7: C003 unknown type 'uint65'\n    hint: use uint64\n"
    )


def test_a_place_that_cannot_be_written_is_no_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = OSError(errno.EROFS, "Read-only file system", "vectors/index.json")
    assert raising(error, monkeypatch) == 2
    assert capsys.readouterr().err.startswith("vectors/index.json: T011 cannot be used: Read-only file system\n")


def test_a_terminal_that_knows_no_width_gets_the_report(new_suite: Path) -> None:
    run = ("-P", "-m", "conformance.cli.main", "run", "-q", "-k", "wrong-bounds", "--suite", str(new_suite))
    assert python(*run, COLUMNS="0").stdout.startswith("CONFORMANT")


def test_an_interrupt_and_our_own_mistakes_are_no_judgement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(KeyboardInterrupt(), monkeypatch) == 2
    assert "interrupted" in capsys.readouterr().err
    assert raising(ZeroDivisionError("x"), monkeypatch) == 2
    assert "T000" in capsys.readouterr().err


def test_a_complaint_says_place_code_message_hint_and_evidence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandError("--backend 'x'", "T002", "it said nothing", "say hello", 1, "its stderr ended with:\nboom")
    assert raising(said, monkeypatch) == 1
    assert capsys.readouterr().err == (
        "--backend 'x': T002 it said nothing\n    hint: say hello\n    | its stderr ended with:\n    | boom\n"
    )


def test_the_nearest_name_is_offered() -> None:
    assert nearest("blockmap", ["A.BlockMap_v1", "A.Other"]) == "did you mean A.BlockMap_v1?"
    assert nearest("zzzz", ["A.BlockMap_v1"], "look there") == "look there"


def test_a_name_that_is_far_off_is_not_offered() -> None:
    assert nearest("replay", ["explain", "report", "examples"]) == ""
    assert nearest("first-sample", ["first-samples", "fist", "irsamp-last"]) == "did you mean first-samples?"
    assert nearest("a", ["Bounds.Clamp_v1"]) == ""
