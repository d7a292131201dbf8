"""Changes of a SQLite file that lie beside it, in a log or a journal, where nothing can be written."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conftest import not_run
from impl.failure import ContractFailure
from impl.tests.batch.batch_database import agreed
from impl.vectorized.batch.front.open import load_database as fast

METHOD = "Batch.LoadDatabase"
CHILD = f"from {__name__} import told\nimport json, sys\nprint(json.dumps(told(*sys.argv[1:])))"


def told(folder: str, *names: str) -> dict[str, object]:
    """For each file the number of rows of its table, else the sentence of the refusal."""
    found: dict[str, object] = {}
    for name in names:
        asked = {"root": folder, "path": name, "declaration": {}}
        answer = agreed(METHOD, asked)
        if "database" in answer:
            (table,) = answer["database"]["tables"]
            found[name] = table["row_count"]
            continue
        with pytest.raises(ContractFailure) as refused:
            fast(root=folder, path=name, declaration={})
        found[name] = str(refused.value)
    return found


def copied(connection: sqlite3.Connection, folder: Path, name: str, *beside: str) -> None:
    """Copy an open file and what lies beside it, as a crash would leave them."""
    (file,) = (row[2] for row in connection.execute("PRAGMA database_list"))
    for suffix in ("", *beside):
        shutil.copy(f"{file}{suffix}", folder / f"{name}{suffix}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files in WAL mode with two rows, and a third one in the log."""
    made = tmp_path / "files"
    made.mkdir()
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x REAL); INSERT INTO t VALUES (1), (2)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copied(connection, made, "closed.db")
        copied(connection, made, "empty-log.db", "-wal")
        connection.executescript("INSERT INTO t VALUES (3)")
        copied(connection, made, "log.db", "-wal")
        copied(connection, made, "log-in-use.db", "-wal", "-shm")
    content = (made / "closed.db").read_bytes()
    (made / "cut.db").write_bytes(content[:-1])
    return made


def test_a_file_in_wal_mode_is_read_where_nothing_can_be_written(folder: Path, tool: Callable[[str], str]) -> None:
    names = sorted(file.name for file in folder.glob("*.db"))
    # A mount, because root may write in a folder that is read-only.
    mounts = [tool("bwrap"), "--dev-bind", "/", "/", "--ro-bind", str(folder), str(folder)]
    probe = subprocess.run([*mounts, "true"], stderr=subprocess.PIPE, text=True, check=False)
    if probe.returncode:  # a container may forbid it
        not_run(f"bwrap cannot start a process here: {probe.stderr.strip()}")
    child = [*mounts, sys.executable, "-c", CHILD, str(folder), *names]
    done = subprocess.run(child, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[3])
    assert json.loads(done.stdout) == {
        "closed.db": 2,
        "cut.db": "file 'cut.db' must have its 2 pages of 4096 bytes: got 8191 bytes; it was cut off; copy it again, "
        "or restore another copy (CONTRACT_VIOLATION)",
        "empty-log.db": 2,
        "log-in-use.db": 3,
        "log.db": "file 'log.db' must be whole: got changes in log.db-wal, which SQLite reads only in a folder that it "
        "can write to; copy both files to such a folder, or run `PRAGMA wal_checkpoint(TRUNCATE)` where the file can "
        "be written (CONTRACT_VIOLATION)",
    }
    assert told(str(folder), "log.db") == {"log.db": 3}


def test_half_a_change_is_refused_and_the_next_step_takes_it_back(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "whole.db")) as connection:
        connection.executescript("CREATE TABLE t (x TEXT); PRAGMA cache_size = 1")
        connection.executemany("INSERT INTO t VALUES (?)", [("a" * 3000,)] * 50)
        connection.commit()
        connection.execute("DELETE FROM t WHERE rowid > 7")
        copied(connection, tmp_path, "shop.db", "-journal")
    assert told(str(tmp_path), "shop.db") == {
        "shop.db": "file 'shop.db' must be whole: got half a change, and shop.db-journal beside it: the program that "
        "wrote was stopped; run `sqlite3 FILE 'PRAGMA schema_version'` where both files can be written: SQLite takes "
        "the change back (CONTRACT_VIOLATION)"
    }
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("PRAGMA schema_version")
    assert told(str(tmp_path), "shop.db") == {"shop.db": 50}


def test_pages_in_the_log_need_not_be_in_the_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "whole.db")) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x REAL)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1.5,)] * 2000)
        connection.commit()
        copied(connection, tmp_path, "shop.db", "-wal")
    assert told(str(tmp_path), "shop.db") == {"shop.db": 2000}
