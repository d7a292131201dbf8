"""The folder of one split: which files are visible, and where those go that cannot be read."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from impl.reference.checkpoint import disk
from impl.reference.pipeline.metadata import FieldSpec, NotASchema, schema_of, shown, unknown_keys
from impl.reference.pipeline.refusal import Foreign, Refusal
from impl.types import Tensor

SEQ_DIGITS: Final = 6
ENDINGS: Final = (".pt", ".npz")
TEMPORARY: Final = ".tmp-"
_VISIBLE: Final = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)(\.[a-z]+)")
_SPLIT: Final = re.compile(r"(?:train|val)(?:_rank(?:0|[1-9][0-9]*))?")


@dataclass(frozen=True, slots=True)
class BatchName:
    """Hold what a visible name says: `{timestamp}-{seq}-{nb}{ext}`, timestamp in UTC milliseconds."""

    timestamp: int
    seq: int
    num_batches: int
    text: str

    @property
    def order(self) -> tuple[int, int, bytes]:
        """The place in the queue: numbers, not digits, and the bytes of the name on a tie (ruling QA05)."""
        return (self.timestamp, self.seq, self.text.encode())


def parse_batch_name(text: str) -> BatchName | None:
    """Read a visible name with the ending of a codec; None for every other name (ruling QA16)."""
    found = _VISIBLE.fullmatch(text)
    if found is None or found[4] not in ENDINGS:
        return None
    return BatchName(timestamp=int(found[1]), seq=int(found[2]), num_batches=int(found[3]), text=text)


def final_name(timestamp: int, seq: int, num_batches: int, ending: str) -> str:
    """Return the visible name of a finished file."""
    return f"{timestamp}-{seq:0{SEQ_DIGITS}}-{num_batches}{ending}"


def temporary_name(timestamp: int, seq: int, ending: str) -> str:
    """Return the name under which a file is written before it is renamed."""
    return f"{TEMPORARY}{timestamp}-{seq:0{SEQ_DIGITS}}{ending}"


def is_temporary(text: str) -> bool:
    """Tell whether a name is one that only its provider looks at."""
    return text.startswith(TEMPORARY)


def is_split(text: str) -> bool:
    """Tell whether a text names a split: train or val, or one rank's own folder of either."""
    return _SPLIT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Metadata:
    """Hold the metadata of a batch file; `file_idx` is its seq, `produced_at` in UTC milliseconds.

    A file that is read may lack what a consumer does not need: it is None. `ignored` are the keys that no rule knows.
    """

    batch_size: int | None
    num_batches: int | None
    file_idx: int | None
    split: str | None
    produced_at: int | None
    schema: tuple[FieldSpec, ...] | None
    ignored: tuple[str, ...] = ()

    def as_map(self) -> dict[str, Any]:
        """Return the map in the file, its keys in the seed's order."""
        return {
            "batch_size": self.batch_size,
            "num_batches": self.num_batches,
            "file_idx": self.file_idx,
            "split": self.split,
            "produced_at": self.produced_at,
            "schema": [field.as_map() for field in self.schema or ()],
        }


@dataclass(frozen=True, slots=True)
class BatchFile:
    """Hold a whole batch file; what a legacy file says of itself is not looked at."""

    metadata: Metadata | None
    tensors: Mapping[str, Tensor]


class Codec(Protocol):
    """Turn batch files into bytes and back; reading raises Corrupt or Foreign and runs nothing from the bytes."""

    ending: str

    def judge_end(self, tail: bytes) -> None:
        """Raise Corrupt where no file of this codec ends so: a large one is not read for nothing."""

    def encode(self, file: BatchFile) -> bytes:
        """Return the bytes of a file, its tensors in schema order."""

    def decode(self, content: bytes) -> BatchFile:
        """Read the bytes of a file."""

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read the tensors of a file of the baseline, and ignore everything else in it."""


_KEYS: Final = ("batch_size", "num_batches", "file_idx", "split", "produced_at", "schema")


def metadata_of(described: object) -> Metadata:
    """Read a metadata map; Foreign where a key that a consumer uses is ill typed (ruling QA33).

    It uses `num_batches` and `schema`, and either may be absent; the other keys are taken as they are.
    """
    if not isinstance(described, dict):
        raise Foreign("its metadata is no map")
    num_batches = described.get("num_batches", 0)
    if type(num_batches) is not int or num_batches < 0:
        raise Foreign("the metadata's num_batches is no count")
    ignored = [shown(key) for key in described if key not in _KEYS]
    known = {key: described.get(key) for key in _KEYS}
    if "schema" in described:
        try:
            known["schema"] = schema_of(described["schema"])
        except NotASchema as reason:
            raise Foreign(f"the metadata's schema: {reason}") from None
        ignored += unknown_keys(described["schema"])
    return Metadata(**known, ignored=tuple(ignored))


QUEUE: Final = "queue"
QUARANTINE: Final = "quarantine"
MAX_BYTES: Final = 2**34
# So many files of a split may be moved away; then somebody has to look (ruling QA35).
MOST_QUARANTINED: Final = 16

# The reader's own trouble: these say nothing about the file.
_OWN_TROUBLE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
_IN_THE_WAY: Final = frozenset({errno.EEXIST, errno.ENOTDIR, errno.ELOOP})
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Unreadable(Exception):
    """A visible name cannot be read as a regular file; says why."""


def root_of(data_dir: str | os.PathLike[str]) -> Path:
    """Return the path of a root; CONFIG_INVALID for a text that can be none."""
    try:
        if b"\0" in os.fsencode(data_dir):
            raise Refusal("CONFIG_INVALID", "a root cannot have NUL in its name")
    except UnicodeEncodeError:
        raise Refusal("CONFIG_INVALID", "a root has a name that is no text") from None
    return Path(data_dir)


class QueueFolder:
    """Look at `queue/{split}` below a root; nothing is remembered between two calls."""

    def __init__(self, root: Path, split: str) -> None:
        self.path = root / QUEUE / split
        self._quarantine = root / QUEUE / QUARANTINE / split

    def make(self) -> None:
        """Make the folder where it is missing, and its name durable: a file in it is no safer than that.

        CONFIG_INVALID where something else has its name, or that of a folder above it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno in _IN_THE_WAY:
                raise Refusal("CONFIG_INVALID", f"{self.path} cannot be made: what is there is no folder") from None
            raise
        disk.sync_folder(self.path.parent)
        disk.sync_folder(self.path.parent.parent)

    def visible(self) -> list[BatchName]:
        """Return the files that a consumer may see, in the order of the queue (requirement Q25)."""
        return sorted(self._matching(), key=lambda name: name.order)

    def backlog(self) -> int:
        """Count the visible files (requirement Q10)."""
        return sum(1 for _ in self._matching())

    def foreign(self) -> list[str]:
        """Return the names that are neither visible nor temporary (ruling QA16)."""
        return [name for name in self._names() if not is_temporary(name) and not parse_batch_name(name)]

    def temporaries(self) -> list[Path]:
        """Return the files that some provider began to write."""
        return [self.path / name for name in self._names() if is_temporary(name)]

    def read(self, name: str, judge_end: Callable[[bytes], None]) -> bytes | None:
        """Return the content of a visible file, None where it is gone by now; Unreadable, and what `judge_end` raises.

        A name that is a folder, a pipe or a symbolic link is never opened as a file.
        """
        try:
            return disk.read(self.path / name, MAX_BYTES, judge_end)
        except FileNotFoundError:
            return None
        except disk.LimitExceeded:
            raise Unreadable(f"it has more than {MAX_BYTES} bytes") from None
        except OSError as error:
            if error.errno in _OWN_TROUBLE:
                raise
            raise Unreadable(str(error)) from None
        except MemoryError:
            raise Unreadable("memory has no room for it") from None

    def delete(self, name: str) -> None:
        """Delete a file that has been handed out; it may be gone already."""
        disk.remove(self.path / name)

    def require_room(self, said: str) -> None:
        """Refuse to go on where as many files of the split were moved away as may; QUARANTINE_FULL."""
        if len(_names_in(self._quarantine)) >= MOST_QUARANTINED:
            raise Refusal(
                "QUARANTINE_FULL",
                f"{said}; {self._quarantine} holds {MOST_QUARANTINED} files that were no batch files:"
                " look why, and delete or move them",
            )

    def quarantine(self, name: str) -> str:
        """Move a file out of the queue and return its name there; a taken one gets `.1`, `.2` (ruling QA13)."""
        self._quarantine.mkdir(parents=True, exist_ok=True)
        target = self._quarantine / name
        number = 0
        while disk.exists(target):
            number += 1
            target = self._quarantine / f"{name}.{number}"
        try:
            (self.path / name).rename(target)
        except FileNotFoundError:
            return name
        return target.name

    def _matching(self) -> Iterator[BatchName]:
        return (parsed for name in self._names() if (parsed := parse_batch_name(name)))

    def _names(self) -> list[str]:
        return _names_in(self.path)


def _names_in(path: Path) -> list[str]:
    """Return the names in a folder, none where there is no folder: a link that leads to itself is none either."""
    try:
        return disk.names(path)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            return []
        raise
