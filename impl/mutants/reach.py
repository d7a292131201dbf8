"""Which operators of the reference a change to some of its files can reach, and which files those operators rest on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_IMPORT = re.compile(r"^[ \t]*from (impl\.reference[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_PACKAGE = "impl.reference"


def reached(modules: Mapping[str, str], files: Iterable[Path], reference: Path) -> list[str]:
    """Return the names whose modules are, or import directly or not, one of the files; sorted.

    `modules` holds the module of each name. Nothing is imported for this: it reads the modules' own import lines, which
    in the reference are all of the form `from impl.reference... import ...`.
    """
    sources = dict(_modules(reference))
    changed = {module for module, file in sources.items() if file in set(files)}
    imports = _imports(sources)
    reaching = {module for module in set(modules.values()) if _closure(module, imports) & changed}
    return sorted(name for name, module in modules.items() if module in reaching)


def files_behind(modules: Iterable[str], reference: Path) -> list[Path]:
    """Return the files of these modules and of everything that they import, directly or not; sorted."""
    sources = dict(_modules(reference))
    imports = _imports(sources)
    return sorted({sources[name] for module in set(modules) for name in _closure(module, imports) & sources.keys()})


def _imports(sources: Mapping[str, Path]) -> dict[str, set[str]]:
    return {module: _imported(file.read_text("utf-8"), sources) for module, file in sources.items()}


def _modules(reference: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(reference.rglob("*.py")):
        parts = file.relative_to(reference).with_suffix("").parts
        yield ".".join([_PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)]), file.resolve()


def _imported(source: str, known: Mapping[str, Path]) -> set[str]:
    found = set()
    for module, names in _IMPORT.findall(source):
        found |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    return found & known.keys()


def _closure(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    """A module, everything that it imports, and the packages that hold those; the root package imports everything."""
    seen: set[str] = set()
    left = [start]
    while left:
        module = left.pop()
        if module in seen or module == _PACKAGE:
            continue
        seen.add(module)
        left += [*imports.get(module, ()), module.rpartition(".")[0]]
    return seen
