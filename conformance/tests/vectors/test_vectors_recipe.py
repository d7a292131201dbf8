"""Long inputs as recipes: what they make, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.codec.scalar import IllTyped
from conformance.contract.types import Scalar, Value
from conformance.vectors import compact
from conformance.vectors.compact import LONGEST_TEXT, BadRecipe, expanded, holds_recipe, is_recipe, recipe, with_recipes
from conformance.vectors.draft import to_wire
from conformance.vectors.frozen.vector_file import Models
from conformance.vectors.jsontext import digest_of


def test_numbers_that_begin_with_a_number_are_numbers() -> None:
    assert expanded({"inside": [recipe("numbers", 2, start=7, step=0)]}) == {"inside": [[7, 7]]}


def test_a_recipe_of_another_digest_is_refused() -> None:
    made = recipe("text", 300, of="a")
    made["generated"]["count"] = 299
    with pytest.raises(BadRecipe, match="another digest"):
        expanded(made)


def test_data_that_is_no_recipe_stays_as_it_is() -> None:
    data = {"generated": "yes", "other": [{"generated": {"by": "hand"}}]}
    assert not holds_recipe(data)
    assert expanded(data) == data


def test_a_recipe_stands_inside_a_value_as_well() -> None:
    deep = {"fields": {"deep": {"array": {"generated": {"generator": "nested", "count": 1, "of": []}}}}}
    assert expanded(to_wire(Value(), deep)) == {"map": [[{"text": "deep"}, {"array": [{"array": []}]}]]}
    long = {"text": {"generated": {"generator": "text", "count": 70, "of": "a"}}}
    assert expanded(to_wire(Value(), long)) == {"text": "a" * 70}
    pairs = {"generator": "list", "count": 2, "of": [{"text": "k{k}"}, {"int": "7"}]}
    many = {"map": [[{"text": "k0"}, {"int": "7"}], [{"text": "k1"}, {"int": "7"}]]}
    assert expanded(to_wire(Value(), {"map": {"generated": pairs}})) == many
    for no_value in ({"array": {"generated": {"generator": "text", "count": 3, "of": "a"}}}, {"generated": pairs}):
        with pytest.raises(IllTyped):
            to_wire(Value(), no_value)


def test_a_recipe_is_expanded_wherever_it_is_in_a_list() -> None:
    texts = with_recipes(["a", "b" * (LONGEST_TEXT + 1)])
    assert holds_recipe(texts)
    assert expanded(texts) == ["a", "b" * (LONGEST_TEXT + 1)]


@pytest.mark.parametrize("body", [{"generator": "text", "count": 3, "of": "zz"}, {"generator": "none", "count": 1}, 7])
def test_a_recipe_that_does_not_make_the_type_is_refused(body: Any) -> None:
    with pytest.raises(IllTyped):
        to_wire(Scalar("bytes"), {"generated": body})


def test_calls_of_a_group_that_are_alike_are_written_as_their_difference() -> None:
    steps: list[dict[str, Any]] = [
        {"step": "s", "call": "A", "inputs": {"a": [1, k], "b": "x" * 200}, "expected": {"result": {"c": k}}}
        for k in range(4)
    ]
    steps[2]["inputs"]["more"] = 1  # other keys: it stays whole
    writer, reader = Models(), Models()
    written = [writer.step_records(f"A::g::case-{k}", [step]) for k, step in enumerate(steps)]
    assert written[0] == [steps[0]]
    like = {"like": "case-0::s", "inputs": [[["a", 1], 3]], "expected": [[["result", "c"], 3]]}
    assert written[3] == [{"step": "s", "call": "A", **like}]
    assert written[2] == [steps[2]]
    assert [reader.read(f"A::g::case-{k}", some) for k, some in enumerate(written)] == [[step] for step in steps]
    assert writer.step_records("A::other::case-0", [steps[1]]) == [steps[1]]


def test_a_call_is_written_as_its_difference_from_the_nearest_whole_one() -> None:
    steps: list[dict[str, Any]] = [
        {"step": f"s{k}", "call": "A", "inputs": {"a": k, "b": letter * 200}, "expected": {"result": {"c": letter}}}
        for k, letter in enumerate("xyyx")
    ]
    written = Models().step_records("A::g::case", steps)
    assert written[:2] == steps[:2]  # nothing in common
    assert [one["like"] for one in written[2:]] == ["case::s1", "case::s0"]
    assert Models().read("A::g::case", written) == steps


def test_a_failure_beside_a_result_is_written_with_the_difference_of_its_inputs_alone() -> None:
    steps = [
        {"step": f"s{k}", "call": "A", "inputs": {"a": k, "b": "x" * 200}, "expected": expected}
        for k, expected in enumerate(({"result": {"c": 1}}, {"failure": {"code": "C", "data": {}}}))
    ]
    written = Models().step_records("A::g::case", steps)
    assert written[1] == {
        "step": "s1", "call": "A", "like": "case::s0", "inputs": [[["a"], 1]], "expected": steps[1]["expected"]
    }  # fmt: skip
    assert Models().read("A::g::case", written) == steps


def test_a_difference_from_nothing_is_an_error() -> None:
    step = {"step": "s1", "call": "A", "like": "case::s0", "inputs": [], "expected": []}
    with pytest.raises(KeyError):
        Models().read("A::g::case", [step])


def test_a_digest_that_an_earlier_command_took_is_not_taken_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLY_CACHE", str(tmp_path / "cache"))
    made = recipe("text", 3000, of="ab")
    taken: list[Any] = []

    def counted(value: Any) -> str:
        taken.append(value)
        return digest_of(value)

    monkeypatch.setattr(compact, "digest_of", counted)
    for _ in range(2):
        compact._known_digest.cache_clear()
        compact._digest_of_made.cache_clear()
        assert expanded({"x": made}) == {"x": "ab" * 3000}
    assert len(taken) == 1
    with pytest.raises(BadRecipe, match="another digest"):
        expanded({"generated": {**made["generated"], "sha256": "0" * 64}})


@pytest.mark.parametrize(
    "text",
    ["t" * (LONGEST_TEXT + 1), "00" * LONGEST_TEXT, "83" + "74" * LONGEST_TEXT + "5820ff", "é" * LONGEST_TEXT + "\nx"],
    ids=["letters", "bytes", "bytes between others", "letters with an end"],
)
def test_a_long_text_of_one_letter_or_byte_becomes_a_short_recipe_of_itself(text: str) -> None:
    value = {"header": [{"text": text}, {"int": "1"}], "kept": "abc"}
    short = with_recipes(value)
    assert is_recipe(short["header"][0]["text"])
    assert len(str(short)) < 400
    assert expanded(short) == value
    assert with_recipes(short) == short


def test_other_texts_stay() -> None:
    noise = "".join(f"{number:04x}" for number in range(LONGEST_TEXT))
    value = {"short": "t" * LONGEST_TEXT, "noise": noise, "numbers": [1, 2], "flag": True}
    assert with_recipes(value) == value


def test_the_recipes_of_one_generator_are_expanded_by_themselves() -> None:
    value = {"a": recipe("text", 2, of="ab"), "b": [recipe("list", 2, of="x")]}
    assert expanded(value, "text") == {"a": "abab", "b": value["b"]}
