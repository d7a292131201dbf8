"""The options of a run, the number of failures that ends it, and the interface to which it reports its progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Protocol, TypeVar

from conformance.contract.suite import Suite
from conformance.trial.check import KnownFailure, Result, Verdict

PROFILES: Final = ("quick", "standard", "golden")
SANDBOXES: Final = ("none", "bwrap")  # the safer last
DEFAULT_TIMEOUT: Final = 30.0  # seconds without an answer; the slowest frozen call takes the reference one
START_TIMEOUT: Final = 10.0  # seconds until hello, at least: starting takes longer than answering


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One run's choices; only `backend`, `wire`, `sandbox`, `profile`, `select`, `last_failed`, `most_failures`,
    `seed`, `require`, `crash` and `challenge` of them can reach the record."""

    backend: str = ""  # empty: the suite's reference
    wire: str = "json"
    profile: str = "standard"
    jobs: int = 1
    timeout: float = DEFAULT_TIMEOUT
    select: tuple[str, ...] = ()
    last_failed: frozenset[str] = frozenset()  # ids of checks; only these are run
    most_failures: int = 0  # the run ends after so many; 0: after the last check
    seed: str = ""
    examples: int | None = None
    expected_failures: tuple[KnownFailure, ...] = ()
    same_process: bool = False
    shuffle: str = ""
    sandbox: str = "none"
    readable: tuple[Path, ...] = ()  # what a sandboxed backend may read besides its own files
    secret: tuple[Path, ...] = ()  # files that a sandboxed backend must not read
    reference: str = ""  # empty: the suite's
    require: tuple[str, ...] = ()  # operators and machines that must be declared
    crash: bool = False
    challenge: bool = False  # also ask calls that only `seed` decides: for a certification, whose nonce is the seed

    @property
    def bytecode(self) -> bool:
        """Whether Python may write compiled modules: not in a certification, because an artifact must not change."""
        return not self.challenge

    def within(self, suite: Suite) -> RunOptions:
        """The options with the suite's reference where no backend or no reference is named."""
        own = suite.reference
        return replace(self, backend=self.backend or own, reference=self.reference or own)

    @property
    def stand_in_timeout(self) -> float:
        """Seconds without an answer of the stand-in; a short timeout for the backend must not make it look lost."""
        return max(self.timeout, DEFAULT_TIMEOUT)

    @property
    def start_timeout(self) -> float:
        """Seconds until a started backend must have said hello."""
        return max(self.timeout, START_TIMEOUT)

    def includes(self, profile: str) -> bool:
        """Whether checks of `profile` belong to this run."""
        return PROFILES.index(profile) <= PROFILES.index(self.profile)

    def expects(self, check_id: str) -> bool:
        """Whether this check is listed as an expected failure."""
        return any(fnmatchcase(check_id, entry.check) for entry in self.expected_failures)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which checks a run makes: all, or those that a pattern or a part of the id names.

    A pattern that is the id of a check names that check alone, although other ids may begin with it.
    """

    patterns: tuple[str, ...]
    known: frozenset[str]
    last_failed: frozenset[str] = frozenset()

    def __contains__(self, check_id: str) -> bool:
        if self.among_failed and check_id not in self.last_failed:
            return False
        return not self.patterns or any(self._names(pattern, check_id) for pattern in self.patterns)

    def __str__(self) -> str:
        return " ".join([*self.patterns, *(["--last-failed"] if self.among_failed else [])])

    @property
    def among_failed(self) -> bool:
        """Whether only the checks that failed last are made; false if none of them is known here."""
        return not self.known.isdisjoint(self.last_failed)

    def _names(self, pattern: str, check_id: str) -> bool:
        if pattern in self.known:
            return pattern == check_id
        return pattern in check_id or fnmatchcase(check_id, pattern)


class Progress(Protocol):
    """Where a run reports how far it is; it cannot influence a verdict."""

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        """So many checks will be judged; the stages to come, with their steps."""

    def note_verdict(self, check_id: str, verdict: str) -> None:
        """One check has its verdict."""

    def stage(self, name: str, total: int) -> None:
        """A new stage of `total` steps begins."""

    def step(self, count: int = 1) -> None:
        """So many steps are done."""

    def note(self, text: str) -> None:
        """Something that the user should see."""


class NoProgress:
    """Progress that is not shown."""

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        """Nothing."""

    def note_verdict(self, check_id: str, verdict: str) -> None:
        """Nothing."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def step(self, count: int = 1) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


NO_PROGRESS: Final = NoProgress()
T = TypeVar("T")
_FIRST: Final = 64  # items of the first part; each further part has twice as many, so that few processes are started


@dataclass(slots=True)
class FailureLimit:
    """Counts red checks: failures that are not expected, and passes that are not.

    Items are tried in parts. A part is finished before its failures are counted, and its results are taken in the order
    of the items up to the last failure that is allowed. So neither the number of processes nor their speed decides
    which failures are reported.
    """

    options: RunOptions
    found: int = 0

    @property
    def is_reached(self) -> bool:
        """Whether the run is over."""
        return 0 < self.options.most_failures <= self.found

    def parts(self, items: Sequence[T], first: int = _FIRST) -> Iterator[Sequence[T]]:
        """The items in parts until the limit is reached; all at once if there is no limit."""
        size = first if self.options.most_failures else len(items)
        done = 0
        while done < len(items) and not self.is_reached:
            yield items[done : done + size]
            done, size = done + size, 2 * size

    def results_within(self, results: Iterable[Result]) -> Iterator[Result]:
        """Those of the results, in this order, that come before the limit is reached."""
        for result in results:
            if self.is_reached:
                return
            self.found += is_red(result.verdict, result.check.id, self.options)
            yield result


def is_red(verdict: Verdict, check_id: str, options: RunOptions) -> bool:
    """Whether this verdict makes a run red, by the expected failures of its options."""
    if verdict in (Verdict.FAIL, Verdict.ERROR):
        return not options.expects(check_id)
    return verdict is Verdict.PASS and options.expects(check_id)
