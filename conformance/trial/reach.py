"""Which frozen cases a mutant can answer wrongly: those that run a function it changes. It is asked no other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from conformance.backend.drive import Driver
from conformance.backend.hello import BadHello
from conformance.backend.outcome import LostBackend
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.trial.attempt import conversation_of
from conformance.trial.cases import CaseRunner
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case

SOURCES: Final = 16  # hex digits that are kept of the digest of a mutant's source
_ALWAYS: Final = "*"  # the mark of a function that runs once for every case to come


@dataclass(frozen=True, slots=True)
class Footprints:
    """The functions of the suite's reference that each case runs, and those that run once for all cases."""

    by_case: Mapping[str, frozenset[str]]
    always: frozenset[str]

    def runs(self, case: str, functions: frozenset[str]) -> bool:
        """Whether a case may run one of these functions; one whose footprint nobody took may run any."""
        found = self.by_case.get(case)
        return found is None or not functions.isdisjoint(found) or not functions.isdisjoint(self.always)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a mutant says of itself: the operators that its mistake can reach, and a digest of its own source."""

    changed: frozenset[str] | None = None  # None: it does not say, or gives no hello
    sources: str = ""
    functions: frozenset[str] | None = None  # the only functions that it changes; None: it does not say

    def of(self, cases: Sequence[Case], footprints: Footprints | None = None) -> Sequence[Case]:
        """The cases that the mistake can reach; the others are answered by the unchanged reference."""
        near = cases if self.changed is None else [case for case in cases if case.operators & self.changed]
        if footprints is None or self.functions is None:
            return near
        return [case for case in near if footprints.runs(case.id, self.functions)]


def reach_of(backend: str, codebook: Codebook) -> Reach:
    """The reach of a mutant by its own hello; without a valid one, asking cases tells why."""
    try:
        process, hello = Driver(resolve(backend), DIALECTS["json"], codebook, DEFAULT_TIMEOUT).start()
    except (BadHello, LostBackend):
        return Reach()
    process.kill()
    return Reach(hello.changed, hello.sources[:SOURCES], hello.functions)


def footprints(cases: Sequence[Case], codebook: Codebook) -> Footprints:
    """Ask the traced reference every case, one after the other, and read what each ran."""
    command = resolve("reference")
    runner = CaseRunner(codebook, DIALECTS["json"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "functions")
        traced = replace(command, arguments=(*command.arguments[:-1], f"traced:{file}"))
        driver = Driver(traced, DIALECTS["json"], codebook, DEFAULT_TIMEOUT)
        held = [conversation_of(runner, case) for case in cases]
        together = [one for one in held if not (one.alone or one.in_step)]
        found: dict[str, frozenset[str]] = {}
        # Those that restart the process would be held by turns, so each has a driver's turn of its own.
        for part in (together, *([one] for one in held if one.alone or one.in_step)):
            for finished in driver.hold(part):
                ran = file.read_text("utf-8") if file.exists() else ""
                os.truncate(file, 0)
                if finished.lost is None:
                    found[finished.key] = frozenset(ran.split())
    always = frozenset(
        name.removeprefix(_ALWAYS) for ran in found.values() for name in ran if name.startswith(_ALWAYS)
    )
    return Footprints(found, always)
