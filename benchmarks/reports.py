"""Measure how long a record of 10,000 checks takes in every format: `python benchmarks/reports.py`.

Absolute figures move from machine to machine, so each is shown beside a yardstick of the same run: reading and writing
the same record as plain JSON. A figure has everything that `tally report show` does with a file: read, check, render.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.report.comparison import as_json, compare_records
from conformance.report.merge import merged
from conformance.report.record import Record, encode_record, record_with_verdict
from conformance.report.stored import StoredRecord, load
from conformance.report.writer import FORMATS, page

ROOT = Path(__file__).resolve().parents[1]
CHECKS = 10_000
OPERATORS = 30
ROUNDS = 3
LIMIT = 5.0  # seconds


def entry(number: int) -> dict[str, object]:
    """One result of the record; every fourth check fails, as with a backend that has a real mistake."""
    operator = f"Operator{number % OPERATORS}_v1"
    members: dict[str, object] = {
        "id": f"{operator}::group-{number % 7}::case-{number:05}",
        "kind": "vector",
        "operator": operator,
        "group": f"group-{number % 7}",
        "why": "A short final block has its own modulus.",
        "requirements": ["R1"],
        "rulings": ["RA1"],
        "verdict": "pass",
    }
    if number % 4:
        return members
    difference = {"path": f"indices[{number % 11}]", "expected": str(number), "actual": str(number + 1)}
    call = {"operator": operator, "inputs": {"position": str(number)}, "answer": {"result": {"indices": ["1"] * 20}}}
    return {**members, "verdict": "fail", "outcome": "result", "difference": difference, "call": call}


def record() -> Record:
    """A record of 10,000 checks."""
    results = sorted((entry(number) for number in range(CHECKS)), key=lambda one: str(one["id"]))
    operators = sorted({str(one["operator"]) for one in results})
    counts = {"loaded": CHECKS, "selected": CHECKS, "not_applicable": 0, "expected_to_fail": 0, "run": CHECKS}
    backend = {"text": "bench", "name": "bench", "version": "1", "language": "", "wire": "json", "sandbox": "none"}
    row = {"text": "The tail keeps its own length.", "place": "spec/requirements.yaml:12:3"}
    lists = ("expected_failures", "missing", "obstacles", "unattributed", "unexpected_passes", "unmatched_expectations")
    return record_with_verdict(
        {
            **{name: [] for name in lists},
            "backend": {**backend, "operators": operators},
            "contracts": dict.fromkeys(operators, "1.0.0 aa"),
            "counts": counts,
            "crash": "not tried",
            "diagnosis": None,
            "format": 1,
            "fuzz": {},
            "harness": "0.1.0",
            "profile": "standard",
            "prose": {"clauses": {}, "requirements": {"R1": row}, "rulings": {"RA1": row}},
            "results": results,
            "scope": {"operators": operators, "of": OPERATORS},
            "seed": "",
            "selection": "",
            "vectors": "0" * 64,
        }
    )


def best(action: Callable[[], object]) -> float:
    """The seconds of the best of several rounds."""
    fastest = float("inf")
    for _ in range(ROUNDS):
        since = time.perf_counter()
        action()
        fastest = min(fastest, time.perf_counter() - since)
    return fastest


def line(figure: str, seconds: float, yardstick: float) -> bool:
    """Print one figure and return whether its target is met."""
    met = seconds < LIMIT
    ratio = f"{seconds / yardstick:>10,.2f} x json there and back"
    print(f"{figure:<34}{seconds * 1e3:>15,.0f} ms{ratio:<42}target {LIMIT:.0f} s   {'met' if met else 'MISSED'}")
    return met


def main() -> int:
    """Measure and print every figure; with --check 1 where a target is missed."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        file.write_bytes(encode_record(record()))
        yardstick = best(lambda: json.dumps(json.loads(file.read_bytes())))

        def loaded() -> StoredRecord:
            found = load(file, ROOT / "spec" / "schema")
            assert isinstance(found, StoredRecord)
            return found

        def shown(format_: str) -> bytes:
            one = loaded()
            return page(format_, [one.record], [one.observations])

        def compared() -> str:
            return as_json(compare_records(["a", "b"], [loaded().record, loaded().record]))

        def joined() -> Record:
            return merged(["a", "b"], [loaded().record, loaded().record])

        figures: dict[str, Callable[[], object]] = {f"as {name}": partial(shown, name) for name in FORMATS}
        figures |= {"compared": compared, "merged": joined}
        met = [line(f"10,000 checks {figure}", best(action), yardstick) for figure, action in figures.items()]
    return 0 if all(met) or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
