"""The console script: Ctrl-C ends it in order also while the modules of the command line are imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from conformance.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted: no judgement", file=sys.stderr)
        sys.exit(2)
