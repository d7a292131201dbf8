"""The mutants that the families declare, and the reference of this process patched in memory with one of them."""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Never

import yaml

from impl.backend import Backend, Entries, Machine
from impl.mutants import UnusableMutant
from impl.mutants.footprint import files_behind, functions_of, reached

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


PACKAGE = "impl.reference"
REFERENCE = Path(__file__).parents[1] / "reference"


class PatchedLoader(SourceFileLoader):
    """Load one module from patched source."""

    def __init__(self, fullname: str, path: str, source: bytes) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        """Return the patched source in place of the file's."""
        return self._source

    def path_stats(self, path: str) -> Never:
        """Refuse to date the source, so that no compiled file is read or written for it."""
        raise OSError(path)


class PatchedFinder(MetaPathFinder):
    """Find the patched modules of the reference."""

    def __init__(self, sources: Mapping[Path, bytes]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a patched module, None for every other."""
        if fullname != PACKAGE and not fullname.startswith(PACKAGE + "."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return spec
        source = self._sources.get(Path(spec.origin).resolve())
        if source is not None:
            spec.loader = PatchedLoader(fullname, spec.origin, source)
        return spec


def load_mutant(identity: str) -> Backend:
    """Return the mutated reference; UnusableMutant, also where the reference is loaded already."""
    loaded = [name for name in sys.modules if name == PACKAGE or name.startswith(PACKAGE + ".")]
    if loaded:
        raise UnusableMutant("the reference is loaded already in this process")
    mutant = find_mutant(identity, spec_directory())
    sources = patched_sources(mutant, REFERENCE)
    sys.meta_path.insert(0, PatchedFinder(sources))
    from impl.reference import backend
    from impl.reference.operators import MACHINES, OPERATORS

    for file in sources:
        # Operators are imported when they are asked for; a patch that leaves no module must not wait for that.
        import_module(".".join([PACKAGE, *file.relative_to(REFERENCE.resolve()).with_suffix("").parts]))
    tables: list[Entries | Machine] = [OPERATORS, *MACHINES.values()]
    modules = {name: table.module(name) for table in tables for name in table}
    changed = reached(modules, sources, REFERENCE)
    # A mutant without a patch can only differ from the reference as a whole.
    behind = files_behind([modules[name] for name in changed] or modules.values(), REFERENCE)
    return Backend(
        f"mutant:{identity}",
        backend.operators,
        machines=backend.machines,
        explanations=backend.explanations,
        changed=changed,
        sources=digest_of(behind, sources),
        functions=functions_of(patched_texts(mutant)) if mutant.patches else None,
    )


def digest_of(files: Iterable[Path], patched: Mapping[Path, bytes]) -> str:
    """Return the SHA-256, in hex, of these files of the reference as they are with the patches applied."""
    total = hashlib.sha256()
    for file in files:
        name = file.relative_to(REFERENCE.resolve()).as_posix().encode()
        source = patched.get(file) or file.read_bytes()
        total.update(b"%d %s %d %s" % (len(name), name, len(source), source))
    return total.hexdigest()


def patched_texts(mutant: Mutant) -> dict[str, list[str]]:
    """Return the texts that a mutant's patches replace, by file."""
    texts: dict[str, list[str]] = {}
    for patch in mutant.patches:
        texts.setdefault(patch.file, []).append(patch.find)
    return texts


def patched_sources(mutant: Mutant, reference: Path) -> dict[Path, bytes]:
    """Return the patched source of each file that the mutant touches; its patches are applied in order."""
    sources: dict[Path, str] = {}
    for patch in mutant.patches:
        file = (reference / patch.file).resolve()
        if not file.is_relative_to(reference.resolve()) or not file.is_file():
            raise UnusableMutant(f"{patch.file}: no such file in the reference")
        sources[file] = patch.apply(sources.get(file) or file.read_text("utf-8"))
    return {file: source.encode("utf-8") for file, source in sources.items()}
