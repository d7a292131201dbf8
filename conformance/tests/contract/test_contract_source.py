"""YAML as the contracts use it: core scalars only, every value with its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.yaml import parser
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import MalformedContract


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("12", 12),
        ("-12", -12),
        ("0x1F", 31),
        ("18446744073709551616", 2**64),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("null", "null"),
        ("~", "~"),
        ("True", "True"),
        ("007", "007"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-02-18", "2026-02-18"),
        (".inf", ".inf"),
        ("'12'", "12"),
        ('"true"', "true"),
        ('"a\\u0062"', "ab"),
    ],
)
def test_a_scalar_is_a_bool_a_number_or_text(text: str, value: Any) -> None:
    found = parse(f"key: {text}\n", "x.yaml").value["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["[" * 20_000, "a: " + "[" * 300 + "]" * 300, "{a: " * 300 + "1" + "}" * 300])
def test_what_nests_too_deeply_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(MalformedContract) as refused:
        parse(text, "x.yaml")
    (problem,) = refused.value.problems
    assert str(problem).startswith("x.yaml:1:")
    assert "in one another" in problem.message


def test_a_float_beyond_float64_is_refused() -> None:
    with pytest.raises(MalformedContract, match=r"x.yaml:1:4: C001 1e999 is more than the largest float64"):
        parse("a: 1e999\n", "x.yaml")


def test_a_control_character_is_refused_where_it_is_behind_other_letters() -> None:
    with pytest.raises(MalformedContract, match=r"x.yaml:2:6: C001 bad YAML: control characters"):
        parse('a: "éé"\nb: "é\0"\nc: 1\nd: 1\n', "x.yaml")


def test_every_value_and_key_knows_its_line_and_column() -> None:
    parsed = parse("a: 1\nb:\n  - {c: two, d: [3, 4]}\n", "x.yaml")
    assert str(parsed.at(("a",))) == "x.yaml:1:4"
    assert str(parsed.at(("b", 0, "c"))) == "x.yaml:3:9"
    assert str(parsed.key_at(("b", 0, "d"))) == "x.yaml:3:14"
    assert str(parsed.at(("b", 0, "d", 1))) == "x.yaml:3:21"


def test_the_place_of_what_is_not_there_is_that_of_what_should_hold_it() -> None:
    source = parse("a:\n  b: 1\n", "x.yaml")
    assert source.at(("a", "c", "d")) == source.at(("a",))
    assert source.key_at(("a", "c")) == source.at(("a",))


@pytest.mark.parametrize("text", ["a: \x00b\n", "a: b: c\n", "a: [1\n", "\ta: 1\n", "a: 'b\n", "a: %x\n- b\n"])
def test_what_is_no_yaml_is_refused_with_a_place(text: str) -> None:
    with pytest.raises(MalformedContract) as caught:
        parse(text, "x.yaml")
    (problem,) = caught.value.problems
    assert problem.code == "C001"
    assert problem.position.line >= 1
    assert problem.position.column >= 1


def test_problems_are_told_in_the_order_of_their_places_with_their_hints() -> None:
    parsed = parse("a: 1\nb: 2\n", "x.yaml")
    error = MalformedContract(
        [parsed.problem(("b",), "C009", "late", "mend it"), parsed.problem(("a",), "C009", "early")]
    )
    assert str(error) == "x.yaml:1:4: C009 early\nx.yaml:2:4: C009 late\n    hint: mend it"


@pytest.mark.parametrize("number", ["9" * 101, "-" + "9" * 100_000, "0x" + "f" * 5000])
def test_an_integer_wider_than_any_type_is_refused_at_its_place(number: str) -> None:
    with pytest.raises(MalformedContract) as refused:
        parse(f"a:\n  - {number}\n", "x.yaml")
    assert str(refused.value).startswith(f"x.yaml:2:5: C001 an integer of {len(number)} characters")


def test_a_file_of_too_many_values_is_refused_at_the_first_that_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_VALUES", 20)
    text = "".join(f"k{number}: 1\n" for number in range(30))
    with pytest.raises(MalformedContract) as refused:
        parse(text, "x.yaml")
    assert str(refused.value).startswith("x.yaml:20:6: C001 more than 20 values in one file")


def test_a_file_that_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for file, said in (("pipe", "this is not a regular file"), ("dangling", "cannot be read"), (".", "not a regular")):
        with pytest.raises(MalformedContract, match=said):
            parser.read(tmp_path / file)
    with pytest.raises(MalformedContract, match="not a regular file"):
        parser.read(Path("/dev/zero"))
