"""Groups along an axis, in a small contract whose operator hands its inputs on: each weakness of a carrier shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library
from conformance.lint.guards import axes_walked
from conformance.lint.rule import subject_of
from conformance.tests.fakes.carrier import WEAKNESSES
from conformance.tests.processes import fake_command
from conformance.tests.small_spec import derived_by, load, problems
from conformance.trial.client import attempt
from conformance.trial.mutants.distortions import wire_score
from conformance.vectors.case import CallStep, Case
from conformance.vectors.frozen.freeze import freeze
from conformance.vectors.questions.expand import expand

OPERATOR = "UML_OS.Data.Carry_v1"


def carrier(weakness: str) -> str:
    return fake_command("carrier", weakness)


FAITHFUL = carrier("nothing")
LEAVES = """\
  count: {type: uint64}
  small: {type: uint32}
  text:  {type: string}
  items: {type: list<uint64>}
  sizes: {type: "map<string, uint64>"}
  rate:  {type: float64}
  data:  {type: bytes}
  note:  {type: string, optional: true}
"""
PLAIN = f"""\
contract: {OPERATOR}
version: 1.0.0
purpose: Hand on what is given.
source: {{seed: data-next-batch, section: "5"}}
equivalence: E0
purity: pure
confirmed_by: [javascript]
inputs:
{LEAVES}outputs:
{LEAVES}domain: ["small != 4294967294u"]
requires:
  - {{id: not-the-last, that: "small != 4294967295u", else: CONTRACT_VIOLATION, requirement: N01}}
ensures: []
ordering: {{}}
state: none
bases:
  one: {{count: 7, small: 7, text: a, items: [1], sizes: {{d: 1}}, rate: 1.5, data: "61", note: b}}
vectors:
  - group: plain
    why: Ordinary values show the rule at a glance.
    requirement: N01
    base: one
    cases:
      - {{id: given}}
      - {{id: without-a-note, unset: [note]}}
"""
AXES = "".join(
    f"""\
  - group: {axis}
    axis: {axis}
    why: Values that a careless carrier changes ({axis}).
    requirement: N01
    base: one
"""
    for axis in ("representation", "size")
)


AXES = AXES.replace("    axis: size\n", "    axis: size\n    except: [sizes, note]\n")  # what costs most


def frozen(library: Library) -> tuple[Case, ...]:
    codebook = codebook_of(library)
    found = freeze(expand(codebook[OPERATOR].contract, codebook), derived_by(FAITHFUL, codebook))
    assert {one.code for one in found.problems} <= {"V003"}, found.problems  # nothing confirms a value here
    return tuple(found.cases.values())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return load(tmp_path_factory.mktemp("axes"), PLAIN + AXES)


@pytest.fixture(scope="module")
def cases(library: Library) -> Mapping[str, tuple[Case, ...]]:
    found = frozen(library)
    plain = tuple(one for one in found if one.group == "plain")
    return {"plain": plain, "axes": tuple(one for one in found if one not in plain)}


@pytest.mark.parametrize("weakness", sorted(WEAKNESSES))
def test_a_weak_carrier_shows_along_an_axis(
    library: Library, cases: Mapping[str, tuple[Case, ...]], weakness: str
) -> None:
    backend, codebook = carrier(weakness), codebook_of(library)
    assert attempt(backend, cases["axes"], codebook).wrong
    if weakness != "absent_is_empty":
        assert not attempt(backend, cases["plain"], codebook).wrong  # nothing else of this corpus sees it


def test_asking_may_end_with_the_first_wrong_case(library: Library, cases: Mapping[str, tuple[Case, ...]]) -> None:
    found = attempt(carrier(min(WEAKNESSES)), cases["axes"], codebook_of(library), until_wrong=True)
    assert len(found.wrong) == 1
    assert len(found.results) < len(cases["axes"])


def test_a_faithful_carrier_passes(library: Library, cases: Mapping[str, tuple[Case, ...]]) -> None:
    assert not attempt(FAITHFUL, cases["axes"], codebook_of(library)).wrong


def test_the_score_tells_what_is_missing_without_the_axes(
    library: Library, cases: Mapping[str, tuple[Case, ...]]
) -> None:
    library = derived_by(FAITHFUL, library)
    without = wire_score(library, cases["plain"])
    assert ("inputs", "count", "binary64") in {(one.side, one.leaf, one.name) for one in without.open}
    quick = [one for one in cases["axes"] if one.profile == "quick"]  # the large ones take seconds each
    whole = wire_score(library, (*cases["plain"], *quick))
    small = {one.name for one in whole.open if one.leaf in ("count", "small", "rate", "text", "items", "sizes{key}")}
    assert small <= {"room-65535", "cut-65535", "cut-65536"}
    assert len(whole.noticed) > 2 * len(without.noticed)


def test_one_leaf_is_one_case_and_large_values_are_no_quick_ones(cases: Mapping[str, tuple[Case, ...]]) -> None:
    ids = {one.id.split("::", 1)[1]: one for one in cases["axes"]}
    assert len(ids["representation::count"].steps) == 3 * 8 + 4  # at and beside eight powers; both ends and beside them
    assert {step.inputs["text"] for step in ids["representation::count"].steps} == {"a"}  # type: ignore[union-attr]
    assert ids["size::items=of-65537"].profile == "standard"
    assert ids["size::items"].profile == "quick"


def test_what_lies_outside_the_domain_is_not_asked(cases: Mapping[str, tuple[Case, ...]]) -> None:
    (small,) = (one for one in cases["axes"] if one.id.endswith("representation::small"))
    asked = {step.inputs["small"] for step in small.steps}  # type: ignore[union-attr]
    assert 4294967295 in asked  # a guard refuses it, so it is always inside
    assert 4294967294 not in asked


def test_lint_asks_for_both_axes(tmp_path: Path, library: Library) -> None:
    assert [finding.code for finding in axes_walked.check(subject_of(library, ()))] == []
    bare = load(tmp_path / "bare", PLAIN)
    said = [finding.message for finding in axes_walked.check(subject_of(bare, ()))]
    assert [message.rsplit(" ", 1)[1] for message in said] == ["representation", "size"]
    reasons = "axes: {representation: It is tried elsewhere., size: It is tried elsewhere.}\n"
    told = load(tmp_path / "told", PLAIN.replace("vectors:\n", f"{reasons}vectors:\n"))
    assert not list(axes_walked.check(subject_of(told, ())))
    both = load(tmp_path / "both", (PLAIN + AXES).replace("vectors:\n", f"{reasons}vectors:\n"))
    assert len(list(axes_walked.check(subject_of(both, ())))) == 2


def test_a_step_that_does_not_exist_is_named(tmp_path: Path) -> None:
    text = PLAIN + AXES.replace("    axis: size\n", "    axis: size\n    step: nowhere\n")
    library = load(tmp_path, text)
    codebook = codebook_of(library)
    with pytest.raises(Exception, match="nowhere"):
        expand(codebook[OPERATOR].contract, codebook)
    assert problems(tmp_path / "again", text.replace("axis: size", "axis: weight"))


NEAR = """\
  - group: near
    axis: near
    why: Values that a careless reader takes for the one that stands there.
    requirement: N01
    base: one
    set: {text: Ab1, count: 300, data: "6100"}
"""


def asked(group: Iterable[Case], leaf: str) -> set[Any]:
    (case,) = (one for one in group if one.id.endswith(f"near::{leaf}"))
    return {step.inputs[leaf] for step in case.steps}  # type: ignore[union-attr]


def test_near_values_are_made_from_what_stands_there(tmp_path: Path) -> None:
    found = frozen(load(tmp_path, PLAIN + NEAR))
    assert {"", "Ab1 ", " Ab1", "Ab1\n", "Ab1\0", "aB1", "Ab\u0661", "0Ab1", "Ab", "Ab11"} <= asked(found, "text")
    assert {"299", "301", "556", "65836", "4294967596"} <= asked(found, "count")
    assert {"6101", "e100", "0061", "61", "610000", ""} <= asked(found, "data")
    presence = next(one for one in found if one.id.endswith("near::note.presence"))
    assert ["note" in step.inputs for step in presence.steps] == [False, True]  # type: ignore[union-attr]


def test_a_step_asked_together_stands_in_one_case_between_the_others(tmp_path: Path) -> None:
    trace = """\
    together: true
    step: asked
    leaves: [text, count]
    trace:
      - {step: first, base: one}
      - {step: asked, base: one, set: {text: Ab1, count: 300}}
      - {step: last, base: one}
"""
    text = NEAR.replace('    base: one\n    set: {text: Ab1, count: 300, data: "6100"}\n', trace)
    (case,) = (one for one in frozen(load(tmp_path, PLAIN + text)) if one.group == "near")
    names = [step.name for step in case.steps if isinstance(step, CallStep)]
    assert (names[0], names[-1]) == ("first", "last")
    assert {"text=blank-behind", "count=plus-2p8"} <= set(names)
    assert len(set(names)) == len(names)


AGAINST = """\
  - group: against
    axis: representation
    why: Numbers that change places where they are cut to fewer bits.
    requirement: N01
    base: one
    leaves: [count]
    against: small
"""


def test_two_leaves_stand_on_the_two_sides_of_a_power(tmp_path: Path) -> None:
    library = load(tmp_path, PLAIN + AGAINST)
    (question,) = (one for one in expand(codebook_of(library)[OPERATOR].contract, codebook_of(library))
                   if one.group == "against")  # fmt: skip
    pairs = {(call.inputs["count"], call.inputs["small"]) for call in question.calls}
    assert {("256", 255), ("255", 256), ("65536", 65535), ("4294967296", 4294967295)} <= pairs
    assert ("4294967295", 4294967296) not in pairs  # no 32 bits hold it
    astray = codebook_of(load(tmp_path / "no", PLAIN + AGAINST.replace("against: small", "against: nowhere")))
    with pytest.raises(Exception, match="there is no leaf 'nowhere'"):
        expand(astray[OPERATOR].contract, astray)


UNKNOWN = """\
  - group: unknown
    axis: representation
    why: Whatever a field holds that nobody knows.
    requirement: N01
    base: one
    unknown: extra
"""


def test_a_map_gets_a_member_for_every_odd_value_that_no_guard_refuses(tmp_path: Path) -> None:
    text = PLAIN.replace("  data:  {type: bytes}\n", "  data:  {type: bytes}\n  extra: {type: value}\n")
    # The key under which NaN is tried: keys are numbered in the order of the values.
    guard = "  - {id: known, that: '!has_member(extra, \"zz66\")', else: CONTRACT_VIOLATION, requirement: N01}\n"
    text = text.replace("requires:\n", f"requires:\n{guard}")
    library = load(tmp_path, text.replace("note: b}", "note: b, extra: {fields: {known: {int: 1}}}}") + UNKNOWN)
    (question,) = (one for one in expand(codebook_of(library)[OPERATOR].contract, codebook_of(library))
                   if one.group == "unknown")  # fmt: skip
    pairs = question.calls[0].inputs["extra"]["map"]
    assert pairs[0] == [{"text": "known"}, {"int": "1"}]
    held = [value for _, value in pairs]
    assert {"float": "8000000000000000"} in held
    assert {"int": "-4294967297"} in held
    assert {"text": "a\0b"} in held
    assert {"array": []} in held
    assert {"float": "7ff8000000000000"} not in held
    assert len({key["text"] for key, _ in pairs}) == len(pairs)


def test_odd_ends_are_put_around_what_stands_there(tmp_path: Path) -> None:
    group = NEAR.replace("near", "ends").replace("a careless reader takes for", "have something odd at the ends of")
    found = frozen(load(tmp_path, PLAIN + group))
    (text,) = (one for one in found if one.id.endswith("ends::text"))
    (data,) = (one for one in found if one.id.endswith("ends::data"))
    texts = {step.inputs["text"] for step in text.steps}  # type: ignore[union-attr]
    assert {"Ab1\n", "Ab1\r\n", "Ab1 ", "Ab1\u00a0", "Ab1\0", "Ab1\x1a", "\tAb1", "0Ab1", '"Ab1"'} <= texts
    bytes_ = {step.inputs["data"] for step in data.steps}  # type: ignore[union-attr]
    assert {"61000a", "61000d0a", "610020", "61000000", "206100", "ff6100", "226100" + "22"} <= bytes_
    assert not [one for one in found if one.id.endswith("ends::count")]
