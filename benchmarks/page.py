"""Measure the HTML page of 10,000 checks: `python benchmarks/page.py`.

Two records are shown, one with a failure in every tenth check and one that fails everywhere. The yardstick of making a
page is the canonical encoding of its record; that of filtering is the same browser reading the list of checks from its
JSON text. Filtering is measured in Chromium where it is found, from the change of the search field to the new layout.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.report.html import html_page
from conformance.report.record import Record, encode_record
from conformance.tests.browser import browser, opened
from conformance.tests.runs import failed, passed, record

CHECKS, OPERATORS, ROUNDS = 10_000, 30, 5
MOST_SECONDS, MOST_ENCODINGS = 5.0, 4.0  # for making a page
MOST_MILLISECONDS, MOST_READS = 100.0, 12.0  # for filtering it
SEARCHES = ("case-0", "case-00120", "operator7", "no such check", "")


def checks(every: int) -> Record:
    """A record of 10,000 checks of which one in `every` fails, at one of 40 places."""
    numbers = ((k, f"Family.Operator{k % OPERATORS}_v1", f"case-{k:05}") for k in range(CHECKS))
    return record(*(passed(name, case) if k % every else failed(name, case, k % 40) for k, name, case in numbers))


def best(action: Callable[[], object]) -> float:
    """The seconds of the best of several rounds."""
    found = float("inf")
    for _ in range(ROUNDS):
        since = time.perf_counter()
        action()
        found = min(found, time.perf_counter() - since)
    return found


def made(judged: Record) -> bool:
    """Print what it costs to make the page; whether that is within the promise."""
    encoding, page = best(lambda: encode_record(judged)), best(lambda: html_page([judged], [None], None))
    ratio = page / encoding
    print(f"  made      {page:6.2f} s, {ratio:4.1f} encodings (at most {MOST_SECONDS:.0f} s, {MOST_ENCODINGS:.0f})")
    return page <= MOST_SECONDS and ratio <= MOST_ENCODINGS


def filtered(judged: Record, chromium: str) -> bool:
    """Print what the slowest search costs; whether that is within the promise."""
    with tempfile.TemporaryDirectory() as folder, browser(chromium) as started:
        file = Path(folder) / "report.html"
        file.write_text(html_page([judged], [None], None), "utf-8")
        found = opened(started, file)
        read = min(found.read() for _ in range(ROUNDS))
        slowest = max(min(found.filtered(text) for _ in range(ROUNDS)) for text in SEARCHES)
    ratio = slowest / max(read, 0.1)  # a browser's clock is that coarse
    print(f"  filtered  {slowest:6.1f} ms, {ratio:4.1f} reads (at most {MOST_MILLISECONDS:.0f} ms, {MOST_READS:.0f})")
    return slowest <= MOST_MILLISECONDS and ratio <= MOST_READS


def main() -> int:
    """Measure and print every figure; with --check 1 where one is broken, or a required browser is not found."""
    chromium = shutil.which("chromium")
    absent = "chromium" if chromium is None else "playwright" if find_spec("playwright") is None else ""
    fine = not absent or os.environ.get("TALLY_REQUIRE_TOOLS") != "1"
    for every in (10, 1):
        judged = checks(every)
        print(f"{CHECKS:,} checks, 1 of {every} fails" if every > 1 else f"{CHECKS:,} checks, all fail")
        fine &= made(judged)
        if chromium is None or absent:
            print(f"  filtered  not run: {absent} not found")
        else:
            fine &= filtered(judged, chromium)
    return 0 if fine or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
