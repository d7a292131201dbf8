"""`tally vectors`: the frozen cases built, checked and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from conformance.backend.hello import BadHello
from conformance.backend.outcome import LostBackend, describe
from conformance.backend.resolve import BackendNotFound
from conformance.cli.console import Complaint, nearest, parted, say
from conformance.cli.progress import shown_progress
from conformance.cli.specification import specification
from conformance.contract.source import Problem
from conformance.vectors.build import build
from conformance.vectors.check import Change, check, compare
from conformance.vectors.corpus import CorruptedCorpus
from conformance.vectors.lock import BadLock

FINE, BAD = 0, 1
Meter = Callable[[str, int, int], None]


def _lines(change: Change, named: bool) -> Iterator[str]:
    yield str(change)
    for word, ids in change.parts() if named else ():
        yield from (f"    {word} {id_}" for id_ in ids)


def _tell(problems: Iterable[Problem]) -> None:
    for problem in problems:
        say(str(problem), err=True)


@contextmanager
def _meter() -> Iterator[Meter]:
    """The meter of a freeze, shown as one stage per backend."""
    with shown_progress("vectors") as progress:
        done: dict[str, int] = {}

        def tick(backend: str, count: int, total: int) -> None:
            if backend not in done:
                progress.stage(backend, total)
            progress.step(count - done.get(backend, 0))
            done[backend] = count

        yield tick


@contextmanager
def _named_failures() -> Iterator[None]:
    """Say what keeps a corpus from being derived."""
    try:
        yield
    except CorruptedCorpus as error:
        place, said, hint = parted(str(error))
        raise Complaint(place, "T004", said, hint, BAD) from None
    except BadLock as error:
        place, said, hint = parted(str(error))
        raise Complaint(place, "T004", said, hint) from None
    except BackendNotFound as error:
        raise Complaint("a backend that derives vectors", "T001", str(error), "install it; see confirmed_by") from None
    except (BadHello, LostBackend) as error:
        reason = describe(error.reason) if isinstance(error, LostBackend) else str(error)
        raise Complaint("a backend that derives vectors", "T002", reason, "try `tally run --backend NAME`") from None


_FULL = "golden"


@click.group("vectors")
def command() -> None:
    """Build the frozen vectors, check that they are reproducible, or show what changed.

    Exit status: 0 unchanged or written, 1 drift or a value without a second derivation, 2 a contract or backend that
    cannot be used.

    \b
    Examples:
      tally vectors build --changed
      tally vectors check --jobs 2
    """


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all three."""
    jobs = click.option(
        "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes at a time."
    )
    text = "golden: also derive N = 10^9 and up again; standard keeps the frozen golden cases."
    profile = click.option(
        "--profile", type=click.Choice(["standard", _FULL]), default="standard", show_default=True, help=text
    )
    return jobs(profile(function))


@command.command("build")
@_shared
@click.option(
    "--only",
    multiple=True,
    metavar="OPERATOR",
    help="Derive this operator again, and of the others only new questions; repeatable.",
)
@click.option("--changed", is_flag=True, help="Derive only the cases whose question is new or changed.")
def build_command(jobs: int, profile: str, only: tuple[str, ...], changed: bool) -> int:
    """Derive every case and write what changed. If there is any problem, nothing is written.

    `--only` and `--changed` keep the frozen answers of all other cases; `tally vectors check` derives them all.

    \b
    Examples:
      tally vectors build
      tally vectors build --only Bounds.Clamp_v1 --jobs 2
    """
    library = specification()
    operators = sorted(name for name, contract in library.contracts.items() if contract.method is None)
    for name in only:
        if name not in operators:
            raise Complaint(f"--only {name!r}", "T003", "no contract has this operator", nearest(name, operators))
    wanted = frozenset(only) if only or changed else None
    with _named_failures(), _meter() as progress:
        built, touched = build(library, jobs, profile == _FULL, progress, only=wanted)
    if built.problems:
        _tell(built.problems)
        say(f"{len(built.problems)} problems: nothing was written", err=True)
        return BAD
    for name in touched:
        say(f"wrote {name}")
    kept = f", {len(built.reused)} kept as frozen" if built.reused else ""
    say(f"{len(built.corpus)} cases{kept}; {len(touched)} files changed")
    return FINE


@command.command("check")
@_shared
def check_command(jobs: int, profile: str) -> int:
    """Derive every case, compare every byte with the files, and compare the corpus with contracts.lock.

    \b
    Examples:
      tally vectors check
      tally vectors check --jobs 2 --profile golden
    """
    library = specification()
    with _named_failures(), _meter() as progress:
        checked = check(library, jobs, profile == _FULL, progress)
    _tell(checked.problems)
    for change in checked.changes:
        say(str(change))
    say(checked.summary)
    return FINE if checked.passed else BAD


@command.command("diff")
@click.option("--cases", is_flag=True, help="List every case.")
@_shared
def diff_command(jobs: int, profile: str, cases: bool) -> int:
    """Show what a build would change, by operator and requirement; exit status 1 if it would change anything.

    \b
    Examples:
      tally vectors diff
      tally vectors diff --cases --jobs 2
    """
    library = specification()
    with _named_failures(), _meter() as progress:
        changes, built = compare(library, jobs, profile == _FULL, progress)
    _tell(built.problems)
    for change in changes:
        say("\n".join(_lines(change, cases)))
    say(f"{len(built.corpus)} cases: " + (f"{len(changes)} groups of changes" if changes else "unchanged"))
    return BAD if changes or built.problems else FINE
