"""Every tree that a crash can leave, each once, under three models of a file system."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from conformance.trial.crash.operation import (
    TOP,
    Acknowledge,
    Create,
    DiskImage,
    Link,
    Operation,
    Rename,
    SyncAll,
    SyncFile,
    SyncFolder,
    Truncate,
    Unlink,
    Write,
    folders_of,
)


class CrashModel(IntEnum):
    """How much a crash may undo; a higher model undoes more."""

    KILL = 1
    EXT4 = 2
    POSIX = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A crash before operation number `at`: what is pending then, and how many answers were written."""

    at: int
    pending: tuple[int, ...]
    answers: int


def crash_points(operations: Sequence[Operation], model: CrashModel) -> Iterator[CrashPoint]:
    """Every point where a crash can happen, with the earlier operations that the model does not promise to keep."""
    pending: list[int] = []
    answers = 0
    yield CrashPoint(0, (), 0)
    for index, operation in enumerate(operations):
        if isinstance(operation, Acknowledge):
            answers = operation.answers
        elif isinstance(operation, SyncAll | SyncFile | SyncFolder):
            begun = index if operation.before is None else operation.before
            pending = [one for one in pending if one >= begun or _stays_pending(operations[one], operation, model)]
        elif model is not CrashModel.KILL:
            pending.append(index)
        yield CrashPoint(index + 1, tuple(pending), answers)


def in_order(operation: Operation, model: CrashModel) -> bool:
    """Whether an operation survives only if all earlier ones of its kind do."""
    return model is CrashModel.EXT4 and not isinstance(operation, Write)


def _stays_pending(operation: Operation, sync: SyncAll | SyncFile | SyncFolder, model: CrashModel) -> bool:
    if isinstance(sync, SyncAll):
        return False
    if isinstance(operation, Write):
        return not (isinstance(sync, SyncFile) and _covers(sync, operation))
    if model is CrashModel.EXT4:
        # Either sync commits the journal, and with it every earlier change of entries and sizes.
        return False
    if isinstance(sync, SyncFile):
        return not (isinstance(operation, Truncate) and operation.inode == sync.inode)
    return not (isinstance(operation, Create | Link | Rename | Unlink) and sync.inode in folders_of(operation))


def _covers(sync: SyncFile, write: Write) -> bool:
    end = write.offset + len(write.data)
    return write.inode == sync.inode and sync.start <= write.offset and (sync.end is None or end <= sync.end)


Torn: TypeAlias = tuple[int, int]  # an operation, and the bytes of it that survived
_Built: TypeAlias = tuple[dict[int, dict[str, int]], dict[int, tuple[bytes, bytes]]]


class CrashTrees:
    """Makes the trees of one recorded run; contents are built once for each set of writes."""

    def __init__(self, initial: DiskImage, operations: Sequence[Operation]) -> None:
        self._initial, self.operations = initial, operations
        self._contents: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def without_loss(self, at: int) -> DiskImage:
        """The tree after the first `at` operations when nothing is lost."""
        return self.volume(at, frozenset(), None)

    def volume(self, at: int, lost: frozenset[int], torn: Torn | None) -> DiskImage:
        """The tree after the first `at` operations without the lost ones."""
        folders, files = self._built(at, lost, torn)
        return DiskImage(folders, {inode: content for inode, (content, _) in files.items()})

    def digest(self, at: int, lost: frozenset[int], torn: Torn | None, answers: int) -> bytes:
        """SHA-256 over the reachable tree and the number of answers."""
        folders, files = self._built(at, lost, torn)
        digest = hashlib.sha256(f"{answers}\n".encode())
        waiting = [("", TOP)]
        while waiting:
            prefix, folder = waiting.pop()
            for name, inode in sorted(folders[folder].items()):
                path = f"{prefix}/{name}"
                digest.update(path.encode("utf-8", "surrogateescape"))
                if inode in folders:
                    digest.update(b"\0/")
                    waiting.append((path, inode))
                else:
                    digest.update(b"\0=" + files[inode][1])
        return digest.digest()

    def _built(self, at: int, lost: frozenset[int], torn: Torn | None) -> _Built:
        folders = {inode: dict(entries) for inode, entries in self._initial.folders.items()}
        writes: dict[int, list[int]] = {inode: [] for inode in self._initial.files}
        for index in range(at):
            operation = self.operations[index]
            if isinstance(operation, Create):
                # The inode exists even if its first name is lost: a later name may lead to it.
                if operation.is_folder:
                    folders[operation.inode] = {}
                else:
                    writes[operation.inode] = []
            if index in lost:
                continue
            match operation:
                case Write(inode) | Truncate(inode):
                    writes[inode].append(index)
                case Create(folder, name, inode) | Link(folder, name, inode):
                    folders[folder][name] = inode
                case Unlink(folder, name, inode):
                    if folders[folder].get(name) == inode:
                        del folders[folder][name]
                case Rename():
                    _rename(folders, operation)
        return folders, {inode: self._content(inode, indices, torn) for inode, indices in writes.items()}

    def _content(self, inode: int, indices: list[int], torn: Torn | None) -> tuple[bytes, bytes]:
        cut = torn if torn is not None and torn[0] in indices else None
        key = (inode, tuple(indices), cut)
        if key not in self._contents:
            content = bytearray(self._initial.files.get(inode, b""))
            for index in indices:
                operation = self.operations[index]
                if isinstance(operation, Write):
                    data = operation.data[: cut[1]] if cut is not None and cut[0] == index else operation.data
                    content.extend(bytes(max(0, operation.offset - len(content))))
                    content[operation.offset : operation.offset + len(data)] = data
                elif isinstance(operation, Truncate):
                    content.extend(bytes(max(0, operation.size - len(content))))
                    del content[operation.size :]
            self._contents[key] = (bytes(content), hashlib.sha256(content).digest())
        return self._contents[key]


def _rename(folders: dict[int, dict[str, int]], operation: Rename) -> None:
    source, target = folders[operation.folder], folders[operation.to_folder]
    if source.get(operation.name) == operation.inode:
        del source[operation.name]
    target[operation.to_name] = operation.inode
    if operation.swapped is not None:
        source[operation.name] = operation.swapped


MOST_EXHAUSTIVE: Final = 10  # pending operations whose 1,024 subsets are all tried
RANDOM_SUBSETS: Final = 64
MOST_TORN: Final = 64  # subsets of one crash point whose last write is torn as well
SECTOR: Final = 512  # bytes that a disk writes whole


class StatePriority(IntEnum):
    """The order in which states are tried if not all of them are."""

    PREFIX = 0
    ALL_BUT_ONE = 1
    TORN_PREFIX = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class CrashState:
    """One tree that a crash can leave: the crash point, the lost operations, and the cut in the last write."""

    model: CrashModel  # the weakest model that has this state
    tier: StatePriority
    at: int
    lost: tuple[int, ...]
    pending: tuple[int, ...]
    torn: Torn | None  # an operation, and the bytes of it that survived
    answers: int
    digest: bytes

    def volume(self, replay: CrashTrees) -> DiskImage:
        """The tree itself."""
        return replay.volume(self.at, frozenset(self.lost), self.torn)


def crash_states(
    replay: CrashTrees, models: Iterable[CrashModel], step: Callable[[], None] = lambda: None, start: int = 0
) -> list[CrashState]:
    """Every distinct state of a crash after `start` operations, those of a weaker model first; `step` is called once
    per crash point."""
    operations = replay.operations
    found: dict[bytes, CrashState] = {}
    seen: set[tuple[int, frozenset[int], Torn | None, int]] = set()
    for model in sorted(models):
        for point in crash_points(operations, model):
            if point.at < start:
                continue
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
    operations: Sequence[Operation], point: CrashPoint, model: CrashModel
) -> Iterator[tuple[StatePriority, frozenset[int], Torn | None]]:
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
            yield max(StatePriority.TORN_PREFIX, tier), lost, (last, cut)


def _cuts(write: Operation) -> list[int]:
    assert isinstance(write, Write)
    length = len(write.data)
    cuts = {1, length // 2, length // SECTOR * SECTOR, length - 1}
    return sorted(cut for cut in cuts if 0 < cut < length)


def _survivors(
    operations: Sequence[Operation], point: CrashPoint, model: CrashModel
) -> Iterator[tuple[StatePriority, frozenset[int]]]:
    """Sets of pending operations that a crash may leave, the likeliest first."""
    ordered = [one for one in point.pending if in_order(operations[one], model)]
    free = [one for one in point.pending if not in_order(operations[one], model)]
    few = len(point.pending) <= MOST_EXHAUSTIVE
    for length in range(len(ordered), -1, -1):
        first = frozenset(ordered[:length])
        for tier, subset in _subsets(free, few, f"{point.at} {length}"):
            yield tier, first | subset


def _subsets(items: Sequence[int], few: bool, seed: str) -> Iterator[tuple[StatePriority, frozenset[int]]]:
    everything = frozenset(items)
    for length in range(len(items), -1, -1):
        yield StatePriority.PREFIX, frozenset(items[:length])
    for one in items:
        yield StatePriority.ALL_BUT_ONE, everything - {one}
    if few:
        for length in range(len(items) - 1):
            for some in itertools.combinations(items, length):
                yield StatePriority.OTHER, frozenset(some)
        return
    for one in items:
        yield StatePriority.OTHER, frozenset({one})
    chance = random.Random(seed)  # noqa: S311 (a fixed choice, no secret)
    for _ in range(RANDOM_SUBSETS):
        yield StatePriority.OTHER, frozenset(one for one in items if chance.random() < 0.5)


def first_states(states: Sequence[CrashState], most: int | None) -> list[CrashState]:
    """At most so many states: every prefix, then all but one, then torn ones and the other subsets."""
    ordered = sorted(states, key=lambda state: (state.tier, state.model))
    return ordered if most is None else ordered[:most]
