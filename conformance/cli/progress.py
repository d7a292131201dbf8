"""The progress of a command: bars on a terminal, lines in a log, the time that is left, and Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import say
from conformance.report.untrusted import for_log, one_line, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from conformance.trial.options import Progress


# Seconds per step of a stage, used before any was measured: the bundled reference on two cores.
_USUAL: Final = {"cases, laws and behaviour": 0.004, "differential fuzzing": 0.6}
_WORTH: Final = 1  # the usual time weighs as much as so many measured steps
_WEIGHT: Final = 0.2  # the share of a new estimate in the shown one


@dataclass(slots=True)
class RestTime:
    """Estimates the end of a command from the steps of its stages; times are in seconds of one clock.

    Between two steps the time left counts down. A new estimate moves the end by only a fifth of the difference, so
    that the display does not jump.
    """

    stages: dict[str, int] = field(default_factory=dict)  # all steps of the present stage and the later ones
    done: dict[str, int] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _since: float = 0.0
    _end: float | None = None

    def plan(self, stages: Mapping[str, int]) -> None:
        """The stages to come."""
        self.stages |= stages

    def stage(self, name: str, total: int, now: float) -> None:
        """Begin a stage; this ends the one before."""
        if self._stage:
            self.stages.pop(self._stage, None)
        self.stages[name] = total
        self._stage, self._since = name, now
        self._estimate(now)

    def step(self, count: int, now: float) -> None:
        """Steps of the stage are done."""
        self.done[self._stage] = self.done.get(self._stage, 0) + count
        self.spent[self._stage] = now - self._since
        self._estimate(now)

    def seconds(self, now: float) -> float | None:
        """The time that is left; None while it is unknown. An overdue stage takes half as long again."""
        if self._end is None:
            return None
        left = self._end - now
        return left if left >= 1 else 1 + (1 - left) / 2

    def _estimate(self, now: float) -> None:
        left = 0.0
        for name, total in self.stages.items():
            cost = self._cost(name)
            if cost is None:
                self._end = None
                return
            left += max(total - self.done.get(name, 0), 0) * cost
        end = now + left
        self._end = end if self._end is None else self._end + _WEIGHT * (end - self._end)

    def _cost(self, name: str) -> float | None:
        """Seconds for one step of a stage; None if no step was made and no time is known."""
        done, spent = self.done.get(name, 0), self.spent.get(name, 0.0)
        usual = _USUAL.get(name)
        if usual is None:
            return spent / done if done else None
        return (spent + _WORTH * usual * self._pace) / (done + _WORTH)

    @property
    def _pace(self) -> float:
        """How much slower than usual the steps were; 1 before the first."""
        known = [name for name in self.done if name in _USUAL]
        usual = sum(self.done[name] * _USUAL[name] for name in known)
        spent = sum(self.spent[name] for name in known)
        return (spent + 1.0) / (usual + 1.0)


QUIET: Final = "tally.quiet"  # a key of the context: show notes only, no stages
_WIDEST: Final = 16  # characters of a title before a bar, so that all fits into 80
_PAUSE: Final = 10.0  # seconds between two lines of a log


class Interrupted(KeyboardInterrupt):
    """The user ended a command; `verdicts` are those so far, by id, of so many `checks`."""

    def __init__(self, stage: str, verdicts: Mapping[str, str], checks: int) -> None:
        super().__init__(stage)
        self.stage, self.verdicts, self.checks = stage, verdicts, checks


class _Shown:
    """The state of a running command: the stage, the verdicts so far, and the time that is left."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.name, self.checks, self.verdicts = "", 0, dict[str, str]()
        self.rest = RestTime()

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        self.checks = checks
        self.rest.plan(stages)

    def note_verdict(self, check_id: str, verdict: str) -> None:
        self.verdicts[check_id] = verdict

    def stage(self, name: str, total: int) -> None:
        self.name = name
        self.rest.stage(name, total, time.monotonic())

    def step(self, count: int = 1) -> None:
        """Steps of the stage are done."""
        self.rest.step(count, time.monotonic())


class LineProgress(_Shown):
    """A line per stage and every ten seconds, for logs; only notes if `quiet`."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        super().__init__(title)
        self._quiet = quiet
        self._total = self._done = 0
        self._said = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Say that a stage begins."""
        super().stage(name, total)
        self._total, self._done, self._said = total, 0, time.monotonic()
        if not self._quiet:
            say(f"{self.title}: {name} ({total})", err=True)

    def step(self, count: int = 1) -> None:
        """Print the progress of the stage every ten seconds."""
        super().step(count)
        self._done += count
        now = time.monotonic()
        if now - self._said >= _PAUSE and not self._quiet:
            self._said = now
            say(f"{self.title}: {self.name}, {self._done} of {self._total}{rest_words(self.rest, now)}", err=True)

    def note(self, text: str) -> None:
        """Print a note."""
        say(f"{self.title}: {text}", err=True)


class BarProgress(_Shown):
    """A bar per stage, for a terminal."""

    def __init__(self, title: str, bars: Bars) -> None:
        super().__init__(title if len(title) <= _WIDEST else f"...{title[-_WIDEST:]}")
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Add a bar; the one before stays as it is."""
        from rich.markup import escape

        super().stage(name, total)
        if self._task is not None:
            self._bars.stop_task(self._task)
        self._task = self._bars.add_task(escape(f"{self.title}: {name}"), total=total)

    def step(self, count: int = 1) -> None:
        """Move the bar."""
        super().step(count)
        if self._task is not None:
            self._bars.advance(self._task, count)

    def note(self, text: str) -> None:
        """Print a note above the bars."""
        self._bars.console.print(for_log(printable(text)), markup=False)


def rest_words(rest: RestTime, now: float) -> str:
    """`, about 40 s left`; empty while the time is unknown."""
    seconds = rest.seconds(now)
    if seconds is None:
        return ""
    minutes, left = divmod(round(seconds), 60)
    return f", about {f'{minutes} min ' if minutes else ''}{left} s left"


@contextmanager
def shown_progress(title: str) -> Iterator[Progress]:
    """Progress while the block runs; at its end the bars vanish. Raises Interrupted on Ctrl-C."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get(QUIET, False)
    is_watched = sys.stderr.isatty() and not quiet
    with _bars(one_line(title)) if is_watched else nullcontext(LineProgress(one_line(title), quiet)) as shown:
        try:
            yield shown
        except KeyboardInterrupt:
            raise Interrupted(shown.name, shown.verdicts, shown.checks) from None


@contextmanager
def _bars(title: str) -> Iterator[BarProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
    from rich.progress import Progress as Shown
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left for the whole command, next to the moving bar."""

        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            """The time left; empty next to a finished bar."""
            running = task.stop_time is None and task.id == bars.task_ids[-1]
            return Text(rest_words(watched.rest, time.monotonic()).removeprefix(", about ") if running else "")

    whole = Column(no_wrap=True)
    said = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = (said, BarColumn(8), MofNCompleteColumn(table_column=whole), Left(table_column=whole))
    with Shown(*columns, console=Console(stderr=True), transient=True) as bars:
        watched = BarProgress(title, bars)
        yield watched
