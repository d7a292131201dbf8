"""record.json and observations.json: what is signed, and what varies from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from conformance.report.record import Record, encode_record
from conformance.report.writer import Observations
from conformance.vectors.whole_file import write_whole


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
