"""What is worth knowing about a run but has no place in its record: the host and the moment."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def observations_of(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What the run measured, with the host and the time of writing added."""
    host = {
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
    return {**measured, "host": host, "written": datetime.now(UTC).isoformat(timespec="seconds")}
