"""Every tree that a crash can leave behind, each once: which pending operations survived, and how the last was torn.

Up to ten pending operations every subset is tried; beyond, the prefixes, all but one, one alone, and 64 subsets from a
fixed seed. The last surviving write may also be torn: one byte, half, whole sectors, or all but one byte of it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from conformance.trial.crash.durability import CrashPoint, Model, crash_points, in_order
from conformance.trial.crash.operation import Acknowledge, Operation, SyncAll, SyncFile, SyncFolder, Write
from conformance.trial.crash.replay import Replay, Torn
from conformance.trial.crash.volume import Volume

MOST_EXHAUSTIVE: Final = 10  # pending operations whose 1,024 subsets are all tried
RANDOM_SUBSETS: Final = 64
MOST_TORN: Final = 64  # subsets of one crash point whose last write is torn as well
SECTOR: Final = 512  # bytes that a disk writes whole


class Tier(IntEnum):
    """In which order states are looked at where not all of them are."""

    PREFIX = 0
    ALL_BUT_ONE = 1
    TORN_PREFIX = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class CrashState:
    """One tree that a crash can leave: the crash point, what of it was lost, where the last write was cut."""

    model: Model  # the strongest promise under which it can still happen
    tier: Tier
    at: int
    lost: tuple[int, ...]
    pending: tuple[int, ...]
    torn: Torn | None  # an operation, and the bytes of it that survived
    answers: int
    digest: bytes

    def volume(self, replay: Replay) -> Volume:
        """The tree itself."""
        return replay.volume(self.at, frozenset(self.lost), self.torn)


def crash_states(
    replay: Replay, operations: Sequence[Operation], models: Iterable[Model], step: Callable[[], None] = lambda: None
) -> list[CrashState]:
    """Every distinct state, those of a weaker model first; `step` is called once per crash point."""
    found: dict[bytes, CrashState] = {}
    seen: set[tuple[int, frozenset[int], Torn | None, int]] = set()
    for model in sorted(models):
        for point in crash_points(operations, model):
            step()
            effects = _effects(operations, point.at)
            for tier, lost, torn in _candidates(operations, point, model):
                # A crash right after a sync or an answer leaves what a crash before it could.
                key = (effects, lost, torn, point.answers)
                if key in seen:
                    continue
                seen.add(key)
                digest = replay.digest(point.at, lost, torn, point.answers)
                known = found.get(digest)
                if known is None or (known.model is model and tier < known.tier):
                    found[digest] = CrashState(
                        model, tier, point.at, tuple(sorted(lost)), point.pending, torn, point.answers, digest
                    )
    return list(found.values())


def _effects(operations: Sequence[Operation], at: int) -> int:
    while at and isinstance(operations[at - 1], SyncFile | SyncFolder | SyncAll | Acknowledge):
        at -= 1
    return at


def _candidates(
    operations: Sequence[Operation], point: CrashPoint, model: Model
) -> Iterator[tuple[Tier, frozenset[int], Torn | None]]:
    """Sets of lost operations, and where the last surviving pending write is cut."""
    torn = 0
    everything = frozenset(point.pending)
    for tier, kept in _survivors(operations, point, model):
        lost = everything - kept
        yield tier, lost, None
        last = max((one for one in kept if isinstance(operations[one], Write)), default=None)
        if last is None or torn >= MOST_TORN:
            continue
        torn += 1
        for cut in _cuts(operations[last]):
            yield max(Tier.TORN_PREFIX, tier), lost, (last, cut)


def _cuts(write: Operation) -> list[int]:
    assert isinstance(write, Write)
    length = len(write.data)
    cuts = {1, length // 2, length // SECTOR * SECTOR, length - 1}
    return sorted(cut for cut in cuts if 0 < cut < length)


def _survivors(
    operations: Sequence[Operation], point: CrashPoint, model: Model
) -> Iterator[tuple[Tier, frozenset[int]]]:
    """Sets of pending operations that a crash may leave, the likeliest first."""
    ordered = [one for one in point.pending if in_order(operations[one], model)]
    free = [one for one in point.pending if not in_order(operations[one], model)]
    few = len(point.pending) <= MOST_EXHAUSTIVE
    for length in range(len(ordered), -1, -1):
        first = frozenset(ordered[:length])
        for tier, subset in _subsets(free, few, f"{point.at} {length}"):
            yield tier, first | subset


def _subsets(items: Sequence[int], few: bool, seed: str) -> Iterator[tuple[Tier, frozenset[int]]]:
    everything = frozenset(items)
    for length in range(len(items), -1, -1):
        yield Tier.PREFIX, frozenset(items[:length])
    for one in items:
        yield Tier.ALL_BUT_ONE, everything - {one}
    if few:
        for length in range(len(items) - 1):
            for some in itertools.combinations(items, length):
                yield Tier.OTHER, frozenset(some)
        return
    for one in items:
        yield Tier.OTHER, frozenset({one})
    chance = random.Random(seed)  # noqa: S311 (a fixed choice, no secret)
    for _ in range(RANDOM_SUBSETS):
        yield Tier.OTHER, frozenset(one for one in items if chance.random() < 0.5)


def first_states(states: Sequence[CrashState], most: int | None) -> list[CrashState]:
    """At most so many states: every prefix, then all but one, then torn ones and the other subsets."""
    ordered = sorted(states, key=lambda state: (state.tier, state.model))
    return ordered if most is None else ordered[:most]


def counts(states: Iterable[CrashState]) -> Mapping[Model, int]:
    """How many states can happen under each model; the weaker one's are among the stronger one's."""
    models = [state.model for state in states]
    return {model: sum(one <= model for one in models) for model in Model}
