"""Make the API reference of `tallystick` as HTML: `python .ci/reference.py FOLDER`."""

import importlib
import sys
from pathlib import Path

import pdoc

FAMILIES = ("batch", "checkpoint", "queue", "stream", "telemetry")
MODULES = ("tallystick", *(f"tallystick.{family}" for family in FAMILIES))


def main(folder: Path) -> None:
    """Write one page for each module."""
    package = importlib.import_module("tallystick")
    for name in package.__all__:  # pdoc sees only what a module holds already
        setattr(package, name, getattr(package, name))
    pdoc.render.configure(docformat="markdown")
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
