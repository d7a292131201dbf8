"""record.json and observations.json: what is signed, and what varies from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, cast

from conformance.report.record import Record, encode_record
from conformance.vectors.jsontext import write_whole

Observations = Mapping[str, Any]


class Writer(Protocol):
    """Makes files from one finished record; it cannot reach the run, so it cannot influence a verdict."""

    @property
    def name(self) -> str:
        """What --format calls it."""

    def write(self, record: Record, observations: Observations, folder: Path) -> Sequence[Path]:
        """Write into `folder`, which exists; the files that were written."""


# A writer is imported only when it is asked for; a new one is a module and a line here.
WRITERS: Final[Mapping[str, str]] = {
    "json": "conformance.report.writer:RecordFiles",
    "junit": "conformance.report.junit:JUnit",
    "text": "conformance.report.terminal:TextPage",
}

# What the writers make; a run removes the old ones before it starts, so that none outlives a run that judges nothing.
FILES: Final = ("record.json", "observations.json", "junit.xml", "report.txt")


def writer(name: str) -> Writer:
    """The writer called `name`; raises KeyError."""
    module, _, attribute = WRITERS[name].partition(":")
    return cast(Writer, getattr(import_module(module), attribute)())


class RecordFiles:
    """Writes the canonical record, and beside it everything that depends on the clock or the host."""

    name = "json"

    def write(self, record: Record, observations: Observations, folder: Path) -> Sequence[Path]:
        """Write record.json and observations.json."""
        judged, observed = folder / "record.json", folder / "observations.json"
        write_whole(judged, encode_record(record))
        text = json.dumps(observations, indent=2, sort_keys=True, default=str)
        write_whole(observed, text + "\n")
        return judged, observed
