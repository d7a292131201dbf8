"""The progress of a command: bars on a terminal, lines in a log, and a summary when it is interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import say
from conformance.cli.rest_time import RestTime
from conformance.report.printable import one_line, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from conformance.trial.options import Progress

QUIET: Final = "tally.quiet"  # a key of the context: no stages are shown, notes are
_WIDEST: Final = 16  # characters of a title before a bar, so that all fits into 80
_PAUSE: Final = 10.0  # seconds between two lines of a log


class Interrupted(KeyboardInterrupt):
    """The user ended a command; `verdicts` are those of the checks until then, by id, of so many `checks`."""

    def __init__(self, stage: str, verdicts: Mapping[str, str], checks: int) -> None:
        super().__init__(stage)
        self.stage, self.verdicts, self.checks = stage, verdicts, checks


class Lines:
    """A line per stage, for logs, and one every ten seconds; quiet, notes alone."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self._title, self._quiet = title, quiet
        self.name, self.checks, self.verdicts = "", 0, dict[str, str]()
        self._total = self._done = 0
        self._rest, self._said = RestTime(), time.monotonic()

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        """Remember what is to come."""
        self.checks = checks
        self._rest.plan(stages)

    def judged(self, check_id: str, verdict: str) -> None:
        """Remember the verdict."""
        self.verdicts[check_id] = verdict

    def stage(self, name: str, total: int) -> None:
        """Say that a stage begins."""
        self.name, self._total, self._done, self._said = name, total, 0, time.monotonic()
        self._rest.stage(name, total, self._said)
        if not self._quiet:
            say(f"{self._title}: {name} ({total})", err=True)

    def step(self, count: int = 1) -> None:
        """Say how far the stage is, now and then."""
        self._done += count
        now = time.monotonic()
        self._rest.step(count, now)
        if now - self._said >= _PAUSE and not self._quiet:
            self._said = now
            say(f"{self._title}: {self.name}, {self._done} of {self._total}{rest_words(self._rest, now)}", err=True)

    def note(self, text: str) -> None:
        """Say it."""
        say(f"{self._title}: {text}", err=True)


class Watched:
    """A bar per stage, for a terminal, with the time that is left of all."""

    def __init__(self, title: str, bars: Bars) -> None:
        self._title, self._bars = title if len(title) <= _WIDEST else f"...{title[-_WIDEST:]}", bars
        self.name, self.checks, self.verdicts = "", 0, dict[str, str]()
        self._task: TaskID | None = None
        self.rest = RestTime()

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        """Remember what is to come."""
        self.checks = checks
        self.rest.plan(stages)

    def judged(self, check_id: str, verdict: str) -> None:
        """Remember the verdict."""
        self.verdicts[check_id] = verdict

    def stage(self, name: str, total: int) -> None:
        """A new bar; the one before keeps what it shows."""
        from rich.markup import escape

        self.name = name
        self.rest.stage(name, total, time.monotonic())
        if self._task is not None:
            self._bars.stop_task(self._task)
        self._task = self._bars.add_task(escape(f"{self._title}: {name}"), total=total)

    def step(self, count: int = 1) -> None:
        """Move the bar."""
        self.rest.step(count, time.monotonic())
        if self._task is not None:
            self._bars.advance(self._task, count)

    def note(self, text: str) -> None:
        """Say it above the bars."""
        self._bars.console.print(printable(text), markup=False)


def rest_words(rest: RestTime, now: float) -> str:
    """`, about 40 s left`; empty while that is not known."""
    seconds = rest.seconds(now)
    if seconds is None:
        return ""
    minutes, left = divmod(round(seconds), 60)
    return f", about {f'{minutes} min ' if minutes else ''}{left} s left"


@contextmanager
def shown_progress(title: str) -> Iterator[Progress]:
    """Progress for as long as the block runs; bars vanish with it. Raises Interrupted on Ctrl-C."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get(QUIET, False)
    if quiet or not sys.stderr.isatty():
        lines = Lines(one_line(title), quiet)
        with _interruptible(lines):
            yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
    from rich.progress import Progress as Shown
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """The time that is left of all, beside the bar that moves."""

        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            """Nothing beside a bar that is finished."""
            running = task.stop_time is None and task.id == bars.task_ids[-1]
            return Text(rest_words(watched.rest, time.monotonic()).removeprefix(", about ") if running else "")

    whole = Column(no_wrap=True)
    said = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = (said, BarColumn(8), MofNCompleteColumn(table_column=whole), Left(table_column=whole))
    with Shown(*columns, console=Console(stderr=True), transient=True) as bars:
        watched = Watched(one_line(title), bars)
        with _interruptible(watched):
            yield watched


@contextmanager
def _interruptible(shown: Lines | Watched) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(shown.name, shown.verdicts, shown.checks) from None
