"""Laws: what they ask for, which parameters they take, and what their relations say when they are broken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from checks.laws.data_runs import derived_cursors
from checks.laws.stream_sources import Documents
from conformance.backend.outcome import Failure, Outcome, ProtocolError, RawResult
from conformance.contract.model import LawUse
from conformance.contract.types import ListOf, MapOf, Struct, Tensor, Type, Value
from conformance.contract.yaml.source import MalformedContract, Position
from conformance.tests.law_breakers import SINS
from conformance.tests.law_breakers.records import DECODE, ENCODE
from conformance.tests.law_breakers.spoilt import JSON, Wrong, codebook, told
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.trial.law import LawBroken, Tools, axes, known_laws, must_be_permutation, must_equal

TOOLS = Tools(codebook(), JSON)
USES = [(contract, use) for contract in shipped_library().contracts.values() for use in contract.laws]


def emptied(value: Any) -> Any:
    """The value without the items of any list or array in it, and with one dimension less."""
    match value:
        case np.ndarray():
            return value.reshape(-1)[:0]
        case list():
            return []
        case dict():
            return {name: emptied(one) for name, one in value.items()}
    return value


def answers_without_items(law: str) -> list[Wrong]:
    """A wrong backend for each operator or method that the law may call, if its answers may have items."""
    named = {contract.operator for contract, use in USES if use.law == law} | set(shipped_library().laws[law].calls)
    return [
        Wrong(answer=lambda inputs, result, memory: emptied(result), operator=operator)
        for operator in sorted(codebook().forms)
        if operator in named or (codebook()[operator].contract.method and operator.rpartition(".")[0] in named)
        if may_have_items(codebook()[operator].contract.outputs)
    ]


def may_have_items(type_: Type) -> bool:
    match type_:
        case Struct():
            return any(may_have_items(field.type) for field in type_.fields)
        case MapOf():
            return may_have_items(type_.item)
    return isinstance(type_, ListOf | Tensor | Value)


@pytest.mark.parametrize("law", sorted(known_laws(SHIPPED)))
def test_every_wrong_backend_breaks_the_law_and_answers_without_items_never_stop_the_harness(law: str) -> None:
    """That the reference keeps every law is what `tally run` tells. An answer without items breaks it or keeps it."""
    sins = {name: (wrong, said) for one, name, wrong, said in SINS if one == law}
    empty = answers_without_items(law)
    # Once it has said anything, a law is done with a backend without items.
    found = told(law, [*sins.values(), *((wrong, "") for wrong in empty)])
    assert len(found) == len(sins) + len(empty)
    said_of = dict(zip(sins, found, strict=False))
    missed = [name for name, (_, said) in sins.items() if not any(said in message for message in said_of[name])]
    assert missed == []


def test_every_law_has_a_wrong_backend_that_breaks_it() -> None:
    assert {law for law, *_ in SINS} == set(known_laws(SHIPPED))
    assert len({(law, name) for law, name, *_ in SINS}) == len(SINS)


@pytest.mark.parametrize("use", [use for _, use in USES], ids=[f"{c.operator}#{use.law}" for c, use in USES])
def test_every_law_that_a_contract_names_has_instances_with_names_of_their_own(use: LawUse) -> None:
    slugs = [instance.slug for instance in known_laws(SHIPPED)[use.law].instances(TOOLS, use)]
    assert slugs
    assert len(set(slugs)) == len(slugs)


def test_every_known_law_is_named_by_a_contract() -> None:
    assert {use.law for _, use in USES} == set(known_laws(SHIPPED))


def test_the_operators_of_a_law_are_those_that_it_calls() -> None:
    assert set(shipped_library().laws["cursor-round-trip"].calls) == {ENCODE, DECODE}


# -- parameters


def law_use(**over: Any) -> LawUse:
    return LawUse("block-bijection", over, (), (), "standard", Position("spec/data/x.yaml", 7, 5))


def test_a_parameter_that_the_law_does_not_know_is_refused_at_its_place() -> None:
    with pytest.raises(
        MalformedContract, match=r"spec/data/x\.yaml:7:5: C004 the law block-bijection has no parameter"
    ):
        axes(law_use(blocksize=7), {"block_size": 3})


@pytest.mark.parametrize("seeds", ["three", -1, True, 1.5, [2, "x"], []])
def test_a_value_that_the_law_cannot_take_is_refused_at_its_place(seeds: Any) -> None:
    with pytest.raises(MalformedContract, match=r"spec/data/x\.yaml:7:5: C004 the law block-bijection cannot take"):
        axes(law_use(seeds=seeds), {"seeds": [1, 3]})


def in_order(keys: Iterable[str], encoding: str) -> list[str]:
    return sorted(keys, key=lambda key: (len(key.encode()), key.encode(encoding)))


def test_a_stream_cannot_ask_a_law_for_items_for_ever() -> None:
    coming = Documents([[1, 2], [3]], passes=2)
    assert [coming.next() for _ in range(6)] == [[1, 2], [3], None, [1, 2], [3], None]
    with pytest.raises(LawBroken, match="beyond the passes"):
        coming.next()


def test_derived_cursors_contain_the_corners() -> None:
    maps = [derived_cursors(number, 30) for number in range(32)]
    assert maps[0] == {}
    assert list(maps[1]) == [""]
    assert max(map(len, maps)) > 23, "no map needs a head of two bytes"
    assert any(in_order(one, "utf-8") != in_order(one, "utf-16-be") for one in maps), "UTF-16 sorts as UTF-8"
    assert maps == [derived_cursors(number, 30) for number in range(32)]


# -- asking

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
POSITION = {"block_id": 0, "local_pos": 0, "block_size": 7, "epoch_seed": bytes(16), "cardinality": 7}


REFUSAL = Failure(1801, "CONTRACT_VIOLATION", {"failure_code": "CONTRACT_VIOLATION", "failure_operator": MAP})


@pytest.mark.parametrize(
    ("outcome", "refused", "said"),
    [
        (REFUSAL, False, "a call that no guard refuses failed with CONTRACT_VIOLATION"),
        (RawResult({"original_index": 3}), False, "original_index"),
        (ProtocolError("twice"), False, "no answer"),
        (RawResult({"original_index": "3"}), True, "must be refused was answered"),
        (RawResult({"original_index": 3}), True, "no well-typed failure"),
        (Failure(1, "NO_SUCH_CODE", {}), True, "no well-typed failure"),
        (ProtocolError("twice"), True, "no well-typed failure"),
    ],
)
def test_an_answer_that_a_law_did_not_ask_for_breaks_it(outcome: Outcome, refused: bool, said: str) -> None:
    call = TOOLS.call(MAP, POSITION)
    talk: Any = TOOLS.ask_refused([call]) if refused else TOOLS.ask([call])
    next(talk)
    with pytest.raises(LawBroken) as broken:
        talk.send([outcome])
    assert broken.value.answered() is not None
    assert said in broken.value.message


# -- relations


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([3, 4, 5, 6], "6 at position 3 is outside [3, 6)"),
        ([2, 3, 4], "2 at position 0 is outside [3, 6)"),
        ([3, 4, 3], "3 at position 2 occurs for the second time"),
        ([5, 3], "4 is missing, one of 1"),
    ],
)
def test_what_is_no_permutation_is_shown(values: list[int], said: str) -> None:
    with pytest.raises(LawBroken) as broken:
        must_be_permutation(values, 3, 6, "block 1")
    assert broken.value.message == f"block 1: {said}"


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "it: a.b[1] is 3, not 2"),
        ({"a": [1]}, {"a": [1, 2]}, "it: a[1] is 2, not nothing"),
        ({"a": 1}, {}, "it: a is nothing, not 1"),
        ({}, {"a": 1}, "it: a is 1, not nothing"),
        (b"\x00", b"\xff", "it: it is ff, not 00"),
        (({"epoch": 0},), ({"epoch": 1},), "it: [0].epoch is 1, not 0"),
    ],
)
def test_the_first_difference_is_shown(expected: Any, actual: Any, said: str) -> None:
    with pytest.raises(LawBroken) as broken:
        must_equal(expected, actual, "it")
    assert broken.value.message == said
