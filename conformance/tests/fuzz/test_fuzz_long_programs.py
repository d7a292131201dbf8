"""Sequences for machines whose state no expression knows, whose handles come to an end, or that keep texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from conformance.codec.codebook import codebook_of
from conformance.tests.counter_spec import load
from conformance.trial.fuzz.listings.long_programs import long_programs
from conformance.trial.fuzz.listings.programs import opening
from conformance.trial.fuzz.listings.sequences import refused_between
from conformance.trial.fuzz.program import ProgramCall
from conformance.trial.fuzz.program_draw import Pool, pool_of, programs

HEAD = """\
version: 1.0.0
purpose: Change a text, and change it back.
source: {seed: counter, section: "1"}
equivalence: E0
purity: stateful
handle: {else: CONTRACT_VIOLATION, requirement: K01}
"""
TAIL = """\
vectors:
- group: derived
  why: Every operation in every state.
  requirement: K01
  derive: {depth: 2}
"""
PAPER = f"""\
machine: Paper
{HEAD}state: {{undos: {{type: uint64}}, redos: {{type: uint64}}, history: {{opaque: true}}}}
operations:
  Open:
    opens: handle
    inputs: {{}}
    outputs: {{handle: {{type: handle}}}}
    becomes: {{undos: 0u, redos: 0u, history: Nothing.}}
  Write:
    inputs: {{handle: {{type: handle}}, word: {{type: string}}}}
    outputs: {{text: {{type: string}}}}
    requires: [{{id: some, that: "size(word) >= 1", else: COUNTER_OVERFLOW, requirement: K01}}]
    becomes: {{undos: state.undos + 1u, redos: 0u, history: Has the text before.}}
    examples: {{word: [a, b]}}
  Undo:
    inputs: {{handle: {{type: handle}}}}
    outputs: {{text: {{type: string}}}}
    requires: [{{id: some, that: "state.undos > 0u", else: CONTRACT_VIOLATION, requirement: K01}}]
    becomes: {{undos: state.undos - 1u, redos: state.redos + 1u, history: One back.}}
  Redo:
    inputs: {{handle: {{type: handle}}}}
    outputs: {{text: {{type: string}}}}
    requires: [{{id: some, that: "state.redos > 0u", else: CONTRACT_VIOLATION, requirement: K01}}]
    becomes: {{undos: state.undos + 1u, redos: state.redos - 1u, history: One on.}}
{TAIL}"""
PARCEL = f"""\
machine: Parcel
{HEAD}state: {{status: {{type: enum, values: [new, sent, lost]}}, owner: {{type: string}}}}
operations:
  Open:
    opens: handle
    inputs: {{owner: {{type: string}}}}
    outputs: {{handle: {{type: handle}}}}
    becomes: {{status: "'new'", owner: owner}}
    examples: {{owner: [a]}}
  Write:
    inputs: {{handle: {{type: handle}}, line: {{type: string}}, copies: {{type: uint64}}}}
    outputs: {{}}
    requires:
    - {{id: new, that: "state.status == 'new'", else: CONTRACT_VIOLATION, requirement: K01}}
    - {{id: some, that: "size(line) >= 1", else: COUNTER_OVERFLOW, requirement: K01}}
    keeps: [status, owner]
    examples: {{line: [a, b, c, d, e, f, g, h, i, j, k, l], copies: [1]}}
  Send:
    inputs: {{handle: {{type: handle}}}}
    outputs: {{}}
    requires: [{{id: new, that: "state.status == 'new'", else: CONTRACT_VIOLATION, requirement: K01}}]
    becomes: {{status: "'sent'"}}
    keeps: [owner]
  Lose:
    inputs: {{handle: {{type: handle}}}}
    outputs: {{}}
    requires: [{{id: sent, that: "state.status == 'sent'", else: CONTRACT_VIOLATION, requirement: K01}}]
    becomes: {{status: "'lost'"}}
    keeps: [owner]
{TAIL}"""


def pool_for(root: Path, text: str, name: str) -> Pool:
    spec = load(root, text)
    return pool_of(spec.contracts[name], (), codebook_of(spec))


def written(program: Sequence[ProgramCall], mistake: str) -> list[Any]:
    """What a paper with this mistake answers."""
    text, undo, redo, answers = "", list[str](), list[str](), list[Any]()
    for turn in program[1:]:
        name = turn.operator.rpartition(".")[2]
        history = {"Undo": undo, "Redo": redo}.get(name)
        if history is None:
            if not turn.native["word"]:
                redo = [] if mistake == "a refusal clears" else redo
                answers.append("COUNTER_OVERFLOW")
                continue
            undo, redo = [*undo, text], redo if mistake == "the redo stays" else []
            undo = undo[-5:] if mistake == "five are kept" else undo
            text += turn.native["word"]
        elif not history:
            answers.append("CONTRACT_VIOLATION")
            continue
        else:
            (redo if name == "Undo" else undo).append(text)
            text = history.pop(0 if mistake == "the first is redone first" and name == "Redo" else -1)
        answers.append(text)
    return answers


@pytest.mark.parametrize(
    "mistake", ["a refusal clears", "the redo stays", "five are kept", "the first is redone first"]
)
def test_a_history_that_no_expression_knows_is_noticed_by_long_programs(mistake: str, tmp_path: Path) -> None:
    asked = list(long_programs(pool_for(tmp_path, PAPER, "Paper")))
    assert any(written(program, mistake) != written(program, "") for program in asked)


def test_calls_are_drawn_that_succeed_although_handles_come_to_an_end(tmp_path: Path) -> None:
    pool = pool_for(tmp_path, PARCEL, "Parcel")
    sides = Counter[bool]()
    for program in islice(programs(pool, "1"), 40):
        states: dict[int | None, Any] = {}
        for place, turn in enumerate(program):
            at = place if turn.handle is None else turn.handle
            sides[at in states or turn.handle is None] += pool.passes(turn, states.get(at))
            sides[False] += not pool.passes(turn, states.get(at))
            if pool.passes(turn, states.get(at)):
                states[at] = pool.after(turn, states.get(at))
    assert sides[True] > 0.75 * sides.total()


def test_a_fresh_handle_gets_an_empty_value_where_only_that_is_refused_and_all_empty_at_once(tmp_path: Path) -> None:
    asked = [program for program in opening(pool_for(tmp_path, PARCEL, "Parcel")) if len(program) == 2]
    assert [turn.native for _, turn in asked if turn.operator == "Parcel.Write" and turn.handle == 0] == [
        {"line": "", "copies": 0},
        {"line": "a", "copies": 1},
        {"line": "", "copies": 1},
    ]


def test_between_refused_calls_the_operations_are_let_through_by_turns(tmp_path: Path) -> None:
    """Not every input of the first operation before the second is asked at all."""
    program = next(refused_between(pool_for(tmp_path, PARCEL, "Parcel")))
    assert {"Parcel.Write", "Parcel.Send", "Parcel.Lose"} <= {turn.operator for turn in program}
    assert [turn.operator for turn in program].index("Parcel.Send") < 10


def test_the_first_refused_call_comes_again_in_the_same_state(tmp_path: Path) -> None:
    """A backend may refuse a call once and let it through the second time."""
    pool = pool_for(tmp_path, PARCEL, "Parcel")
    given, *turns = next(refused_between(pool))
    state = pool.after(given, None)
    refused = turns[: next(k for k, turn in enumerate(turns) if pool.passes(turn, state))]
    assert refused.count(refused[0]) == 2


def test_a_text_with_a_nul_is_kept_in_the_state_as_it_is(tmp_path: Path) -> None:
    """The expression engine has another character in its place."""
    contract = load(tmp_path, PARCEL).contracts["Parcel.Open"]
    assert contract.next_state({"owner": "a\0b"}, {}) == {"status": "new", "owner": "a\0b"}
