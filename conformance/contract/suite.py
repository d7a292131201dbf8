"""A suite: the folder with a `tally.toml` that says where contracts, vectors, reports, backends and laws are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # a process that only starts backends needs no YAML
    from conformance.contract.yaml.source import Position

FILE: Final = "tally.toml"
MUTANT: Final = "mutant:"  # the start of a mutant's backend string


@dataclass(frozen=True, slots=True)
class MutantLauncher:
    """How a mutant of the reference starts: by a command of the suite, or from a patched copy of `folder`.

    `{id}` in `command` is the mutant; `{file}` in `traced` is the file that gets the functions that a request runs.
    A command patches the files of `folder` itself, if lint is told where they are. `build` is a command that runs in
    the copy first. It may take `seconds`, and so may each answer of a mutant.
    """

    command: str = ""
    folder: str = ""
    build: str = ""
    seconds: float = 30.0
    traced: str = ""

    @property
    def copies(self) -> bool:
        """Whether a mutant starts in a patched copy."""
        return bool(self.folder) and not self.command


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of `tally.toml` and its place."""

    value: Any
    position: Position


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of contracts with the settings of its `tally.toml`; without that file, the folder alone."""

    root: Path
    name: str = ""
    folders: tuple[str, str, str] = ("spec", "vectors", "reports")
    backends: Mapping[str, str] = field(default_factory=dict, hash=False)  # the command of each name
    reference: str = ""  # answers calls that a backend does not declare, and gives the right answers in fuzzing
    confirm: tuple[str, ...] | None = None  # second derivations if a contract names none; (): there are none
    laws: tuple[str, ...] = ()  # modules
    generators: tuple[str, ...] = ()  # modules
    mutants: MutantLauncher = MutantLauncher()
    sandbox: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    run: Mapping[str, Setting] = field(default_factory=dict, hash=False)  # defaults of the options of `tally run`

    @property
    def has_code(self) -> bool:
        """Whether it has Python modules of its own."""
        return bool(self.laws or self.generators)

    @property
    def spec(self) -> Path:
        """The contracts."""
        return self.root / self.folders[0]

    @property
    def vectors(self) -> Path:
        """The frozen vectors."""
        return self.root / self.folders[1]

    @property
    def reports(self) -> Path:
        """The kill matrix and the other committed reports."""
        return self.root / self.folders[2]

    @property
    def file(self) -> Path:
        """The `tally.toml`."""
        return self.root / FILE

    def path_text(self, file: Path) -> str:
        """A file's path as users read it: relative to the root if it is below the root."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else str(file)
