"""What tests of the harness share: a specification, or a file of it, that did not change is read once a process."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

import conformance.backend.command
import conformance.cli.mutants
import conformance.contract.library
import conformance.vectors.frozen.corpus
from conformance.cli.main import status_of
from conformance.contract.library import load_library
from conformance.contract.suite import Suite
from conformance.contract.suite_file import read_suite
from conformance.tests.browser import browser
from conformance.tests.certificates import Certifier, certifier
from conformance.tests.forked_python import forking
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.tests.sliced_house import cut_out
from conformance.tests.small_house import furnish, write_matrix
from conformance.tests.small_spec import suite_at
from conformance.vectors.frozen.build import build

T = TypeVar("T")
PATIENT = (50_000, 20, 20)  # cycles are looked for less often: with 700, 10, 10 a third of lint's time goes into it
OTHERS = 4  # suites apart from this checkout's whose contracts and cases are kept


def pytest_configure(config: pytest.Config) -> None:
    """Commands load the contracts and the corpus anew: 1.2 s of each test that runs one (measured), most of it here.

    A folder whose files keep their names, sizes and times is not read again in this process. What the commands of all
    tests find out about the same files goes into one cache, apart from the user's own; TALLY_CACHE=DIR keeps it from
    session to session, which saves ten seconds of each.
    """
    gc.set_threshold(*PATIENT)
    # A shell has its background jobs ignore SIGINT, and nohup SIGHUP. Children would too, and the tests send them both.
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    if "TALLY_CACHE" not in os.environ:  # a worker of pytest-xdist is given the folder of the session
        cache = tempfile.mkdtemp(prefix="tally-cache-")
        config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
        patch.setenv("TALLY_CACHE", cache)
    patch.setattr(conformance.backend.command, "subprocess", forking(conformance.backend.command))
    library = conformance.contract.library
    for module, loader, folder in (
        (library, "load_library", "spec"),
        (conformance.vectors.frozen.corpus, "load_corpus", "vectors"),
    ):
        patch.setattr(module, loader, _remembered(getattr(module, loader), folder))


def pytest_collection_finish() -> None:
    """What lives as long as the tests is not walked through again: with all contracts read that takes a second."""
    gc.collect()
    gc.freeze()


def _remembered(load: Callable[..., T], folder: str) -> Callable[..., T]:
    """The loader of this checkout's suite and of the last few others, as copies of the suite take 300 MB each."""
    known: dict[Any, T] = {}

    def remembered(suite: Suite, *parts: str) -> T:
        key = (suite, _stamp(getattr(suite, folder)), parts)
        if key not in known:
            others = [one for one in known if not one[0].root.is_relative_to(ROOT)]
            for old in others[:-OTHERS]:
                del known[old]
            known[key] = load(suite, *parts)
        return known[key]

    return remembered


def _stamp(folder: Path) -> tuple[Any, ...]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return tuple((str(file), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files)


@pytest.fixture(autouse=True)
def _forgotten_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Modules of a test's own folders are forgotten after it: the next test may have others of the same names."""
    known, own = set(sys.modules), str(tmp_path_factory.getbasetemp())
    yield
    sys.path[:] = [place for place in sys.path if not place.startswith(own)]
    for name in sys.modules.keys() - known:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        if any(str(place).startswith(own) for place in places):
            del sys.modules[name]


@pytest.fixture
def no_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A red run starts no mutants, as without a kill matrix: that costs seconds and is tested elsewhere."""
    monkeypatch.setattr("conformance.trial.run._Run.diagnosis", lambda *_: None)


@pytest.fixture
def mutants_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tally mutants` starts no process for each mutant, which would import anew what laws and fuzzing need."""
    monkeypatch.setattr(conformance.cli.mutants, "Forked", ThreadPoolExecutor)
    monkeypatch.setattr(conformance.cli.mutants, "in_child_process", lambda work, progress: work(progress))


@pytest.fixture
def look_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Let the command line look at another house."""
    place = "conformance.contract.suite_file.find_suite"
    return lambda root: monkeypatch.setattr(place, lambda named, here: suite_at(root))


@pytest.fixture(scope="session")
def new_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite that `tally init` made in a folder `bounds`; not to be changed."""
    folder = tmp_path_factory.mktemp("elsewhere") / "bounds"
    assert status_of(["init", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small house with its vectors, to be copied."""
    root = tmp_path_factory.mktemp("house")
    furnish(root)
    made, _ = build(load_library(read_suite(root)))
    assert made.problems == ()
    return root


@pytest.fixture(scope="session")
def measured(built_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small house with its vectors and its kill matrix; not to be changed."""
    root = tmp_path_factory.mktemp("measured") / "house"
    shutil.copytree(built_once, root)
    write_matrix(root)
    return root


@pytest.fixture
def built(built_once: Path, tmp_path: Path, look_at: Callable[[Path], None]) -> Path:
    """A copy of the small house with its vectors, where the command line looks."""
    root = tmp_path / "house"
    shutil.copytree(built_once, root)
    look_at(root)
    return root


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TALLY_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Certifier:
    """A certifier with a key of its own."""
    return certifier(tmp_path_factory.mktemp("acme"), shipped_library())


@pytest.fixture(scope="module")
def started(tool: Callable[[str], str], package: Callable[[str], ModuleType]) -> Iterator[Any]:
    """A browser that runs for all tests of a module."""
    package("playwright.sync_api")
    with browser(tool("chromium")) as running:
        yield running


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Let temporary files be made in another folder, which is made as well."""

    def choose(folder: Path) -> Path:
        folder.mkdir(parents=True)
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        return folder

    return choose


@pytest.fixture(scope="session")
def sliced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two of the bundled operators, with its vectors; not to be changed."""
    folder = tmp_path_factory.mktemp("sliced")
    cut_out(folder)
    return folder
