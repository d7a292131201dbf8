"""Groups along an axis: what is refused, and what lint asks for. Their cases are compared by `tally vectors check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library
from conformance.lint.guards import axes_walked
from conformance.lint.rule import subject_of
from conformance.tests.small_spec import load, problems
from conformance.vectors.questions.expand import expand

OPERATOR = "UML_OS.Data.Carry_v1"
LEAVES = """\
  count: {type: uint64}
  small: {type: uint32}
  text:  {type: string}
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
{LEAVES}requires:
  - {{id: not-the-last, that: "small != 4294967295u", else: CONTRACT_VIOLATION, requirement: N01}}
ensures: []
ordering: {{}}
state: none
bases:
  one: {{count: 7, small: 7, text: a}}
vectors:
  - group: plain
    why: Ordinary values show the rule at a glance.
    requirement: N01
    base: one
    cases: [{{id: given}}]
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


def expanded(library: Library) -> None:
    codebook = codebook_of(library)
    expand(codebook[OPERATOR].contract, codebook)


def said(root: Path, text: str) -> list[str]:
    """What lint says of the axes of a contract."""
    return [finding.message for finding in axes_walked.check(subject_of(load(root, text), ()))]


def test_lint_asks_for_both_axes_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    assert said(tmp_path / "walked", PLAIN + AXES) == []
    bare = said(tmp_path / "bare", PLAIN)
    assert [message.rsplit(" ", 1)[1] for message in bare] == ["representation", "size"]
    reasons = "axes: {representation: It is tried elsewhere., size: It is tried elsewhere.}\n"
    assert said(tmp_path / "told", PLAIN.replace("vectors:\n", f"{reasons}vectors:\n")) == []
    assert len(said(tmp_path / "both", (PLAIN + AXES).replace("vectors:\n", f"{reasons}vectors:\n"))) == 2


def test_a_step_or_a_leaf_that_does_not_exist_is_named(tmp_path: Path) -> None:
    text = PLAIN + AXES
    with pytest.raises(Exception, match="nowhere"):
        expanded(load(tmp_path / "step", text.replace("    axis: size\n", "    axis: size\n    step: nowhere\n")))
    against = text.replace("    axis: size\n", "    axis: representation\n    leaves: [count]\n    against: nowhere\n")
    with pytest.raises(Exception, match="there is no leaf 'nowhere'"):
        expanded(load(tmp_path / "against", against))
    assert problems(tmp_path / "again", text.replace("axis: size", "axis: weight"))
