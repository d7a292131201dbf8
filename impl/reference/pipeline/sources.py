"""The files of the baseline, `{split}_batches_*` in the root: read round and round, never deleted."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Literal, Protocol

from impl.reference.checkpoint import disk
from impl.reference.pipeline.codecs import codec_of
from impl.reference.pipeline.metadata import FieldSpec
from impl.reference.pipeline.queue_folder import ENDINGS, MAX_BYTES, BatchFile, BatchName, QueueFolder, Unreadable
from impl.reference.pipeline.refusal import Corrupt, Foreign, Refusal
from impl.reference.pipeline.tensors import cut_rows, row_bytes


@dataclass(frozen=True, slots=True)
class Rows:
    """Hold the rows of one field, `count` of them, in C order; the memory is the file's or the padding's."""

    field: FieldSpec
    count: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """Hold a file's name, its number of rows and its fields in the order of the schema."""

    name: str
    row_count: int
    columns: tuple[tuple[FieldSpec, int, memoryview], ...]

    def batch(self, start: int, batch_size: int) -> tuple[list[Rows], int]:
        """Return batch_size rows from `start` on and where the next batch begins; a short batch is repeated."""
        stop = min(start + batch_size, self.row_count)
        rows = [
            Rows(field, batch_size, cut_rows(data, width, start, stop, batch_size))
            for field, width, data in self.columns
        ]
        return rows, stop


def load(name: str, file: BatchFile, schema: Sequence[FieldSpec]) -> LoadedFile:
    """Hold a decoded file to the schema; Corrupt where it has no rows to give, SCHEMA_MISMATCH where other ones."""
    counts = {tensor.shape[0] for tensor in file.tensors.values()}
    if len(counts) != 1 or counts == {0}:
        raise Corrupt("it has no tensors" if not counts else f"its tensors have {sorted(counts)} rows")
    described = schema if file.metadata is None or file.metadata.schema is None else file.metadata.schema
    if len(described) != len(schema) or not all(a.same_rows(b) for a, b in zip(described, schema, strict=True)):
        raise _mismatch(name, f"it declares {_shown(described)}, meta.pkl {_shown(schema)}")
    if file.tensors.keys() != {field.name for field in schema}:
        raise _mismatch(name, f"it holds {sorted(file.tensors)}, meta.pkl declares {_shown(schema)}")
    columns = []
    for field in schema:
        tensor = file.tensors[field.name]
        if (tensor.dtype, tensor.shape[1:]) != (field.dtype, field.shape):
            raise _mismatch(name, f"{field.name} is {tensor.dtype} of shape {tensor.shape[1:]}, not {_shown([field])}")
        # torch takes memory that it cannot write to only with a warning.
        columns.append((field, row_bytes(field.dtype, field.shape), memoryview(bytearray(tensor.data))))
    return LoadedFile(name=name, row_count=counts.pop(), columns=tuple(columns))


def _mismatch(name: str, what: str) -> Refusal:
    return Refusal("SCHEMA_MISMATCH", f"{name} does not fit meta.pkl: {what}")


def _shown(schema: Sequence[FieldSpec]) -> str:
    return ", ".join(f"{field.name}: {field.dtype}{list(field.shape)}" for field in schema)


Kind = Literal[
    "BATCH_SIZE_MISMATCH",
    "CODEC_MISMATCH",
    "DELETE_FAILED",
    "KEY_IGNORED",
    "NAME_IGNORED",
    "NUM_BATCHES_MISMATCH",
    "QUARANTINE_FAILED",
]

log: Final = logging.getLogger("tallystick.pipeline.consumer")


class Warnings:
    """Log the first warning of each kind; several threads may warn at a time."""

    def __init__(self) -> None:
        self._said: set[Kind] = set()
        self._lock = Lock()

    def say(self, kind: Kind, sentence: str) -> None:
        """Warn, unless it was said before."""
        with self._lock:
            if kind in self._said:
                return
            self._said.add(kind)
        log.warning("%s", sentence)

    def said(self) -> list[Kind]:
        """Return the kinds that were said, by name."""
        return sorted(self._said)


@dataclass(slots=True)
class Counters:
    """Count what happened to the files of one split since the consumer was opened."""

    files_loaded: int = 0
    files_finished: int = 0
    files_quarantined: int = 0


class Source(Protocol):
    """Give the files of one split, one after the other."""

    counters: Counters

    def ready(self) -> bool:
        """Tell whether `take` would give a file; that file may be kept in memory, and changes nothing in the order."""

    def take(self) -> LoadedFile | None:
        """Give the next file, or None if it does not exist yet."""

    def finish(self, file: LoadedFile) -> None:
        """Let go of a file whose batches were all handed out."""

    def tidy(self) -> None:
        """Try again what could not be done about earlier files."""

    def reset(self) -> bool:
        """Start over; tell whether the file in hand is to be let go."""

    def backlog(self) -> int:
        """Count the files."""

    def held(self, in_hand: LoadedFile | None) -> int:
        """Count the files in memory, the one in hand included."""

    def undeleted(self) -> int:
        """Count the files that were handed out and could not be deleted."""


class QueueSource:
    """Give the files of `queue/{split}`, at most `cache_files` of them in memory, the one in hand included."""

    def __init__(
        self, folder: QueueFolder, codec: str | None, schema: Sequence[FieldSpec], cache_files: int, warnings: Warnings
    ) -> None:
        self.counters = Counters()
        self._folder = folder
        self._codec = codec
        self._schema = schema
        self._cache_files = cache_files
        self._warnings = warnings
        self._cached: dict[str, LoadedFile] = {}
        self._undeleted: set[str] = set()

    def ready(self) -> bool:
        """Tell whether there is a readable file."""
        waiting = self._waiting()
        return any(name.text in self._cached or self._keep(name, waiting) for name in waiting)

    def take(self) -> LoadedFile | None:
        """Give the first file of the queue; one that is no batch file is moved away; SCHEMA_MISMATCH.

        The folder is looked at anew for every file, so that reading ahead never changes the order (ruling QA23).
        """
        waiting = self._waiting()
        for index, name in enumerate(waiting):
            if name.text in self._cached or self._keep(name, waiting):
                file = self._cached.pop(name.text)
                self._read_ahead(waiting[index + 1 :])
                return file
        return None

    def finish(self, file: LoadedFile) -> None:
        """Delete the file, now that all of its rows were handed out (ruling QA10)."""
        self.counters.files_finished += 1
        self._undeleted.add(file.name)
        self.tidy()

    def tidy(self) -> None:
        """Delete what was handed out; what cannot be deleted is tried again, and not handed out again (Q32)."""
        for name in sorted(self._undeleted):
            try:
                self._folder.delete(name)
            except OSError as error:
                self._warnings.say("DELETE_FAILED", f"{name} cannot be deleted and is tried again: {error}")
            else:
                self._undeleted.discard(name)

    def reset(self) -> bool:
        """Keep the file in hand: it begins again at its first row (ruling QA26)."""
        return False

    def backlog(self) -> int:
        """Count the visible files."""
        return self._folder.backlog()

    def held(self, in_hand: LoadedFile | None) -> int:
        """Count the file in hand and the files read ahead."""
        return len(self._cached) + (in_hand is not None)

    def undeleted(self) -> int:
        """Count the finished files that are still there."""
        return len(self._undeleted)

    def _waiting(self) -> list[BatchName]:
        for name in self._folder.foreign():
            self._warnings.say("NAME_IGNORED", f"{name} is no name of a batch file and is ignored")
        visible = self._folder.visible()
        # A name that is gone may come back as another file.
        names = {name.text for name in visible}
        self._undeleted &= names
        self._cached = {name: file for name, file in self._cached.items() if name in names}
        return [name for name in visible if name.text not in self._undeleted]

    def _keep(self, name: BatchName, waiting: Sequence[BatchName]) -> bool:
        self._make_room(waiting)
        file = self._read(name)
        if file is None:
            return False
        self._cached[file.name] = file
        return True

    def _make_room(self, waiting: Sequence[BatchName]) -> None:
        for name in reversed(waiting):
            if len(self._cached) < self._cache_files:
                return
            self._cached.pop(name.text, None)

    def _read_ahead(self, names: Sequence[BatchName]) -> None:
        for name in names:
            if 1 + len(self._cached) >= self._cache_files:
                return
            if name.text in self._cached:
                continue
            try:
                file = self._load(name)
            except (Corrupt, Unreadable, Refusal):
                return  # judged when its turn comes
            if file is not None:
                self._cached[file.name] = file

    def _read(self, name: BatchName) -> LoadedFile | None:
        try:
            return self._load(name)
        except (Corrupt, Unreadable) as reason:
            self._quarantine(name, reason)
            return None

    def _load(self, name: BatchName) -> LoadedFile | None:
        codec = codec_of(name.text)
        content = self._folder.read(name.text, codec.judge_end)
        if content is None:
            return None
        try:
            decoded = codec.decode(content)
            file = load(name.text, decoded, self._schema)
        except Foreign as reason:
            raise _mismatch(name.text, f"it is no batch file of this queue: {reason}") from None
        except MemoryError:
            raise Unreadable("memory has no room for what it holds") from None
        self._compare(name, decoded)
        self.counters.files_loaded += 1
        log.info("loaded %s, %d rows", name.text, file.row_count)
        return file

    def _compare(self, name: BatchName, decoded: BatchFile) -> None:
        metadata = decoded.metadata
        if metadata is not None and metadata.num_batches not in (None, name.num_batches):
            said = f"{name.text} holds {metadata.num_batches} batches, its name says {name.num_batches}"
            self._warnings.say("NUM_BATCHES_MISMATCH", said)
        if metadata is not None and metadata.ignored:
            self._warnings.say("KEY_IGNORED", f"{name.text} has {', '.join(metadata.ignored)}, which is ignored")
        say_codec(self._warnings, self._codec, name.text)

    def _quarantine(self, name: BatchName, reason: Exception) -> None:
        self._folder.require_room(f"{name.text} is no batch file: {reason}")
        try:
            moved = self._folder.quarantine(name.text)
        except OSError as error:
            said = f"{name.text} is no batch file, cannot be moved and is tried again: {error}"
            self._warnings.say("QUARANTINE_FAILED", said)
            return
        self.counters.files_quarantined += 1
        log.warning("quarantined %s as %s: %s", name.text, moved, reason)


def say_codec(warnings: Warnings, expected: str | None, name: str) -> None:
    """Warn of a file of another codec than the one that was named, if one was (ruling QA29)."""
    if expected is not None and not name.endswith(f".{expected}"):
        warnings.say("CODEC_MISMATCH", f"{name} is read although the codec {expected} was named")


def legacy_names(root: Path, split: str) -> list[str]:
    """Return the names of a split's legacy files, sorted by their bytes; none if the root does not exist."""
    try:
        names = disk.names(root)
    except FileNotFoundError:
        return []
    legacy = (name for name in names if name.startswith(f"{split}_batches_") and name.endswith(ENDINGS))
    return sorted(legacy, key=os.fsencode)


class LegacySource:
    """Give the legacy files of a split by name, and after the last the first again (ruling QA22)."""

    def __init__(
        self,
        root: Path,
        split: str,
        codec: str | None,
        schema: Sequence[FieldSpec],
        cache_files: int,
        warnings: Warnings,
    ) -> None:
        self.counters = Counters()
        self._root, self._split = root, split
        self._codec, self._schema = codec, schema
        self._cache_files = cache_files
        self._warnings = warnings
        self._last: str | None = None
        self._cached: dict[str, LoadedFile] = {}

    def ready(self) -> bool:
        """Tell whether a file comes next, one that cannot be read included; it is read now: SCHEMA_MISMATCH."""
        name = self._following()
        if name is None:
            return False
        try:
            self._loaded(name)
        except Refusal as refusal:
            if refusal.code != "LEGACY_INVALID":
                raise
        return True

    def take(self) -> LoadedFile | None:
        """Give the next file round; LEGACY_INVALID for one that cannot be read, SCHEMA_MISMATCH."""
        name = self._following()
        if name is None:
            return None
        file = self._loaded(name)
        self._last = name
        return file

    def finish(self, file: LoadedFile) -> None:
        """Leave the file where it is: it comes round again."""
        self.counters.files_finished += 1

    def tidy(self) -> None:
        """Do nothing: nothing is ever deleted."""

    def reset(self) -> bool:
        """Begin at the first file again."""
        self._last = None
        return True

    def backlog(self) -> int:
        """Count the files."""
        return len(self._names())

    def held(self, in_hand: LoadedFile | None) -> int:
        """Count the files in memory; the one in hand is the last of them."""
        return len(self._cached)

    def undeleted(self) -> int:
        """Answer 0."""
        return 0

    def _following(self) -> str | None:
        """Return the name after the last one given; after the end, the first name again."""
        names, last = self._names(), self._last
        following = [name for name in names if last is not None and os.fsencode(name) > os.fsencode(last)]
        return next(iter(following or names), None)

    def _loaded(self, name: str) -> LoadedFile:
        file = self._cached.pop(name, None) or self._read(name)
        return self._cached.setdefault(name, file)  # the last, which is forgotten last

    def _names(self) -> list[str]:
        return legacy_names(self._root, self._split)

    def _read(self, name: str) -> LoadedFile:
        while len(self._cached) >= self._cache_files:
            self._cached.pop(next(iter(self._cached)))
        try:
            codec = codec_of(name)
            content = disk.read(self._root / name, MAX_BYTES, codec.judge_end)
            file = load(name, codec.decode_legacy(content), self._schema)
        except (Corrupt, Foreign, OSError, MemoryError, disk.LimitExceeded) as reason:
            raise Refusal("LEGACY_INVALID", f"{name} is no legacy batch file: {reason}") from None
        say_codec(self._warnings, self._codec, name)
        self.counters.files_loaded += 1
        return file
