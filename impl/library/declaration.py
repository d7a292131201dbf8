"""Declarations of database files: read from YAML or from mappings, and written for people to edit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

import yaml

from impl.arguments import Judge, counted
from impl.failure import WrongType
from impl.vectorized.batch.front.describe import DescribedKey, DescribedTable, Description
from impl.vectorized.batch.front.types import POLICIES, UNITS, WORDS, TargetQuery, Wishes
from impl.vectorized.batch.records import SEMANTIC_TYPES

_LOAD: Final = Judge("Batch.LoadDatabase")
_PARTS: Final = ("tables", "dangling", "leave_out", "targets")
_QUERY_PARTS: Final = ("query", "table", "key", "columns")
_MOST_BYTES: Final = 1 << 24
_MOST_QUERY: Final = 1_000_000  # letters, SQLite's own limit
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def wishes_of(
    declaration: Mapping[str, Mapping[str, str]] | str | os.PathLike[str] | None,
    leave_out: Iterable[str],
    dangling: Mapping[str, Mapping[str, str]] | None,
    targets: Mapping[str, TargetQuery] | None = None,
) -> Wishes:
    """Return what is declared by mappings, or by a file and by the mappings besides."""
    if isinstance(leave_out, str):
        raise _LOAD.failure(f"leave_out must be a list of tables: got {leave_out!r}", WrongType)
    words: object = {} if declaration is None else declaration
    asked = _LOAD.mapping("targets", {} if targets is None else targets, "a mapping of names to TargetQuery")
    left, policies = [_LOAD.text("leave_out", name) for name in leave_out], dict[str, dict[str, str]]()
    if isinstance(declaration, str | os.PathLike):
        read = read_declaration(declaration)
        asked = {**read.targets, **asked}
        words, left, policies = read.words, [*read.leave_out, *left], _words("dangling", read.dangling, POLICIES)
    for table, columns in _words("dangling", {} if dangling is None else dangling, POLICIES).items():
        policies[table] = {**policies.get(table, {}), **columns}
    queries = {name: _query(f"targets[{name!r}]", wanted) for name, wanted in asked.items()}
    return Wishes(_words("declaration", words, WORDS), left, policies, queries)


def _query(place: str, wanted: object) -> TargetQuery:
    given: TargetQuery = _LOAD.instance(place, wanted, TargetQuery, "a TargetQuery")
    if len(_LOAD.text(f"{place}.query", given.query)) > _MOST_QUERY:
        raise _LOAD.failure(f"{place}.query must have at most {_MOST_QUERY} letters: got {len(given.query)}")
    key, columns = (
        {name: _LOAD.text(f"{place}.{part}[{name!r}]", word)
         for name, word in _LOAD.mapping(f"{place}.{part}", said, what).items()}
        for part, said, what in (
            ("key", given.key, "a mapping of columns of the query to those of the table"),
            ("columns", given.columns, "a mapping of columns of the query to words"),
        )
    )  # fmt: skip
    return TargetQuery(given.query, _LOAD.text(f"{place}.table", given.table), key, columns)


def _words(name: str, given: object, allowed: Iterable[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table, columns in _LOAD.mapping(name, given, "a mapping of tables").items():
        found[table] = _LOAD.mapping(f"{name}[{table!r}]", columns, "a mapping of columns")
        for column, word in found[table].items():
            _LOAD.choice(f"{name}[{table!r}][{column!r}]", word, tuple(allowed))
    return found


def read_declaration(file: str | os.PathLike[str]) -> Wishes:
    """Return the declaration of a YAML file, as `tally batch describe` writes it and people edit it.

    Its parts are `tables` (table, column, word), `dangling` (table, first column of a key, policy), `leave_out`
    (tables) and `targets` (name, and the parts of its query); each may be absent. Raises ContractFailure
    CONTRACT_VIOLATION for what is no such file, or still has a question: a word that ends with `?`.
    """
    path = _LOAD.path("declaration", file)
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        text = content.decode("utf-8")
        node = yaml.compose(text, Loader=yaml.BaseLoader) if len(content) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as reason:
        said = " ".join(str(reason).split())
        raise _LOAD.failure(f"declaration must be a YAML file: got {path.name!r}, {said}") from reason
    if len(content) > _MOST_BYTES:
        raise _LOAD.failure(f"declaration must have at most {_MOST_BYTES} bytes: got more in {path.name}")
    parts = {} if node is None else _mapping(node, path.name)
    if not set(parts) <= set(_PARTS):
        raise _LOAD.failure(f"declaration must have the parts {', '.join(_PARTS)}: got {sorted(parts)}; {path.name}")
    tables, dangling = (_table_words(parts.get(part), f"{path.name}, {part}") for part in _PARTS[:2])
    left = parts.get("leave_out")
    if left is not None and not (_is_empty(left) or isinstance(left, yaml.SequenceNode)):
        raise _LOAD.failure(f"leave_out must be a list of tables: got line {left.start_mark.line + 1} of {path.name}")
    names = [_scalar(one, path.name) for one in left.value] if isinstance(left, yaml.SequenceNode) else []
    asked = [f"{table}.{column}" for said in (tables, dangling) for table, words in said.items()
             for column, word in words.items() if word.endswith("?")]  # fmt: skip
    if asked:
        what = f"declaration must answer every question: got {', '.join(asked)}, where a `?` is left in {path.name}"
        raise _LOAD.failure(f"{what}; delete the `?` or write another word")
    return Wishes(tables, names, dangling, _target_queries(parts.get("targets"), f"{path.name}, targets"))


def _target_queries(node: yaml.Node | None, place: str) -> dict[str, TargetQuery]:
    if node is None or _is_empty(node):
        return {}
    found: dict[str, TargetQuery] = {}
    for name, held in _mapping(node, place).items():
        parts = _mapping(held, place)
        if set(parts) != set(_QUERY_PARTS):
            what = f"targets must have the parts {', '.join(_QUERY_PARTS)}: got {', '.join(parts)} for {name!r}"
            raise _LOAD.failure(f"{what} in {place}")
        query, table = (_scalar(parts[part], place) for part in _QUERY_PARTS[:2])
        key, columns = (
            {column: _scalar(one, place) for column, one in _mapping(parts[part], place).items()}
            for part in _QUERY_PARTS[2:]
        )
        found[name] = TargetQuery(query, table, key, columns)
    return found


def _table_words(node: yaml.Node | None, place: str) -> dict[str, dict[str, str]]:
    if node is None or _is_empty(node):
        return {}
    found: dict[str, dict[str, str]] = {}
    for table, columns in _mapping(node, place).items():
        listed = {} if _is_empty(columns) else _mapping(columns, place)
        found[table] = {name: _scalar(one, place) for name, one in listed.items()}
    return found


def _mapping(node: yaml.Node | None, place: str) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        line = 1 if node is None else node.start_mark.line + 1
        raise _LOAD.failure(f"declaration must have names and what is declared for them: got line {line} of {place}")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = _scalar(key, place)
        if name in found:
            line = key.start_mark.line + 1
            raise _LOAD.failure(f"declaration must name everything once: got {name!r} again in line {line} of {place}")
        found[name] = value
    return found


def _scalar(node: yaml.Node, place: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        line = node.start_mark.line + 1
        raise _LOAD.failure(f"declaration must have a word: got a list or names in line {line} of {place}")
    return str(node.value)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.value


def declaration_text(description: Description) -> str:
    """Return a description as a declaration in YAML: a line for every column and key, a `?` behind every guess.

    It is the file that `open_database` takes as its declaration, once no `?` is left. Source: contract
    `Batch.LoadDatabase`.
    """
    tables = counted(len(description.tables), "table")
    questions = counted(len(description.questions()), "open question")
    lines = [
        f"# {_comment(description.name)}: {tables}, {questions}.",
        "# A word that ends with `?` is a guess: delete the `?`, or write another word. Then open the file with this:",
        "#   tallystick.open_database(FILE, DECLARATION)",
        f"# Words: {', '.join(SEMANTIC_TYPES)}, or time: the timestamp that dates",
        f"# the rows. Integers are times with a unit: time[s], timestamp[ms]; there are {', '.join(UNITS)}.",
        "tables:" if description.tables else "tables: {}",
    ]
    for table in description.tables:
        lines += _written_table(table)
    lines += [
        "# What becomes of a key that refers to no row. refuse: the file is refused; null: the key is taken for NULL;",
        "# drop: its row is left out, and so is what refers to that row and drops as well.",
    ]
    keyed = [table for table in description.tables if table.keys]
    lines.append("dangling:" if keyed else "dangling: {}")
    for table in keyed:
        lines.append(f"  {quoted(table.name)}:")
        for named in dict.fromkeys(key.named for key in table.keys):
            lines += _written_key(named, [key for key in table.keys if key.named == named])
    unread = [table for table in description.tables if table.unread]
    lines += ["# Tables that are not read.", "leave_out:" if unread else "leave_out: []"]
    lines += [f"- {quoted(table.name)}  # {_comment(table.unread)}" for table in unread]
    lines += [
        "# Labels of queries, each with a key to a row, a time and a value (docs/batches.md).",
        "targets: {}",
    ]
    lines += [f"# Never read: {_comment(name)}, a {kind}" for name, kind in description.others]
    return "\n".join([*lines, ""])


def _written_table(table: DescribedTable) -> list[str]:
    if table.unread:
        return [f"  # {_comment(table.name)}: could not be read, see leave_out"]
    key = f", primary key {_comment(', '.join(table.primary_key))}" if table.primary_key else ""
    lines = [f"  {quoted(table.name)}:  # {counted(table.row_count, 'row')}{key}"]
    for column in table.columns:
        said = "; ".join(part for part in (column.written, column.note) if part)
        comment = f"  # {_comment(said)}" if said else ""
        lines.append(f"    {quoted(column.name)}: {column.word}{'?' * column.open}{comment}")
    return lines


def _written_key(named: str, keys: list[DescribedKey]) -> list[str]:
    policy = "null" if any(key.policy == "null" for key in keys) else "refuse"
    said = "; ".join(
        f"{', '.join(key.columns)} -> {key.refers_to}{f': {key.note}' if key.note else ''}" for key in keys
    )
    return [f"    {quoted(named)}: {policy}{'?' * any(key.open for key in keys)}  # {_comment(said)}"]


def quoted(name: str) -> str:
    """Return any name as YAML reads it back."""
    if name and _PLAIN.issuperset(name):
        return name
    return '"' + "".join(map(_letter, name)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def _comment(text: str) -> str:
    """Return a text on one line, of letters that can be seen."""
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)
