"""A loaded database kept in a folder: the same arrays, mapped; nothing damaged, foreign or of another file is taken."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.batch.shop import DECLARATION, write_shop
from impl.failure import ContractFailure
from impl.library import batch
from impl.library.batch import BatchBuilder, Database, HashEmbedder, open_database
from impl.library.kept_database import DESCRIPTION, keep_database, open_kept_database
from impl.vectorized.batch.arrays import AnyArray


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.db"
    write_shop(file)
    return file


def arrays(database: Database) -> list[AnyArray]:
    found = [database.text_embeddings]
    for table in database.tables:
        found += [array for column in table.columns for array in (column.values, column.is_null)]
        found += [key.rows for key in table.foreign_keys]
    return found


def same(one: Database, other: Database) -> bool:
    def bare(database: Database) -> str:
        return repr([[(c.name, c.semantic_type, c.mean, c.deviation, c.cat_emb_start, list(c.categories or ()))
                      for c in table.columns] + [table.name, table.row_count, table.time_column]
                     for table in database.tables])  # fmt: skip

    pairs = zip(arrays(one), arrays(other), strict=True)
    return bare(one) == bare(other) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def test_the_second_start_maps_what_the_first_one_kept(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, first = open_database(shop, DECLARATION), open_database(shop, DECLARATION, keep=tmp_path / "kept")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a table was read")

    monkeypatch.setattr(batch, "opened", never)
    second = open_database(shop, DECLARATION, keep=tmp_path / "kept")
    assert same(plain, first)
    assert same(plain, second)
    assert not second.tables[0].columns[0].values.flags.writeable
    builders = [BatchBuilder(one, "orders", "total", sequence_length=32, max_hops=2) for one in (plain, second)]
    one, other = (builder.batch([3, 5, 8]) for builder in builders)
    assert np.array_equal(one.numeric_values, other.numeric_values)
    assert np.array_equal(one.text_batch_embeddings, other.text_batch_embeddings)


def test_another_file_declaration_or_embedder_is_loaded_anew(shop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    open_database(shop, DECLARATION, keep=folder)
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("UPDATE orders SET total = 1.5 WHERE id = 1")
        connection.commit()
    changed = open_database(shop, DECLARATION, keep=folder)
    assert same(changed, open_database(shop, DECLARATION))
    less = {**DECLARATION, "reviews": {"text": "ignored"}}
    assert same(open_database(shop, less, keep=folder), open_database(shop, less))
    small = HashEmbedder(8)
    assert open_database(shop, less, keep=folder, embedder=small).text_embeddings.shape[1] == 8
    named = {file.name for file in folder.iterdir()} - {DESCRIPTION}
    assert all(name in (folder / DESCRIPTION).read_text() for name in named)  # nothing old is left


@pytest.mark.parametrize("name", ["shop.db", "linked.db"])
def test_a_file_in_wal_mode_is_loaded_anew_only_where_its_log_has_changes(
    shop: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("linked.db").symlink_to(shop)
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    open_database(name, DECLARATION, keep="kept")
    kept = Path("kept", DESCRIPTION).stat().st_ino
    open_database(name, DECLARATION, keep="kept")  # beside it is the empty log that the first reading made
    assert Path("kept", DESCRIPTION).stat().st_ino == kept
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("UPDATE orders SET total = 1.5 WHERE id = 1")
        connection.commit()
        assert same(open_database(name, DECLARATION, keep="kept"), open_database(name, DECLARATION))


def flipped(folder: Path) -> None:
    file = max(folder.glob("*.bin"), key=lambda one: one.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def retold(folder: Path) -> None:
    text = (folder / DESCRIPTION).read_text()
    (folder / DESCRIPTION).write_text(text.replace('"orders"', '"borders"'))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a bit": flipped,
    "a name": retold,
    "cut": lambda folder: (folder / DESCRIPTION).write_text((folder / DESCRIPTION).read_text()[:-9]),
    "an array": lambda folder: next(folder.glob("*.bin")).unlink(),
    "empty": lambda folder: (folder / DESCRIPTION).write_text(""),
    "list": lambda folder: (folder / DESCRIPTION).write_text("[]"),
    "longer": lambda folder: next(folder.glob("*.bin")).write_bytes(b"more" * 9),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_what_is_damaged_is_refused(shop: Path, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    folder = tmp_path / "kept"
    open_database(shop, DECLARATION, keep=folder)
    damage(folder)
    with pytest.raises(ContractFailure, match="must hold a whole kept database") as refused:
        open_kept_database(folder)
    assert refused.value.code == "CONTRACT_VIOLATION"
    with pytest.raises(ContractFailure, match="must hold a whole kept database"):
        open_database(shop, DECLARATION, keep=folder)


def test_a_path_in_the_description_leads_nowhere(shop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    open_database(shop, DECLARATION, keep=folder)
    told = json.loads((folder / DESCRIPTION).read_text())["database"]
    told["text_embeddings"]["file"] = "../shop.db"
    from hashlib import sha256

    body = json.dumps(told, sort_keys=True, separators=(",", ":"))
    (folder / DESCRIPTION).write_text(json.dumps({"database": told, "sha256": sha256(body.encode()).hexdigest()}))
    with pytest.raises(ContractFailure, match="is no array"):
        open_kept_database(folder)


def test_a_folder_of_other_files_is_left_alone(shop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(ContractFailure, match=r"must hold a kept database or nothing: got 'mine' with 'thesis\.txt'"):
        open_database(shop, DECLARATION, keep=folder)
    assert [file.name for file in folder.iterdir()] == ["thesis.txt"]
    with pytest.raises(ContractFailure, match="must be a folder"):
        keep_database(open_database(shop, DECLARATION), shop)
    with pytest.raises(ContractFailure, match="folder must be one that can be made and read"):
        open_database(shop, DECLARATION, keep=shop / "kept")


def test_a_disk_that_fills_leaves_the_old_one(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    before = open_database(shop, DECLARATION, keep=folder)
    files = {file.name for file in folder.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ContractFailure, match="No space left on device; make room") as refused:
        open_database(shop, {**DECLARATION, "reviews": {"text": "ignored"}}, keep=folder)
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert {file.name for file in folder.iterdir()} == files
    assert same(open_kept_database(folder), before)


def test_a_folder_that_cannot_be_written_is_refused(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    opened = Path.open

    def locked(self: Path, *rest: Any, **options: Any) -> Any:
        if self.parent == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(self, *rest, **options)

    monkeypatch.setattr(Path, "open", locked)  # the mode of the folder does not stop root
    with pytest.raises(ContractFailure, match="can be written: got Permission denied; name another") as refused:
        open_database(shop, DECLARATION, keep=folder)
    assert refused.value.code == "CONTRACT_VIOLATION"


def test_an_end_in_the_middle_leaves_the_old_one(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    before = open_database(shop, DECLARATION, keep=folder)
    replaced = Path.replace

    def dying(self: Path, target: Path) -> Path:
        if target.name == DESCRIPTION:
            raise KeyboardInterrupt
        return replaced(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        open_database(shop, {**DECLARATION, "reviews": {"text": "ignored"}}, keep=folder)
    monkeypatch.undo()
    assert same(open_kept_database(folder), before)
    assert open_database(shop, DECLARATION, keep=folder).tables[0].row_count == before.tables[0].row_count
