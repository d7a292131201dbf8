"""Where the specification, the vectors and the reports are: the checkout beside the package, else the wheel's data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one Tallystick: `spec`, `vectors` and `reports` below `root`."""

    root: Path

    @property
    def spec(self) -> Path:
        """The contracts."""
        return self.root / "spec"

    @property
    def vectors(self) -> Path:
        """The frozen vectors."""
        return self.root / "vectors"

    @property
    def reports(self) -> Path:
        """The bundled backends' own reports."""
        return self.root / "reports"

    def shown(self, file: Path) -> str:
        """A file's path as users read it: relative to the root where it lies below it."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else str(file)


def find_layout() -> Layout:
    """The layout that belongs to this installation: a checkout wins over packaged data (DESIGN 3)."""
    checkout = _PACKAGE.parent
    if (checkout / "spec" / "contracts.lock").is_file() and (checkout / "conformance").is_dir():
        return Layout(checkout)
    return Layout(_PACKAGE / "_data")
