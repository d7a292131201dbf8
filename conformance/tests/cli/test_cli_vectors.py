"""`tally vectors build` of a part: what is derived, what is believed, what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.contract.library import Library
from conformance.tests.small_spec import NAME, derived_by
from conformance.tests.vectors_walk import OPERATOR, SMALL, backend, load
from conformance.vectors.frozen.build import BuiltCorpus, build

Capture = pytest.CaptureFixture[str]


def derive_with(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(library: Library, *options: Any, **more: Any) -> tuple[BuiltCorpus, tuple[str, ...]]:
        return build(derived_by(reference, library), *options, **more)

    monkeypatch.setattr("conformance.cli.vectors.build", made)


@pytest.fixture
def house(tmp_path: Path, look_at: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small specification whose corpus is built; from now on its reference takes strides, which is wrong."""
    library = load(tmp_path, SMALL)
    made, _ = build(derived_by(backend(tmp_path), library))
    assert made.problems == ()
    look_at(tmp_path)
    derive_with(backend(tmp_path, "strides"), monkeypatch)
    return tmp_path


def frozen(root: Path) -> str:
    return (root / "vectors" / "data" / f"{OPERATOR}.json").read_text("utf-8")


def test_changed_believes_every_frozen_answer(house: Path, capsys: Capture) -> None:
    before = frozen(house)
    assert status_of(["vectors", "build", "--changed"]) == 0
    assert "5 cases, 5 kept as frozen; 0 files changed" in capsys.readouterr().out
    assert frozen(house) == before


def test_changed_derives_a_new_question(house: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    file = house / "spec" / "data" / NAME
    file.write_text(file.read_text("utf-8").replace("{width: [0, 1, 100]}", "{width: [0, 2, 100]}"), "utf-8")
    derive_with(backend(house), monkeypatch)
    assert status_of(["vectors", "build", "--changed"]) == 0
    assert "5 cases, 4 kept as frozen;" in capsys.readouterr().out
    assert "small::width=2" in frozen(house)


def test_only_derives_every_case_of_its_operator(house: Path, capsys: Capture) -> None:
    before = frozen(house)
    status_of(["vectors", "build", "--only", OPERATOR])
    said = capsys.readouterr()
    assert "kept as frozen" not in said.out
    assert frozen(house) != before or "nothing was written" in said.err


def test_only_an_operator_that_is_there(house: Path, capsys: Capture) -> None:
    before = frozen(house)
    assert status_of(["vectors", "build", "--only", "UML_OS.Data.Walk_v2"]) == 2
    said = capsys.readouterr().err
    assert "--only 'UML_OS.Data.Walk_v2'" in said
    assert OPERATOR in said
    assert frozen(house) == before


def test_all_derives_everything(house: Path, capsys: Capture) -> None:
    status_of(["vectors", "build", "--all"])
    assert "kept as frozen" not in capsys.readouterr().out
