"""What the tests of the harness share: a specification that did not change is read once per test process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import conformance.contract.library
import conformance.vectors.corpus
from conformance.contract.finder import Layout

T = TypeVar("T")


@pytest.fixture(scope="session", autouse=True)
def unchanged_files_are_read_once() -> Iterator[None]:
    """Commands load the contracts and the corpus anew: 1.2 s of each test that runs one (measured), most of it here.

    A folder whose files keep their names, sizes and times is not read again; one that a test altered is.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module, loader, folder in (
            (conformance.contract.library, "load_library", "spec"),
            (conformance.vectors.corpus, "load_corpus", "vectors"),
        ):
            patch.setattr(module, loader, _remembered(getattr(module, loader), folder))
        yield


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
