"""Saves rows with the unmodified sqlite3 shell: one shell process for each call, so that recovery is SQLite's own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from conformance.tests.crash_writers.wire import Refused, serve

JOURNAL, SYNCHRONOUS = sys.argv[1], sys.argv[2]


def shell(root: str, sql: str) -> str:
    """What the shell prints."""
    setting = f".timeout 1000\nPRAGMA journal_mode={JOURNAL};\nPRAGMA synchronous={SYNCHRONOUS};\n.print =\n"
    command = ["sqlite3", "-batch", "-bail", f"{root}/store.db"]
    made = subprocess.run(command, input=setting + sql, capture_output=True, text=True, check=False)
    if made.returncode or made.stderr:
        if "no such table" in made.stderr:
            raise Refused("META_MISSING")
        raise Refused("CONTRACT_VIOLATION")
    return made.stdout.partition("=\n")[2].strip()


def save(root: str, name: str, content: str) -> dict[str, Any]:
    """One transaction."""
    create = "CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, content BLOB);"
    shell(root, f"BEGIN;{create}INSERT OR REPLACE INTO kept VALUES ('{name}', x'{content}');COMMIT;\n")
    return {"size": str(len(content) // 2)}


def load(root: str, name: str) -> dict[str, Any]:
    """One row, from a database that SQLite itself finds sound."""
    select = f"SELECT hex(content) FROM kept WHERE name = '{name}';"
    sound, _, row = shell(root, f"PRAGMA integrity_check;\n{select}\n").partition("\n")
    if sound != "ok":
        raise Refused("CONTRACT_VIOLATION")
    if not row:
        raise Refused("META_MISSING")
    return {"content": row.lower()}


if __name__ == "__main__":
    serve({"Store.Save_v1": save, "Store.Load_v1": load})
