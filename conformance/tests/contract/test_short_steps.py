"""A short step of a trace means the long one, and a call without a name is called after its operation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.shorthand import written_out
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import MalformedContract

NAMED = """
values:
  take: {step: {given: step, default: batch-N}, Take: {rows: {given: rows}}, gives: {rows: {given: rows}}}
  faults: [{id: one, fails: BAD}]
vectors:
"""


def trace(*steps: str) -> Any:
    text = NAMED + "- group: g\n  trace:\n" + "".join(f"  - {step}\n" for step in steps)
    return written_out(parse(text, "x.yaml")).value["vectors"][0]["trace"]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("{step: a, Read: {row: 1}, base: b}", "{step: a, call: Read, base: b, set: {row: 1}}"),
        ("{step: a, Read: {}}", "{step: a, call: Read}"),
        ("{Read: {row: {repeat: [x, 3]}}}", "{step: read, call: Read, set: {row: xxx}}"),
        ("{Family.ReadRows_v1: {}}", "{step: read-rows, call: Family.ReadRows_v1}"),
        ("{step: a, gives: {row: 2}}", "{step: a, pin: {result: {row: 2}}}"),
        ("{step: a, fails: BAD}", "{step: a, pin: {failure: BAD}}"),
        ("{take: {rows: 2}}", "{step: batch, call: Take, set: {rows: 2}, pin: {result: {rows: 2}}}"),
        ("{step: a, take: {rows: 2}, base: b}", "{step: a, Take: {rows: 2}, base: b, gives: {rows: 2}}"),
        ("{take: {rows: 2}, fails: BAD}", "{step: batch, call: Take, set: {rows: 2}, pin: {failure: BAD}}"),
        ("{restart: true}", "{restart: true}"),
    ],
)
def test_a_short_step_is_the_long_one(short: str, long: str) -> None:
    assert trace(short) == trace(long)


def test_calls_of_one_name_are_numbered_from_the_second_and_skip_names_that_are_taken() -> None:
    calls = ("{Read: {}}", "{step: read-2, Read: {}}", "{restart: true}", "{Read: {}}")
    steps = trace(*calls, "{take: {rows: 1}}", "{take: {rows: 2}}")
    assert [step.get("step") for step in steps] == ["read", "read-2", None, "read-3", "batch", "batch-2"]


def test_a_step_whose_name_is_no_text_is_left_to_the_schema() -> None:
    steps = trace("{step: {x: 1}, Read: {}}", "{step: [a], restart: true}", "{Read: {}}")
    assert [step["step"] for step in steps] == [{"x": 1}, ["a"], "read"]


def test_a_join_of_steps_may_have_short_ones() -> None:
    text = NAMED + "- {group: g, trace: {join: [{repeat: [[{Read: {}}], 2]}, [{take: {rows: 1}}]]}}\n"
    steps = written_out(parse(text, "x.yaml")).value["vectors"][0]["trace"]
    assert [step["step"] for step in steps] == ["read", "read-2", "batch"]


SEVERAL = """
values:
  take: {step: batch-N, Take: {rows: {given: rows}}}
  round: [{take: {rows: {given: rows}}}, {Advance: {pulse: {given: pulse, default: 1}}}]
  rounds: [{round: {rows: 8}}, {round: {rows: 9, pulse: 2}}]
vectors:
- group: g
  trace:
  - {Open: {}}
  - {round: {rows: 1}}
  - {repeat: [[{round: {rows: 7, pulse: "{k}"}}, {put: {path: "f-{k}"}}], 2], from: 3}
  - {like: rounds}
  - {Close: {}, fails: BAD}
"""


def test_a_step_may_be_several_a_named_list_or_a_repeat() -> None:
    source = written_out(parse(SEVERAL, "x.yaml"))
    steps = source.value["vectors"][0]["trace"]
    rounds = [(2, 1), (4, 3), (7, 4), (10, 1), (12, 2)]
    assert [step.get("step") for step in steps[:3]] == ["open", "batch", "advance"]
    assert [steps[at]["set"] for at, _ in rounds] == [{"pulse": pulse} for _, pulse in rounds]
    assert [steps[at]["put"]["path"] for at in (5, 8)] == ["f-3", "f-4"]
    place = source.at(("vectors", 0, "trace", 13, "pin", "failure"))
    assert (place.line, place.column) == (13, 24)


def test_a_named_list_of_steps_may_be_a_repeat_alone() -> None:
    named = "values: {advances: [{repeat: [[{Advance: {to: '{k}'}}], 2], from: 1}], text: [{repeat: [a, 2]}]}\n"
    group = "vectors: [{group: g, trace: [{advances: {}}, {Read: {row: {like: text}}}]}]\n"
    steps = written_out(parse(named + group, "x.yaml")).value["vectors"][0]["trace"]
    assert [step["set"] for step in steps] == [{"to": 1}, {"to": 2}, {"row": ["aa"]}]


def test_many_calls_of_one_name_are_numbered_at_once() -> None:
    steps = trace("{step: read-3, Read: {}}", "{repeat: [[{Read: {}}], 40000]}")
    assert [steps[at]["step"] for at in (1, 2, 3, 40_000)] == ["read", "read-2", "read-4", "read-40001"]


def test_a_case_does_not_replace_what_its_pattern_sets() -> None:
    named = "values: {short: {set: {text: {given: text}}}}\nvectors:\n"
    text = named + "- {group: g, cases: [{id: a, short: {text: x}, set: {n: 1}}]}\n"
    with pytest.raises(MalformedContract, match=r"x.yaml:3:53: C018 set in the case and in short"):
        written_out(parse(text, "x.yaml"))


def test_a_failure_of_a_group_is_that_of_each_case_without_an_answer() -> None:
    text = NAMED + "- {group: g, fails: BAD, cases: [{id: a}, {id: b, gives: {row: 1}}, {id: c, fails: WORSE}]}\n"
    (group,) = written_out(parse(text, "x.yaml")).value["vectors"]
    pins = [{"failure": "BAD"}, {"result": {"row": 1}}, {"failure": "WORSE"}]
    assert group == {"group": "g", "cases": [{"id": name, "pin": pin} for name, pin in zip("abc", pins, strict=True)]}


def test_a_case_may_use_a_pattern() -> None:
    named = """
values:
  short: {set: {text: {given: text}}, gives: {size: 1}}
  text: {set: {text: {given: text}}}
  texts: [{id: d, text: {text: w}, fails: WORSE}]
vectors:
- {group: f, cases: {like: texts}}
- group: g
  fails: BAD
  cases: [{id: a, short: {text: x}, why: W}, {id: b, text: {text: y}}, {id: c, text: {text: z}, gives: {size: 2}}]
"""
    listed, group = written_out(parse(named, "x.yaml")).value["vectors"]
    assert listed["cases"] == [{"id": "d", "set": {"text": "w"}, "pin": {"failure": "WORSE"}}]
    assert group["cases"] == [
        {"id": "a", "set": {"text": "x"}, "pin": {"result": {"size": 1}}, "why": "W"},
        {"id": "b", "set": {"text": "y"}, "pin": {"failure": "BAD"}},
        {"id": "c", "set": {"text": "z"}, "pin": {"result": {"size": 2}}},
    ]


def test_the_values_of_an_axis_may_be_a_map_of_their_names() -> None:
    axes = "'@a': {one: {repeat: [x, 2]}, '2': y}, '@b': {damages: f}, '@c': {like: faults}"
    text = f"{NAMED}- {{group: g, matrix: {{{axes}}}}}\n"
    source = written_out(parse(text, "x.yaml"))
    matrix = source.value["vectors"][0]["matrix"]
    assert matrix["@a"] == [{"name": "one", "value": "xx"}, {"name": "2", "value": "y"}]
    assert matrix["@b"] == {"damages": "f"}
    assert matrix["@c"] == [{"id": "one", "pin": {"failure": "BAD"}}]
    line = text.splitlines()[-1]
    assert source.at(("vectors", 0, "matrix", "@a", 1, "value")).column == line.index("y}") + 1


def test_named_cases_may_be_short() -> None:
    text = NAMED + "- {group: g, cases: {like: faults}}\n"
    assert written_out(parse(text, "x.yaml")).value["vectors"][0]["cases"] == [{"id": "one", "pin": {"failure": "BAD"}}]


def test_the_parts_of_a_short_step_keep_their_places() -> None:
    source = written_out(parse(NAMED + "- group: g\n  trace:\n  - {step: a, Read: {row: 1}, fails: BAD}\n", "x.yaml"))
    at = ("vectors", 0, "trace", 0)
    columns = [source.at((*at, *path)).column for path in (("call",), ("set", "row"), ("pin",), ("pin", "failure"))]
    line = "  - {step: a, Read: {row: 1}, fails: BAD}"
    assert columns == [line.index(part) + 1 for part in ("Read", "1}", "fails", "BAD")]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{tkae: {rows: 1}}", "x.yaml:8:12: C018 no named value 'tkae'"),
        ("{take: {rows: 1}, set: {rows: 2}}", "x.yaml:8:5: C018 more than one thing beside take"),
        ("{take: {rows: 1}, faults: {}}", "more than one thing beside take"),
        ("{step: a, Read: {}, Write: {}}", "x.yaml:8:5: C018 one step with Read, Write"),
        ("{step: a, Read: {}, set: {row: 1}}", "one step with Read, set"),
        ("{repeat: [[{Read: {}}], 2], step: a}", "x.yaml:8:39: C018 'step' beside repeat"),
        ("{step: a, gives: {}, fails: BAD}", "one answer with gives and fails"),
        ("{take: {}}", "nothing gives 'rows'"),
    ],
)
def test_a_short_step_that_contradicts_itself_is_refused_where_it_is(step: str, said: str) -> None:
    with pytest.raises(MalformedContract) as refused:
        trace(step)
    assert said in str(refused.value)
