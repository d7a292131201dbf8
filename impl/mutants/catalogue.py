"""The mutants that the families' mutants.yaml declare."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from impl.mutants import UnusableMutant

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Patch:
    """Replace a text, which must occur exactly once, in one file of the reference."""

    file: str
    find: str
    replace: str

    def apply(self, source: str) -> str:
        """Return the source with the text replaced; UnusableMutant unless it occurs exactly once."""
        count = source.count(self.find)
        if count != 1:
            raise UnusableMutant(f"{self.file}: the text to replace occurs {count} times, not once: {self.find!r}")
        return source.replace(self.find, self.replace)


@dataclass(frozen=True, slots=True)
class Mutant:
    """Name a mutant and its patches; a control mutant has none."""

    id: str
    patches: tuple[Patch, ...]


def spec_directory() -> Path:
    """Return the folder of the contracts: TALLY_SPEC_DIR, the checkout's, or the installed copy."""
    override = os.environ.get("TALLY_SPEC_DIR")
    if override:
        return Path(override)
    beside = Path(__file__).parents[2]
    checkout = beside / "spec"
    if (checkout / "errors.yaml").is_file():
        return checkout
    return beside / "conformance" / "_data" / "spec"


def find_mutant(identity: str, spec: Path) -> Mutant:
    """Return the mutant of that id from any family; UnusableMutant where there is none, or more than one."""
    # Most of a mutant's start is YAML, so a file that does not even hold the text is not parsed.
    files = [file for file in sorted(spec.glob("*/mutants.yaml")) if identity.encode() in file.read_bytes()]
    found = [entry for file in files for entry in _entries(file) if entry.get("id") == identity]
    if len(found) != 1:
        raise UnusableMutant(f"{len(found)} mutants have the id {identity!r} in {spec}")
    return _read_mutant(found[0])


def _entries(file: Path) -> list[Mapping[str, Any]]:
    with file.open("rb") as stream:
        document = yaml.load(stream, LOADER)  # noqa: S506 (a safe loader, in C where there is one)
    return [one for entry in (document or {}).get("mutants") or [] for one in _ungrouped(entry)]


def _ungrouped(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the mutants of a group, {file, mutants}, each with the file of the group; or the one mutant."""
    shared = {key: entry[key] for key in ("file",) if key in entry}
    return [{**shared, **one} for one in entry["mutants"]] if "mutants" in entry else [entry]


def _read_mutant(entry: Mapping[str, Any]) -> Mutant:
    identity = entry["id"]
    if entry.get("control") is True:
        return Mutant(identity, ())
    # The text to find is beside the id, or in `patch`, or there are several.
    patches = entry.get("patches") or [entry.get("patch") or entry]
    if "find" not in patches[0]:
        raise UnusableMutant(f"the mutant {identity!r} has no patch and is no control")
    try:
        return Mutant(identity, tuple(Patch(p.get("file") or entry["file"], p["find"], p["replace"]) for p in patches))
    except (AttributeError, KeyError, TypeError) as reason:
        raise UnusableMutant(f"the patch of {identity!r} is malformed: {reason}") from None
