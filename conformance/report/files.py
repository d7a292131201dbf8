"""record.json and observations.json: what is signed, and what varies from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from conformance.report.record import Record, encode_record
from conformance.report.writer import Observations


class RecordFiles:
    """Writes the canonical record, and beside it everything that depends on the clock or the host."""

    name = "json"

    def write(self, record: Record, observations: Observations, folder: Path) -> Sequence[Path]:
        """Write record.json and observations.json."""
        judged, observed = folder / "record.json", folder / "observations.json"
        judged.write_bytes(encode_record(record))
        text = json.dumps(observations, indent=2, sort_keys=True, default=str)
        observed.write_text(text + "\n", encoding="utf-8")
        return judged, observed
