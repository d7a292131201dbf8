"""Measure opening and describing a database of 1.3 million rows: `python benchmarks/database.py`.

The shop of the examples is written as a SQLite file, with a review for every tenth row. The yardstick of the first
start, of a start that keeps nothing and of `describe` is fetching the same rows from SQLite; that of the second start,
which maps the kept columns, is the SHA-256 of all that it checks. Each has a process of its own, whose peak memory is
printed. With `--check` the exit status is 1 where a promise is broken: 16 times the yardstick and 100 MB for what reads
the rows, 4 times and a second for the second start.
"""

import hashlib
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.batch.shop import DECLARATION, Size, write_shop

SIZE = Size(customers=130_000, products=20_000, orders=400_000, items=620_000, reviews=130_000)
MOST_READS, MOST_DIGESTS, MOST_SECONDS, MOST_MEGABYTES = 16.0, 4.0, 1.0, 100


def start(what: str, file: Path, folder: Path) -> None:
    """Open or describe the shop in this process, and print seconds and megabytes at the peak."""
    from impl.library.batch import describe_database, open_database

    before = peak()
    since = time.perf_counter()
    if what == "describe":
        tables = [table.row_count for table in describe_database(file).tables]
    else:
        keep = folder if what == "keep" else None
        tables = [table.row_count for table in open_database(file, DECLARATION, keep=keep).tables]
    took = time.perf_counter() - since
    assert sum(tables) == SIZE.rows()
    print(took, peak() - before)


def peak() -> float:
    """Return the most megabytes that this process had in memory, as Linux tells them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def started(what: str, file: Path, folder: Path) -> tuple[float, float]:
    """Return the seconds of `what` in a process of its own, and the megabytes that it added at its peak."""
    command = [sys.executable, __file__, "--start", what, str(file), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes


def fetched(file: Path) -> float:
    """Return the seconds of fetching all rows from SQLite."""
    since = time.perf_counter()
    with closing(sqlite3.connect(file)) as connection:
        for table in ("customers", "items", "orders", "products", "reviews"):
            cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608
            while cursor.fetchmany(2_048):
                pass
    return time.perf_counter() - since


def digested(places: list[Path]) -> float:
    """Return the seconds of the SHA-256 of these files."""
    since = time.perf_counter()
    for place in places:
        with place.open("rb") as stream:
            hashlib.file_digest(stream, "sha256")
    return time.perf_counter() - since


def main() -> int:
    """Measure and print; with --check 1 where a limit is missed."""
    with tempfile.TemporaryDirectory() as place:
        file, folder = Path(place, "shop.db"), Path(place, "kept")
        write_shop(file, SIZE)
        first, most = started("keep", file, folder)
        read = min(fetched(file) for _ in range(3))
        seconds = [started("keep", file, folder) for _ in range(5)]
        second, mapped = min(seconds)
        bound = min(digested([file, *folder.iterdir()]) for _ in range(3))
        size = sum(one.stat().st_size for one in folder.iterdir())
        loaded, described = started("load", file, folder), started("describe", file, folder)
        print(f"{SIZE.rows():,} rows, a file of {file.stat().st_size / 1e6:.0f} MB, kept as {size / 1e6:.0f} MB")
    reading = {"first start": (first, most), "without keep": loaded, "describe": described}
    for what, (took, peaked) in reading.items():
        print(f"{what:12}  {took:6.2f} s, {took / read:5.1f} x fetching the rows ({read:.2f} s), peak {peaked:.0f} MB")
    print(f"second start  {second:6.2f} s, {second / bound:5.1f} x the digests ({bound:.2f} s), peak {mapped:.0f} MB")
    kept = second <= MOST_DIGESTS * bound and second <= MOST_SECONDS
    kept = kept and all(took <= MOST_READS * read and peaked <= MOST_MEGABYTES for took, peaked in reading.values())
    limits = f"{MOST_READS:g} x, {MOST_MEGABYTES} MB, {MOST_DIGESTS:g} x, {MOST_SECONDS:g} s"
    print(f"limits {limits}: {'met' if kept else 'MISSED'}")
    return 0 if kept or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--start"]:
        start(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        sys.exit(main())
