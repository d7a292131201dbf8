"""Which functions of the reference a call runs: a mistake in a function that a case never runs cannot change it.

`python -m impl.serve traced:FILE` serves the reference, one request at a time, and appends to FILE the functions that
each request runs, a line each.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from impl.backend import Backend

REFERENCE = Path(__file__).parents[1] / "reference"
ALWAYS = "*"  # before a function that runs once for every call to come: while a module loads, or below a cache
_CACHES = ("cache", "lru_cache", "cached_property")


class Footprint:
    """Notes the functions that run, and writes them down after each request."""

    def __init__(self, file: str) -> None:
        self._sink = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._home = str(REFERENCE) + os.sep
        self._cached = frozenset(_cached_functions())
        self._names: dict[CodeType, str] = {}
        self._below = 0  # frames of modules that load, and of cached functions
        self._found: set[str] = set()

    def start(self) -> None:
        """Note what runs from now on."""
        sys.setprofile(self._note)

    def flush(self) -> None:
        """Write down what ran since the last time."""
        if self._found:
            os.write(self._sink, "".join(f"{name}\n" for name in sorted(self._found)).encode())
            self._found.clear()

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        name = self._names.get(code)
        if name is None:
            name = self._names[code] = self._name(code)
        if not name:
            return
        if code.co_name == "<module>" or name in self._cached:
            self._below += 1 if event == "call" else -1
        if event == "call":
            self._found.add(ALWAYS + name if self._below else name)

    def _name(self, code: CodeType) -> str:
        if not code.co_filename.startswith(self._home):
            return ""
        return f"{code.co_filename.removeprefix(self._home)}:{code.co_firstlineno}"


class OneAtATime(Backend):
    """The reference, to be asked one call at a time, so that each has a footprint of its own."""

    def __init__(self, reference: Backend) -> None:
        super().__init__(
            "traced", reference.operators, machines=reference.machines, explanations=reference.explanations
        )

    def hello(self) -> dict[str, Any]:
        """Return the introduction with a single call in flight."""
        return {**super().hello(), "max_in_flight": 1}


def functions_of(patches: Mapping[str, list[str]], reference: Path = REFERENCE) -> list[str] | None:
    """Return the functions that hold every text that is patched, by file; None where one is in no function's body.

    Each is the outermost function around the text, as `FILE:LINE` of its first line.
    """
    found = set()
    for file, texts in patches.items():
        source = (reference / file).read_text("utf-8")
        bodies = dict(_bodies(ast.parse(source).body))
        for text in texts:
            if source.count(text) != 1:
                return None  # a patch of what an earlier one made
            first = source[: source.index(text)].count("\n") + 1
            last = first + text.rstrip("\n").count("\n")
            around = [line for line, (start, end) in bodies.items() if start <= first and last <= end]
            if not around:
                return None
            found.add(f"{file}:{around[0]}")
    return sorted(found)


def _bodies(nodes: list[ast.stmt]) -> Iterator[tuple[int, tuple[int, int]]]:
    """The first line of each outermost function, and the first and last line of its body."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield from _bodies(node.body)
        elif isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield first, (node.body[0].lineno, node.end_lineno or node.lineno)


def _cached_functions() -> Iterator[str]:
    for file in REFERENCE.rglob("*.py"):
        source = file.read_text("utf-8")
        if not any(word in source for word in _CACHES):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and any(
                word in ast.unparse(one) for one in node.decorator_list for word in _CACHES
            ):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield f"{file.relative_to(REFERENCE).as_posix()}:{first}"


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
