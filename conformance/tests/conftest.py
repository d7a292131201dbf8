"""What tests of the harness share: a specification, or a file of it, that did not change is read once a process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import conformance.contract.library
import conformance.vectors.corpus
from conformance.contract.finder import Layout
from conformance.contract.position import Problem
from conformance.contract.schema import violations
from conformance.contract.source import Source, read

T = TypeVar("T")


def pytest_configure(config: pytest.Config) -> None:
    """Commands load the contracts and the corpus anew: 1.2 s of each test that runs one (measured), most of it here.

    A folder whose files keep their names, sizes and times is not read again; of one that a test altered or copied,
    the files with a text that is new are.
    """
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    library = conformance.contract.library
    for module, loader, folder in (
        (library, "load_library", "spec"),
        (conformance.vectors.corpus, "load_corpus", "vectors"),
    ):
        patch.setattr(module, loader, _remembered(getattr(module, loader), folder))
    patch.setattr(library, "read", _read_once(read))
    patch.setattr(library, "violations", _validated_once(violations))


def _remembered(load: Callable[[Layout], T], folder: str) -> Callable[[Layout], T]:
    known: dict[Any, T] = {}

    def remembered(layout: Layout) -> T:
        key = (layout, _stamp(getattr(layout, folder)))
        if key not in known:
            known[key] = load(layout)
        return known[key]

    return remembered


def _stamp(folder: Path) -> tuple[Any, ...]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return tuple((str(file), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files)


def _read_once(load: Callable[[Path, str | None], Source]) -> Callable[[Path, str | None], Source]:
    known: dict[Any, Source] = {}

    def remembered(file: Path, shown_as: str | None = None) -> Source:
        key = (file.read_bytes(), shown_as or str(file))
        if key not in known:
            known[key] = load(file, shown_as)
        return known[key]

    return remembered


def _validated_once(
    validate: Callable[[Source, Path], Iterator[Problem]],
) -> Callable[[Source, Path], Iterator[Problem]]:
    known: dict[Any, tuple[Problem, ...]] = {}

    def remembered(source: Source, schema: Path) -> Iterator[Problem]:
        schemas = tuple(file.read_bytes() for file in sorted(schema.parent.glob("*.schema.json")))
        key = (source.text, source.file, schema.name, schemas)
        if key not in known:
            known[key] = tuple(validate(source, schema))
        return iter(known[key])

    return remembered


@pytest.fixture
def no_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kill matrix a red run starts no mutants, which costs seconds and is tested elsewhere."""
    monkeypatch.setattr("conformance.trial.run.MATRIX_FILE", "no-such-matrix.json")


@pytest.fixture
def look_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Let the command line look at another house."""
    return lambda root: monkeypatch.setattr("conformance.contract.finder.find_layout", lambda: Layout(root))


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Let temporary files be made in another folder, which is made as well."""

    def choose(folder: Path) -> Path:
        folder.mkdir(parents=True)
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        return folder

    return choose
