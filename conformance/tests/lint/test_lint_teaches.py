"""Lint teaches: each ordinary mistake of a first-time author has one message, with its place, its cause and the fix."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.tests.counter_spec import COUNTER
from conformance.tests.late_mistakes import LATE
from conformance.tests.lint_mistakes import TABLE, C, R
from conformance.tests.syntax_mistakes import SYNTAX

ROWS = [*TABLE, *SYNTAX, *LATE]


@pytest.fixture
def linted(new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What lint says of the suite with other text in one file; that of the edit itself is left out."""

    def lint(file: str, old: str, new: str) -> str:
        folder = tmp_path / "edited"
        shutil.copytree(new_suite, folder, dirs_exist_ok=True)
        text = (folder / file).read_text("utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), "utf-8")
        capsys.readouterr()
        assert status_of(["lint", "--suite", str(folder)]) in (1, 2)
        said = capsys.readouterr().out.replace(C, "C").replace(R, "R").rstrip("\n")
        lines = [line for line in said.split("\n") if not re.match(r"\d+ findings? in ", line)]
        changed = [k for k, line in enumerate(lines) if " L502 " in line]
        for k in changed:
            del lines[k : k + 2]
        return "\n".join(lines)

    return lint


@pytest.mark.parametrize(("file", "old", "new", "said"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_mistake_has_one_message_with_the_fix(
    file: str, old: str, new: str, said: str, linted: Callable[..., str]
) -> None:
    assert linted(file, old, new) == said


NEW = """contract: Text.Cut_v1
version: 1.0.0
purpose: Cut a text at a limit.
source: {seed: text, section: "1"}
equivalence: E0
purity: pure
inputs: {text: {type: string}, limit: {type: uint64}}
outputs: {cut: {type: string}}
requires:
- {id: limit-positive, that: "limit > 0u", else: CONTRACT_VIOLATION, requirement: T01}
- {id: not-empty, that: "size(text) > 0", else: CONTRACT_VIOLATION, requirement: T02}
ensures:
- {id: short, that: "uint(size(result.cut)) <= limit", requirement: T03}
ordering: {}
state: none
edge_cases: [{id: whole, when: "uint(size(text)) == limit", requirement: T03}]
bases: {abc: {text: abc, limit: 2}}
vectors:
- group: values
  why: A text is longer than the limit and as long.
  requirement: T03
  base: abc
  cases: [{id: cut}, {id: whole, set: {limit: 3}}]
- group: refused
  why: A limit of zero and an empty text are refused.
  requirement: [T01, T02]
  base: abc
  cases: [{id: zero, set: {limit: 0}}, {id: empty, set: {text: ""}}]
"""


def test_a_new_operator_of_four_cases_has_one_finding_for_each_of_its_two_causes(
    new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    (folder / "spec" / "text").mkdir()
    (folder / "spec" / "text" / "Text.Cut_v1.yaml").write_text(NEW, "utf-8")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if " V010 " in line or " L" in line]
    assert [line.split(": ", 1)[1] for line in lines] == [
        "V010 Text.Cut_v1 was never built: it has no frozen case",
        "L104 unknown requirements T01 (line 10), T02 (line 11), T03 (line 13)",
    ]


@pytest.mark.parametrize("command", ["lint", "run"])
def test_an_operator_that_was_never_built_is_one_finding_in_every_command(
    command: str, new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    assert status_of(["new-operator", "Text.Cut_v1", "--suite", str(folder)]) == 0
    capsys.readouterr()
    assert status_of([command, "--suite", str(folder)]) != 0
    told = capsys.readouterr()
    lines = [line for line in (told.out + told.err).splitlines() if re.search(r":\d+: [LV]\d|    hint: ", line)]
    said, hint = (line.removeprefix("    | ") for line in lines[-2:])
    assert said == "spec/text/Text.Cut_v1.yaml:1:11: V010 Text.Cut_v1 was never built: it has no frozen case"
    assert hint == "    hint: run `tally vectors build`; after that, lint looks at the cases too"
    assert sum(" V010 " in line or ": L" in line for line in lines) == 1


def test_a_corpus_that_lost_its_cases_is_not_told_that_it_was_never_built(
    new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "lost")
    shutil.rmtree(folder / "vectors")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "V010 Bounds.Clamp_v1 has 0 cases, contracts.lock asks for at least 46" in said
    assert "never built" not in said


@pytest.mark.parametrize("command", ["run", "schema"])
def test_every_command_refuses_what_only_building_found(
    command: str, new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "late")
    text = (folder / C).read_text("utf-8")
    (folder / C).write_text(text.replace("base: tens", "base: ten", 1), "utf-8")
    assert status_of([command, "--suite", str(folder)]) == 2
    assert "C007 unknown base 'ten'\n    hint: did you mean tens?" in capsys.readouterr().err


CHOICE = NEW.replace("limit: {type: uint64}}", "limit: {type: uint64}, end: {type: enum, values: [cut, dots]}}")
OPTIONAL = NEW.replace("outputs: {cut: {type: string}}", "outputs: {cut: {type: string, optional: true}}")
TRACED = COUNTER.replace("COUNTER_OVERFLOW", "CONTRACT_VIOLATION")
ONE_MORE = "vectors:\n  - {group: more, why: One more trace is here., requirement: K01"
PATTERNS = NEW.replace("vectors:\n", "values: {a: {gives: {cut: x}}, b: {a: {}}}\nvectors:\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (CHOICE, "limit > 0u", "end == 'dot'", "end is never 'dot' in \"end == 'dot'\"\n    hint: did you mean dots?"),
        (OPTIONAL, "result.cut)", "result.cut) && result.has_cut", "hint: did you mean has_result.cut?"),
        (NEW, "text: {type: string}, ", "text: {type: string, default: 7}, ", "the default 7 is no value of string"),
        (NEW, "{id: cut}", "{id: cut, set: {text: true}}", "put it in quotes; without them YAML reads a truth value"),
        (NEW, "cases: [{id: cut}, ", "cases: [{like: some}, ", "C018 `like` among the cases"),
        (PATTERNS, "{id: cut}", "{id: cut, b: {}}", "C018 the pattern b is one map, and uses the pattern a"),
        (TRACED, "examples: {limit: [3, 1, 0]}", "examples: {limt: [3]}", "C008 unknown path 'limt'"),
        (TRACED, "examples: {limit: [3, 1, 0]}", "examples: {limit: [three]}", "C009 ill-typed input limit"),
        (TRACED, "vectors:\n", f"{ONE_MORE}, trace: [{{Opn: {{limit: 1}}}}]}}\n", "did you mean Open?"),
        (TRACED, "vectors:\n", f"{ONE_MORE}, trace: [{{Open: {{limit: 1}}, fail: X}}]}}\n", "did you mean fails?"),
        (TRACED, "derive: {", "derive: {operations: [Opn], ", "unknown operation 'Opn'\n    hint: did you mean Open?"),
    ],
)
def test_a_mistake_in_what_a_new_operator_does_not_have_is_told_at_its_place(
    text: str, old: str, new: str, said: str, new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    (folder / "spec" / "text").mkdir()
    name = text.split("\n", 1)[0].split(": ")[1]
    assert old in text
    (folder / "spec" / "text" / f"{name}.yaml").write_text(text.replace(old, new, 1), "utf-8")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 2
    found = capsys.readouterr().out
    assert said in found
    assert found.count("    hint: ") == 1


def test_an_order_of_a_list_by_another_name_is_one_finding(
    new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    (folder / "spec" / "text").mkdir()
    text = NEW.replace("text: {type: string}", "text: {type: string}, marks: {type: list<uint64>}")
    text = text.replace("ordering: {}", "ordering: {result.marks: as they come}")
    text = text.replace("abc, limit", "abc, marks: [], limit")
    (folder / "spec" / "text" / "Text.Cut_v1.yaml").write_text(text, "utf-8")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 1
    said = capsys.readouterr().out
    assert said.count(" L201 ") == 1
    assert "neither a list nor a stream drawn from\n    hint: did you mean marks?" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Text.Cut_v1.yaml", "nothing reads this file\n    hint: a contract is spec/FAMILY/NAME.yaml"),
        ("bounds/Text.Cut_v1.yml", "nothing reads this file\n    hint: a contract is spec/FAMILY/NAME.yaml"),
        ("bounds/more/Text.Cut_v1.yaml", "nothing reads this file\n    hint: a contract is spec/FAMILY/NAME.yaml"),
        ("bounds/more/mutants.yaml", "nothing reads this file\n    hint: a contract is spec/FAMILY/NAME.yaml"),
        ("bounds/requirement.yaml", "nothing reads requirement.yaml\n    hint: did you mean requirements?"),
    ],
)
def test_a_file_that_nothing_reads_is_found(
    name: str, said: str, new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    assert status_of(["lint", "--suite", str(folder)]) == 0
    (folder / "spec" / name).parent.mkdir(exist_ok=True)
    (folder / "spec" / name).write_text(NEW, "utf-8")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 2
    found = capsys.readouterr().out
    assert f"spec/{name}:1:1: C006" in found
    assert said in found


@pytest.mark.parametrize("launcher", ["[mutants]", '[mutants]\ncommand = "python patch_and_serve.py {id}"'])
def test_a_patch_that_an_edit_of_the_reference_breaks_is_found_where_lint_was_clean_before(
    launcher: str, new_suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    settings = folder / "tally.toml"
    settings.write_text(settings.read_text("utf-8").replace("[mutants]", launcher), "utf-8")
    assert status_of(["lint", "--suite", str(folder)]) == 0
    reference = folder / "reference" / "operators.py"
    reference.write_text(reference.read_text("utf-8").replace("if not low <= high:", "if low > high:"), "utf-8")
    assert status_of(["lint", "--suite", str(folder)]) == 1
    assert "L414 the mutant bounds-not-compared cannot be made" in capsys.readouterr().out


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(
    new_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(new_suite, tmp_path / "new")
    (folder / "spec" / "types.yaml").write_text("types: {} # not seen before\n", "utf-8")
    closed = folder / "spec" / "bounds"
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != closed)  # root may read all
    assert status_of(["lint", "--suite", str(folder)]) == 2
    assert "spec/bounds:1:1: C001 the folder cannot be read\n    hint: give" in capsys.readouterr().out
