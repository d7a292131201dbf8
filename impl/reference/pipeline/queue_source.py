"""The files of one split's queue: taken in order, deleted when finished, moved away when they are no batch files."""

import logging
from collections.abc import Sequence
from typing import Final

from impl.reference.pipeline.batch_file import BatchFile, Codec
from impl.reference.pipeline.batch_name import BatchName
from impl.reference.pipeline.field_spec import FieldSpec
from impl.reference.pipeline.loaded_file import LoadedFile, load
from impl.reference.pipeline.queue_folder import QueueFolder, Unreadable
from impl.reference.pipeline.refusal import Corrupt, Refusal
from impl.reference.pipeline.source import Counters
from impl.reference.pipeline.warning import Warnings

log: Final = logging.getLogger("tallystick.pipeline.consumer")


class QueueSource:
    """Give the files of `queue/{split}`, at most `cache_files` of them in memory, the one in hand included."""

    def __init__(
        self, folder: QueueFolder, codec: Codec, schema: Sequence[FieldSpec], cache_files: int, warnings: Warnings
    ) -> None:
        self.counters = Counters()
        self._folder = folder
        self._codec = codec
        self._schema = schema
        self._cache_files = cache_files
        self._warnings = warnings
        self._cached: dict[str, LoadedFile] = {}
        self._undeleted: set[str] = set()
        self._unmoved: set[str] = set()

    def ready(self) -> bool:
        """Tell whether a file is there that can be read."""
        return any(name.text in self._cached or self._keep(name) for name in self._waiting())

    def take(self) -> LoadedFile | None:
        """Give the first file of the queue; one that is no batch file is moved away; SCHEMA_MISMATCH.

        The folder is looked at anew for every file, so that reading ahead never changes the order (ruling QA23).
        """
        waiting = self._waiting()
        for index, name in enumerate(waiting):
            file = self._cached.pop(name.text, None)
            if file is None:
                self._make_room()
                file = self._read(name)
            if file is not None:
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
        """Count the finished files that still stand there."""
        return len(self._undeleted)

    def _waiting(self) -> list[BatchName]:
        for name in self._folder.foreign():
            self._warnings.say("NAME_IGNORED", f"{name} is no name of a batch file and is ignored")
        visible = self._folder.visible()
        # A name that is gone may come back as another file.
        names = {name.text for name in visible}
        self._undeleted &= names
        self._unmoved &= names
        self._cached = {name: file for name, file in self._cached.items() if name in names}
        return [name for name in visible if name.text not in self._undeleted | self._unmoved]

    def _keep(self, name: BatchName) -> bool:
        self._make_room()
        file = self._read(name)
        if file is None:
            return False
        self._cached[file.name] = file
        return True

    def _make_room(self) -> None:
        while len(self._cached) >= self._cache_files:
            self._cached.popitem()

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
        content = self._folder.read(name.text, self._codec.judge_end)
        if content is None:
            return None
        try:
            decoded = self._codec.decode(content)
            file = load(name.text, decoded, self._schema)
        except MemoryError:
            raise Unreadable("memory has no room for what it holds") from None
        self._compare(name, decoded)
        self.counters.files_loaded += 1
        log.info("loaded %s, %d rows", name.text, file.row_count)
        return file

    def _compare(self, name: BatchName, decoded: BatchFile) -> None:
        metadata = decoded.metadata
        if metadata is not None and metadata.num_batches != name.num_batches:
            said = f"{name.text} holds {metadata.num_batches} batches, its name says {name.num_batches}"
            self._warnings.say("NUM_BATCHES_MISMATCH", said)

    def _quarantine(self, name: BatchName, reason: Exception) -> None:
        try:
            moved = self._folder.quarantine(name.text)
        except OSError as error:
            self._unmoved.add(name.text)
            self._warnings.say("QUARANTINE_FAILED", f"{name.text} is no batch file and cannot be moved: {error}")
            return
        self.counters.files_quarantined += 1
        log.warning("quarantined %s as %s: %s", name.text, moved, reason)
