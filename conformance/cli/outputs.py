"""The destination of the reports of a command: the folder of a run, a file that the user names, or stdout."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from conformance.cli.console import CommandError, say, write_report, writing
from conformance.cli.suite import current_suite
from conformance.contract.suite import Suite
from conformance.report.record import Record
from conformance.report.summary import MOST_FAILURES
from conformance.report.writer import FILES, FORMATS, OBSERVATIONS, Observations, observations_text, page
from conformance.vectors.jsontext import write_all, write_whole

LAST: Final = Path("reports/last")  # the folder of formats without a path, unless --output names another
STDOUT: Final = Path("-")
_ELSEWHERE: Final = "name a writable folder"
_FILE: Final = "name a writable file"

output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STDOUT,
    metavar="PATH",
    help="Where to write it; without this option to stdout.",
)


@dataclass(frozen=True, slots=True)
class Output:
    """One report to write: its format, and its file if the user names one (`-` is stdout)."""

    format: str
    path: Path | None = None

    def __str__(self) -> str:
        return self.format if self.path is None else f"{self.format}={self.path}"


@dataclass(frozen=True, slots=True)
class Outputs:
    """All reports of a run: a folder for each backend, formats for these folders, and files for the run as a whole."""

    folders: Mapping[str, Path]
    inside: tuple[str, ...]
    files: tuple[Output, ...]

    @property
    def on_stdout(self) -> bool:
        """Whether a report goes to stdout, so that the terminal's report must go elsewhere."""
        return any(output.path == STDOUT for output in self.files)

    def require_apart(self, suite: Suite) -> None:
        """Refuse to write over what the run reads; raises CommandError."""
        # A folder that is the whole suite (vectors = ".") has room for reports too.
        folders = [folder for folder in (suite.spec, suite.vectors) if folder.resolve() != suite.root]
        why = f"{suite.file.name}, the contracts and the vectors are inputs of the run"
        for path, place in self._named():
            require_apart(path, [suite.file, *folders], place, why)

    def clear(self) -> None:
        """Remove the reports of an earlier run, so that they are not mistaken for those of a run that judges nothing.

        Raises CommandError.
        """
        for folder in self.folders.values():
            with writing(f"--output {str(folder)!r}", _ELSEWHERE):
                for file in (folder / name for name in FILES):
                    if os.path.lexists(file):
                        file.unlink()
        for path, place in self._named():
            with writing(place, _FILE):
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
                if path.is_file() and not path.is_symlink():
                    path.unlink()

    def require_writable(self) -> None:
        """Make the folders before the run, because it may take an hour; raises CommandError."""
        for folder in self.folders.values():
            with writing(f"--output {str(folder)!r}", _ELSEWHERE):
                _make(folder)
        for path, place in self._named():
            with writing(place, _FILE):
                _make(path.parent)

    def _named(self) -> Iterator[tuple[Path, str]]:
        for output in self.files:
            if output.path is not None and output.path != STDOUT:
                yield output.path, f"--format {str(output)!r}"

    def keep(self, backend: str, record: Record, observations: Observations) -> None:
        """Write all files of a backend's folder, if it has one, or none; raises CommandError."""
        folder = self.folders.get(backend)
        if folder is None:
            return
        contents = {FORMATS[name].file: page(name, [record], [observations], current_suite()) for name in self.inside}
        contents[OBSERVATIONS] = observations_text(observations).encode()
        with writing(f"--output {str(folder)!r}", _ELSEWHERE):
            write_all({folder / name: content for name, content in contents.items()})
        for name in contents:
            say(f"wrote {folder / name}", err=True)

    def finish(self, records: Sequence[Record], observed: Sequence[Observations]) -> None:
        """Write the files of the whole run; raises CommandError."""
        for output in self.files if records else ():
            assert output.path is not None
            made = page(output.format, records, observed, current_suite())
            write_page(made, output.path, f"--format {str(output)!r}")


def require_apart(path: Path, read: Iterable[Path], place: str, why: str) -> None:
    """Refuse to write a file that is one of those that a command reads, or below one; raises CommandError."""
    for one in read:
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(one)):
            raise CommandError(place, "T005", why, "name a file elsewhere")


def write_page(content: bytes, path: Path, place: str) -> None:
    """Write a report to a file, or to stdout if the path is `-`; raises CommandError."""
    if path == STDOUT:
        write_report(content)
        return
    with writing(place, _FILE):
        write_whole(path, content)
    say(f"wrote {path}", err=True)


def print_report(
    records: Sequence[Record],
    observed: Sequence[Observations],
    most: int = MOST_FAILURES,
    level: int = 0,
    durations: int | None = None,
    stderr: bool = False,
) -> None:
    """Print the report for people, made by `show` of the terminal."""
    from rich.console import Console

    from conformance.report.terminal import show

    show(records, Console(highlight=False, stderr=stderr), most, observed, level, durations)


def outputs_of(folder: Path | None, wanted: Sequence[Output], backends: Sequence[str]) -> Outputs:
    """The outputs of --output and --format; raises click.UsageError if they contradict each other."""
    wanted = tuple(dict.fromkeys(wanted))
    files = tuple(output for output in wanted if output.path is not None)
    inside = tuple(output.format for output in wanted if output.path is None)
    if inside and folder is None:
        folder = LAST
    folders = _folders(folder, backends)
    inside = tuple(dict.fromkeys(["json", *inside]))
    names = {OBSERVATIONS: "", **{FORMATS[name].file: name for name in inside}}
    taken = {os.path.realpath(one / name): format_ for one in folders.values() for name, format_ in names.items()}
    for output in files:
        assert output.path is not None
        if taken.setdefault(os.path.realpath(output.path), output.format) != output.format:
            raise click.UsageError(f"--format {output}: another file of this run goes to the same place")
        if len(backends) > 1 and not FORMATS[output.format].several:
            raise click.UsageError(
                f"--format {output}: one file of this format shows one backend; without a path each gets its own"
            )
    return Outputs(folders, inside, files)


def _folders(output: Path | None, backends: Sequence[str]) -> dict[str, Path]:
    if output is None:
        return {}
    folders: dict[str, Path] = {}
    for backend in backends:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", backend).strip("-.") or "backend"
        folder = output if len(backends) == 1 else output / name
        while folder in folders.values():
            folder = folder.with_name(f"{folder.name}-again")
        folders[backend] = folder
    return folders


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
