"""The options of every command that asks a backend; they import little, so that such a command starts fast."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from conformance.trial.options import DEFAULT_TIMEOUT


class SecondsParam(click.FloatRange):
    """Seconds to wait; refuses `nan` and `inf`, which every range accepts and no clock reaches."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; fails like the types of click."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a finite number of seconds", param, ctx)
        return seconds


sandbox_read = click.option(
    "--sandbox-read",
    "readable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, resolve_path=True),
    metavar="PATH",
    help="Another file or folder that the sandboxed backend may read; repeatable.",
)
wire_option = click.option(
    "--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True, help="The encoding of messages."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of backend processes at a time."
)
timeout_option = click.option(
    "--timeout",
    type=SecondsParam(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds without an answer before a backend counts as hung.",
)
