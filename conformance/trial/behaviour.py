"""Behaviour rules: what the purity class of an operator promises beyond right answers (DESIGN 7, step 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.driver import RESTART, Call, Conversation, RestartRequest, Talk
from conformance.backend.outcome import BadAnswer, ObservedFailure, ObservedResult, observe
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.codec.scalar import shorten
from conformance.contract.model import Contract
from conformance.trial.bystanders import AmongBystanders, one_of_each_group, roots_in, with_harness_reads
from conformance.trial.check import Check, Difference, FailedCall, Kind, Result, Verdict, answer_of, lost, walk_failure
from conformance.vectors.case import Case, Step, TreeStep
from conformance.vectors.compact import holds_recipe
from conformance.vectors.conversation.exchange import Exchange, Transcript, exchanges, may_share, runs_alone

CHANGED: Final = "the same call, asked again in another order or a fresh process, got another answer"
ALONE: Final = "the same steps, interleaved with themselves on another handle, got another answer than alone"
APART: Final = "of two handles that were given the same steps by turns, the second got another answer"


def in_alternation(first: Talk[Transcript], second: Talk[Transcript]) -> Talk[tuple[Transcript, Transcript]]:
    """Two walks in one process, one call of the first after one of the second; they restart it together."""
    walks, found = [first, second], dict[int, Transcript]()
    requests: dict[int, Sequence[Call] | RestartRequest] = {}

    def go_on(k: int, outcomes: Any) -> None:
        requests.pop(k, None)
        try:
            requests[k] = walks[k].send(outcomes)
        except StopIteration as end:
            found[k] = end.value

    for k in range(2):
        go_on(k, None)
    while requests:
        for k in range(2):
            if not isinstance(request := requests.get(k, RESTART), RestartRequest):
                go_on(k, (yield request))
        if requests and all(isinstance(request, RestartRequest) for request in requests.values()):
            yield RESTART
            for k in list(requests):
                go_on(k, [])
    return found[0], found[1]


SAMPLE: Final = 24  # calls per operator; every one is asked four times
TRACES: Final = 8  # cases per operator with files or handles; every one is asked twice
CROWDED: Final = 64  # cases per operator that are asked among bystanders
RULES: Final = {
    "pure": "A pure operator answers the same call with the same bytes, in any order and any process.",
    "io": "An operator that touches files answers the same bytes and leaves the same files in two fresh roots.",
    "handles": "A machine answers on one handle as if there were no other, and in every process alike.",
    "bystanders": "Other files, beside an operator's own or earlier at its paths, change no answer and stay the same.",
    "shape": "Answers are well typed, and failures carry codes that the contract declares.",
}


@dataclass(frozen=True, slots=True)
class BehaviourRules:
    """The conversations that check the purity class of operators, and the shape of their answers."""

    codebook: Codebook
    dialect: Dialect

    def trials(
        self, contract: Contract, cases: Sequence[Case]
    ) -> Iterator[tuple[tuple[Check, ...], Conversation[Sequence[Result]]]]:
        """Every conversation about one operator, each after the checks that it judges."""
        if (conversation := self.conversation(contract, cases)) is not None:
            yield (behaviour_check(contract, rule_of(contract)), behaviour_check(contract, "shape")), conversation
        if (crowded := self.among_bystanders(contract, cases)) is not None:
            yield (behaviour_check(contract, "bystanders"),), crowded

    def conversation(self, contract: Contract, cases: Sequence[Case]) -> Conversation[Sequence[Result]] | None:
        """The conversation that checks one operator.

        It needs explicit cases of a pure operator, or traces of a machine or of files; None if there are none.
        """
        key = f"{contract.operator}!{rule_of(contract)}"
        if contract.machine is not None or contract.purity == "io":
            traces = sample_traces(contract, cases)
            if not traces:
                return None
            if contract.machine is not None:
                return Conversation(key, lambda: self.handle_conversation(contract, traces), alone=True)
            return Conversation(key, lambda: self.file_conversation(contract, traces), *self._processes(traces))
        sample = sample_calls(contract, cases) if contract.purity == "pure" else []
        return Conversation(key, lambda: self.talk(contract, sample), alone=True, in_step=True) if sample else None

    def among_bystanders(self, contract: Contract, cases: Sequence[Case]) -> Conversation[Sequence[Result]] | None:
        """The conversation that asks one operator's cases again among files of others; None if no case uses a root."""
        traces = [with_harness_reads(steps, {}) for steps in rooted_traces(contract, cases)]
        check = behaviour_check(contract, "bystanders")
        rule = AmongBystanders(self.codebook, self.dialect, contract)

        def start() -> Talk[Sequence[Result]]:
            return [(yield from rule.judge(check, traces))]

        return Conversation(check.id, start, *self._processes(traces)) if traces else None

    def _processes(self, traces: Sequence[Sequence[Step]]) -> tuple[bool, bool]:
        """Whether the traces restart the process, and whether they may do so in step with others."""
        return any(map(runs_alone, traces)), all(may_share(steps, self.codebook) for steps in traces)

    def file_conversation(self, contract: Contract, traces: Sequence[Sequence[Step]]) -> Talk[Sequence[Result]]:
        """Walk every trace twice, each time in fresh roots."""
        check = behaviour_check(contract, "io")
        parted: Result | None = None
        made: list[Exchange] = []
        for steps in traces:
            first = yield from exchanges(steps, self.codebook, self.dialect)
            second = yield from exchanges(steps, self.codebook, self.dialect)
            parted = parted or walk_failure(check, steps, first, second)
            made += [one for one in first.exchanges if one.operator == contract.operator]
        return [parted or Result(check, Verdict.PASS), self._shape(contract, made)]

    def handle_conversation(self, contract: Contract, traces: Sequence[Sequence[Step]]) -> Talk[Sequence[Result]]:
        """Walk every trace of a machine alone; then, in a new process, twice by turns, on two handles."""
        check = behaviour_check(contract, "handles")
        alone: list[Transcript] = []
        for steps in traces:
            alone.append((yield from exchanges(steps, self.codebook, self.dialect)))
        yield RESTART
        parted: Result | None = None
        for steps, before in zip(traces, alone, strict=True):
            twice = (exchanges(steps, self.codebook, self.dialect) for _ in range(2))
            one, other = yield from in_alternation(*twice)
            parted = parted or walk_failure(check, steps, before, one, ALONE)
            parted = parted or walk_failure(check, steps, one, other, APART)
        made = [exchange for walk in alone for exchange in walk.exchanges]
        return [parted or Result(check, Verdict.PASS), self._shape(contract, made)]

    def talk(self, contract: Contract, sample: Sequence[Call]) -> Talk[Sequence[Result]]:
        """Ask a sample in order, again shuffled and doubled, and once more in a fresh process, backwards."""
        check = behaviour_check(contract, "pure")
        first = yield from self._ask(sample)
        order = sorted([*range(len(sample))] * 2, key=lambda k: hashlib.sha256(b"%d" % (k * 7919)).digest())
        again = yield from self._ask([sample[k] for k in order])
        parted = walk_failure(check, (), Transcript(tuple(first[k] for k in order)), Transcript(again), CHANGED)
        if parted is None:
            yield RESTART
            again = yield from self._ask(sample[::-1])
            parted = walk_failure(check, (), Transcript(first[::-1]), Transcript(again), CHANGED)
        return [parted or Result(check, Verdict.PASS), self._shape(contract, first)]

    def _ask(self, calls: Sequence[Call]) -> Talk[tuple[Exchange, ...]]:
        outcomes = yield calls
        return tuple(
            Exchange("", call.operator, call.inputs, observe(outcome, call.operator, self.codebook, self.dialect))
            for call, outcome in zip(calls, outcomes, strict=True)
        )

    def _shape(self, contract: Contract, made: Sequence[Exchange]) -> Result:
        check = behaviour_check(contract, "shape")
        for call in made:
            observed, declared = call.observed, self.codebook[call.operator].contract.codes
            asked = FailedCall(call.operator, call.inputs, answer_of(observed))
            if isinstance(observed, BadAnswer):
                where = Difference("answer", observed.error.expected, shorten(observed.error.found), "ill-typed")
                return Result(check, Verdict.FAIL, "result", message=str(observed.error), difference=where, call=asked)
            if isinstance(observed, ObservedFailure) and observed.code not in declared:
                where = Difference("error.message", "one of " + ", ".join(sorted(declared)), observed.code)
                message = "a code that the contract does not declare"
                return Result(check, Verdict.FAIL, "failure", message=message, difference=where, call=asked)
            if not isinstance(observed, ObservedResult | ObservedFailure):
                return lost(check, observed, call=asked)
        return Result(check, Verdict.PASS)


def rooted_traces(contract: Contract, cases: Sequence[Case]) -> list[tuple[Step, ...]]:
    """One case of every group of an operator that uses a root."""
    if contract.purity != "io" and contract.machine is None:
        return []
    own = (case for case in cases if case.operator == contract.operator and case.profile == "quick")
    return [case.steps for case in one_of_each_group([case for case in own if roots_in(case.steps)], CROWDED)]


def sample_traces(contract: Contract, cases: Sequence[Case]) -> list[tuple[Step, ...]]:
    """Up to TRACES cases of an operator, chosen by their digests, each with a look at every root at its end."""
    quick = [case for case in cases if case.operator == contract.operator and case.profile == "quick" and case.steps]
    chosen = sorted(quick, key=lambda case: case.digest)[:TRACES]
    return [(*case.steps, *(TreeStep(root, ".", {}) for root in roots_in(case.steps))) for case in chosen]


def rule_of(contract: Contract) -> str:
    """The behaviour rule of an operator, apart from the rule about the shape of its answers."""
    return "handles" if contract.machine is not None else contract.purity


def behaviour_check(contract: Contract, rule: str) -> Check:
    """The check for one behaviour rule of one operator."""
    id_ = f"{contract.operator}!{rule}"
    return Check(id_, Kind.BEHAVIOUR, contract.operator, "behaviour", RULES[rule], (), ())


def sample_calls(contract: Contract, cases: Sequence[Case]) -> list[Call]:
    """Up to SAMPLE explicit calls of an operator, spread over its cases by their digests."""
    explicit = [
        case
        for case in cases
        if case.operator == contract.operator and case.kind == "explicit" and case.profile == "quick"
    ]
    chosen = sorted(explicit, key=lambda case: case.digest)[:SAMPLE]
    steps = [step for case in chosen for step in case.calls]
    return [Call(step.operator, step.inputs) for step in steps if not holds_recipe(step.inputs)]
