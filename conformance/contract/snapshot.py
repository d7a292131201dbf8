"""The files of a folder as they are at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.contract.memo import digest_of_files


class Snapshot:
    """The content of every file in a folder and in the folders in it, by path; empty where one cannot be read.

    What is read from here later is what was there when the command began, whatever somebody changes meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, bytes] = {}
        try:
            for file in sorted(_files(folder)):
                if not file.is_file():  # reading a pipe would wait
                    raise OSError("no regular file")
                self.files[file.relative_to(folder).as_posix()] = file.read_bytes()
        except OSError:
            self.files = {}
        self.digest = digest_of_files(self.files) if self.files else ""

    def __getitem__(self, file: Path) -> bytes:
        return self.files[file.relative_to(self.folder).as_posix()]

    def __contains__(self, file: object) -> bool:
        return isinstance(file, Path) and file.relative_to(self.folder).as_posix() in self.files

    def below(self, name: str) -> dict[str, bytes]:
        """The files in one folder."""
        return {path: data for path, data in self.files.items() if path.startswith(f"{name}/")}


def _files(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from (inner for inner in entry.iterdir() if not inner.is_dir())
        else:
            yield entry
