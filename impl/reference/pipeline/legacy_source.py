"""The files of the baseline, `{split}_batches_*` in the root: read round and round, never deleted."""

from collections.abc import Sequence
from pathlib import Path

from impl.reference.checkpoint import disk
from impl.reference.pipeline.batch_file import Codec
from impl.reference.pipeline.field_spec import FieldSpec
from impl.reference.pipeline.loaded_file import LoadedFile, load
from impl.reference.pipeline.queue_folder import MAX_BYTES
from impl.reference.pipeline.refusal import Corrupt, Refusal
from impl.reference.pipeline.source import Counters


def legacy_names(root: Path, split: str, ending: str) -> list[str]:
    """Return the names of a split's legacy files, sorted; there are none where there is no root."""
    try:
        names = disk.names(root)
    except FileNotFoundError:
        return []
    return sorted(name for name in names if name.startswith(f"{split}_batches_") and name.endswith(ending))


class LegacySource:
    """Give the legacy files of a split by name, and after the last the first again (ruling QA22)."""

    def __init__(self, root: Path, split: str, codec: Codec, schema: Sequence[FieldSpec], cache_files: int) -> None:
        self.counters = Counters()
        self._root = root
        self._split = split
        self._codec = codec
        self._schema = schema
        self._cache_files = cache_files
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
        """Return the name behind the last one, the first one again after them all."""
        names = self._names()
        following = [name for name in names if self._last is not None and name > self._last]
        return next(iter(following or names), None)

    def _loaded(self, name: str) -> LoadedFile:
        return self._cached.get(name) or self._read(name)

    def _names(self) -> list[str]:
        return legacy_names(self._root, self._split, self._codec.ending)

    def _read(self, name: str) -> LoadedFile:
        while len(self._cached) >= self._cache_files:
            self._cached.pop(next(iter(self._cached)))
        try:
            content = disk.read(self._root / name, MAX_BYTES, self._codec.judge_end)
            file = load(name, self._codec.decode_legacy(content), self._schema)
        except (Corrupt, OSError, MemoryError, disk.LimitExceeded) as reason:
            raise Refusal("LEGACY_INVALID", f"{name} is no legacy batch file: {reason}") from None
        self._cached[name] = file
        self.counters.files_loaded += 1
        return file
