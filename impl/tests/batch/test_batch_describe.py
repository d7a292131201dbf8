"""Describing a database file gives a declaration that opens the file once its questions are answered."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from impl.failure import ContractFailure
from impl.library.batch import Database, FileLimits, describe_database, open_database
from impl.library.declaration import declaration_text, read_declaration
from impl.tests.batch.batch_database import sqlite_file
from impl.tests.batch.batch_published import NORTHWIND, SAKILA
from impl.vectorized.batch.model import judge_database


def made(folder: Path, script: str) -> Path:
    return sqlite_file(folder / "shop.db", script)


def answered(file: Path, *answers: tuple[str, str]) -> Path:
    """The declaration of a file, these words replaced, every other guess accepted."""
    text = declaration_text(describe_database(file))
    for old, new in answers:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    held = file.with_suffix(".yaml")
    words = [line.partition("  #")[0].rstrip() for line in text.splitlines()]
    comments = [line.removeprefix(word) for line, word in zip(text.splitlines(), words, strict=True)]
    held.write_text("\n".join(w.removesuffix("?") + c for w, c in zip(words, comments, strict=True)), "utf-8")
    return held


def keys(database: Database, table: str) -> dict[str, list[int]]:
    found = next(held for held in database.tables if held.name == table)
    return {key.column: key.rows.tolist() for key in found.foreign_keys}


def words(declaration: Path, table: str) -> dict[str, str]:
    return dict(read_declaration(declaration).words[table])


def test_integers_without_a_declared_type_are_times_only_by_their_name(tmp_path: Path) -> None:
    made_of = "CREATE TABLE t (id INTEGER PRIMARY KEY, n, created, d DATE); INSERT INTO t VALUES (1, 7, 8, 9)"
    file = made(tmp_path, made_of)
    (table,) = describe_database(file).tables
    assert [(one.name, one.word, one.note) for one in table.columns[1:]] == [
        ("n", "numerical", "numbers without a declared type"),
        ("created", "time[day]", "integers without a declared type, with the name of a time; "
         "which of created, d dates the rows (time)?"),
        ("d", "timestamp[day]", "integers where a time is declared; which of created, d dates the rows (time)?"),
    ]  # fmt: skip


def test_northwind_opens_with_what_describe_wrote(tmp_path: Path) -> None:
    file = made(tmp_path, NORTHWIND)
    description = describe_database(file)
    assert description.others == (("Order Subtotals", "view"), ("Products by Category", "view"))
    text = declaration_text(description)
    assert "CustomerID: null?  # CustomerID -> Customers (CustomerID): 2 of 3 rows refer to no row\n" in text
    assert "OrderID: null?  # ProductID, OrderID -> Order Details (ProductID, OrderID): 1 of 3 rows refer" in text
    database = open_database(file, answered(file))
    assert keys(database, "Orders") == {"CustomerID": [2, -1, -1], "EmployeeID": [0, 1, 0], "ShipVia": [1, 0, -1]}
    # The rows of Order Details are (10248, 1), (10248, 2), (10249, 3).
    assert keys(database, "Returns") == {"OrderID": [0, -1, -1]}
    assert words(file.with_suffix(".yaml"), "Categories")["Picture"] == "ignored"
    judge_database(database)


def test_sakila_opens_with_what_describe_wrote(tmp_path: Path) -> None:
    file = made(tmp_path, SAKILA)
    text = declaration_text(describe_database(file))
    assert "# Never read: film_search, a virtual table\n" in text
    assert "staff_id: null?  # staff_id -> staff: a key must refer to columns of a table" in text
    held = answered(file, ("made: numerical ", "made: timestamp[year] "), ("rental_id: null?", "rental_id: drop"))
    database = open_database(file, held)
    tables = {table.name: table for table in database.tables}
    assert "film_search_content" not in tables
    assert tables["payment"].row_count == 2
    assert keys(database, "film_actor") == {"actor_id": [0, 0, 1], "film_id": [0, 1, 0]}
    film = {column.name: column for column in tables["film"].columns}
    assert film["made"].values.tolist() == [1_136_073_600_000_000, 1_167_609_600_000_000]
    judge_database(database)


def test_a_description_names_units_of_times(tmp_path: Path) -> None:
    file = made(
        tmp_path,
        """CREATE TABLE t (year_made DATE, day_of DATE, s DATETIME, ms TIMESTAMP, us TIMESTAMP, ns TIMESTAMP,
          updated_at INT);
        INSERT INTO t VALUES (2021, 19000, 1704067200, 1704067200000, 1704067200000000, 1704067200000000000,
          1704067200);""",
    )
    (table,) = describe_database(file).tables
    units = [column.word.removeprefix("time").removeprefix("stamp") for column in table.columns]
    assert units == ["[year]", "[day]", "[s]", "[ms]", "[us]", "[ns]", "numerical"]
    assert table.columns[6].note == "perhaps timestamp[s]"
    assert not table.columns[6].open


NAMES = ('a"b', "yes", "null", "1", "x: y", "# no", "é😀", "line\nline", "\u2028\ufeff", "?", "-", "{a}",
         "tab\there", " ")  # fmt: skip


def test_names_of_any_letters_come_back(tmp_path: Path) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    columns = ", ".join(f"{name} REAL" for name in quoted)
    file = made(tmp_path, ";".join(f"CREATE TABLE {name} ({columns})" for name in quoted))
    text = declaration_text(describe_database(file))
    held = tmp_path / "declaration.yaml"
    held.write_text(text, "utf-8")
    read = read_declaration(held)
    assert set(read.words) == set(NAMES)
    assert all(set(columns) == set(NAMES) for columns in read.words.values())
    assert len(open_database(file, held).tables) == len(NAMES)


def test_a_question_that_is_left_open_is_refused_by_name(tmp_path: Path) -> None:
    file = made(tmp_path, "CREATE TABLE t (x TEXT, y TEXT); INSERT INTO t VALUES ('a', 'b')")
    held = tmp_path / "d.yaml"
    held.write_text(declaration_text(describe_database(file)), "utf-8")
    with pytest.raises(ContractFailure, match=r"must answer every question: got t\.x, t\.y, where a `\?` is left"):
        open_database(file, held)
    with pytest.raises(ContractFailure, match=r"t\.x.*t\.y"):  # one round tells all
        open_database(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tables: [a]", "must have names and what is declared for them: got line 1 of d.yaml"),
        ("tables: {t: {x: [1]}}", "must have a word: got a list or names in line 1"),
        ("tables: {t: {x: text, x: text}}", "must name everything once: got 'x' again in line 1"),
        ("tables:\n  t: {}\n  t: {}\n", "got 't' again in line 3"),
        ("table: {}", "must have the parts tables, dangling, leave_out, targets: got ['table']"),
        ("leave_out: t", "leave_out must be a list of tables: got line 1"),
        ("tables: {t: {x: word}}", "got 'word'"),
        ("dangling: {t: {x: nul}}", "did you mean 'null'?"),
        ("tables: {t: ", "declaration must be a YAML file: got 'd.yaml'"),
        ("just words", "must have names and what is declared for them: got line 1 of d.yaml"),
        ("\x00", "declaration must be a YAML file"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = made(tmp_path, "CREATE TABLE t (x REAL)")
    held = tmp_path / "d.yaml"
    held.write_text(text, "utf-8")
    with pytest.raises(ContractFailure) as refused:
        open_database(file, held)
    assert said in refused.value.sentence
    assert refused.value.code == "CONTRACT_VIOLATION"


def test_an_empty_declaration_declares_nothing(tmp_path: Path) -> None:
    file = made(tmp_path, "CREATE TABLE t (x REAL)")
    held = tmp_path / "d.yaml"
    for text in ("", "# nothing\n", "tables:\ndangling:\nleave_out:\n", "tables: {t: }"):
        held.write_text(text, "utf-8")
        assert len(open_database(file, held).tables) == 1


def test_a_table_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    file = made(
        tmp_path,
        """CREATE TABLE huge (n INT, x BLOB AS (zeroblob(n))); INSERT INTO huge VALUES (900000000);
        CREATE TABLE t (x REAL, h INT REFERENCES huge (n)); INSERT INTO t VALUES (1.5, 3);""",
    )
    description = describe_database(file)
    assert [table.name for table in description.tables if "must ask for no more than" in table.unread] == ["huge"]
    assert description.questions() == []
    database = open_database(file, answered(file))
    assert [table.name for table in database.tables] == ["t"]


def test_what_is_left_out_and_dropped_may_be_given_by_hand(tmp_path: Path) -> None:
    script = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INT REFERENCES a, x REAL);"
    file = made(tmp_path, f"{script} INSERT INTO b VALUES (3, 1.0);")
    assert [table.name for table in open_database(str(file), leave_out=["a"]).tables] == ["b"]
    assert open_database(file, dangling={"b": {"a": "drop"}}).tables[1].row_count == 0
    with pytest.raises(ContractFailure, match="leave_out must be a list of tables: got 'a'"):
        open_database(file, leave_out="a")
    with pytest.raises(ContractFailure, match="dangling"):
        open_database(file, dangling={"b": {"a": "dorp"}})


def test_limits_are_limits(tmp_path: Path) -> None:
    file = made(tmp_path, "CREATE TABLE t (x TEXT); INSERT INTO t VALUES ('one two'), ('three four'), ('five');")
    for limits in (FileLimits(rows=2), FileLimits(value_bytes=8), FileLimits(seconds=1e-9)):
        if limits.seconds < 1:
            many = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)"
            made(tmp_path, f"CREATE TABLE t (x TEXT); {many} INSERT INTO t SELECT 'a b' || i FROM n;")
        with pytest.raises(ContractFailure) as refused:
            open_database(file, limits=limits)
        assert refused.value.code == "LIMIT_EXCEEDED"
    with pytest.raises(ContractFailure, match=r"limits\.rows"):
        open_database(file, limits=FileLimits(rows=-1))


def test_the_text_is_yaml_for_everybody(tmp_path: Path) -> None:
    read = yaml.safe_load(declaration_text(describe_database(made(tmp_path, NORTHWIND))))
    assert set(read) == {"tables", "dangling", "leave_out", "targets"}
