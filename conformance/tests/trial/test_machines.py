"""A third machine by YAML alone: contracts, derived traces, frozen vectors, a trial, and lint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library, load_library
from conformance.contract.yaml.source import MalformedContract
from conformance.lint.catalogue import lint
from conformance.lint.rule import subject_of
from conformance.tests.counter_spec import COUNTER, NAME, backend, load, write
from conformance.tests.small_spec import SHIPPED, derived_by, new_folder
from conformance.trial.behaviour import ALONE
from conformance.trial.check import Verdict
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.case import FileStep, Question
from conformance.vectors.frozen.build import BuiltCorpus, build
from conformance.vectors.frozen.freeze import freeze
from conformance.vectors.questions.expand import expand


@cache
def library() -> Library:
    return load(new_folder())


@cache
def built() -> BuiltCorpus:
    made, _ = build(derived_by(backend(library().suite.root), library()))
    return made


def questions(text: str, root: Path) -> tuple[Question, ...]:
    codebook = codebook_of(load(root, text))
    return expand(codebook[NAME].contract, codebook)


def spoilt(old: str, new: str) -> str:
    assert COUNTER.count(old) == 1, old
    return COUNTER.replace(old, new)


def test_one_file_is_a_contract_for_the_machine_and_one_for_each_method() -> None:
    methods = ("Close", "Decrement", "Increment", "Open", "Read")
    assert sorted(library().contracts) == [NAME, *(f"{NAME}.{name}" for name in methods)]
    machine = library().contracts[NAME]
    assert (machine.method, machine.requires, len(machine.groups)) == (None, (), 2)
    increment = library().contracts[f"{NAME}.Increment"]
    assert [guard.id for guard in increment.requires] == ["open-handle", "no-overflow"]
    assert str(increment.requires[0].position) == "spec/count/Counter.yaml:8:9"
    assert str(increment.requires[1].position) == "spec/count/Counter.yaml:29:9"


def test_a_backend_that_names_the_machine_promises_every_method() -> None:
    codebook = codebook_of(library())
    assert codebook.promised(["Counter", "Unheard.Of"]) == {*library().contracts, "Unheard.Of"}
    assert codebook.promised(["Counter.Read"]) == {"Counter.Read"}


SPOILT = [
    ("keeps: [count, limit]", "keeps: [count, colour]", "C016"),
    ("becomes: {count: state.count - 1u}", "becomes: {count: state.count - 1}", "C004"),
    ("becomes: {count: 0u, limit: limit}", "becomes: {count: next.limit, limit: limit}", "C004"),
    ('that: "state.count > 0u"', 'that: "next.count > 0u"', "C004"),
    ("limit: {type: uint64}\ninvariants", "limit: {opaque: true}\ninvariants", "C004"),
    ("closes: true", "closes: true\n    keeps: [count]", "C016"),
    ("opens: handle", "opens: key", "C016"),
    ("purity: stateful\n", "purity: stateful\nfuzz: {generator: talk}\n", "C016"),
    ("limit: {type: uint64}}\n    outputs", "limit: {type: uint64}, state: {type: bool}}\n    outputs", "C016"),
    ("examples: {limit: [3, 1, 0]}", "examples: {limits: [3, 1, 0]}", "C008"),
    ("call: Read, ", "call: Reed, ", "C014"),
    ("examples: {limit: [3, 1, 0]}", "examples: {limit: [0]}", "C017"),
    ("derive: {depth: 4}", "derive: {operations: [Open, Reed]}", "C014"),
    ("derive: {depth: 4}", "derive: {operations: [Read]}", "C017"),
    ("  limit: {type: uint64}\ninv", "  limit: {type: tensor}\ninv", "C003"),
]


@pytest.mark.parametrize(("old", "new", "code"), SPOILT)
def test_a_machine_that_contradicts_itself_is_refused_at_its_place(
    old: str, new: str, code: str, tmp_path: Path
) -> None:
    with pytest.raises(MalformedContract) as caught:
        questions(spoilt(old, new), tmp_path)
    assert code in {problem.code for problem in caught.value.problems}
    assert {problem.position.file for problem in caught.value.problems} == {"spec/count/Counter.yaml"}


ROOTED = (
    COUNTER.replace("purity: stateful", "purity: io\ngiven: [{put: {path: there, text: before}}]")
    .replace("inputs:  {limit: {type: uint64}}", "inputs:  {limit: {type: uint64}, root: {type: root}}")
    .replace("examples: {limit: [3, 1, 0]}", "examples: {limit: [3, 1, 0], root: [a]}")
    .replace("call: Open, set: {limit: 2}", "call: Open, set: {limit: 2, root: a}")
)


def rooted(text: str, root: Path) -> tuple[list[str], list[str]]:
    """The roots of the two handles, and those in which a file stands before."""
    (both,) = [one for one in questions(text, root) if one.id.endswith("::two-handles")]
    roots = [step.inputs["root"]["root"] for step in both.calls if "root" in step.inputs]
    return roots, [str(step.body["root"]) for step in both.steps if isinstance(step, FileStep)]


def test_what_a_machine_is_given_stands_in_every_root_of_a_derived_trace(tmp_path: Path) -> None:
    assert rooted(ROOTED, tmp_path) == (["a", "a"], ["a"])
    own = ROOTED.replace("purity: io", "purity: io\nown_roots: true")
    assert rooted(own, tmp_path) == (["a", "a-2"], ["a", "a-2"])


# -- vectors


def test_an_answer_that_no_equation_fixes_needs_one(tmp_path: Path) -> None:
    text = spoilt('"result.count == state.count"', '"result.count <= state.count"')
    made, _ = build(derived_by(backend(tmp_path), load(tmp_path, text)))
    assert {problem.code for problem in made.problems} == {"V003"}


@pytest.mark.parametrize(
    ("sin", "codes"), [("wraps", {"V005"}), ("spoils", {"V002", "V004"}), ("clings", {"V005"})]
)
def test_a_reference_that_contradicts_the_machine_is_not_frozen(sin: str, codes: set[str], tmp_path: Path) -> None:
    codebook = codebook_of(library())
    found = freeze(expand(codebook[NAME].contract, codebook), derived_by(backend(tmp_path, sin), codebook))
    assert {problem.code for problem in found.problems} - {"V003"} == codes


def test_an_invariant_is_judged_after_every_step_that_is_frozen(tmp_path: Path) -> None:
    text = spoilt("state.count <= state.limit", "state.count < state.limit")
    made, _ = build(derived_by(backend(tmp_path), load(tmp_path, text)))
    assert any("breaks the invariant within-limit" in problem.message for problem in made.problems)


def test_what_nobody_knows_is_not_judged(tmp_path: Path) -> None:
    text = spoilt("becomes: {count: state.count - 1u}", "becomes: {count: unknown}")
    text = text.replace('== next.count", requirement: K04', '<= state.limit", requirement: K04')
    made, _ = build(derived_by(backend(tmp_path, "forgets"), load(tmp_path, text)))
    assert {problem.code for problem in made.problems} == {"V003"}


# -- on trial


def tried(*sins: str) -> dict[str, str]:
    """The failing cases and the steps at which they fail."""
    options = RunOptions(backend=backend(library().suite.root, *sins), profile="quick", timeout=10.0)
    run = run_trial(library(), built().corpus, options)
    return {result.check.id: result.step for result in run.results if result.verdict is not Verdict.PASS}


def test_an_honest_counter_passes() -> None:
    assert tried("honest") == {}


@pytest.mark.parametrize(
    ("sin", "case", "step"),
    [
        ("wraps", "decrement-refused-no-underflow", "decrement-2"),
        ("spoils", "increment-refused-no-overflow", "read-3"),
        ("forgets", "tour-1", "decrement-4"),
        ("clings", "closed-handle", "increment-3"),
        ("lacks", "tour-1", "decrement-4"),
    ],
)
def test_a_derived_trace_catches_a_wrong_counter(sin: str, case: str, step: str) -> None:
    assert tried(sin)[f"Counter::derived::{case}"] == step


def test_two_handles_that_share_their_state_are_caught() -> None:
    # At which step hangs on what else is asked at the same time.
    assert "Counter::derived::two-handles" in tried("shares")


def behaved(*sins: str) -> dict[str, str]:
    """What the behaviour rules have to say, by rule."""
    chosen = RunOptions(backend=backend(library().suite.root, *sins), select=("Counter!*",), timeout=10.0)
    run = run_trial(library(), built().corpus, chosen)
    assert {result.check.id for result in run.results} == {"Counter!handles", "Counter!shape"}
    return {result.check.id: result.message for result in run.results if result.verdict is not Verdict.PASS}


def test_a_machine_is_held_to_two_handles_by_turns() -> None:
    assert behaved("honest") == {}
    assert behaved("shares") == {"Counter!handles": ALONE}
    assert behaved("ages") == {"Counter!handles": ALONE}


def test_a_machine_is_held_to_the_codes_of_its_methods() -> None:
    (said,) = behaved("lacks").items()
    assert said[0] == "Counter!shape"
    assert "no such method" in said[1]


# -- lint


def edits() -> Iterator[tuple[str, str, str, str]]:
    yield "L202", "    keeps: [count, limit]", "    keeps: [count]", "says nothing of limit"
    yield "L202", "    keeps: [count, limit]", "    keeps: [count, limit, limit]", "says twice"
    yield "L202", "becomes: {count: state.count - 1u}", "becomes: {count: state.count + 0u}", "no case in which"
    yield "L202", "becomes: {count: state.count - 1u}", "becomes: {count: state.count - 100u}", "has no value"
    yield "L202", "  limit: {type: uint64}\ninv", "  limit: {type: uint64}\n  idle: {type: bool}\ninv", "looks at idle"
    yield "L305", "state.count <= state.limit", "state.count < state.limit", "is not true after"
    yield "L306", "state.count <= state.limit", "state.count <= state.limit || true", "no corrupted state"
    yield "L304", "state.count > 0u", "state.count > 1u", "but a result is frozen"
    yield "L303", "limit > 0u", "limit > 4u", "one above the boundary"


@pytest.mark.parametrize(("code", "old", "new", "said"), list(edits()))
def test_lint_sees_what_is_wrong_with_a_machine(code: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    changed = load_library(write(tmp_path, spoilt(old, new)))
    found = lint(replace(subject_of(changed, built().corpus, None), lock=None))
    assert [finding for finding in found if finding.code == code and said in finding.message] != []


def test_the_machine_on_the_page_of_the_language_can_be_read(tmp_path: Path) -> None:
    page = (SHIPPED.root / "docs" / "language.md").read_text(encoding="utf-8")
    (text,) = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if block.startswith("machine: ")]
    found = {one.id.split("::")[2] for one in questions(text, tmp_path)}
    assert {"increment-refused-no-overflow", "unknown-handle", "two-handles"} <= found
