"""Where the specification, the vectors and the reports are, and the files of a folder at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.contract.cache import digest_of_files


class Snapshot:
    """The content of every file in a folder and in the folders in it, by path; empty where one cannot be read.

    A command reads from here what was there when it began, even if a file changes meanwhile.
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


_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one Tallystick: `spec`, `vectors` and `reports` below `root`."""

    root: Path

    @property
    def spec(self) -> Path:
        """The contracts."""
        return self.root / "spec"

    @property
    def vectors(self) -> Path:
        """The frozen vectors."""
        return self.root / "vectors"

    @property
    def reports(self) -> Path:
        """The bundled backends' own reports."""
        return self.root / "reports"

    def shown(self, file: Path) -> str:
        """A file's path as users read it: relative to the root where it lies below it."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else str(file)


def find_layout() -> Layout:
    """The layout that belongs to this installation: a checkout wins over packaged data (DESIGN 3)."""
    checkout = _PACKAGE.parent
    if (checkout / "spec" / "contracts.lock").is_file() and (checkout / "conformance").is_dir():
        return Layout(checkout)
    return Layout(_PACKAGE / "_data")
