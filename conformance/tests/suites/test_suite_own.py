"""A suite of one's own, outside this repository: it works at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.backend.mutant_copy import copy_digest, drop_copy, mutant_copy
from conformance.cli.main import status_of
from conformance.contract.suite_file import bundled_suite, read_suite
from conformance.report.record import read_record
from conformance.tests.released_suite import edit
from conformance.vectors.frozen.corpus import load_corpus

Capture = pytest.CaptureFixture[str]
OPERATOR = "Bounds.Clamp_v1"


def test_a_new_suite_passes_and_is_warned_of_nothing(own: Path, capsys: Capture) -> None:
    for command in (["vectors", "build"], ["vectors", "check"], ["lint"]):
        assert status_of(command) == 0, "".join(capsys.readouterr())
    assert "warning" not in "".join(capsys.readouterr())


@pytest.mark.usefixtures("mutants_in_this_process")
def test_an_interrupted_init_can_be_done_again(own: Path, capsys: Capture) -> None:
    assert status_of(["init", "."]) == 2  # a whole suite stays
    capsys.readouterr()
    (own / "reports/floor.json").unlink()
    (own / "tally.toml").unlink()
    shutil.rmtree(own / "vectors")
    edit(own / "spec/types.yaml", "failure_code", "failure_kode")
    assert status_of(["init", "."]) == 2
    assert "types.yaml: T005 this file exists already" in capsys.readouterr().err
    edit(own / "spec/types.yaml", "failure_kode", "failure_code")
    assert status_of(["init", "."]) == 0
    assert status_of(["lint"]) == 0, "".join(capsys.readouterr())


def test_hidden_files_of_editors_and_systems_are_no_contracts(own: Path, capsys: Capture) -> None:
    family = own / "spec/bounds"
    (family / ".#Bounds.Clamp_v1.yaml").symlink_to("somebody@host.1234")  # the lock of Emacs
    (family / "._Bounds.Clamp_v1.yaml").write_bytes(b"\x00\x05\x16\x07")  # of macOS on a shared disk
    (own / "spec/.idea").mkdir()
    (own / "spec/.idea/laws.yaml").write_text("x")
    assert status_of(["lint"]) == 0, capsys.readouterr().out


def test_a_build_removes_vectors_without_a_contract_and_nobodys_own_files(own: Path, capsys: Capture) -> None:
    vectors = own / "vectors"
    shutil.copy(vectors / "bounds/Bounds.Clamp_v1.json", vectors / "bounds/Bounds.Gone_v1.json")
    texts = {"mine.json": '{"cases": []}', "data/package.json": "[1]", "bounds/cut.json": '{"cases'}
    for name, text in texts.items():
        (vectors / name).parent.mkdir(exist_ok=True)
        (vectors / name).write_text(text)
    assert status_of(["vectors", "check"]) == 1
    assert "Bounds.Gone_v1.json:1:1: V008 this file belongs to no contract" in (said := capsys.readouterr().err)
    assert said.count("V008") == 1
    assert status_of(["vectors", "build"]) == 0
    assert "removed vectors/bounds/Bounds.Gone_v1.json\n" in capsys.readouterr().out
    assert not (vectors / "bounds/Bounds.Gone_v1.json").exists()
    assert {name: (vectors / name).read_text() for name in texts} == texts


@pytest.mark.parametrize("text", ['{"name": "mine", "digest": "1"}', "[1]", '{"operators'])
def test_a_build_does_not_replace_an_index_that_no_build_wrote(text: str, own: Path, capsys: Capture) -> None:
    vectors = own / "vectors"
    shutil.rmtree(vectors)
    vectors.mkdir()
    (vectors / "index.json").write_text(text)
    assert status_of(["vectors", "build"]) == 1
    complaint = capsys.readouterr().err
    assert "vectors/index.json: T004 no build wrote this file, so none replaces it\n    hint: move " in complaint
    assert [file.name for file in vectors.iterdir()] == ["index.json"]
    assert (vectors / "index.json").read_text() == text


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "result.clamped == (value",
            "result.clamped / 0u == (value",
            "V004 .*, step call: the postcondition nearest .* has no value: it divides by zero",
        ),
        (
            "low <= high",
            "low / 0u <= high",
            "V005 .*, step call: the guard ordered predicts CONTRACT_VIOLATION because it has no value"
            r" \(it divides by zero\), but the reference answers with a result",
        ),
    ],
    ids=["postcondition", "guard"],
)
def test_a_build_says_why_a_condition_has_no_value(
    old: str, new: str, complaint: str, own: Path, capsys: Capture
) -> None:
    contract = own / "spec/bounds/Bounds.Clamp_v1.yaml"
    text = contract.read_text()
    contract.write_text(text.replace(old, new, 1))
    assert contract.read_text() != text
    assert status_of(["vectors", "build"]) == 1
    assert re.search(complaint + " hint: test the divisor first: ", " ".join(capsys.readouterr().err.split()))


def test_a_build_replaces_a_damaged_index_that_a_build_wrote(own: Path) -> None:
    index = own / "vectors/index.json"
    right = index.read_text()
    for damaged in ("<<<<<<< HEAD\n" + right, json.dumps(json.loads(right), indent=4), ""):
        index.write_text(damaged)
        assert status_of(["vectors", "build"]) == 0
        assert index.read_text() == right


SEQUENCES = """\
sequences:
- operator: Bounds.Clamp_v1
  case: Bounds.Clamp_v1::values::value=0,low=10,high=20
  unit: number
  position: value
  length: high + 10u
  values: clamped
  derivation:
  - {step: not_above, value: "min(value, high)"}
  - {step: answer, told: clamped}
"""


def test_a_sequence_is_declared_beside_the_contracts(own: Path, capsys: Capture) -> None:
    file = own / "spec/bounds/sequences.yaml"
    file.write_text(SEQUENCES)
    assert status_of(["lint"]) == 0
    capsys.readouterr()
    assert status_of(["explain", OPERATOR, "--position", "25"]) == 0
    page = capsys.readouterr().out
    assert "number 25 of 30: call 26 of 30" in " ".join(page.split())
    assert page.rstrip().endswith("not_above  20\n    answer     20")
    edit(file, "high + 10u", "hihg + 10u")
    assert status_of(["explain", OPERATOR, "--position", "25"]) == 2
    assert "sequences.yaml:6:11: C004" in capsys.readouterr().err


@pytest.mark.usefixtures("mutants_in_this_process")
def test_a_new_suite_can_have_its_reference_in_javascript(
    tmp_path: Path, capsys: Capture, tool: Callable[[str], str]
) -> None:
    tool("node")
    assert status_of(["init", str(tmp_path / "js"), "--language", "javascript"]) == 0  # and every mutant is killed
    assert "3 mutants: 1 control alive, 2 killed" in capsys.readouterr().out
    for command in ("lint", "run"):
        assert status_of([command, "--suite", str(tmp_path / "js")]) == 0, "".join(capsys.readouterr())
    assert not list((tmp_path / "js" / "reference").glob("*.py"))


def test_a_run_says_that_one_implementation_alone_made_the_vectors(own: Path, capsys: Capture) -> None:
    assert status_of(["run", "--output", "out"]) == 0
    said = "CONFORMANT: 1 of 1 operator, profile standard, crash safety not tried, warning: 46 vectors of one"
    assert read_record((own / "out" / "record.json").read_bytes()).members["sentence"].startswith(said)
    assert said.partition(",")[0] in capsys.readouterr().out


def test_a_second_derivation_takes_the_warning_away(own: Path, capsys: Capture) -> None:
    edit(own / "tally.toml", "confirm = []", 'confirm = ["second"]')
    edit(own / "tally.toml", "[derive]", 'second = "python:reference.operators:backend"\n\n[derive]')
    assert status_of(["vectors", "build"]) == 0
    assert status_of(["run", "--profile", "quick"]) == 0
    assert "warning" not in capsys.readouterr().out


def test_a_second_derivation_that_answers_otherwise_is_red(own: Path, capsys: Capture) -> None:
    shutil.copytree(own / "reference", own / "other")
    edit(own / "other" / "operators.py", "min(max(value, low), high)", "max(value, low)")
    edit(own / "tally.toml", "confirm = []", 'confirm = ["other"]')
    edit(own / "tally.toml", "[derive]", 'other = "python:other.operators:backend"\n\n[derive]')
    assert status_of(["vectors", "build"]) == 1
    assert "reference and other disagree: step" in capsys.readouterr().err


def asked(own: Path, *options: str) -> int:
    """How many calls the reference gets while the vectors are built."""
    log = own / "asked.txt"
    if not log.exists():
        answer = "        return OPERATORS[method]"
        noted = f"        open({str(log)!r}, 'a').write(method + chr(10))\n{answer}"
        edit(own / "reference" / "operators.py", answer, noted)
    log.write_text("")
    assert status_of(["vectors", "build", *options]) == 0
    return len(log.read_text().splitlines())


def test_building_derives_only_what_changed(own: Path, capsys: Capture) -> None:
    contract = own / "spec" / "bounds" / "Bounds.Clamp_v1.yaml"
    assert asked(own) == 0
    assert asked(own, "--all") > 60
    edit(contract, "low: [20, 21, 30]", "low: [20, 21, 30, 31]")
    assert asked(own) == 1  # the new question alone
    assert status_of(["new-operator", "Bounds.Twice_v1"]) == 0
    assert asked(own) < asked(own, "--only", "Bounds.Twice_v1") + 1
    assert status_of(["vectors", "check"]) == 0, capsys.readouterr().out


def test_a_frozen_answer_that_contradicts_the_changed_contract_is_derived_again(own: Path, capsys: Capture) -> None:
    """A value above the upper bound becomes the lower one: the frozen answers of those calls alone are wrong."""
    contract = own / "spec" / "bounds" / "Bounds.Clamp_v1.yaml"
    edit(contract, "low : min(value, high))", "low : value > high ? low : value)")
    assert status_of(["vectors", "build"]) == 1
    assert "breaks the postcondition nearest" in capsys.readouterr().err
    edit(own / "reference" / "operators.py", "min(max(value, low), high)", "value if low <= value <= high else low")
    assert 0 < asked(own) < asked(own, "--all") / 2
    assert status_of(["vectors", "check"]) == 0, capsys.readouterr().out


def test_the_contract_freezes_what_it_determines_and_nothing_else(own: Path, capsys: Capture) -> None:
    """Without `confirm` a value needs a second derivation, which an equation of the contract is."""
    edit(own / "tally.toml", "confirm = []", "")
    assert status_of(["vectors", "build", "--all"]) == 0
    by = load_corpus(read_suite(own)).index.operators[OPERATOR].confirmed_by
    assert set(by.values()) == {("contract",)}
    assert status_of(["run", "--profile", "quick"]) == 0
    assert "warning" not in capsys.readouterr().out
    contract = own / "spec" / "bounds" / "Bounds.Clamp_v1.yaml"
    edit(contract, "result.clamped == (value < low ? low : min(value, high))", "result.clamped <= high")
    assert status_of(["vectors", "build", "--all"]) == 1
    said = capsys.readouterr().err
    assert "Bounds.Clamp_v1::values::value=0,low=0,high=10: no second derivation confirms it" in said
    assert "wrong-bounds::low=21" not in said  # a guard decides it
    edit(contract, "purity: pure", "purity: pure\nconfirmed_by: []")
    assert status_of(["vectors", "build", "--all"]) == 0
    assert status_of(["run", "--profile", "quick", "--output", "out"]) == 0
    scope = read_record((own / "out" / "record.json").read_bytes()).members["scope"]
    assert 0 < scope["determined"] < scope["unconfirmed"]


def test_init_overwrites_nothing(own: Path, capsys: Capture) -> None:
    before = (own / "tally.toml").read_bytes()
    assert status_of(["init", "."]) == 2
    assert "T005 this file exists already" in capsys.readouterr().err
    assert (own / "tally.toml").read_bytes() == before


def test_every_mutant_is_the_reference_in_a_patched_copy(own: Path, capsys: Capture) -> None:
    assert status_of(["mutants", "--write"]) == 0
    said = capsys.readouterr().out
    assert "3 mutants: 1 control alive, 2 killed" in said
    assert status_of(["lint"]) == 0
    assert status_of(["run", "--backend", "mutant:no-upper-bound", "--profile", "quick"]) == 1
    assert "diagnosis: does not apply the upper bound (B02); as mutant no-upper-bound" in capsys.readouterr().out
    assert (own / "reference" / "operators.py").read_text("utf-8").count("min(max(value, low), high)") == 1


def test_a_patch_that_does_not_apply_is_red_and_says_why(own: Path, capsys: Capture) -> None:
    edit(own / "spec" / "bounds" / "mutants.yaml", "if not low <= high:", "if low > high:")
    assert status_of(["mutants", "bounds-not-compared"]) == 1
    said = capsys.readouterr().out
    assert "bounds-not-compared not applied: operators.py: the text to replace is there 0 times" in said


def test_a_mutant_that_does_not_run_is_said_once_with_the_error_and_its_place(own: Path, capsys: Capture) -> None:
    """Not as a change of the kill matrix too, whose hint would be to write the matrix."""
    assert status_of(["mutants", "--write"]) == 0
    edit(own / "spec" / "bounds" / "mutants.yaml", "if False:", "if (:")
    capsys.readouterr()
    assert status_of(["mutants"]) == 1
    _, red = capsys.readouterr().out.split("red: ", 1)
    assert red == (
        "bounds-not-compared does not run: tally: 'reference.operators:backend' cannot be imported: "
        "reference/operators.py:11: SyntaxError: invalid syntax\n"
        "    hint: correct the mutant at spec/bounds/mutants.yaml:6:3\n"
    )


def test_a_suite_that_does_not_say_how_mutants_start_is_told_so(own: Path, capsys: Capture) -> None:
    edit(own / "tally.toml", 'folder = "reference"', "")
    assert status_of(["mutants", "no-upper-bound"]) == 2
    assert "tally: T001 the suite does not say how 'mutant:no-upper-bound' starts" in capsys.readouterr().err


def test_a_file_that_is_no_program_is_not_said_to_be_missing(own: Path, capsys: Capture) -> None:
    edit(own / "tally.toml", "python:reference.operators:backend", "./suite_laws.py")
    assert status_of(["run", "-k", "values"]) == 2
    assert "suite_laws.py' is a file that cannot be executed" in capsys.readouterr().err


def test_checks_are_listed_though_the_suite_has_reports_by_default(own: Path, capsys: Capture) -> None:
    with (own / "tally.toml").open("a") as file:
        file.write('[run]\nformat = ["junit=reports/junit.xml"]\nsandbox-read = ["spec"]\n')
    capsys.readouterr()
    assert status_of(["run", "--list", "-k", "wrong-bounds"]) == 0
    assert capsys.readouterr().out.count("wrong-bounds") == 3


def test_a_reference_that_cannot_be_copied_is_no_defect_of_the_harness(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise shutil.Error([("reference/operators.py", "copy", "[Errno 13] Permission denied")])

    monkeypatch.setattr(shutil, "copytree", refused)
    assert status_of(["mutants", "no-upper-bound", "--jobs", "1"]) == 1
    assert "reference/operators.py cannot be copied: [Errno 13] Permission denied" in capsys.readouterr().out


def test_a_patch_cannot_leave_the_copy(own: Path, capsys: Capture) -> None:
    mutants = own / "spec" / "bounds" / "mutants.yaml"
    edit(mutants, 'file: operators.py, find: "if not', 'file: ../tally.toml, find: "if not')
    assert status_of(["mutants", "bounds-not-compared"]) == 1
    assert "there is no such file in the folder of the reference" in capsys.readouterr().out


BUILT = """
import pathlib, sys
text = pathlib.Path("reference/operators.py").read_text()
if "if False" in text:
    sys.exit("an error of the compiler")
pathlib.Path("reference/made.py").write_text(text)
"""


def test_a_reference_that_must_be_built_is_built_in_each_copy(own: Path, capsys: Capture) -> None:
    """As for a compiled language: what runs is not the file that is patched."""
    (own / "reference" / "build.py").write_text(BUILT)
    shutil.copy(own / "reference" / "operators.py", own / "reference" / "made.py")
    edit(own / "tally.toml", "python:reference.operators:backend", "python:reference.made:backend")
    edit(own / "tally.toml", 'folder = "reference"', 'folder = "reference"\nbuild = "python reference/build.py"')
    assert status_of(["mutants", "no-upper-bound", "bounds-not-compared"]) == 1
    said = capsys.readouterr().out
    assert "no-upper-bound       killed" in said
    assert "bounds-not-compared does not run: it cannot be built: an error of the compiler" in said


def test_a_build_has_a_limit(own: Path, capsys: Capture) -> None:
    (own / "reference" / "build.py").write_text("import time\ntime.sleep(60)\n")
    more = 'folder = "reference"\nseconds = 0.5\nbuild = "python reference/build.py"'
    edit(own / "tally.toml", 'folder = "reference"', more)
    assert status_of(["mutants", "no-upper-bound"]) == 1
    assert "building took more than 0.5 seconds" in capsys.readouterr().out


def test_a_copy_is_made_once_and_removed_when_it_is_told_so(own: Path) -> None:
    suite = read_suite(own)
    copy = mutant_copy(suite, "no-upper-bound")
    assert mutant_copy(suite, "no-upper-bound") == copy
    assert copy.is_relative_to(Path(tempfile.gettempdir()).resolve())
    assert copy_digest(suite, "no-upper-bound") != copy_digest(suite, "control")
    drop_copy(suite, "no-upper-bound")
    assert not copy.exists()


def test_a_suite_with_packages_named_like_ours_shadows_nothing(own: Path) -> None:
    for name in ("conformance", "impl", "checks"):
        (own / name).mkdir()
        (own / name / "__init__.py").write_text("raise ImportError('the package of the user')\n")
    assert status_of(["run"]) == 0
    assert bundled_suite().root not in (own, own.parent)


@pytest.mark.parametrize("command", ["python:reference.operators:backend", "python -P serve.py"])
def test_a_mutant_is_wrong_though_the_search_path_has_the_reference(
    own: Path, command: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(own / "tally.toml", "python:reference.operators:backend", command)
    edit(own / "tally.toml", 'folder = "reference"', 'folder = "."')
    mutants = own / "spec" / "bounds" / "mutants.yaml"
    mutants.write_text(mutants.read_text("utf-8").replace("file: operators.py", "file: reference/operators.py"))
    served = "from conformance.backend.worker import main"
    asked = ["reference.operators:backend", str(own / "spec")]
    (own / "serve.py").write_text(f"import reference.operators\n{served}\nmain({asked!r})\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(own), os.environ.get("PYTHONPATH", "")]))
    assert status_of(["mutants", "no-upper-bound", "--jobs", "1"]) == 0, capsys.readouterr().out


def test_new_operators_work_at_once(own: Path, capsys: Capture) -> None:
    for name in ("Bounds.Twice_v2", "Text.Trim_v1"):  # in the family that is there, and in a new one
        assert status_of(["new-operator", name]) == 0
    assert status_of(["vectors", "build"]) == 0
    assert status_of(["mutants", "--write"]) == 0, capsys.readouterr().out
    assert status_of(["lint"]) == 0, capsys.readouterr().out
    assert status_of(["run"]) == 0
    assert "CONFORMANT: 3 of 3 operators" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("name", "said"), [(OPERATOR, "T005 the suite has this"), ("trim", "T003 this cannot name")])
def test_a_name_that_is_taken_or_none_changes_nothing(own: Path, name: str, said: str, capsys: Capture) -> None:
    before = {file: file.read_bytes() for file in own.rglob("*") if file.is_file()}
    assert status_of(["new-operator", name]) == 2
    assert said in capsys.readouterr().err
    assert {file: file.read_bytes() for file in own.rglob("*") if file.is_file()} == before


def test_a_reference_of_another_language_is_left_to_the_user(own: Path, capsys: Capture) -> None:
    (own / "reference" / "operators.py").rename(own / "reference" / "main.rs")
    assert status_of(["new-operator", "Text.Trim_v1"]) == 0
    assert "left to you: add Text.Trim_v1 to the reference" in capsys.readouterr().out
