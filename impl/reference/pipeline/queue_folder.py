"""The folder of one split: which files are visible, and where those go that cannot be read."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from impl.reference.checkpoint import disk
from impl.reference.pipeline.batch_name import BatchName, is_temporary, parse_batch_name
from impl.reference.pipeline.refusal import Refusal

QUEUE: Final = "queue"
QUARANTINE: Final = "quarantine"
MAX_BYTES: Final = 2**34

# The reader's own trouble: these say nothing about the file.
_OWN_TROUBLE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})


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

    def __init__(self, root: Path, split: str, ending: str) -> None:
        self.path = root / QUEUE / split
        self._quarantine = root / QUEUE / QUARANTINE / split
        self._ending = ending

    def make(self) -> None:
        """Make the folder where it is missing, and its name durable: a file in it is no safer than that.

        CONFIG_INVALID where something else has its name, or that of a folder above it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise Refusal("CONFIG_INVALID", f"{self.path} cannot be made: what is there is no folder") from None
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
        return [name for name in self._names() if not is_temporary(name) and not self._parse(name)]

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
        return (parsed for name in self._names() if (parsed := self._parse(name)))

    def _parse(self, name: str) -> BatchName | None:
        return parse_batch_name(name, self._ending)

    def _names(self) -> list[str]:
        try:
            return disk.names(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return []
