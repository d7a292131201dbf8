"""The cases that every kind of group expands to, and the mistakes that are refused, each at its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.contract.yaml.source import MalformedContract, Problem
from conformance.tests.small_spec import NAME
from conformance.tests.vectors_walk import HEAD, OPERATOR, expanded
from conformance.vectors.case import QuestionCall, RestartStep

INTRO = "vectors:\n  - group: g\n    why: Because.\n    requirement: N01\n    base: start\n"


def slugs(root: Path, body: str) -> list[str]:
    return [question.id.removeprefix(f"{OPERATOR}::g::") for question in expanded(root, INTRO + body)]


def inputs(root: Path, body: str) -> list[Any]:
    return [question.calls[0].inputs for question in expanded(root, INTRO + body)]


def refused(root: Path, vectors: str) -> Problem:
    with pytest.raises(MalformedContract) as caught:
        expanded(root, vectors)
    (problem,) = caught.value.problems
    return problem


def line_of(vectors: str, found: str) -> int:
    return (HEAD + vectors).split(found)[0].count("\n") + 1


def test_a_matrix_is_a_product_with_the_last_axis_fastest(tmp_path: Path) -> None:
    body = "    matrix: {place.at: [5, 6], width: [1, 2]}\n"
    assert slugs(tmp_path, body) == ["at=5,width=1", "at=5,width=2", "at=6,width=1", "at=6,width=2"]


def test_natural_values_become_wire_values_by_their_type(tmp_path: Path) -> None:
    body = """\
    matrix: {place.at: [18446744073709551615]}
    set: {names: {a: 1}, salt: 000102030405060708090a0b0c0d0e0f}
"""
    (made,) = inputs(tmp_path, body)
    assert made == {
        "place": {"lap": "0", "at": "18446744073709551615"},
        "width": 3,
        "names": {"a": "1"},
        "salt": "000102030405060708090a0b0c0d0e0f",
    }


def test_a_named_number_stands_in_the_words_of_a_case(tmp_path: Path) -> None:
    body = """\
    matrix: {"@n": [2, 5]}
    set: {width: "@n*@n+1", place.at: "@n", names: {generated: {generator: map, count: "@n-1", key: "k{k}", of: "7"}}}
"""
    one, other = inputs(tmp_path, body)
    assert (one["width"], other["width"]) == (5, 26)
    assert (one["place"]["at"], other["names"]["generated"]["count"]) == ("2", 4)
    assert slugs(tmp_path / "again", body) == ["n=2", "n=5"]


def test_axes_that_share_a_last_name_are_told_apart_by_their_whole_path(tmp_path: Path) -> None:
    body = "    matrix: {names.at: [1], place.at: [2]}\n"
    assert slugs(tmp_path, body) == ["names.at=1,place.at=2"]


def test_where_keeps_only_matching_combinations(tmp_path: Path) -> None:
    body = '    matrix: {place.at: [1, 2], width: [1, 2]}\n    where: "place.at < uint(width)"\n'
    assert slugs(tmp_path, body) == ["at=1,width=2"]


def test_a_named_value_gives_its_name_to_the_id(tmp_path: Path) -> None:
    body = "    matrix: {place: [{name: far-out, value: {lap: 1, at: 2}}]}\n"
    assert slugs(tmp_path, body) == ["place=far-out"]
    assert inputs(tmp_path / "again", body)[0]["place"] == {"lap": "1", "at": "2"}


def test_a_value_without_a_short_name_is_named_by_its_hash(tmp_path: Path) -> None:
    body = "    matrix: {place: [{lap: 1, at: 2}, {at: 2, lap: 3}]}\n"
    first, second = slugs(tmp_path, body)
    assert first.startswith("place=~")
    assert first != second


def test_a_case_sets_and_unsets_over_its_base(tmp_path: Path) -> None:
    body = """\
    set: {settings.limit: 9, names.x: 1}
    cases:
      - {id: plain}
      - {id: other, set: {settings.backwards: true}, unset: [settings.limit, names]}
"""
    plain, other = inputs(tmp_path, body)
    assert plain["settings"] == {"limit": "9"}
    assert plain["names"] == {"x": "1"}
    assert other == {"place": {"lap": "0", "at": "5"}, "width": 3, "settings": {"backwards": True}}


def test_cases_with_a_matrix_are_asked_in_every_combination(tmp_path: Path) -> None:
    body = "    matrix: {width: [1, 2]}\n    cases: [{id: a}, {id: b, set: {place.at: 1}}]\n"
    assert sorted(slugs(tmp_path, body)) == ["a,width=1", "a,width=2", "b,width=1", "b,width=2"]


def test_a_case_adds_its_requirements_to_those_of_its_group(tmp_path: Path) -> None:
    (question,) = expanded(tmp_path, INTRO + "    cases: [{id: a, requirement: [N02, N01], ruling: NA01, why: So.}]\n")
    assert (question.requirements, question.rulings, question.why) == (("N01", "N02"), ("NA01",), "So.")


def test_a_trace_refers_to_what_earlier_steps_answered(tmp_path: Path) -> None:
    body = """\
    trace:
      - {step: a, set: {width: 1}}
      - {restart: true}
      - {step: b, use: {place: a.after}}
"""
    (question,) = expanded(tmp_path, INTRO + body)
    first, restart, second = question.steps
    assert isinstance(restart, RestartStep)
    assert isinstance(first, QuestionCall)
    assert isinstance(second, QuestionCall)
    assert (first.inputs["width"], second.inputs) == (1, {"place": {"from": "a.after"}, "width": 3})


def test_only_a_declared_damage_is_given_on(tmp_path: Path) -> None:
    second = "{step: b, use: {place: {from: a.after, format: boxed, edit: x absent}}}"
    problem = refused(tmp_path, f"{INTRO}    trace: [{{step: a}}, {second}]\n")
    assert "no format 'boxed'" in problem.message


def test_in_a_trace_the_value_of_a_step_wins_over_the_axis(tmp_path: Path) -> None:
    body = "    matrix: {width: [7]}\n    trace: [{step: a}, {step: b, set: {width: 8}}]\n"
    (question,) = expanded(tmp_path, INTRO + body)
    assert [call.inputs["width"] for call in question.calls] == [7, 8]


CHAIN = """\
    chain:
      length: 3
      feed: {place: after}
      each: {width: [1, 2]}
      vary: {settings.limit: [10, 20]}
      restart_after: [2]
      pins: {"1": {result: {after.at: 6}}, "3.width=2": {failure: CONTRACT_VIOLATION}}
"""


def test_a_chain_is_unrolled_into_rounds_fed_by_the_first_of_the_round_before(tmp_path: Path) -> None:
    (question,) = expanded(tmp_path, INTRO + CHAIN)
    names = [step.name if isinstance(step, QuestionCall) else "restart" for step in question.steps]
    assert names == [
        "round-1,width=1",
        "round-1,width=2",
        "round-2,width=1",
        "round-2,width=2",
        "restart",
        "round-3,width=1",
        "round-3,width=2",
    ]
    assert [call.inputs["place"] for call in question.calls[1:4]] == [
        {"lap": "0", "at": "5"},
        {"from": "round-1,width=1.after"},
        {"from": "round-1,width=1.after"},
    ]
    assert [call.inputs["settings"]["limit"] for call in question.calls[::2]] == ["10", "20", "10"]


def test_the_pins_of_a_chain_stand_at_their_rounds(tmp_path: Path) -> None:
    (question,) = expanded(tmp_path, INTRO + CHAIN)
    pinned = {call.name: call.pin for call in question.calls if call.pin is not None}
    assert pinned.keys() == {"round-1,width=1", "round-1,width=2", "round-3,width=2"}
    assert pinned["round-3,width=2"].failure == "CONTRACT_VIOLATION"
    assert pinned["round-1,width=1"].values == {"after.at": "6"}


def test_where_of_a_chain_leaves_combinations_of_a_round_out(tmp_path: Path) -> None:
    body = """\
    chain:
      length: 2
      feed: {place: after}
      vary: {settings.limit: [1, 2]}
      each: {width: [1, 2]}
      where: "uint(width) <= settings.limit"
"""
    (question,) = expanded(tmp_path, INTRO + body)
    assert [call.name for call in question.calls] == ["round-1,width=1", "round-2,width=1", "round-2,width=2"]


@pytest.mark.parametrize(
    ("generator", "parameters"),
    [
        ("chain, feed: {place: after}", {"place": "after"}),
        ("sweep, sweep: {place.at: {start: 3, step: 2}}", {"place.at": {"start": "3", "step": "2"}}),
        ("random, seed: s, random: {place.at: {below: 10}}", {"place.at": {"below": "10"}}),
    ],
)
def test_an_accumulation_keeps_its_generator(tmp_path: Path, generator: str, parameters: object) -> None:
    body = f"    accumulate: {{output: visited, count: 5, generator: {generator}, pin: {{sha256: ab}}}}\n"
    (question,) = expanded(tmp_path, INTRO + body)
    assert question.accumulation is not None
    assert question.accumulation.parameters == parameters
    assert (question.accumulation.count, question.sha256_pin) == (5, "ab")


RUN = "    accumulate: {output: visited, count: 9, generator"
REFUSED = [
    ("    cases: [{id: a, base: begin}]\n", "C007", "begin", "start"),
    ("    cases: [{id: a, set: {place.on: 1}}]\n", "C008", "place.on", "lap, at"),
    ("    cases: [{id: a, set: {width.x: 1}}]\n", "C008", "width.x", "no part"),
    ("    cases: [{id: a, unset: [names]}]\n", "C008", "[names]", "remove"),
    ("    matrix: {hight: [1]}\n", "C008", "hight", "width"),
    ("    cases: [{id: a, pin: {result: {after.on: 1}}}]\n", "C008", "after.on", "lap, at"),
    ("    cases: [{id: a, pin: {failure: NOT_RAISED}}]\n", "C008", "NOT_RAISED", "CONTRACT_VIOLATION"),
    ("    cases: [{id: a, set: {width: 4294967296}}]\n", "C009", "4294967296", "declare"),
    ("    cases: [{id: a, set: {salt: 12345}}]\n", "C009", "12345", "quotes"),
    ("    cases: [{id: a, set: {place: {lap: 1}}}]\n", "C009", "{lap: 1}", "declare"),
    ("    cases: [{id: a, set: {names: {k: no}}}]\n", "C009", "no}", "declare"),
    ("    cases: [{id: a, pin: {result: {visited: [x]}}}]\n", "C009", "[x]", "list<uint64>"),
    ("    trace: [{step: a, use: {place: b.after}}]\n", "C010", "b.after", "none"),
    ("    trace: [{step: a}, {step: b, use: {place: a.visited}}]\n", "C010", "a.visited", "same type"),
    ("    trace: [{step: a}, {step: b, use: {place: a.before}}]\n", "C010", "a.before", "visited, after"),
    ("    trace: [{step: a}, {step: a}]\n", "C011", "a}]\n", "rename"),
    ("    cases: [{id: a}, {id: a, set: {width: 1}}]\n", "C011", "{id: a, set", "another name"),
    ('    matrix: {width: [1]}\n    where: "width > 1u"\n', "C012", "group: g", "where"),
    (RUN + ": sweep}\n", "C013", "{output", "add sweep"),
    (RUN + ": random, random: {width: {below: 1}}}\n", "C013", "{output", "seed"),
    (RUN + ": random, seed: s, random: {width: {below: 4294967297}}}\n", "C013", "{below", "1..4294967296"),
    (RUN + ": sweep, sweep: {width: {start: 4294967290, step: 1}}}\n", "C013", "{start", "0..4294967295"),
    (RUN + ": sweep, sweep: {place: {start: 0, step: 1}}}\n", "C013", "sweep: {place", "sized integer"),
    (RUN + ": chain, feed: {place: after}, sweep: {}}\n", "C013", "sweep: {}", "remove"),
    ("    accumulate: {output: sold, count: 1, generator: chain, feed: {place: after}}\n", "C008", "sold", "visited"),
    (RUN + ": chain, feed: {place: visited}}\n", "C010", "visited}}", "same"),
    ("    trace: [{step: a, call: Some.Other_v1}]\n", "C014", "Some.Other_v1", "library"),
    ("    chain: {length: 1, feed: {place: after}, where: width}\n", "C004", "width}", "CEL"),
    ('    chain: {length: 1, feed: {place: after}, pins: {"2": {result: {after.at: 1}}}}\n', "C008", '"2"', "1..1"),
]


@pytest.mark.parametrize(("body", "code", "found", "hint"), REFUSED)
def test_a_mistake_is_refused_at_its_line_with_a_hint(
    tmp_path: Path, body: str, code: str, found: str, hint: str
) -> None:
    problem = refused(tmp_path, INTRO + body)
    assert problem.code == code
    assert problem.position.file.endswith(NAME)
    assert problem.position.line == line_of(INTRO + body, found)
    assert hint in problem.hint or hint == "CEL"


def test_an_ill_typed_base_is_refused_in_the_base(tmp_path: Path) -> None:
    vectors = INTRO.replace("base: start", "base: bad") + "    cases: [{id: a}]\n"
    head_line = HEAD.count("\n") + 1
    with pytest.raises(MalformedContract) as caught:
        expanded(tmp_path, "  bad: {place: {lap: -1, at: 0}, width: 1}\n" + vectors)
    (problem,) = caught.value.problems
    assert (problem.code, problem.position.line, problem.position.column) == ("C009", head_line, 22)


def test_every_mistake_is_named_in_one_go(tmp_path: Path) -> None:
    with pytest.raises(MalformedContract) as caught:
        expanded(tmp_path, INTRO + "    cases: [{id: a, base: b}, {id: c, set: {width: x}}]\n")
    assert [problem.code for problem in caught.value.problems] == ["C007", "C009"]
