"""The rules of the house, held over every module: the order of the rooms, no family in the runner, no hidden state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from conformance.contract.cache import ROOMS
from conformance.tests.processes import ROOT
from conformance.tests.sources import modules, shown, text_of, tree

LAST = ("pytest_plugin", "pytest_checks")  # beside the command line, at the end of the row
INNER = ("files", "conversation", "questions", "frozen")  # of `vectors`, in the order of imports
LONGEST = 400  # lines
# Words of the wire (DESIGN 6) that are also folders of the specification.
WIRE_WORDS = {"data", "error"}
# All that people read, but for tests, what is generated, and the history.
PLAIN = ("README.md", "CONTRIBUTING.md", "docs", "spec", "conformance", "impl", "checks", "tallystick", "examples")
# Constants of the wire and of the contracts: messages of the error registry, and a handle that was not given.
CONSTANTS = (
    "The cursor stands beyond the end of the dataset.",
    "The stream and the model stand at different pulses.",
    "handle: nobody",
    '"nobody"',
)
PRIVATE = re.compile(
    r"\b(?:stand(?!-in)|stands|stood|nobody|what\s+there\s+is|(?:is|are|was|were|be)\s+held\s+to)\b", re.IGNORECASE
)
MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """The trees take 200 MB, whose page table each process that is forked later would copy."""
    yield
    tree.cache_clear()


HARNESS = modules("conformance")
HOUSE = modules("conformance", "impl", "tallystick")
RUNNER = [file for file in HARNESS if "laws" not in file.parts]


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, as a dotted name; from a package, the name taken from it as well."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{shown(file)}:{node.lineno}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name: str) -> int | None:
    """The place of a module of the harness in the row of rooms; None for what belongs to all rooms."""
    first = name.removeprefix("conformance.").split(".")[0]
    return ROOMS.index(first) if first in ROOMS else len(ROOMS) if first in LAST else None


def operators() -> set[str]:
    return {file.stem for file in (ROOT / "spec").rglob("*.yaml") if re.search(r"[.].*_v\d+\Z", file.stem)}


def families() -> set[str]:
    return {folder.name for folder in (ROOT / "spec").iterdir() if folder.is_dir()} - {"schema"}


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that is no docstring, with its line."""
    whole = tree(file)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(whole)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(whole):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_the_house_has_its_rooms() -> None:
    assert {room(f"conformance.{file.parent.name}") for file in HARNESS} >= set(range(len(ROOMS)))
    assert len(HARNESS) > 100
    assert len(operators()) >= 7
    assert families() >= {"data", "error"}


def rightward(module: str, imported: Iterable[str]) -> list[str]:
    """The imports of a module of the harness that go against the row of rooms."""
    own = room(module)
    places = {name: room(name) for name in imported if name.startswith("conformance.")}
    return [name for name, place in places.items() if place is not None and (own is None or place > own)]


def dotted(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def test_nothing_imports_to_its_right() -> None:
    found = {shown(file): rightward(dotted(file), imports(file)) for file in HARNESS}
    assert {file: names for file, names in found.items() if names} == {}


def test_an_import_to_the_right_would_be_seen() -> None:
    assert rightward("conformance.codec.form", ["conformance.contract.types", "conformance.trial.run"]) == [
        "conformance.trial.run"
    ]
    assert rightward("conformance.__init__", ["conformance.contract.types"]) == ["conformance.contract.types"]
    assert rightward("conformance.cli.run", ["conformance.pytest_plugin"]) == ["conformance.pytest_plugin"]
    assert rightward("conformance.cli.run", ["conformance.__version__", "json", "conformance.report.terminal"]) == []


def inward(module: str, imported: Iterable[str]) -> list[str]:
    """The imports of a module of the vectors that go against the row of its inner rooms."""
    own = inner(module)
    return [name for name in imported if name.startswith("conformance.vectors.") and inner(name) > own]


def inner(name: str) -> int:
    part = name.removeprefix("conformance.vectors.").split(".")[0]
    return INNER.index(part) + 1 if part in INNER else 0


def test_the_inner_rooms_of_the_vectors_import_one_way() -> None:
    files = [file for file in HARNESS if file.relative_to(ROOT).parts[1] == "vectors"]
    assert {inner(dotted(file)) for file in files} == set(range(len(INNER) + 1))
    found = {shown(file): inward(dotted(file), imports(file)) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


def test_an_import_against_the_inner_rooms_would_be_seen() -> None:
    case, build = "conformance.vectors.case", "conformance.vectors.frozen.build.build"
    assert inward(case, [build, "conformance.vectors.leaf"]) == [build]
    assert inward(build, [case, "conformance.vectors.questions.expand"]) == []


def test_harness_and_implementations_do_not_know_each_other() -> None:
    """Tests included, but for what stands for a user's own module: they see backends as strings, as users do."""
    for folder, other in (("conformance", "impl"), ("impl", "conformance")):
        tests = [file for file in sorted((ROOT / folder / "tests").rglob("*.py")) if file.name != "spoilt.py"]
        files = [*modules(folder), *tests]
        found = [f"{shown(file)} imports {name}" for file in files for name in imports(file) if first(name) == other]
        assert found == []


def first(name: str) -> str:
    return name.split(".")[0]


def test_the_runner_names_no_operator() -> None:
    short = {re.sub(r"_v\d+\Z", "", operator).rsplit(".", 1)[-1] for operator in operators()}
    # A name of one word is a word of English as well (`Emit`); with its namespace it is an operator.
    names = operators() | {name for name in short if re.fullmatch(r"([A-Z][a-z]+){2,}", name)}
    texts_of = {file: text_of(file) for file in RUNNER}
    assert [f"{shown(file)}: {name}" for file, text in texts_of.items() for name in sorted(names) if name in text] == []


def test_the_runner_names_no_family() -> None:
    """Neither as a word for itself nor as a folder, a namespace or a module of laws."""
    words = families() - WIRE_WORDS
    part = re.compile(rf"(?:spec|vectors|laws)[/.](?:{'|'.join(sorted(families()))})\b|UML_OS\.\w+\.")
    for file in RUNNER:
        assert [(shown(file), line, text) for line, text in texts(file) if text in words or part.search(text)] == []
        assert [(shown(file), name) for name in imports(file) if part.search(name)] == []


def mutated(whole: ast.Module) -> Iterator[tuple[int, str]]:
    """Module-level names that some function changes, with the line."""
    names = {
        target.id
        for node in whole.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in ast.walk(whole):
        if not isinstance(function, ast.FunctionDef | ast.Lambda):
            continue
        own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        for node in ast.walk(function):
            changed: ast.expr | None = None
            if isinstance(node, ast.Global):
                yield node.lineno, f"global {', '.join(node.names)}"
            elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                changed = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
                changed = node.func.value
            if isinstance(changed, ast.Name) and changed.id in names - own:
                yield changed.lineno, changed.id


def test_no_module_changes_what_it_holds() -> None:
    assert [f"{shown(file)}:{line}: {name}" for file in HOUSE for line, name in mutated(tree(file))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("seen = {}\ndef f(x):\n    seen[x] = 1\n", [(3, "seen")]),
        ("seen: set[int] = set()\ndef f(x):\n    seen.add(x)\n", [(3, "seen")]),
        ("last = None\ndef f():\n    global last\n    last = 2\n", [(3, "global last")]),
        ("seen = {}\ndef f(seen):\n    seen[1] = 2\n", []),
    ],
)
def test_a_changed_module_variable_would_be_seen(text: str, found: list[tuple[int, str]]) -> None:
    assert list(mutated(ast.parse(text))) == found


def test_no_module_is_too_long() -> None:
    scripts = sorted((ROOT / "impl" / "javascript").rglob("*.js"))
    assert scripts
    files = (*HOUSE, *scripts, ROOT / "noxfile.py")
    lengths = {shown(file): len(text_of(file).splitlines()) for file in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def undocumented(whole: ast.Module) -> Iterator[str]:
    """Public functions and classes, and the public methods of public classes, without a docstring."""
    if not ast.get_docstring(whole):
        yield "the module"
    for node in whole.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and not ast.get_docstring(part):
                    yield f"{node.name}.{part.name}"


def test_everything_public_has_its_sentence() -> None:
    files = modules("conformance", "impl/reference", "impl/library")
    assert [f"{shown(file)}: {name}" for file in files for name in undocumented(tree(file))] == []


def test_a_missing_sentence_would_be_seen() -> None:
    text = "class A:\n    'A.'\n    def b(self): ...\n    def _c(self): ...\ndef d(): ...\ndef _e(): ...\n"
    assert list(undocumented(ast.parse(text))) == ["the module", "A.b", "d"]


def private_words(text: str) -> list[tuple[int, str]]:
    """The words that a stranger has to guess the meaning of, with their lines; a phrase may cross a line's end."""
    for constant in CONSTANTS:
        text = text.replace(constant, "")
    found = ((text.count("\n", 0, match.start()) + 1, match[0]) for match in PRIVATE.finditer(text))
    return [(line, " ".join(words.split())) for line, words in found]


def plain_files() -> list[Path]:
    found: list[Path] = []
    for name in PLAIN:
        place = ROOT / name
        below = (file for file in sorted(place.rglob("*")) if file.suffix in (".js", ".md", ".py", ".txt", ".yaml"))
        found += [file for file in below if "tests" not in file.relative_to(ROOT).parts] if place.is_dir() else [place]
    return found


def test_pages_and_messages_use_plain_words() -> None:
    assert len(plain_files()) > 500
    found = {shown(file): private_words(text_of(file)) for file in plain_files()}
    assert {file: words for file, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A file stands here.\n", [(1, "stands")]),
        ("One\nthat nobody\nreads.\n", [(2, "nobody")]),
        ("A backend is held\nto its contract.\n", [(1, "is held to")]),
        ("A stand-in answers; stand_in too. What is held together.\n", []),
        ("- {step: a, Read: {handle: nobody}}\n", []),
    ],
)
def test_a_private_word_would_be_seen(text: str, found: list[tuple[int, str]]) -> None:
    assert private_words(text) == found
