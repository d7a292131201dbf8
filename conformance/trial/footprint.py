"""Which functions of the suite's reference each frozen case runs, so that a mutant is asked no case in vain."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from conformance.backend.drive import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import DIALECTS
from conformance.trial.attempt import Footprints, conversation_of
from conformance.trial.cases import CaseRunner
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case

_ALWAYS: Final = "*"  # the mark of a function that runs once for every case to come


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
