"""Long values written short mean what is written out, and a form that cannot be written out says where and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cbor2
import pytest

from conformance.contract.shorthand import written_out
from conformance.contract.yaml.companions import joined, with_shared
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import MalformedContract

NAMED = """
values:
  blob: {cbor: {array: [{text: head}, {fields: {b: {int: 2}, a: {bytes: ff}}}]}}
  header: {fields: {a: {int: 1}, b: {text: x}}}
  guards:
    - {id: one, that: "true"}
    - {id: two, that: "true"}
  call: {step: {given: step, default: open}, call: Open, set: {row: {uint8: {given: rows}}}}
  calls: [{like: call, with: {rows: {given: rows}}}, {like: call, with: {step: again, rows: [0]}}]
"""


def value_of(form: str) -> Any:
    return written_out(parse(f"{NAMED}here: {form}\n", "x.yaml")).value["here"]


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("{repeat: [ab, 3]}", "ababab"),
        ("{repeat: [[1, 2], 2]}", [1, 2, 1, 2]),
        ("{repeat: [a, 0]}", ""),
        ('{repeat: ["c{k} ", 3], from: 9}', "c9 c10 c11 "),
        ('{repeat: [[{repeat: ["{k}", 2]}], 2], from: 4}', ["44", "55"]),
        ('{repeat: [[{repeat: ["{k}", 2], from: 1}], 2]}', ["12", "12"]),
        ('{repeat: [[{generated: {of: "{k}"}}], 1]}', [{"generated": {"of": "{k}"}}]),
        ('{repeat: [{join: ["{", "k}"]}, 2]}', "{k}{k}"),
        ('{repeat: [["t{k}", {"a{k}": [{k: "{k}"}], b: 7}], 2], from: 0}',
         ["t0", {"a{k}": [{"k": 0}], "b": 7}, "t1", {"a{k}": [{"k": 1}], "b": 7}]),
        ("{series: {start: 5, count: 3}}", [5, 6, 7]),
        ("{series: {start: 5, step: -2, count: 3}}", [5, 3, 1]),
        ("{series: {start: 0, step: 37, count: 4, modulo: 100}}", [0, 37, 74, 11]),
        ("{series: {start: 255, count: 2, as: uint16}}", "ff000001"),
        ("{series: {start: -1, count: 1, as: int64}}", "ffffffffffffffff"),
        ("{join: [ab, {repeat: [c, 2]}, d]}", "abccd"),
        ("{join: [[1], {series: {start: 2, count: 2}}, [4]]}", [1, 2, 3, 4]),
        ("{join: [{like: header}, {b: {repeat: [c, 2]}, fields: 1}]}", {"fields": 1, "b": "cc"}),
        ("{cbor: null}", "f6"),
        ("{cbor: {float: 1.5}}", "fb3ff8000000000000"),
        ('{cbor: {float: "8000000000000000"}}', "fb8000000000000000"),
        ("{cbor: {int: 256}}", "190100"),
        ('{cbor: {map: [[{text: b}, true], [{text: a}, {int: "0"}]]}}', "a26162f5616100"),
        ("{cbor: {text: {repeat: [t, 3]}}}", "63747474"),
        ('{edit: blob, replace: [[0, "82", "83"]]}', "836468656164a2616141ff616202"),
        ('{edit: "00ff", replace: [[1, ff, aabb]]}', "00aabb"),
        ('{edit: "00ff0102", replace: [[1, 2, aa]]}', "00aa02"),
        ('{edit: {repeat: ["00", 3]}, replace: [[3, "", "01"]]}', "00000001"),
        ("{like: header}", {"fields": {"a": {"int": 1}, "b": {"text": "x"}}}),
        ("{like: header, set: {fields.a.int: 7}, unset: [fields.b]}", {"fields": {"a": {"int": 7}}}),
        ("{uint8: []}", {"dtype": "uint8", "shape": [0], "data": []}),
        ("{float16: [0.5, -0.0]}", {"dtype": "float16", "shape": [2], "data": [0.5, -0.0]}),
        ("{bool: [[true, false, true], [false, true, false]]}",
         {"dtype": "bool", "shape": [2, 3], "data": [True, False, True, False, True, False]}),
        ("{uint8: [[[1]], [[2]]]}", {"dtype": "uint8", "shape": [2, 1, 1], "data": [1, 2]}),
        ("{uint16: {series: {start: 5, count: 2}}}", {"dtype": "uint16", "shape": [2], "data": [5, 6]}),
        ("{like: calls, with: {rows: [7]}}",
         [{"step": name, "call": "Open", "set": {"row": {"dtype": "uint8", "shape": [1], "data": [row]}}}
          for name, row in (("open", 7), ("again", 0))]),
        ("{join: [a, 5, b]}", "a5b"),
        ("{set: {repeat: [a, 2]}}", {"set": {"repeat": ["a", 2]}}),
        ("{path: x, cbor: {int: 1}}", {"path": "x", "cbor": {"int": 1}}),
    ],
)
def test_a_form_is_the_value_that_it_stands_for(form: str, value: Any) -> None:
    assert value_of(form) == value


OPERATOR = "inputs: {repeat: {type: uint64}, like: {type: string}}"
MACHINE = "operations: {Put: {inputs: {repeat: {type: uint64}}}, Get: {inputs: {like: {type: string}}}, Off: {}}"


@pytest.mark.parametrize("inputs", [OPERATOR, MACHINE])
def test_an_input_that_is_called_like_a_form_is_this_input(inputs: str) -> None:
    bases = "bases: {few: {repeat: 3}, near: {like: blob}, whole: {like: header, set: {a: {repeat: [b, 2]}}}}"
    groups = "vectors: [{matrix: {repeat: [1, 2]}}, {set: {data: {matrix: {series: {start: 1, count: 2}}}}}]"
    made = written_out(parse(f"{NAMED}{inputs}\n{bases}\n{groups}\n", "x.yaml")).value
    assert made["bases"]["few"] == {"repeat": 3}
    assert made["bases"]["near"] == {"like": "blob"}
    assert made["bases"]["whole"]["a"] == "bb"
    assert made["vectors"] == [{"matrix": {"repeat": [1, 2]}}, {"set": {"data": {"matrix": [1, 2]}}}]


def test_a_path_may_go_through_a_key_with_dots() -> None:
    named = "values: {files: {a.b: 2, d: {e/f.bin: 1, g: 2}}}\n"
    form = "here: {like: files, set: {a.b: 3}, unset: [d.e/f.bin]}\n"
    assert written_out(parse(named + form, "x.yaml")).value["here"] == {"a.b": 3, "d": {"g": 2}}


def test_cbor_is_what_a_library_reads_and_its_maps_are_in_canonical_order() -> None:
    text = value_of("{like: blob}")
    assert cbor2.loads(bytes.fromhex(text)) == ["head", {"a": b"\xff", "b": 2}]
    assert text.index("6161") < text.index("6162")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{repeat: [a]}", "repeat: expected [a text or a list, how often]"),
        ("{repeat: [a, 1000001]}", "at most 1,000,000"),
        ('{repeat: [[{put: {path: "f-{k}"}}], 2]}', "nothing numbers the copies"),
        ('{repeat: [[{repeat: [b, 2], from: 1}, "{k}"], 2]}', "nothing numbers the copies"),
        ("{series: {start: 0}}", "series: expected {start, step?, count, modulo?, as?}"),
        ("{series: {start: 300, count: 1, as: uint8}}", "a number is no uint8"),
        ("{join: [{a: 1}, [1]]}", "join: expected a list of texts, of lists, or of maps"),
        ('{edit: "0001", replace: [[1, 2, "03"]]}', "expected [offset, old hex or size, new hex]"),
        ("{join: [a, [1]]}", "join: expected a list of texts, of lists, or of maps"),
        ("{cbor: {txt: a}}", "expected a value such as {text: a}, found {'txt': 'a'}"),
        ('{cbor: {map: [[{text: a}, true, true]]}}', "expected a value such as {text: a}"),
        ("{edit: nothing, replace: []}", "edit: expected hex, found 'nothing'"),
        ('{edit: "0001", replace: [[1, "02", "03"]]}', "the base has '01' at 1, not '02'"),
        ('{edit: "0001", replace: [[1, "", "03"], [0, "", "04"]]}', "expected [offset, old hex or size, new hex]"),
        ('{edit: "0001"}', "edit: nothing is replaced"),
        ('{edit: "0001", replace: [[3, "", "02"]]}', "expected [offset, old hex or size, new hex]"),
        ('{edit: "0001", replace: [[true, "01", "02"]]}', "expected [offset, old hex or size, new hex]"),
        ('{edit: "0001", replace: [[1, true, "02"]]}', "expected [offset, old hex or size, new hex]"),
        ("{series: {start: true, count: 2}}", "series: expected {start, step?, count, modulo?, as?}"),
        ("{repeat: [[{repeat: [a, 1000]}], 1001]}", "at most 1,000,000"),
        ("{join: [[{repeat: [a, 900000]}], [{repeat: [b, 900000]}]]}", "join: more than 1,000,000 letters or items"),
        ("{like: heeder}", "unknown value 'heeder'"),
        ("{like: header, unset: [fields.c]}", "nothing is at 'fields.c' to unset"),
        ("{like: header, set: {nothing.a: 1}}", "nothing is above 'nothing.a'"),
        ("{like: call, with: {rows: [1], row: 2}}", "like: call uses no row"),
        ("{like: header, with: 5}", "like: expected a map of what is given to 'header', found 5"),
        ("{uint8: 5}", "tensor: expected a list, found 5"),
        ("{uint8: [[1], [2, 3]]}", "tensor: the inner lists have different lengths"),
        ("{uint8: [1, [2]]}", "tensor: expected a list, found 1"),
        ("{like: header, set: 5}", "like: a part is of the wrong kind"),
        ("{like: header, unset: [5]}", "like: a part is of the wrong kind"),
        ('{edit: "00", replace: 5}', "edit: a part is of the wrong kind"),
        ("{cbor: {int: '1_000'}}", "expected a value such as {text: a}, found {'int': '1_000'}"),
        ("{cbor: {bytes: '00 ff'}}", "expected a value such as {text: a}, found {'bytes': '00 ff'}"),
        ('{edit: "00ff", replace: [[0, "00 ff", ""]]}', "edit: expected hex, found '00 ff'"),
        ("{cbor: {int: five}}", "cbor: a part is of the wrong kind"),
        ("{cbor: {int: 99999999999999999999}}", "cbor: a part is of the wrong kind"),
        ('{cbor: {float: "00"}}', "cbor: a part is of the wrong kind"),
        ("{join: [{repeat: [a, 900000]}, {repeat: [b, 900000]}]}", "join: more than 1,000,000 letters or items"),
    ],
)
def test_a_form_that_cannot_be_written_out_names_its_place_and_what_was_expected(form: str, said: str) -> None:
    with pytest.raises(MalformedContract) as caught:
        value_of(form)
    (problem,) = caught.value.problems
    assert (problem.code, problem.position.line, problem.position.column) == ("C018", 10, 7)
    assert said in problem.message


def test_a_part_that_with_does_not_give_is_reported_where_it_is_used() -> None:
    said = r"x.yaml:10:7: C018 given: nothing gives 'rows'\n.*x.yaml:8:\d+ takes it"
    with pytest.raises(MalformedContract, match=said):
        value_of("{like: call}")


def test_a_value_made_of_itself_is_refused() -> None:
    with pytest.raises(MalformedContract, match="a is made of itself"):
        written_out(parse("values: {a: {like: b}, b: {like: a}}\nhere: {like: a}\n", "x.yaml"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("[1]", "values: expected a map"),
        ("{" + ", ".join(f"v{k}: {{like: v{k + 1}}}" for k in range(40)) + ", v40: 1}", "more than 32 values made of"),
        # Seventy of seventy of seventy.
        ("{" + "".join(f"v{k}: {{" + ", ".join(f"a{n}: {{like: v{k + 1}}}" for n in range(70)) + "}, "
                      for k in range(3)) + "v3: 1}",
         "more than 200,000 values, written out"),
        # A long text, which costs less to copy than as many short ones.
        ("{v0: " + "[{like: two, with: {x: " * 13 + "abc" * 400 + "}}]" * 13 + ", two: [{given: x}, {given: x}]}",
         "more than 5,000,000 letters and items in one file"),
        ("{" + ", ".join(f"v{k}: {'[' * 200}{{like: v{k + 1}}}{']' * 200}" for k in range(9)) + ", v9: 1}",
         "more than 256 lists and maps in one another, written out"),
    ],
)  # fmt: skip
def test_named_values_cannot_run_away(values: str, said: str) -> None:
    with pytest.raises(MalformedContract, match=said):
        written_out(parse(f"values: {values}\nhere: {{like: v0}}\n", "x.yaml"))


def test_what_is_taken_over_whole_keeps_its_position() -> None:
    source = written_out(parse(f"{NAMED}requires: {{join: [{{like: guards}}, [{{id: three}}]]}}\n", "x.yaml"))
    assert [guard["id"] for guard in source.value["requires"]] == ["one", "two", "three"]
    assert source.at(("requires", 2, "id")).column > 1
    alone = written_out(parse(f"{NAMED}requires: {{like: guards}}\n", "x.yaml"))
    assert alone.at(("requires", 1, "id")).line == 7


def test_cases_beside_a_contract_are_part_of_it_at_their_own_positions() -> None:
    source = joined(parse("contract: A\n", "a.yaml"), parse("bases: {x: 1}\nvectors: [2]\n", "a.cases.yaml"))
    assert source.value == {"contract": "A", "bases": {"x": 1}, "vectors": [2]}
    assert str(source.at(("vectors", 0))) == "a.cases.yaml:2:11"
    assert str(source.at(("contract",))) == "a.yaml:1:11"


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ("vectors: []\n", "a.cases.yaml:1:1: C005 vectors twice"),
        ("requires: []\n", "a.cases.yaml:1:1: C002 unknown key 'requires' in a file of cases"),
        ("[]\n", "a.cases.yaml:1:1: C002 expected a map"),
    ],
)
def test_a_file_of_cases_holds_cases_and_nothing_twice(cases: str, said: str) -> None:
    with pytest.raises(MalformedContract) as caught:
        joined(parse("contract: A\nvectors: []\n", "a.yaml"), parse(cases, "a.cases.yaml"))
    assert said in str(caught.value)


def test_the_values_of_a_family_are_known_in_each_contract_at_their_own_positions() -> None:
    shared = parse("values:\n  row: {a: 1}\n", "values.yaml")
    source = written_out(with_shared(parse("values: {b: 2}\nhere: [{like: row}, {like: b}]\n", "a.yaml"), shared))
    assert source.value == {"here": [{"a": 1}, 2]}
    assert str(source.at(("here", 0, "a"))) == "values.yaml:2:12"


@pytest.mark.parametrize(
    ("contract", "shared", "said"),
    [
        ("values: {row: 1}\n", "values: {row: 2}\n", "a.yaml:1:10: C005 row twice"),
        ("a: 1\n", "bases: {}\n", "values.yaml:1:1: C002 expected a map with the key values alone"),
        ("a: 1\n", "values: {}\nbases: {}\n", "values.yaml:1:1: C002 expected a map with the key values alone"),
    ],
)
def test_a_name_is_a_value_of_the_family_or_of_the_contract(contract: str, shared: str, said: str) -> None:
    with pytest.raises(MalformedContract) as caught:
        with_shared(parse(contract, "a.yaml"), parse(shared, "values.yaml"))
    assert said in str(caught.value)


def test_no_line_of_a_contract_is_longer_than_400_letters() -> None:
    spec = Path(__file__).parents[3] / "spec"
    files = sorted(spec.glob("*/*.yaml"))
    assert files
    long = [
        f"{file.name}:{k}" for file in files for k, line in enumerate(file.open(encoding="utf-8"), 1) if len(line) > 401
    ]
    assert long == []


def test_a_named_value_that_nothing_uses_is_remembered_with_its_place() -> None:
    text = "values:\n  used: [1]\n  left: [2]\n  round: {like: round}\nhere: {like: used}\n"
    keys = written_out(parse(text, "x.yaml")).keys
    assert {path: at.line for path, at in keys.items() if path[0] == "values"} == {
        ("values", "left"): 3,
        ("values", "round"): 4,
    }
    shared = with_shared(parse("here: 1\n", "x.yaml"), parse(text.partition("here")[0], "a/values.yaml"))
    assert set(written_out(shared).keys) == {("here",)}
