"""How far a command is, on stderr: bars where somebody watches, else a line per stage."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.cli.say import say
from conformance.report.printable import one_line, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from conformance.trial.options import Progress


class Lines:
    """A line per stage, for logs."""

    def __init__(self, title: str) -> None:
        self._title = title

    def stage(self, name: str, total: int) -> None:
        """Say that a stage begins."""
        say(f"{self._title}: {name} ({total})", err=True)

    def step(self, count: int = 1) -> None:
        """Nothing: a log wants no bar."""

    def note(self, text: str) -> None:
        """Say it."""
        say(f"{self._title}: {text}", err=True)


class Watched:
    """A bar per stage, for a terminal."""

    def __init__(self, title: str, bars: Bars) -> None:
        self._title, self._bars = title, bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """A new bar."""
        self._task = self._bars.add_task(f"{self._title}: {name}", total=total)

    def step(self, count: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def note(self, text: str) -> None:
        """Say it above the bars."""
        self._bars.console.print(printable(text), markup=False)


@contextmanager
def shown_progress(title: str) -> Iterator[Progress]:
    """Progress for as long as the block runs; bars vanish with it."""
    if not sys.stderr.isatty():
        yield Lines(one_line(title))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Watched(escape(one_line(title)), bars)
