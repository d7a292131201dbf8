"""Which part of a version each kind of change asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.vectors.frozen.governance import ContractChange, Level, contract_changes
from conformance.vectors.frozen.lock import LockedContract, Release

NAME = "Line.Walk_v1"
SURFACE = {
    "text": "t",
    "inputs.at": "uint64",
    "inputs.how": "enum optional",
    "inputs.how = fast": "may be",
    "outputs.next": "struct",
    "outputs.next.at": "uint64",
    "guard in-range": "",
}
OLD = Release(
    "v1.0.0",
    {NAME: LockedContract("1.2.3", "d", {"group": "g"}, 2)},
    {f"{NAME}::group::a": "1", f"{NAME}::group::b": "2"},
    {NAME: SURFACE},
)


def change(new: Release) -> ContractChange:
    (found,) = contract_changes(OLD, new)
    return found


def found_in(group: dict[str, str]) -> dict[str, str]:
    return {f"{NAME}::group::{slug}": digest for slug, digest in group.items()}


def with_version(release: Release, version: str) -> Release:
    return replace(release, contracts={NAME: replace(OLD.contracts[NAME], version=version)})


@pytest.mark.parametrize(
    ("edit", "level", "said"),
    [
        ({"text": "u"}, Level.PATCH, "the text of the contract changed"),
        ({"guard in-range": None}, Level.PATCH, "guard in-range is gone"),
        ({"guard another": ""}, Level.MINOR, "guard another is new"),
        ({"inputs.more": "bool optional"}, Level.MINOR, "inputs.more is new"),
        ({"inputs.more": "bool default False"}, Level.MINOR, "inputs.more is new"),
        ({"inputs.more": "struct optional", "inputs.more.x": "bool"}, Level.MINOR, "inputs.more is new"),
        ({"inputs.at": "uint64 optional"}, Level.MINOR, "inputs.at is no longer required"),
        ({"inputs.how = slow": "may be"}, Level.MINOR, "inputs.how = slow is new"),
        ({"inputs.how = fast": None}, Level.MAJOR, "inputs.how = fast is gone"),
        ({"inputs.more": "bool"}, Level.MAJOR, "inputs.more is new and required"),
        ({"inputs.at": None}, Level.MAJOR, "inputs.at is gone"),
        ({"inputs.at": "uint32"}, Level.MAJOR, "inputs.at was uint64, is uint32"),
        ({"inputs.how": "enum"}, Level.MAJOR, "inputs.how was enum optional, is enum"),
        ({"outputs.next.at": "uint64 optional"}, Level.MAJOR, "outputs.next.at was uint64, is uint64 optional"),
        ({"outputs.next": None, "outputs.next.at": None}, Level.MAJOR, "outputs.next is gone"),
    ],
)
def test_a_field_or_clause_that_changes_asks_for(edit: dict[str, str | None], level: Level, said: str) -> None:
    surface = {name: text for name, text in {**SURFACE, **edit}.items() if text is not None}
    found = change(replace(OLD, surfaces={NAME: surface}))
    assert [(reason.level, reason.text) for reason in found.reasons] == [(level, said)]
    assert found.asked_level is level


@pytest.mark.parametrize(
    ("vectors", "level", "said"),
    [
        ({"a": "1", "b": "2", "c": "3"}, Level.MINOR, "vectors added: 1 in group"),
        ({"a": "1"}, Level.MAJOR, "vectors gone: 1 in group"),
        ({"a": "1", "b": "3"}, Level.MAJOR, "vectors changed: 1 in group"),
    ],
)
def test_a_vector_that_changes_asks_for(vectors: dict[str, str], level: Level, said: str) -> None:
    found = change(replace(OLD, vectors=found_in(vectors)))
    assert [(reason.level, reason.text) for reason in found.reasons] == [(level, said)]
    assert change(with_version(replace(OLD, vectors=found_in(vectors)), "2.0.0")).is_granted


@pytest.mark.parametrize(
    ("version", "granted"),
    [("1.2.3", False), ("1.2.4", False), ("1.3.0", True), ("2.0.0", True), ("1.1.9", False), ("0.9.9", False)],
)
def test_the_version_must_rise_as_far_as_the_change_asks(version: str, granted: bool) -> None:
    more = replace(OLD, surfaces={NAME: {**SURFACE, "guard another": ""}})
    found = change(with_version(more, version))
    assert (found.is_granted, found.advice) == (granted, "" if granted else "raise its version to 1.3.0")


def test_a_version_alone_may_rise_and_not_fall() -> None:
    assert change(with_version(OLD, "1.2.4")).is_granted
    assert not change(with_version(OLD, "1.2.2")).is_granted
    assert contract_changes(OLD, OLD) == ()


def test_a_contract_that_is_gone_is_refused_and_a_new_number_is_a_successor() -> None:
    second = "Line.Walk_v2"
    new = Release("", {second: LockedContract("2.0.0", "d", {}, 1)}, {f"{second}::group::a": "1"}, {second: SURFACE})
    gone, came = contract_changes(OLD, new)
    assert (gone.operator, gone.is_granted, gone.level) == (NAME, False, Level.MAJOR)
    assert (came.predecessor, came.is_granted, came.level) == (NAME, True, Level.MAJOR)


def test_a_machine_is_judged_with_its_operations() -> None:
    locked = LockedContract("1.0.0", "d", {}, 0)
    old = Release("", {"Queue": locked, "Queue.Push": locked, "Queue.Count": locked}, {}, {
        "Queue": {"text": "t", "operation Queue.Push": ""},
        "Queue.Push": {"text": "t", "inputs.item": "bytes"},
        "Queue.Count": {"text": "t"},
    })  # fmt: skip
    new = replace(old, surfaces={**old.surfaces, "Queue.Push": {"text": "t", "inputs.item": "string"}})
    (found,) = contract_changes(old, new)
    assert (found.operator, found.asked_level) == ("Queue", Level.MAJOR)
    assert found.reasons[0].text == "Push: inputs.item was bytes, is string"
    assert "Queue_v2" in found.advice
