"""The end of a run after a number of failures; which checks are judged until then does not depend on timing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from conformance.trial.check import Result, Verdict
from conformance.trial.options import RunOptions

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
    def reached(self) -> bool:
        """Whether the run is over."""
        return 0 < self.options.most_failures <= self.found

    def parts(self, items: Sequence[T], first: int = _FIRST) -> Iterator[Sequence[T]]:
        """The items in parts until the limit is reached; all at once where there is none."""
        size = first if self.options.most_failures else len(items)
        done = 0
        while done < len(items) and not self.reached:
            yield items[done : done + size]
            done, size = done + size, 2 * size

    def taken(self, results: Iterable[Result]) -> Iterator[Result]:
        """Those of the results, in this order, that come before the limit is reached."""
        for result in results:
            if self.reached:
                return
            self.found += is_red(result.verdict, result.check.id, self.options)
            yield result


def is_red(verdict: Verdict, check_id: str, options: RunOptions) -> bool:
    """Whether this verdict makes a run red, by the expected failures of its options."""
    if verdict in (Verdict.FAIL, Verdict.ERROR):
        return not options.expects(check_id)
    return verdict is Verdict.PASS and options.expects(check_id)
