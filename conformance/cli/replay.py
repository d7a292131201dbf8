"""A sequence without random access, replayed from its beginning by the backend and then by the reference."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.driver import Call, Talk
from conformance.backend.outcome import Lost, Observed, ProtocolError
from conformance.cli.console import CommandError
from conformance.cli.interview import BackendPair
from conformance.contract.family import SequenceDeclaration
from conformance.vectors.case import CallStep, Case, FileStep, Step, label
from conformance.vectors.conversation.difference import Difference
from conformance.vectors.conversation.exchange import ConversationContext, Exchange
from conformance.vectors.files.temp_roots import StepRefused

BEFORE: Final = -1  # the round of the steps that are taken once
Tell = Callable[[int, Exchange], bool]  # the round and the exchange; returns whether to stop


@dataclass(frozen=True, slots=True)
class Divergence:
    """One call of a replay: its round, the answers of reference and backend, and their difference."""

    round: int
    mine: Exchange
    theirs: Observed | None
    difference: Difference | None
    rounds: tuple[int, int]  # that the backend and the reference began
    only: bool  # whether the earlier rounds were not compared
    answers: tuple[Exchange, ...]  # the reference's in this round, up to this call


def replayed(declaration: SequenceDeclaration, case: Case, pair: BackendPair, only: int | None) -> Divergence | None:
    """The first call with different answers of backend and reference; None if there is none.

    With `only`, earlier rounds are not compared, and the last call of that round is returned if all are equal.
    """
    replay = declaration.replay
    assert replay is not None
    if only is not None and not 0 <= only < replay.times:
        hint = f"the sequence has the positions 0 to {replay.times - 1}"
        raise CommandError(f"--position {only}", "T003", f"there is no {declaration.unit} {only}", hint)
    steps, rounds = steps_of(declaration, case), replay.times if only is None else only + 1
    heard: list[tuple[int, Exchange]] = []  # the answers of the backend, each with its round
    lost = None
    if pair.backend is not None:

        def keep(number: int, one: Exchange) -> bool:
            heard.append((number, one))
            return False

        def start() -> Talk[bool]:
            heard.clear()
            return _talk(steps, rounds, pair, keep)

        lost = pair.backend.client.run(start)
    found: list[Divergence] = []
    mine: list[Exchange] = []  # the answers of the reference
    answers: list[tuple[int, Exchange]] = []  # those of the round

    def compare(number: int, one: Exchange) -> bool:
        place = len(mine)
        mine.append(one)
        theirs: Observed | None = None
        parted: Difference | None = None
        if pair.backend is not None:
            theirs = heard[place][1].observed if place < len(heard) else _end(lost)
            parted = pair.difference(one.operator, one.observed, theirs)
        if only is not None and number < only:
            return False
        if answers and answers[0][0] != number:
            answers.clear()
        answers.append((number, one))
        if parted is not None or only is not None:
            so_far = tuple(exchange for _, exchange in answers)
            begun = heard[-1][0] + 1 if heard else 0
            found[:] = [Divergence(number, one, theirs, parted, (begun, number + 1), only is not None, so_far)]
        return parted is not None

    def again() -> Talk[bool]:
        mine.clear()
        answers.clear()
        found.clear()
        return _talk(steps, rounds, pair, compare)

    gone = pair.reference.client.run(again)
    if isinstance(gone, Lost):
        pair.expected(gone)
    return found[0] if found else None


def _end(lost: object) -> Lost:
    """The outcome in place of an answer that never came."""
    return lost if isinstance(lost, Lost) else ProtocolError("the replay had ended before")


def steps_of(declaration: SequenceDeclaration, case: Case) -> tuple[Sequence[Step], Sequence[Step]]:
    """The steps of a case that are taken once, with the file steps before the last of them, and the steps of a round.

    Raises CommandError if the case has no step of a name.
    """
    replay = declaration.replay
    assert replay is not None
    named = {step.name: place for place, step in enumerate(case.steps) if isinstance(step, CallStep)}
    for name in (*replay.before, *replay.round):
        if name not in named:
            message = f"{case.id} has no step {name!r}"
            raise CommandError(case.id, "T003", message, f"its steps are {', '.join(named)}")
    last = max((named[name] for name in replay.before), default=0)
    before = [
        step
        for place, step in enumerate(case.steps)
        if (isinstance(step, CallStep) and step.name in replay.before) or (isinstance(step, FileStep) and place < last)
    ]
    return before, [case.steps[named[name]] for name in replay.round]


def _talk(steps: tuple[Sequence[Step], Sequence[Step]], rounds: int, pair: BackendPair, tell: Tell) -> Talk[bool]:
    """Take the first steps, then the rounds, until `tell` returns true; return whether all were taken.

    A step that needs a missing answer ends it too.
    """
    with ConversationContext(pair.codebook, pair.reference.client.dialect) as stage:
        for number in range(BEFORE, rounds):
            for place, step in enumerate(steps[0] if number == BEFORE else steps[1], start=1):
                try:
                    made = yield from _take(stage, step)
                except StepRefused as refused:
                    assert isinstance(step, FileStep | CallStep)
                    name = label(step, place) if isinstance(step, FileStep) else step.name
                    raise CommandError(name, "T008", str(refused)) from None
                except KeyError:
                    return False
                if made is not None and tell(number, made):
                    return False
    return True


def _take(stage: ConversationContext, step: Step) -> Generator[Sequence[Call], Any, Exchange | None]:
    """Take one step; raises KeyError if it needs a missing answer of an earlier step."""
    if isinstance(step, FileStep):
        stage.take(step)
        return None
    assert isinstance(step, CallStep)
    inputs = stage.inputs(step)
    (outcome,) = yield [stage.call(step.operator, inputs)]
    made = stage.note(step.name, step.operator, inputs, outcome)
    stage.settle()
    return made
