"""What a DuckDB file may ask for: the limits of a SQLite file, for its tables and for queries alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import enumerate as threads
from time import monotonic, sleep
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.library.batch import FileLimits, TargetQuery, describe_database, open_database
from impl.reference.batch.load import duckdb_source
from impl.reference.batch.load.load_database import load_database
from impl.vectorized.batch.front import schema as clock

# A small file whose rows are computed when they are read: some seconds of work.
SLOW = """
CREATE TABLE slow (
    id INTEGER PRIMARY KEY,
    apart BIGINT GENERATED ALWAYS AS (levenshtein(repeat(id::VARCHAR, 20), repeat((id * 7)::VARCHAR, 20)))
);
INSERT INTO slow SELECT range FROM range(100000, 200000);
"""
LONG = "CREATE TABLE long (id INTEGER PRIMARY KEY, said VARCHAR); INSERT INTO long VALUES (1, repeat('ü', {}));"
MOST = 1 << 24


@pytest.fixture
def written(tmp_path: Path, package: Callable[[str], Any]) -> Callable[[str], Path]:
    duckdb = package("duckdb")

    def write(script: str) -> Path:
        file = tmp_path / "file.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(script)
        return file

    return write


def test_a_table_that_takes_too_long_is_refused_with_the_sentence_of_sqlite(
    written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(SLOW)
    since = monotonic()
    with pytest.raises(ContractFailure) as refused:
        open_database(file, limits=FileLimits(seconds=0.3))
    assert refused.value.code == "LIMIT_EXCEEDED"
    said = "table slow must ask for no more than values of 16777216 bytes and 0.3 seconds: got "
    assert said in refused.value.sentence
    assert refused.value.sentence.endswith("; leave it out")
    assert said in describe_database(file, limits=FileLimits(seconds=0.3)).tables[0].unread
    monkeypatch.setattr(duckdb_source, "SECONDS", 0.3)
    with pytest.raises(ContractFailure) as refused:
        load_database(root=str(file.parent), path=file.name, declaration={"slow": {"apart": "numerical"}})
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert monotonic() - since < 6
    assert not [one for one in threads() if one.name == "time limit of a file"]


def test_tables_and_queries_have_one_clock(written: Callable[[str], Path]) -> None:
    file = written("CREATE TABLE quick (id INTEGER PRIMARY KEY); INSERT INTO quick VALUES (1)")
    query = "SELECT 1 AS id, TIMESTAMP '2024-01-01' AS day, true AS far FROM range(1000000000000) t(i) WHERE sin(i) > 2"
    asked = TargetQuery(query, "quick", {"id": "id"}, {"day": "time", "far": "boolean"})
    told: list[float] = []

    def progress(_what: str, _rows: int) -> None:
        told.append(monotonic())
        sleep(1.0)  # of the time for everything, which the query has no more

    with pytest.raises(ContractFailure, match="targets 'far' must ask for no more than values of"):
        open_database(file, targets={"far": asked}, progress=progress, limits=FileLimits(seconds=1.2))
    assert len(told) == 1
    assert monotonic() - told[0] < 2.0


def test_a_time_that_is_over_between_two_queries_is_seen() -> None:
    calls: list[float] = []
    with clock.interrupting(lambda: calls.append(monotonic()), 0.05) as late:
        assert not late()
        sleep(0.4)
        assert late()
    assert len(calls) >= 3
    said = len(calls)
    sleep(0.2)
    assert len(calls) == said


@pytest.mark.parametrize(("letters", "code"), [(MOST // 2, None), (MOST // 2 + 1, "LIMIT_EXCEEDED")])
def test_a_value_of_a_table_has_no_more_bytes_than_one_of_sqlite(
    written: Callable[[str], Path], letters: int, code: str | None
) -> None:
    file = written(LONG.format(letters))
    declaration = {"long": {"said": "categorical"}}

    def refused(load: Callable[[], object]) -> str | None:
        try:
            load()
        except ContractFailure as failure:
            return failure.code
        return None

    assert refused(lambda: open_database(file, declaration)) == code
    assert refused(lambda: load_database(root=str(file.parent), path=file.name, declaration=declaration)) == code
