"""Where one split stands: the file in hand and its next row."""

from dataclasses import dataclass

from impl.reference.pipeline.loaded_file import LoadedFile, Rows
from impl.reference.pipeline.source import Source


@dataclass(frozen=True, slots=True)
class Position:
    """Hold the file in hand, the batches handed out of it since it was begun, and its next row."""

    file: str
    batch: int
    row: int


class SplitReader:
    """Cut batches out of the files of one source; no batch spans two files (ruling QA08)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.batches = 0
        self._file: LoadedFile | None = None
        self._batch = 0
        self._row = 0
        self._stop = 0

    def look(self, batch_size: int) -> list[Rows] | None:
        """Return the next batch, None where no file is there yet; until `advance` it stays the next one."""
        if self._file is None:
            self._file = self.source.take()
            self._batch = self._row = 0
            if self._file is None:
                return None
        rows, self._stop = self._file.batch(self._row, batch_size)
        return rows

    def advance(self) -> None:
        """Step behind the batch that was looked at; behind the last one the file is let go."""
        self.batches += 1
        self._batch += 1
        self._row = self._stop
        if self._file is not None and self._row == self._file.row_count:
            finished, self._file = self._file, None
            self.source.finish(finished)

    def ready(self) -> bool:
        """Tell whether the next look will find a batch."""
        return self._file is not None or self.source.ready()

    def reset(self) -> None:
        """Go back to the first row of the file in hand, or to the first legacy file; nothing is deleted (QA26)."""
        self._batch = self._row = 0
        if self.source.reset():
            self._file = None

    def position(self) -> Position | None:
        """Return where the split stands, None between two files."""
        if self._file is None:
            return None
        return Position(file=self._file.name, batch=self._batch, row=self._row)

    def held(self) -> int:
        """Count the files in memory."""
        return self.source.held(self._file)
