"""Measure the CPU time of repeated commands, and of the standard profile: `python benchmarks/commands.py`.

CPU time of a command and of every process that it starts, never wall time, except for the promise that is one. Seconds
move from machine to machine, so a figure is a ratio to a yardstick of the same run: the CPU time of an interpreter that
counts and reads JSON, which took YARDSTICK seconds where the promises were made. The commands have been given once
before, so that the user's cache knows the contracts; a cache of its own keeps other commands out of the figures. It has
bytecode of its own too: with PYTHONDONTWRITEBYTECODE and old bytecode beside the code, every start would compile the
modules again, which adds a quarter to each figure.

`--check` fails where a figure is above its limit. Where a promise is not kept yet, the limit is what is reached, and
the promise is printed beside it.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
ROUNDS: Final = 3
YARDSTICK: Final = 0.16  # seconds of CPU
WORK: Final = """
import json
told = json.dumps({str(k): list(range(20)) for k in range(200)})
for _ in range(60):
    json.dumps(json.loads(told))
total = 0
for k in range(1_300_000):
    total += k * k % 7
"""
OPERATOR: Final = "UML_OS.Data.NextBatch_v2"  # the one with the most cases
CASE: Final = f"{OPERATOR}::accountant-mode::infer-agrees"
RULE: Final = f"{OPERATOR}!pure"
LAW: Final = f"{OPERATOR}#cursor-purity::cardinality=10,batch=4,block=3,order=repeated"
CHECKS: Final = 7_000  # at least so many; a run of fewer says nothing


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in yardsticks; `promised` and `limit` are seconds where the yardstick takes YARDSTICK seconds.

    A limit above the promise is what is reached, with room for a busy machine.
    """

    name: str
    measured: float
    promised: float
    limit: float

    def kept(self) -> bool:
        """Print it, and return whether it is within its limit."""
        in_seconds = self.measured * YARDSTICK
        verdict = "kept" if in_seconds <= self.promised else "not reached"
        limit = "" if self.limit == self.promised else f", the limit is {self.limit:g} s"
        fits = in_seconds <= self.limit
        print(
            f"{self.name:<44}{self.measured:>9.2f} x yardstick ={in_seconds:>8.3f} s"
            f"   promised {self.promised:g} s: {verdict}{limit}{'' if fits else ': BROKEN'}"
        )
        return fits


def spent(*arguments: str, environment: Mapping[str, str]) -> tuple[float, float, bytes]:
    """The seconds of CPU and of the clock that a program takes with all of its children, and what it prints; raises
    CalledProcessError where it fails."""
    program = [sys.executable, *arguments]
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = subprocess.run(program, check=True, capture_output=True, env=dict(environment), cwd=ROOT)
    took, after = time.perf_counter() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, took, said.stdout


def best(yardstick: tuple[str, ...], *arguments: str, environment: Mapping[str, str]) -> float:
    """The least CPU time of a program over several rounds, in yardsticks that are measured by turns with it."""
    pairs = [
        (spent(*yardstick, environment=environment)[0], spent(*arguments, environment=environment)[0])
        for _ in range(ROUNDS)
    ]
    return min(cpu for _, cpu in pairs) / min(unit for unit, _ in pairs)


def commands(environment: Mapping[str, str]) -> list[Figure]:
    """The figures of the commands that people repeat."""
    tally = ("-m", "conformance.cli.main")
    asked = {
        "tally run -k ONE, a vector": (0.8, 0.8, ("run", "-k", CASE)),
        "tally run -k ONE, a rule of behaviour": (0.8, 0.8, ("run", "-k", RULE)),
        "tally run -k ONE, a law": (0.8, 0.8, ("run", "-k", LAW)),
        "tally schema OPERATOR": (0.5, 0.5, ("schema", OPERATOR)),
        "tally explain OPERATOR": (0.5, 0.5, ("explain", OPERATOR)),
        "tally explain CHECK": (0.5, 0.5, ("explain", CASE)),  # it asks the reference
        "tally lint of unchanged contracts": (1.0, 1.0, ("lint",)),
    }
    found = []
    for name, (promised, limit, arguments) in asked.items():
        spent(*tally, *arguments, environment=environment)  # it fills the cache
        measured = best(("-c", WORK), *tally, *arguments, environment=environment)
        found.append(Figure(name, measured, promised, limit))
    return found


def profile(environment: Mapping[str, str], jobs: int) -> list[Figure]:
    """The figures of the standard profile on the reference: the first time, and again when its answers are known."""
    tally = ("-m", "conformance.cli.main", "run", "--jobs", str(jobs), "--format", "json=-")
    found = []
    for which, per_check, by_clock in (("the first time", 0.018, 72), ("again", 0.013, 55)):
        cpu, took, said = spent(*tally, environment=environment)
        checks = said.count(b'"verdict": "pass"')
        if checks < CHECKS:
            raise SystemExit(f"only {checks} checks passed")
        units = [spent("-c", WORK, environment=environment) for _ in range(ROUNDS)]
        unit, clock = min(cpu for cpu, _, _ in units), min(wall for _, wall, _ in units)
        found += [
            Figure(f"CPU of a check, {which}", cpu / checks / unit, 0.008, per_check),
            Figure(f"the standard profile by the clock, {which}", took / clock, 40, by_clock),
        ]
    return found


def main() -> int:
    """Print the figures; with --check 1 where a limit is broken, with --commands without the standard profile."""
    with tempfile.TemporaryDirectory() as cache:
        ours = {"TALLY_CACHE": cache, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": f"{cache}/bytecode"}
        theirs = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = theirs | ours
        spent("-m", "conformance.cli.main", "lint", environment=environment)
        kept = [one.kept() for one in commands(environment)]
        if "--commands" not in sys.argv[1:]:
            kept += [one.kept() for one in profile(environment, jobs=2)]
    return 0 if all(kept) or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
