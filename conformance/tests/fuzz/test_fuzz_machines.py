"""Stateful fuzzing: sequences of calls on several handles, held to the reference, shrunk, and printed to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conformance.backend.driver import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.library import Library, load_library
from conformance.report.failure import Reproduction, facts_of, plain_lines
from conformance.report.record import Prose, entry_of
from conformance.tests.counter_spec import COUNTER, NAME, backend, load, write
from conformance.tests.fuzz.tasks import task_of
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED, derived_by, new_folder
from conformance.trial.check import Result, Verdict
from conformance.trial.client import Client
from conformance.trial.fuzz import fuzz_operator
from conformance.trial.fuzz.listings.handles import TAKEN
from conformance.trial.fuzz.listings.programs import degenerate
from conformance.trial.fuzz.listings.sequences import refused_between
from conformance.trial.fuzz.machine import FOUND
from conformance.trial.fuzz.operator import SEEN_ONCE
from conformance.trial.fuzz.program import ProgramCall, without_turns
from conformance.trial.fuzz.program_draw import may_be_asked, pool_of
from conformance.vectors.case import Case
from conformance.vectors.conversation.state_tracking import OUTSIDE, Model
from conformance.vectors.frozen.build import build
from conformance.vectors.frozen.corpus import load_corpus
from conformance.vectors.questions.expand import expand

CALLS = 160
COUNTED = COUNTER.replace("becomes: {count: state.count - 1u}", "becomes: {count: state.count}")


@cache
def library() -> Library:
    return load(new_folder())


@cache
def cases() -> tuple[Case, ...]:
    made, _ = build(derived_by(backend(library().suite.root), library()))
    return made.corpus.cases[NAME]


def fuzzed(
    *sins: str, frozen: bool = True, reference: str = "honest", spec: Library | None = None, seed: str = ""
) -> tuple[Result, Mapping[str, Any]]:
    spec = spec or library()
    codebook = codebook_of(spec)

    def client(sin: str) -> Client:
        return Client(Driver(resolve(backend(spec.suite.root, sin), SHIPPED), DIALECTS["json"], codebook, 10.0, 10.0))

    known = cases() if frozen else ()
    with client(sins[0]) as asked, client(reference) as right:
        found = fuzz_operator(task_of(spec.contracts[NAME], known, asked, right, codebook, examples=CALLS, seed=seed))
        assert asked.unattributed == []
    return found


def test_an_honest_counter_passes_and_every_guard_is_reached_from_both_sides() -> None:
    result, figures = fuzzed("honest")
    assert (result.verdict, result.message) == (Verdict.PASS, "")
    assert figures["examples"] > CALLS
    assert figures["guards"].keys() >= {"Open#room-to-count", "Increment#open-handle", "Increment#no-overflow"}
    assert all(sides["passed"] and sides["refused"] for sides in figures["guards"].values())


SHORTEST = {
    "wraps": [
        "- {step: open-1, call: Open, set: {limit: 1}}",
        "- {step: decrement-2, call: Decrement, use: {handle: open-1.handle}}",
    ],
    "spoils": [
        "- {step: open-1, call: Open, set: {limit: 1}}",
        "- {step: increment-2, call: Increment, set: {by: 2}, use: {handle: open-1.handle}}",
        "- {step: read-3, call: Read, use: {handle: open-1.handle}}",
    ],
    "clings": [
        "- {step: open-1, call: Open, set: {limit: 1}}",
        "- {step: close-2, call: Close, use: {handle: open-1.handle}}",
        "- {step: read-3, call: Read, use: {handle: open-1.handle}}",
    ],
}


@pytest.mark.parametrize("sin", SHORTEST)
def test_a_wrong_counter_is_shown_by_the_shortest_trace(sin: str) -> None:
    result, _ = fuzzed(sin)
    assert (result.verdict, result.details["trace"]) == (Verdict.FAIL, SHORTEST[sin])
    assert result.step == SHORTEST[sin][-1].split(",")[0].removeprefix("- {step: ")
    assert result.message == FOUND


def test_a_handle_that_lingers_where_it_is_the_only_one_is_shown_in_a_new_process() -> None:
    result, _ = fuzzed("lingers")
    trace = result.details["trace"]
    assert (result.verdict, trace[0]) == (Verdict.FAIL, "- {restart: true}")
    assert [line.split(",")[0] for line in trace[1:]] == [
        "- {step: open-1",
        "- {step: close-2",
        f"- {{step: {result.step}",
    ]
    assert result.difference is not None
    assert result.difference.expected == "failure CONTRACT_VIOLATION"


def test_two_handles_that_share_their_state_are_shown_by_four_calls() -> None:
    result, _ = fuzzed("shares")
    trace = result.details["trace"]
    assert (result.verdict, len(trace), sum("call: Open" in line for line in trace)) == (Verdict.FAIL, 4, 2)


@pytest.mark.parametrize(
    ("sin", "how"), [("trims", "with a blank after it"), ("guesses", "without its last character")]
)
def test_a_text_that_is_nearly_a_handle_is_no_handle(sin: str, how: str) -> None:
    result, _ = fuzzed(sin)
    assert (result.verdict, result.step, result.message) == (Verdict.FAIL, "read-2", f"{TAKEN}: handle {how}")
    assert result.call is not None
    assert result.call.inputs["handle"] == {"from": "open-1.handle"}
    assert result.difference is not None
    assert (result.difference.expected, result.difference.actual) == ("CONTRACT_VIOLATION", "a result")


def test_an_answer_that_is_wrong_only_once_is_wrong() -> None:
    """Asked again by itself, the sequence is answered rightly."""
    result, _ = fuzzed("slips")
    assert (result.verdict, result.message) == (Verdict.FAIL, SEEN_ONCE)
    assert result.difference is not None
    assert result.difference.actual == "7"


def test_the_report_prints_the_trace_line_by_line() -> None:
    result, _ = fuzzed("wraps")
    prose: Prose = {"requirements": {}, "rulings": {}, "clauses": {}}
    printed = plain_lines(facts_of(entry_of(result), prose, Reproduction("acme", "standard", "json")))
    assert f"trace       {SHORTEST['wraps'][0]}\n            {SHORTEST['wraps'][1]}\n" in printed
    assert "repeat      tally run --backend acme -k 'Counter?fuzz'" in printed


def test_the_printed_trace_can_be_kept_as_a_case(tmp_path: Path) -> None:
    group = "  - group: kept\n    why: A sequence that fuzzing has found.\n    requirement: K05\n    trace:\n"
    kept = COUNTER + group + "".join(f"      {line}\n" for line in SHORTEST["spoils"])
    codebook = codebook_of(load_library(write(tmp_path, kept)))
    (question,) = [one for one in expand(codebook[NAME].contract, codebook) if one.group == "kept"]
    assert [call.name for call in question.calls] == ["open-1", "increment-2", "read-3"]


def test_a_mistake_that_no_frozen_trace_meets_is_found_by_drawn_ones() -> None:
    result, _ = fuzzed("wraps", frozen=False)
    assert (result.verdict, result.details["trace"]) == (Verdict.FAIL, SHORTEST["wraps"])


def test_the_same_seed_asks_the_same_calls() -> None:
    assert fuzzed("honest", frozen=False, seed="7")[1] == fuzzed("honest", frozen=False, seed="7")[1]
    assert fuzzed("honest", frozen=False, seed="7")[1] != fuzzed("honest", frozen=False, seed="8")[1]


def test_fuzzing_that_misses_a_side_of_a_guard_is_no_pass() -> None:
    text = COUNTER.replace("limit > 0u", "limit / 3u != 507585u").replace("[3, 1, 0]", "[3, 1]")
    result, _ = fuzzed("generous", frozen=False, reference="generous", spec=load_library(write(new_folder(), text)))
    assert result.verdict is Verdict.ERROR
    assert "reached too little: " in result.message
    assert "no call was refused by the guard Open#room-to-count" in result.message


def test_a_reference_that_contradicts_the_contract_is_said_to() -> None:
    spec = load_library(write(new_folder(), COUNTED))
    result, _ = fuzzed("honest", spec=spec)
    assert result.verdict is Verdict.ERROR
    said = "tells-count (spec/count/Counter.yaml:41:9) is broken by Counter.Decrement"
    assert result.message.startswith(f"the reference contradicts its contract: {said}")
    assert result.details["trace"] == [
        "- {step: open-1, call: Open, set: {limit: 1}}",
        "- {step: increment-2, call: Increment, use: {handle: open-1.handle}}",
        "- {step: decrement-3, call: Decrement, use: {handle: open-1.handle}}",
    ]


def test_a_backend_that_is_lost_is_an_error_with_its_trace() -> None:
    result, _ = fuzzed("dies")
    assert (result.verdict, result.outcome) == (Verdict.ERROR, "crash")
    assert result.call is not None  # the one in which it is lost
    assert result.call.operator.startswith(f"{NAME}.")
    assert result.details["trace"][-1].startswith("- {step: ")


def test_what_hangs_on_a_handle_goes_with_the_turn_that_gave_it() -> None:
    program = (
        ProgramCall("Open", {}),
        ProgramCall("Open", {}),
        ProgramCall("Read", {}, handle=0),
        ProgramCall("Read", {}, handle=1),
    )
    assert without_turns(program, range(1)) == (ProgramCall("Open", {}), ProgramCall("Read", {}, handle=0))


def test_a_call_that_the_expression_engine_cannot_judge_is_never_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one with U+10FFFF in a text of the state."""

    def refused(*_: Any) -> None:
        raise Unjudgeable

    monkeypatch.setattr(Model, "reach", refused)
    pool = pool_of(library().contracts[NAME], (), codebook_of(library()))
    turn = ProgramCall(f"{NAME}.Open", {"limit": 3})
    assert pool.reach(turn, None).side == OUTSIDE
    assert not may_be_asked(pool, turn)


def test_what_a_call_gave_is_asked_for_through_operations_that_share_an_input() -> None:
    """The consumer tells the schema of a split; it is asked for that of each odd split that a batch was asked of."""
    machine, codebook = "Pipeline.Consumer", codebook_of(shipped_library())
    cases = load_corpus(shipped_library().suite).cases[machine]
    pool = pool_of(shipped_library().contracts[machine], cases, codebook)
    asked = {
        first.native["split"]
        for program in degenerate(pool)
        for first, second in pairwise(program)
        if (first.operator, second.operator) == (f"{machine}.GetBatch", f"{machine}.Schema")
        and first.native["split"] == second.native["split"]
    }
    assert len(asked) > 5


LIMITER = """\
machine: Limiter
version: 1.0.0
purpose: Let so many calls through per interval.
source: {seed: counter, section: "1"}
equivalence: E0
purity: stateful
handle: {else: CONTRACT_VIOLATION, requirement: K01}
state: {burst: {type: uint64}, interval: {type: uint64}, tokens: {type: uint64}, at: {type: uint64}}
operations:
  Open:
    opens: handle
    inputs: {burst: {type: uint64}, interval: {type: uint64}}
    outputs: {handle: {type: handle}}
    requires:
    - {id: some, that: "burst >= 1u && interval >= 1u", else: CONTRACT_VIOLATION, requirement: K01}
    becomes: {burst: burst, interval: interval, tokens: burst, at: 0u}
    examples: {burst: [3, 1, 2], interval: [10, 1]}
  Take:
    inputs: {handle: {type: handle}, now: {type: uint64}, cost: {type: uint64}}
    outputs: {tokens: {type: uint64}}
    let:
      gained: "(now - state.at) / state.interval"
      available: "min(state.burst, state.tokens + gained)"
    requires:
    - {id: forwards, that: "now >= state.at", else: CONTRACT_VIOLATION, requirement: K01}
    - {id: enough, that: "cost <= available", else: COUNTER_OVERFLOW, requirement: K01}
    becomes: {tokens: available - cost, at: state.at + gained * state.interval}
    keeps: [burst, interval]
    examples: {now: [0, 5, 10, 25], cost: [1, 2]}
vectors:
- group: derived
  why: Every operation in every state.
  requirement: K01
  derive: {depth: 2}
"""


def limited(program: Sequence[ProgramCall], kept: str) -> list[Any]:
    """What a limiter answers that keeps this part of its new state even if it refuses the call."""
    given = program[0].native
    tokens, at, answers = given["burst"], 0, list[Any]()
    for turn in program[1:]:
        gained = (turn.native["now"] - at) // given["interval"]
        available = min(given["burst"], tokens + gained)
        if turn.native["now"] < at:
            answers.append("CONTRACT_VIOLATION")
        elif turn.native["cost"] <= available:
            tokens, at = available - turn.native["cost"], at + gained * given["interval"]
            answers.append(tokens)
        else:
            answers.append("COUNTER_OVERFLOW")
            at += gained * given["interval"] if "time" in kept else 0
            tokens = available if "tokens" in kept else tokens
    return answers


@pytest.mark.parametrize("kept", ["time", "time and tokens"])
def test_a_refused_call_that_changes_the_state_is_noticed_by_the_calls_after_it(kept: str, tmp_path: Path) -> None:
    spec = load(tmp_path, LIMITER)
    pool = pool_of(spec.contracts["Limiter"], (), codebook_of(spec))
    asked = list(refused_between(pool))
    assert any(limited(program, kept) != limited(program, "") for program in asked)
    assert all(set(limited(program, "")) >= {"COUNTER_OVERFLOW"} for program in asked)
