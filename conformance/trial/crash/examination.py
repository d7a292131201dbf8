"""Putting trees before a backend, many at a time, one process for all: recover, recover again, read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from conformance.backend.conversation import Conversation, Talk
from conformance.backend.outcome import Side, describe
from conformance.trial.crash.asking import Answer, Kind, Questioner, Roots
from conformance.trial.crash.recording import Stage
from conformance.trial.crash.tracing import NotRun
from conformance.trial.crash.verdict import Reading
from conformance.trial.crash.volume import StrangeFile, Volume, materialise, remove, snapshot
from conformance.trial.crash.workload import Plan


def examine(
    stage: Stage, plan: Plan, volumes: Iterable[tuple[str, Callable[[], Volume]]]
) -> Iterator[tuple[str, Reading]]:
    """The reading of every tree by its key; a backend that is lost over one has not recovered it.

    A tree is built when its turn comes and removed when it has been read, so that a thousand take the room of a few.
    """
    folder = stage.scratch / "states"
    folder.mkdir(exist_ok=True)
    conversations = [
        Conversation(key, lambda key=key, make=make: _talk(stage.questioner, plan, make, folder / key))  # type: ignore[misc]
        for key, make in volumes
    ]
    for finished in stage.driver().hold(conversations):
        if finished.finding is not None:
            yield finished.key, finished.finding
        else:
            assert finished.lost is not None
            if finished.side is Side.INSTALLATION:
                raise NotRun(f"the stand-in cannot answer: {describe(finished.lost)}")
            yield finished.key, Reading((Answer(Kind.BAD, describe(finished.lost)),), (), True, True)


def _talk(questioner: Questioner, plan: Plan, make: Callable[[], Volume], folder: Path) -> Talk[Reading]:
    # Held again after a crash of somebody else's, it must find the tree as it was.
    remove(folder)
    volume = make()
    materialise(volume, folder)
    roots = Roots(folder)
    try:
        recovered: tuple[Answer, ...] = ()
        before = volume.digests()
        if plan.recover:
            recovered = yield from questioner.ask(plan.recover, roots)
            after = snapshot(folder).digests()
            again = yield from questioner.ask(plan.recover, roots)
            left = snapshot(folder).digests()
            answers = yield from questioner.ask(plan.verify, roots)
            fine = all(answer.kind in (Kind.RESULT, Kind.ABSENT) for answer in again)
            return Reading(recovered, answers, fine and after == left, before != after)
        answers = yield from questioner.ask(plan.verify, roots)
        if snapshot(folder).digests() == before:
            return Reading(recovered, answers, stable=True, changed=False)
        second = yield from questioner.ask(plan.verify, roots)
        return Reading(recovered, answers, answers == second, changed=True)
    except StrangeFile as strange:
        return Reading((Answer(Kind.BAD, str(strange)),), (), True, True)
    finally:
        remove(folder)
