"""One machine fuzzed: sequences of calls on several handles are drawn, the reference says what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from conformance.backend.outcome import ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook
from conformance.trial.check import Result, Verdict, lost, unjudged
from conformance.trial.client import Walked, walked_by_both
from conformance.trial.fuzz.listings.handles import NearHandles, traces_of_every_operation
from conformance.trial.fuzz.listings.long_programs import long_programs
from conformance.trial.fuzz.listings.programs import (
    degenerate,
    emptied_programs,
    long_leaves,
    nothing_asked,
    opening,
)
from conformance.trial.fuzz.listings.sequences import ended, refused_between, refused_later, repeated, rounds
from conformance.trial.fuzz.operator import (
    LEAST_SUCCEEDED,
    SEEN_ONCE,
    SPEECHLESS,
    reference_lost,
    unreached_sides,
    with_lost_call,
    wrong_walk,
)
from conformance.trial.fuzz.program import (
    Program,
    after_another_handle,
    needed_turns,
    simpler_program,
    steps_of,
    trace_lines,
)
from conformance.trial.fuzz.program_draw import pool_of, programs, within
from conformance.trial.fuzz.shrink import in_steps, smallest_example
from conformance.trial.fuzz.task import FuzzTask
from conformance.vectors.case import HarnessStep, QuestionCall, RestartStep, Step
from conformance.vectors.conversation.contradiction import contradiction
from conformance.vectors.conversation.exchange import Transcript
from conformance.vectors.conversation.state_tracking import StateTransition, situations
from conformance.vectors.questions.filedraft import roots_of
from conformance.vectors.questions.group import Expansion
from conformance.vectors.questions.machine_trace import given_steps

FOUND: Final = "the shortest sequence of calls found on which the backend and the reference differ"
CONTRADICTED: Final = "the reference contradicts its contract"
_MOST: Final = 400  # programs that are asked to make one small
_REFUSED, _ASKED, _FORESEEN = "refused", "asked", "foreseen"


def fuzz_machine(task: FuzzTask, wanted: int) -> tuple[Result, Mapping[str, Any]]:
    """Fuzz one machine with about `wanted` drawn calls after the listed ones; the result and the figures."""
    search = MachineSearch(task)
    listings = (
        opening, degenerate, emptied_programs, rounds, nothing_asked, refused_later, refused_between, repeated,
        long_programs, long_leaves,
    )  # fmt: skip
    for program in ended(search.pool):
        search.try_one(program, alone=True)
    search.try_near_handles(traces_of_every_operation(search.methods, task.cases))
    search.try_all(chain.from_iterable(listing(search.pool) for listing in listings))
    search.aimed = Counter(search.sides)
    drawn = search.sides[_ASKED]
    search.try_all(
        islice(programs(search.pool, f"{task.operator}\0{task.seed}"), wanted),
        enough=lambda: search.sides[_ASKED] - drawn >= wanted,
    )
    return search.result(), search.record()


class MachineSearch:
    """The state of one machine's fuzzing: what was reached, and the first program that was answered wrongly."""

    def __init__(self, task: FuzzTask) -> None:
        self.task, self.contract, self.codebook = task, task.contract, task.codebook
        self.backend, self.reference = task.backend, task.reference
        self.pool = pool_of(task.contract, task.cases, task.codebook)
        assert task.contract.machine is not None
        self.methods = task.contract.machine.methods
        self.sides: Counter[str] = Counter()
        self.aimed: Counter[str] = Counter()  # of the listed programs
        self.wrong: Program | None = None
        self.found: Result | None = None
        self.once: Result | None = None  # of the first program whose wrong answer did not come again
        self.alone = False

    def try_all(self, asked: Iterable[Program], enough: Callable[[], bool] = lambda: False) -> None:
        """Ask both sides several programs at a time, until an answer is wrong or it is `enough`; ignore later ones."""
        walks = walked_by_both(asked, self.steps, self.reference, self.backend)
        while self.found is None and not enough():
            self.alone = False
            if (walk := next(walks, None)) is None:
                break
            program, walked = walk
            self.try_one(program, walked=walked)

    def try_one(self, program: Program, alone: bool = False, walked: Walked | None = None) -> None:
        """Ask both sides, compare and count; note the first wrong answer. An `alone` program has its own process."""
        self.alone = alone
        found = self.judge(program, counted=True, walked=walked)
        if found is not None and found.verdict is Verdict.FAIL and walked is not None:
            # Asked again alone, so that its own trace shows the mistake.
            again = self.judge(program)
            if again is None and self.once is None:
                self.once = self.with_trace(replace(found, message=SEEN_ONCE), program)
            found = again
        if found is not None:
            self.wrong, self.found = program, found

    def try_near_handles(self, traces: Sequence[Sequence[Step]]) -> None:
        """Walk traces, and make every call on near misses of its handle too; notes the first that is not refused."""
        if self.found is None and traces:
            near = NearHandles(self.task.check, self.methods, self.codebook, self.backend.dialect)
            said = self.backend.run(partial(near.talk, traces), alone=True)
            said = said if isinstance(said, Result) else lost(near.check, said)
            self.found = None if said.verdict is Verdict.PASS else said

    def steps(self, program: Program) -> tuple[QuestionCall | HarnessStep, ...]:
        """The program after the file steps that the machine needs, and after a restart if it is alone."""
        calls = steps_of(program, self.codebook)
        expansion = Expansion(self.contract, self.contract.groups[0], self.codebook)
        given = given_steps(expansion, roots_of(expansion, {call.name: call for call in calls}))
        return (*((RestartStep(),) if self.alone else ()), *given, *calls)

    def judge(self, program: Program, counted: bool = False, walked: Walked | None = None) -> Result | None:
        """The failure at the first call of a program that the backend answers wrongly; None if there is none."""
        steps, check = self.steps(program), self.task.check
        right = self.reference.walk(steps) if walked is None else walked[0]
        if not isinstance(right, Transcript):
            return reference_lost(check, right)
        found = tuple(situations(steps, right.exchanges, self.codebook))
        if counted:
            self.count(found)
        for situation in found if self.task.trusted else ():
            if broken := contradicted(situation, self.codebook):
                return replace(unjudged(check, f"{CONTRADICTED}: {broken}"), step=situation.exchange.step)
        said = self.backend.walk(steps) if walked is None else walked[1]
        return wrong_walk(check, self.codebook, right, said, FOUND)

    def count(self, found: Sequence[StateTransition]) -> None:
        """Count every call by its side."""
        for situation in found:
            contract = self.codebook[situation.exchange.operator].contract
            method = contract.method
            self.sides[_ASKED] += 1
            succeeded = isinstance(situation.exchange.observed, ObservedResult)
            self.sides[""] += succeeded
            if method is None or not contract.foresees(situation.inputs):
                continue
            guard = contract.refusal(situation.inputs)
            for one in contract.requires:
                self.sides[f"{method.name}#{one.id}/{'refused' if one is guard else 'passed'}"] += 1
                if one is guard:
                    break
            self.sides[_FORESEEN] += guard is not None or succeeded

    def result(self) -> Result:
        """The verdict: the smallest program found, or that too little was reached, or a pass."""
        if self.found is not None:
            return self.found if self.wrong is None or not self.task.trusted else self.smallest(self.found, self.wrong)
        if self.once is not None:
            return self.once
        if shortfalls := list(self.shortfalls()):
            return unjudged(self.task.check, "fuzzing reached too little: " + "; ".join(shortfalls))
        return Result(self.task.check, Verdict.PASS)

    def smallest(self, found: Result, program: Program) -> Result:
        """The failure made small, unless the backend was lost: each further loss costs much."""
        kind = _kind(found)
        if kind and self.alone:
            found, program = self.among_others(found, program)
        if kind and not self.alone:

            def is_wrong(other: Program) -> bool:
                bounded = bool(other) and all(within(self.pool, turn) for turn in other)
                return bounded and _kind(self.judge(other)) == kind

            program = smallest_example(program, in_steps(partial(simpler_program, self.pool.inputs)), is_wrong, _MOST)
            found = self.judge(program) or found
        found = with_lost_call(found, self.steps(program), self.backend, self.reference)
        return self.with_trace(found, program)

    def among_others(self, found: Result, program: Program) -> tuple[Result, Program]:
        """The failure of a program that is alone, in few calls; it stays alone if others hide the failure.

        A program that is asked alone starts a process each time, so making it smaller costs too much.
        """
        shorter = needed_turns(program, int(found.step.rpartition("-")[2]) - 1, self.codebook)
        for self.alone, asked in ((False, after_another_handle(shorter)), (True, shorter)):
            if (again := self.judge(asked)) is not None and _kind(again) == _kind(found):
                return again, asked
        return found, program

    def with_trace(self, result: Result, program: Program) -> Result:
        """A result with the trace that shows it, worded as a contract words one."""
        steps = self.steps(program)
        lines = trace_lines(steps, self.codebook, self.contract)
        return replace(result, details={"trace": list(lines)}, steps=steps)

    def record(self) -> dict[str, Any]:
        """The figures in the form of the record."""
        guards = {
            f"{contract.method.name}#{guard.id}": {
                side: self.sides[f"{contract.method.name}#{guard.id}/{side}"] for side in ("passed", _REFUSED)
            }
            for contract in self.pool.model.contracts.values()
            if contract.method is not None
            for guard in contract.requires
        }
        drawn = self.sides - self.aimed
        figures = {"examples": drawn[_ASKED], "succeeded": drawn[""], "listed": self.aimed[_ASKED]}
        return {**figures, "guards": guards}

    def shortfalls(self) -> Iterator[str]:
        """What was not reached; fuzzing that misses a side of a guard must not look green."""
        figures = self.record()
        if not figures["examples"] + figures["listed"]:
            yield "nothing was asked"
        drawn = self.sides - self.aimed
        if drawn[""] < LEAST_SUCCEEDED * drawn[_FORESEEN]:
            yield f"only {drawn['']} of {drawn[_ASKED]} drawn calls succeed; at least {LEAST_SUCCEEDED:.0%} must"
        yield from unreached_sides(figures["guards"])


def contradicted(situation: StateTransition, codebook: Codebook) -> str:
    """The part of the contract that an answer of the reference breaks; empty if it breaks none."""
    operator, observed = situation.exchange.operator, situation.exchange.observed
    found = contradiction(situation, codebook)
    if found is not None and found.decision:
        answer = observed.code if isinstance(observed, ObservedFailure) else "a result"
        return f"{found.predicted}, but {operator} answers {answer}{_state(situation)}"
    for clause in found.broken if found is not None else ():
        return f"{clause.id} ({clause.position}) is broken by {operator}{_state(situation)}"
    return ""


def _state(situation: StateTransition) -> str:
    before = situation.inputs.get("state")
    return f"; the state was {dict(before)!r:.300}" if before else ""


def _kind(found: Result | None) -> str:
    """What a finding is made small by: that it is a difference, or what it breaks of the contract."""
    if found is None:
        return ""
    if found.verdict is Verdict.FAIL:
        return FOUND
    return found.message.split(";")[0] if found.message.startswith((CONTRADICTED, SPEECHLESS)) else ""
