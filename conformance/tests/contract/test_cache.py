"""Entries of the cache: whole or not there, of this user alone, and of nothing but what they were made from."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import cache as module
from conformance.contract.cache import (
    MISSING,
    ROOMS,
    Cache,
    cache_folder,
    code_digest,
    digest_of_files,
    open_cache,
    source_files,
)
from conformance.contract.reader import packed, unpacked
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import Position, Source
from conformance.tests.processes import ROOT

PLAIN = {"text": ["a", 1, 2.5, True, -(1 << 90)], "bytes": b"\x00"}


@pytest.fixture
def kept(tmp_path: Path) -> Cache:
    """A cache that holds one entry."""
    cache = Cache(tmp_path / "cache", "maker")
    cache.put("kind", "inputs", PLAIN)
    return cache


def entry(folder: Path) -> Path:
    (file,) = folder.glob("cache/*")
    return file


def test_an_entry_comes_back_for_the_same_inputs_alone(kept: Cache, tmp_path: Path) -> None:
    assert kept.get("kind", "inputs") == PLAIN
    assert kept.get("kind", "others") is MISSING
    assert kept.get("other", "inputs") is MISSING
    assert Cache(tmp_path / "cache", "another maker").get("kind", "inputs") is MISSING


def test_folder_and_entry_are_the_users_alone(kept: Cache, tmp_path: Path) -> None:
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert entry(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes()[:-1] + b"\x07"),
        lambda file: file.write_bytes(b"\x07" + file.read_bytes()[1:]),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.unlink(), subprocess.run(["mkfifo", str(file)], check=True)),
        lambda file: file.chmod(0o666),
        lambda file: (shutil.copy(file, f"{file}.copy"), file.unlink(), file.symlink_to(f"{file}.copy")),
    ],
    ids=["empty", "short", "last byte", "first byte", "folder", "pipe", "open to others", "link"],
)
def test_a_damaged_entry_is_made_anew(kept: Cache, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    damage(entry(tmp_path))
    assert kept.get("kind", "inputs") is MISSING
    assert kept.get_or_make("kind", "inputs", lambda: "made") == "made"


def test_an_entry_under_the_name_of_another_is_made_anew(kept: Cache, tmp_path: Path) -> None:
    mine = entry(tmp_path)
    kept.put("other", "inputs", [1])
    (other,) = (file for file in tmp_path.glob("cache/*") if file != mine)
    shutil.copy(mine, other)
    assert kept.get("other", "inputs") is MISSING
    assert kept.get("kind", "inputs") == PLAIN


def test_a_folder_that_others_can_write_to_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    Cache(tmp_path / "cache", "maker").put("kind", "inputs", PLAIN)
    assert list(tmp_path.glob("cache/*")) == []


def test_an_entry_in_a_folder_that_others_can_write_to_is_not_read(kept: Cache, tmp_path: Path) -> None:
    (tmp_path / "cache").chmod(0o777)
    assert kept.get("kind", "inputs") is MISSING


def test_where_nothing_can_be_kept_everything_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for cache in (Cache(tmp_path / "file", "maker"), Cache(tmp_path / "file" / "below", "maker"), Cache(None, "maker")):
        assert [cache.get_or_make("kind", "inputs", lambda: "made") for _ in range(2)] == ["made", "made"]
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("value", [object(), "\ud800", {"a": object()}])
def test_what_is_no_plain_data_leaves_no_entry(value: Any, tmp_path: Path) -> None:
    Cache(tmp_path / "cache", "maker").put("kind", "inputs", value)
    assert list(tmp_path.glob("cache/*")) == []


def test_nothing_is_kept_under_unknown_inputs(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", "maker")
    cache.put("kind", "", PLAIN)
    assert cache.get("kind", "") is MISSING


def test_the_oldest_entries_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL", 5000)
    for number in range(12):
        cache = Cache(tmp_path / "cache", "maker")  # a command looks once whether there is room
        cache.put("kind", str(number), bytes(900))
        for file in tmp_path.glob("cache/*"):  # the clock of a file system is coarse
            facts = file.stat()
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns - 10**9))
    left = [number for number in range(12) if cache.get("kind", str(number)) is not MISSING]
    assert left == list(range(left[0], 12))
    assert 2 <= len(left) <= 5


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        ({"TALLY_CACHE": "off"}, None),
        ({"TALLY_CACHE": "/a/b"}, Path("/a/b")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/tallystick")),
        ({"XDG_CACHE_HOME": "x"}, Path("/h/.cache/tallystick")),
        ({"HOME": "/h"}, Path("/h/.cache/tallystick")),
    ],
)
def test_the_environment_says_where(
    settings: dict[str, str], folder: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TALLY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/h", **settings}.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == folder


def test_switched_off_it_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLY_CACHE", "off")
    open_cache().put("kind", "inputs", PLAIN)
    assert open_cache().get("kind", "inputs") is MISSING


def test_an_entry_hangs_on_the_source_of_the_harness_and_not_on_its_tests(tmp_path: Path) -> None:
    package = tmp_path / "conformance"
    shutil.copytree(ROOT / "conformance", package, ignore=shutil.ignore_patterns("_data", "__pycache__"))
    before = digest_of_files(source_files(package))
    (package / "tests" / "test_cache.py").write_text("changed")
    assert digest_of_files(source_files(package)) == before
    changed = package / "lint" / "catalogue.py"
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    assert digest_of_files(source_files(package)) != before


def test_a_changed_module_makes_what_its_room_and_those_to_its_right_know_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def makers() -> list[str]:
        code_digest.cache_clear()
        module._sources.cache_clear()
        return list(map(code_digest, ROOMS))

    files = source_files(ROOT / "conformance")
    assert {"contract/cache.py", "cli/main.py", "lint/catalogue.py", "trial/law.py", "__init__.py"} <= files.keys()
    before = makers()
    found = {}
    for name in ("lint/catalogue.py", "contract/types.py", "pytest_plugin.py", "__init__.py"):
        with monkeypatch.context() as patch:
            patch.setattr(module, "source_files", lambda package, name=name: {**files, name: b"changed"})
            found[name] = [room for room, old, new in zip(ROOMS, before, makers(), strict=True) if old != new]
    assert found == {
        "lint/catalogue.py": ["lint", "trial", "report", "cli"],
        "contract/types.py": list(ROOMS),
        "pytest_plugin.py": ["cli"],
        "__init__.py": list(ROOMS),
    }
    assert makers() == before


def test_positions_survive_packing() -> None:
    source = parse("a: {b: [1, two, {c: 0x10}], d: true}\ne: |\n  text\nf: 1.5\n", "file.yaml")
    moved = {**source.values, ("a", "b", 7, "x"): Position("other.yaml", 3, 4)}
    odd = Source(source.file, source.value, moved, {**source.keys, ("gone", "key"): Position("other.yaml", 9, 1)})
    again = unpacked(packed(odd), odd.file, odd.text)
    assert dict(again.values) == dict(odd.values)
    assert dict(again.keys) == dict(odd.keys)
    assert again == odd
    assert again.at(("a", "b", 1)) == source.at(("a", "b", 1))
    assert again.key_at(("a", "d")) == source.key_at(("a", "d"))
