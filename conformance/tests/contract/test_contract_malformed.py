"""A malformed contract says where it is wrong, what is wrong there and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.contract.library import load_library
from conformance.contract.yaml.source import MalformedContract
from conformance.tests.small_spec import CONTRACT, NAME, load, place_of, problems, spoilt, write_spec

FILE = f"spec/data/{NAME}"


def test_the_small_contract_is_well_formed(tmp_path: Path) -> None:
    library = load(tmp_path)
    assert list(library.contracts) == ["UML_OS.Data.Halve_v1"]


# What is spoilt, by what, where the problem must point, its code, a part of its message and a part of its hint.
SPOILT = [
    ("bad-yaml", "ordering: {}", "ordering: {", None, "C001", "bad YAML", "quote"),
    ("duplicate-key", "state: none", "state: none\nversion: 2.0.0", "version: 2", "C001", "duplicate", "remove one"),
    ("duplicate-key-inside", "{id: even, that", "{id: even, id: odd, that", "id: odd", "C001", "'id'", "remove one"),
    ("anchor", "purity: pure", "purity: &p pure", "&p", "C001", "anchors", "write the value out"),
    ("alias", "purity: pure", "purity: *p", "*p", "C001", "", ""),
    ("tag", "purity: pure", "purity: !!str pure", "!!str", "C001", "tag", "remove the tag"),
    ("merge-key", "state: none", "state: none\n<<: {}", "<<", "C001", "merge keys", "write the keys out"),
    ("no-value", "state: none", "state:", None, "C001", "without a value", "write the value"),
    ("key-no-text", "ordering: {}", "ordering: {[a]: b}", "[a]", "C001", "must be text", "names"),
    ("second-document", "state: none", "state: none\n---\nstate: none", "---", "C001", "second document", "one file"),
    ("unknown-key", "state: none", "state: none\nstatus: fine", "status", "C002", "'status'", "allowed here"),
    ("missing-key", "state: none\n", "", "contract:", "C002", "'state'", "add this line:\nstate: none"),
    ("bad-version", "version: 1.0.0", "version: 1.0", "1.0\n", "C002", "version is the number 1.0", "write 1.0.0"),
    ("bad-operator", "UML_OS.Data.Halve_v1", "halve", "halve", "C002", "contract is 'halve'", "Text.Normalize_v1"),
    ("lower-case-code", "else: CONTRACT_VIOLATION", "else: violation", "violation", "C002", "", "write VIOLATION"),
    ("code-of-purity", "purity: pure", "purity: impure", "impure", "C002", "one of pure", "did you mean pure?"),
    ("unknown-type", "half:  {type: uint64}", "half:  {type: uint65}", "uint65", "C003", "'uint65'", "uint64"),
    ("unknown-list-item", "half:  {type: uint64}", "half:  {type: list<nat>}", "list<nat>", "C003", "'nat'", "uint64?"),
    ("item-beside-type", "half:  {type: uint64}", "half:  {type: list, of: a}", "of:", "C002", "'of'", "list<string>"),
    ("enum-no-values", "half:  {type: uint64}", "half:  {type: enum}", "{type: enum", "C003", "values", "first"),
    ("struct-in-type", "half:  {type: uint64}", "half:  {type: '{a: bool}'}", "'{a: bool", "C003", "written", "fields"),
    ("struct-bare", "half:  {type: uint64}", "half:  {type: struct}", "{type: struct}\nl", "C003", "fields", "each"),
    ("unknown-record", "state: none", "state: none\nfailure: nothing", "nothing", "C003", "'nothing'", "struct"),
    ("guard-type-error", "rest == 0u", "rest == 0", "== 0\"", "C004", "cannot be applied", "write 0u"),
    ("guard-not-bool", "rest == 0u", "rest + 0u", "rest + 0u", "C004", "not BOOL", "compare"),
    ("undeclared-name", "rest == 0u", "leftover == 0u", "leftover", "C004", "undeclared", "dotted path"),
    ("guard-over-result", "rest == 0u", "result.half == 0u", ".half == 0u", "C004", "undeclared", "postcondition"),
    ("bad-let", "whole % 2u", "whole % 2", "% 2\n", "C004", "cannot be applied", "write 2u"),
    ("bad-edge", "whole == 0u", "whole == nil", "nil", "C004", "undeclared", ""),
    ("unfinished-cel", "rest == 0u", "rest ==", None, "C004", "", ""),
    ("has-macro", "rest == 0u", "has(label)", "has(label)", "C004", "has()", "has_<path>"),
    ("state-of-an-operator", "state: none", "state: some", "some", "C002", "none", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "at", "code", "message", "hint"),
    [row[1:] for row in SPOILT],
    ids=[row[0] for row in SPOILT],
)
def test_a_mistake_is_reported_where_it_stands(
    tmp_path: Path, old: str, new: str, at: str | None, code: str, message: str, hint: str
) -> None:
    text = spoilt(old, new)
    (problem, *_) = problems(tmp_path, text)
    assert problem.position.file == FILE
    assert problem.code == code
    assert message in problem.message
    assert hint in problem.hint
    if at is not None:
        assert (problem.position.line, problem.position.column) == place_of(text, at)
    assert str(problem).startswith(f"{FILE}:{problem.position.line}:{problem.position.column}: {code} ")


def test_a_mistake_in_a_block_of_cel_is_reported_on_its_own_line(tmp_path: Path) -> None:
    flow = '{id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}'
    block = """id: even
    that: |
      rest == 0u &&
        whole < limit
    else: CONTRACT_VIOLATION
    requirement: N01"""
    text = spoilt(flow, block)
    (problem,) = problems(tmp_path, text)
    assert (problem.position.line, problem.position.column) == place_of(text, "limit\n")


def test_every_bad_expression_of_a_contract_is_reported_at_once(tmp_path: Path) -> None:
    text = spoilt("rest == 0u", "rest == 0").replace("result.half + result.half", "result.third")
    assert [problem.code for problem in problems(tmp_path, text)] == ["C004", "C004"]


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ('  - {id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}\n', "'even' twice"),
        ('  - {id: doubles, that: "result.half + result.half == whole", requirement: N01}\n', "'doubles' twice"),
    ],
)
def test_two_clauses_of_one_name_are_refused(tmp_path: Path, line: str, again: str) -> None:
    (problem,) = problems(tmp_path, spoilt(line, line + line))
    assert problem.code == "C005"
    assert again in problem.message


def test_two_files_of_one_operator_are_refused(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, CONTRACT, {"data/UML_OS.Data.HalveToo_v1.yaml": CONTRACT})
    assert problem.code == "C005"
    assert "HalveToo_v1.yaml:1:11" in problem.hint


def test_a_file_that_is_not_utf_8_is_refused_at_the_byte_that_is_not(tmp_path: Path) -> None:
    text = CONTRACT.encode().replace(b"an even number", b"an ev\xffn number")
    (problem,) = problems(tmp_path, text)
    assert problem.code == "C001"
    assert (problem.position.line, problem.position.column) == (3, 21)


def test_a_step_that_is_no_map_is_one_problem(tmp_path: Path) -> None:
    text = spoilt("    matrix: {whole: [0, 1, 2]}", "    trace: [abc]")
    (problem,) = problems(tmp_path, text)
    assert (problem.position.line, problem.position.column) == place_of(text, "abc]")
    assert "but a map is expected" in problem.message


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "")
    assert (problem.code, problem.position.line) == ("C001", 1)
    assert "empty" in problem.message


def test_a_specification_without_contracts_is_refused(tmp_path: Path) -> None:
    suite = write_spec(tmp_path)
    (suite.spec / "data" / NAME).unlink()
    with pytest.raises(MalformedContract, match="no contract found"):
        load_library(suite)


def test_the_problems_of_all_files_come_together_in_the_order_of_their_places(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        spoilt("uint64}\nlet", "uint65}\nlet"),
        {
            "errors.yaml": "errors:\n  - {code: lower, number: 1, subsystem: x, severity: FATAL, message: No.}\n",
            "data/requirements.yaml": "seed: data-next-batch\n",
            "data/rulings.yaml": "rulings: [{id: NA01}]\n",
        },
    )
    files = [problem.position.file for problem in found]
    assert files == sorted(files)
    assert {Path(file).name for file in files} >= {"errors.yaml", "requirements.yaml", "rulings.yaml", NAME}


def test_a_schema_that_is_edited_between_two_loads_counts_from_the_second_on(tmp_path: Path) -> None:
    suite = write_spec(tmp_path)
    load_library(suite)
    schema = suite.spec / "schema" / "contract.schema.json"
    schema.write_text(schema.read_text().replace('"purpose"', '"reason"'))
    with pytest.raises(MalformedContract, match="unknown key 'purpose'"):
        load_library(suite)
