"""`tally vectors suggest`: what it prints is pasted literally, and then lint misses no case."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conformance.cli.case_text import yaml_lines
from conformance.cli.main import status_of
from conformance.contract.shorthand import written_out
from conformance.contract.types import Scalar
from conformance.contract.yaml.parser import read
from conformance.vectors.draft import to_wire

Capture = pytest.CaptureFixture[str]
CLAMP = "Bounds.Clamp_v1"
TEXT = """
vectors:
- group: values
  why: One value.
  requirement: B02
  base: tens
  cases: [{id: one, set: {value: 12}}]
"""
LINE = """contract: Bounds.Line_v1
version: 1.0.0
purpose: Tell how long a line is.
source: {seed: bounds, section: "1"}
equivalence: E0
purity: pure
inputs:
  line: {type: string}
  marks: {type: list<uint8>}
outputs:
  length: {type: uint64}
requires:
- {id: not-too-long, that: "size(bytes(line)) <= 500", unit: bytes, else: CONTRACT_VIOLATION, requirement: B01}
- {id: few-marks, that: "size(marks) <= 3 && !(\\"stop\\" == line)", unit: items, else: CONTRACT_VIOLATION,
   requirement: B01}
ensures:
- {id: length-told, that: "result.length == uint(size(line))", requirement: B02}
ordering: {marks: as given}
state: none
edge_cases:
- {id: empty-line, when: 'line == ""', requirement: B02}
vectors:
- group: lines
  why: One line.
  requirement: B02
  cases: [{id: short, set: {line: abc, marks: []}}]
"""
PARSES = """requires: []
refuses:
- {id: no-digits, code: CONTRACT_VIOLATION, when: The line has something else than digits., requirement: B01}
ensures: []
"""
PARSED = """edge_cases: []
bases:
  plain: {line: "12", marks: "3"}
vectors:
- group: lines
  why: A line of digits and another.
  requirement: B02
  base: plain
  cases: [{id: digits, set: {line: "7"}}, {id: letters, set: {line: abc}}]
"""
FUNCTION = '''
def line(params):
    """Bounds.Line_v1."""
    size = len(params["line"].encode())
    if size > 500 or len(params["marks"]) > 3 or params["line"] == "stop":
        raise Refused(CONTRACT_VIOLATION, "Bounds.Line_v1")
    return {"length": len(params["line"])}


OPERATORS = {
    "Bounds.Line_v1": line,
'''


@pytest.fixture(scope="module")
def made(new_suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two operators with one case each; not to be changed."""
    folder = tmp_path_factory.mktemp("elsewhere") / "bounds"
    shutil.copytree(new_suite, folder)
    clamp = folder / "spec" / "bounds" / f"{CLAMP}.yaml"
    clamp.write_text(clamp.read_text("utf-8").partition("\nvectors:")[0] + TEXT, "utf-8")
    (folder / "spec" / "bounds" / "Bounds.Line_v1.yaml").write_text(LINE, "utf-8")
    reference = folder / "reference" / "operators.py"
    reference.write_text(reference.read_text("utf-8").replace("\nOPERATORS = {\n", FUNCTION), "utf-8")
    return folder


@pytest.fixture
def own(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, the current folder."""
    shutil.copytree(made, tmp_path / "bounds")
    monkeypatch.chdir(tmp_path / "bounds")
    return tmp_path / "bounds"


def missing(capsys: Capture) -> list[str]:
    """The findings of lint about cases that are missing."""
    capsys.readouterr()
    status_of(["lint"])
    return re.findall(r".* (?:L301|L302|L303|L308|L309) .*", capsys.readouterr().out)


@pytest.mark.parametrize("operator", [CLAMP, "Bounds.Line_v1"])
def test_what_is_suggested_and_pasted_leaves_no_case_missing(own: Path, operator: str, capsys: Capture) -> None:
    assert status_of(["vectors", "build"]) == 0
    other = f"{'Bounds.Line_v1' if operator == CLAMP else CLAMP}.yaml"
    assert [one for one in missing(capsys) if other not in one]
    assert status_of(["vectors", "suggest", operator]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 120
    contract = own / "spec" / "bounds" / f"{operator}.yaml"
    text = contract.read_text("utf-8")
    if "bases:\n" in printed:  # the contract had none
        assert "bases:" not in text
        text = text.replace("vectors:\n", printed.partition("vectors:\n")[0] + "vectors:\n")
        printed = printed.partition("\nvectors:\n")[2]
    contract.write_text(text + printed, "utf-8")
    rows = own / "spec" / "bounds" / "requirements.yaml"
    for row, check in re.findall(r"^#   (\S+): (\S+)$", printed, re.MULTILINE):
        head = f"- id: {row}\n"
        before, after = rows.read_text("utf-8").split(head)
        rows.write_text(before + head + after.replace("  checks:\n", f"  checks:\n  - {check}\n", 1), "utf-8")
    assert status_of(["vectors", "build"]) == 0, capsys.readouterr().err
    assert [one for one in missing(capsys) if other not in one] == []
    capsys.readouterr()
    assert status_of(["vectors", "suggest", operator]) == 0
    assert capsys.readouterr().out == f"# {operator} lacks no case\n"


def test_what_cannot_be_found_is_said(own: Path, capsys: Capture) -> None:
    contract = own / "spec" / "bounds" / f"{CLAMP}.yaml"
    text = contract.read_text("utf-8").replace("low <= high", "low <= high || value * 3u < 4u")
    contract.write_text(text, "utf-8")
    assert status_of(["vectors", "suggest", CLAMP]) == 1
    said = capsys.readouterr().out
    assert "# not found: ordered: value * 3u < 4u decides on the boundary: no such call was found" in said


def test_a_call_that_the_reference_answers_against_the_contract_is_not_suggested(own: Path, capsys: Capture) -> None:
    reference = own / "reference" / "operators.py"
    reference.write_text(reference.read_text("utf-8").replace("if not low <= high:", "if False:"), "utf-8")
    assert status_of(["vectors", "suggest", CLAMP]) == 1
    said = capsys.readouterr().out
    assert "predicts CONTRACT_VIOLATION, but the reference answers with a result" in said
    assert "- id: refused" not in said


MANY = "".join(map(chr, range(32, 900)))
TEXTS = ("a" * 999, "ab" * 400, "\u2028 yes: #\x85", "", "x" * 90 + "y" * 300, "12e5", MANY)


@pytest.mark.parametrize("value", TEXTS)
def test_a_text_reads_back_from_what_is_printed(value: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("\n".join(yaml_lines("value", value, "")), "utf-8")
    assert max(map(len, file.read_text("utf-8").split("\n"))) <= 120
    assert to_wire(Scalar("string"), written_out(read(file)).value["value"]) == value


def test_sizes_at_which_a_parser_refuses_everything_become_one_case_and_the_floor_is_told(
    own: Path, capsys: Capture
) -> None:
    contract = own / "spec" / "bounds" / "Bounds.Line_v1.yaml"
    text = re.sub(r"requires:\n.*ensures:\n.*?\n", PARSES, LINE, flags=re.DOTALL).partition("edge_cases:")[0]
    contract.write_text(f"{text.replace('marks: {type: list<uint8>}', 'marks: {type: string}')}{PARSED}", "utf-8")
    reference = own / "reference" / "operators.py"
    strict = 'if not (params["line"] + params["marks"]).isdecimal() or size > 9 or len(params["marks"]) > 9:'
    text = re.sub(r"if size > 500.*", strict, reference.read_text("utf-8"))
    reference.write_text(text, "utf-8")
    assert status_of(["vectors", "suggest", "Bounds.Line_v1"]) == 0, capsys.readouterr()
    said = capsys.readouterr().out
    after = said.partition("- group: size\n")[2].splitlines()[2:]
    assert after[:3] == ["  base: plain", "  axis: size", "  packed: true"]
    assert "requirement: []" not in said
    told = "  # A backend that refuses everything passes 1 of 1 cases here: put cases that answer beside them."
    assert after[3] == told


def test_sizes_that_a_parser_answers_stay_cases_of_their_own(own: Path, capsys: Capture) -> None:
    assert status_of(["vectors", "suggest", "Bounds.Line_v1"]) == 0
    said = capsys.readouterr().out
    assert "axis: size" in said
    assert "packed" not in said
