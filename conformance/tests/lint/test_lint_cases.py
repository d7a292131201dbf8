"""What the rules over frozen cases say, on a contract small enough to see why."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.lint.call import FrozenCall, UnreadableCase, calls_of
from conformance.tests.small_corpus import FAILURE, GOOD, OPERATOR, case, found, halved, step, subject
from conformance.tests.small_spec import spoilt
from conformance.vectors.case import Accumulation, Case, RestartStep

CASE_RULES = ["L102", "L108", "L202", "L301", "L302", "L303", "L304", "L305", "L306", "L308"]


@pytest.mark.parametrize("code", CASE_RULES)
def test_good_cases_of_a_good_contract_say_nothing(tmp_path: Path, code: str) -> None:
    assert found(code, subject(tmp_path)) == []


def test_a_guard_is_reached_only_where_it_is_the_first_that_is_not_true(tmp_path: Path) -> None:
    even = '{id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}'
    shadow = '{id: not-one, that: "whole != 1u", else: CONTRACT_VIOLATION, requirement: N01}'
    judged = subject(tmp_path, spoilt(even, f"{even}\n  - {shadow}"))
    assert found("L301", judged) == ["no case in which guard 'not-one' is the first that is not true"]


def test_a_guard_without_an_inside_case_and_an_operator_without_a_success_are_found(tmp_path: Path) -> None:
    messages = found("L301", subject(tmp_path, cases=[halved(1)]))
    assert messages == [f"no case of {OPERATOR} succeeds", "no case in which guard 'even' is true"]


def test_an_edge_case_must_be_met_and_must_be_an_edge(tmp_path: Path) -> None:
    assert found("L302", subject(tmp_path, cases=GOOD[1:])) == ["no case meets edge case 'nothing'"]


def test_an_edge_case_that_every_case_meets_is_no_edge(tmp_path: Path) -> None:
    judged = subject(tmp_path, spoilt('when: "whole == 0u"', 'when: "whole < 100u"'))
    assert found("L302", judged) == ["every case meets edge case 'nothing': it is no edge"]


@pytest.mark.parametrize(
    ("guard", "wholes", "missing"),
    [
        ("whole <= 6u", [6, 7], []),
        ("whole <= 6u", [5, 7], ["'whole <= 6u' on the boundary"]),
        ("whole <= 6u", [6, 8], ["'whole <= 6u' one above the boundary"]),
        ("whole < 6u", [5, 6], []),
        ("whole < 6u", [6, 7], ["'whole < 6u' one below the boundary"]),
        ("whole > 6u", [6, 7], []),
        ("whole > 6u", [6, 8], ["'whole > 6u' one above the boundary"]),
        ("whole >= 6u", [5, 6], []),
        ("whole >= 6u", [4, 6], ["'whole >= 6u' one below the boundary"]),
        ("whole == 6u", [6, 9], []),
        ("whole == 6u", [5, 9], ["'whole == 6u' when it is true"]),
        ("whole != 6u", [5, 9], ["'whole != 6u' when it is false"]),
        # Where has_label is true the comparison decides nothing.
        ("has_label || whole <= 6u", [6, 7], []),
        # 18446744073709551615 + 1 leaves uint64: it lies beyond, whatever its neighbour.
        ("whole + 1u <= 18446744073709551615u", [2**64 - 2, 2**64 - 1], []),
    ],
)
def test_both_neighbours_of_a_boundary_are_asked_for(
    tmp_path: Path, guard: str, wholes: list[int], missing: list[str]
) -> None:
    judged = subject(tmp_path, spoilt('"rest == 0u"', f'"{guard}"'), [halved(whole) for whole in wholes])
    assert found("L303", judged) == [f"guard 'even': no case decides {text}" for text in missing]


def test_a_comparison_counts_only_where_the_guard_hangs_on_it(tmp_path: Path) -> None:
    cases = [case(f"w{whole}", step("call", {"whole": str(whole), "label": "x"}, {"half": "0"})) for whole in (6, 7)]
    judged = subject(tmp_path, spoilt('"rest == 0u"', '"has_label || whole <= 6u"'), cases)
    assert len(found("L303", judged)) == 2


def test_a_case_behind_an_earlier_guard_touches_no_boundary(tmp_path: Path) -> None:
    even = '{id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}'
    small = '{id: small, that: "whole <= 6u", else: CONTRACT_VIOLATION, requirement: N01}'
    judged = subject(tmp_path, spoilt(even, f"{even}\n  - {small}"), [halved(6), halved(7), halved(1)])
    assert found("L303", judged) == ["guard 'small': no case decides 'whole <= 6u' one above the boundary"]


def test_guards_and_frozen_outcomes_must_agree_both_ways(tmp_path: Path) -> None:
    refused = case("refused", step("call", {"whole": "4"}, FAILURE))
    judged = subject(tmp_path, cases=[halved(3, half=1), refused])
    assert found("L304", judged) == [
        f"the guard even predicts CONTRACT_VIOLATION, but a result is frozen in {OPERATOR}::small-numbers::whole=3",
        f"every guard is true, but CONTRACT_VIOLATION is frozen in {OPERATOR}::small-numbers::refused",
    ]


def test_a_failure_record_names_its_code_and_operator(tmp_path: Path) -> None:
    wrong = type(FAILURE)("CONTRACT_VIOLATION", {**FAILURE.data, "failure_operator": "UML_OS.Data.Other_v1"})
    judged = subject(tmp_path, cases=[case("odd", step("call", {"whole": "1"}, wrong))])
    (message,) = found("L304", judged)
    assert "failure_operator 'UML_OS.Data.Other_v1'" in message


def test_a_frozen_result_that_breaks_a_postcondition_is_found(tmp_path: Path) -> None:
    (message,) = found("L305", subject(tmp_path, cases=[halved(6, half=4)]))
    assert message == f"postcondition 'doubles' is not true of the frozen result of {OPERATOR}::small-numbers::whole=6"


def test_a_success_outside_the_domain_is_found(tmp_path: Path) -> None:
    judged = subject(tmp_path, spoilt("ordering: {}", 'ordering: {}\ndomain: ["whole <= 4u"]'))
    (message,) = found("L305", judged)
    assert "whole=6 succeeds outside the domain (whole <= 4u)" in message


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("result.half == result.half", "no corrupted result breaks postcondition 'more'"),
        ("result.half >= 0u", "no corrupted result breaks postcondition 'more'"),
        ("result.half <= whole", "whatever breaks postcondition 'more' breaks doubles as well"),
        ("result.half * 2u == whole", "whatever breaks postcondition 'doubles' breaks more as well"),
    ],
)
def test_a_postcondition_that_says_nothing_or_nothing_new_is_found(tmp_path: Path, clause: str, message: str) -> None:
    more = f'  - {{id: more, that: "{clause}", requirement: N01}}\nordering: {{}}'
    assert message in found("L306", subject(tmp_path, spoilt("ordering: {}", more)))


def test_a_case_that_does_not_fit_the_types_is_found_once_and_judged_by_nothing_else(tmp_path: Path) -> None:
    crooked = case("crooked", step("call", {"whole": 6}, {"half": "3"}))
    judged = subject(tmp_path, cases=[*GOOD, crooked])
    (message,) = found("L108", judged)
    assert "crooked does not fit the contract's types" in message
    assert found("L304", judged) == []


def test_a_group_and_its_cases_must_have_each_other(tmp_path: Path) -> None:
    strayed = case("one", step("call", {"whole": "2"}, {"half": "1"}), group="elsewhere")
    assert found("L108", subject(tmp_path, cases=[strayed])) == [
        "frozen cases of group 'elsewhere', which the contract does not have",
        "group 'small-numbers' has no frozen case",
    ]


def test_a_failure_that_no_guard_declares_is_found(tmp_path: Path) -> None:
    strange = type(FAILURE)("REPLAY_DIVERGENCE", {**FAILURE.data, "failure_code": "REPLAY_DIVERGENCE"})
    (message,) = found("L102", subject(tmp_path, cases=[case("odd", step("call", {"whole": "1"}, strange))]))
    assert "REPLAY_DIVERGENCE, which it does not declare" in message


# How a frozen case is read.


def read(tmp_path: Path, frozen: Case) -> list[FrozenCall]:
    return list(calls_of(frozen, subject(tmp_path).codebook))


def test_a_trace_is_read_with_the_answers_of_its_earlier_steps(tmp_path: Path) -> None:
    steps = (
        step("a", {"whole": "12"}, {"half": "6"}),
        RestartStep(),
        step("b", {"whole": {"from": "a.half"}}, {"half": "3"}),
        step("c", {"whole": {"from": "b.half"}}, FAILURE),
        step("d", {"whole": {"from": "c.half"}}, {"half": "0"}),
    )
    calls = read(tmp_path, case("trace", *steps))  # type: ignore[arg-type]
    assert [call.inputs["whole"] for call in calls] == [12, 6, 3]
    assert [call.succeeds for call in calls] == [True, True, False]
    assert str(calls[1]).endswith("::trace, step b")


def test_a_list_that_is_frozen_as_a_digest_is_known_to_be_missing(tmp_path: Path) -> None:
    contract = spoilt("half:  {type: uint64}", "half:  {type: uint64}\n  parts: {type: list<uint64>}")
    marker = {"count": 100, "sha256": "00" * 32, "head": [], "tail": []}
    judged = subject(tmp_path, contract, [case("long", step("call", {"whole": "4"}, {"half": "2", "parts": marker}))])
    (call,) = judged.calls(OPERATOR)
    evaluator = judged.evaluator(judged.contracts[0])
    assert call.elided == {"parts"}
    assert evaluator.judges("result.half == 2u", call)
    assert not evaluator.judges("size(result.parts) == 100", call)


def test_a_sweep_is_read_at_its_first_and_last_call(tmp_path: Path) -> None:
    run = Accumulation(
        OPERATOR, {"whole": "0", "salt": "00" * 16}, "half", "sweep", {"whole": {"start": 4, "step": 2}}, "", 10, ()
    )
    frozen = Case(f"{OPERATOR}::small-numbers::run", OPERATOR, "small-numbers", "W.", (), (), "quick", (), run)
    assert [call.inputs["whole"] for call in read(tmp_path, frozen)] == [4, 22]


def test_what_cannot_be_read_says_which_case(tmp_path: Path) -> None:
    crooked = case("crooked", step("call", {"whole": "06"}, {"half": "3"}))
    with pytest.raises(UnreadableCase) as caught:
        read(tmp_path, crooked)
    assert caught.value.case is crooked


LABEL_LIMIT = """\
    base: four
    matrix: {whole: [0, 1, 2]}
  - group: long-labels
    why: A label is bounded.
    requirement: N01
    base: four
    set: {label: a}
    limit: short-label
    grow: label
"""


def limited(that: str, unit: str = "", groups: bool = True) -> str:
    """The contract with a guard of this text and unit, and with or without cases beside its limit."""
    even = '{id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}'
    guard = f'{{id: short-label, that: "{that}",{unit} else: CONTRACT_VIOLATION, requirement: N01}}'
    text = spoilt(even, f"{even}\n  - {guard}")
    return text.replace("    base: four\n    matrix: {whole: [0, 1, 2]}\n", LABEL_LIMIT) if groups else text


@pytest.mark.parametrize(
    ("that", "unit", "said"),
    [
        ("size(label) <= 9", " unit: characters,", []),
        ("size(bytes(label)) <= 9", " unit: bytes,", []),
        ("10 > size(label)", " unit: characters,", []),
        ("size(label) <= 9", "", ["size(label) is at most 9 of what?"]),
        ("size(label) <= 9", " unit: bytes,", ["size(label) counts characters, not bytes"]),
        ("size(label) > 0", "", []),  # it asks whether anything is there
        ("whole < 99u", " unit: bytes,", ["it has the unit bytes and bounds no size"]),
    ],
)
def test_a_guard_that_bounds_a_size_says_what_it_counts(tmp_path: Path, that: str, unit: str, said: list[str]) -> None:
    judged = subject(tmp_path, limited(that, unit, groups="<= 9" in that or "10 >" in that))
    assert found("L308", judged) == [f"guard 'short-label': {one}" for one in said]


def test_a_limit_without_cases_beside_it_is_found(tmp_path: Path) -> None:
    judged = subject(tmp_path, limited("size(label) <= 9", " unit: characters,", groups=False))
    assert found("L308", judged) == ["guard 'short-label': no group has cases on both sides of the limit"]
