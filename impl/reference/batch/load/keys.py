"""Keys of tables as rows of other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from impl.failure import ContractFailure
from impl.reference.batch.database import ForeignKey
from impl.reference.batch.load.declaration import Declaration
from impl.reference.batch.load.source import Exact, Link, Source, SourceKey, SourceTable, exact, fold, refusal
from impl.reference.batch.tensors import tensor_of

NULL, NOWHERE = -1, -2

# Each link with the row that each row refers to, NULL or NOWHERE.
Targets = list[tuple[Link, list[int]]]


def links_of(tables: Sequence[SourceTable], declaration: Declaration) -> list[Link]:
    """Return the keys that are looked at, by the place of their first column, then as declared.

    A key to a table that is left out is not looked at. Raises UNKNOWN_TABLE for a key to a table or column that does
    not exist, COMPOSITE_KEY for one that does not have as many columns as the primary key that it refers to; where a
    column of such a key is ignored, or its policy is null, there is no key.
    """
    left_out = {fold(name) for name in declaration.left_out}
    links: list[Link] = []
    for table in tables:
        if fold(table.name) in left_out:
            continue
        found = []
        for key in table.foreign_keys:
            places = tuple(table.place(column) for column in key.columns)
            if fold(key.table) in left_out:
                continue
            ignored = any(declaration.word(table.name, table.columns[place].name) == "ignored" for place in places)
            policy = declaration.policy(table.name, table.columns[min(places)].name, ignored)
            try:
                other, referred = referred_by(tables, table, key)
            except ContractFailure:
                if ignored or policy == "null":
                    continue
                raise
            found.append(Link(table.name, places, other.name, referred, policy, ignored))
        links += sorted(found, key=lambda link: link.column)
    return links


def referred_by(
    tables: Sequence[SourceTable], table: SourceTable, key: SourceKey
) -> tuple[SourceTable, tuple[int, ...]]:
    """Return the table and the columns there that a key refers to."""
    other = next((held for held in tables if fold(held.name) == fold(key.table)), None)
    if other is None:
        raise refusal("UNKNOWN_TABLE", f"{table.name}: a key refers to the table {key.table!r}")
    names = key.referred or other.primary_key
    if names and len(names) != len(key.columns):
        raise refusal("COMPOSITE_KEY", f"{table.name}: the primary key of {other.name} has {len(names)} columns")
    referred = tuple(other.place(name) for name in names)
    if not names or -1 in referred:
        raise refusal("UNKNOWN_TABLE", f"{table.name}: {other.name} has no column that the key {key.columns} names")
    return other, referred


def check_policies(tables: Sequence[SourceTable], declaration: Declaration) -> None:
    """Refuse a policy for a column that no key is named after (UNKNOWN_TABLE)."""
    for table in tables:
        named = {min(table.place(column) for column in key.columns) for key in table.foreign_keys}
        for column in declaration.dangling.get(table.name, {}):
            if table.place(column) not in named:
                raise refusal("UNKNOWN_TABLE", f"no key is named after the column {column!r} of {table.name!r}")


def targets_of(source: Source, tables: Mapping[str, SourceTable], links: Sequence[Link]) -> Targets:
    """Return the row that each row refers to, by each key; a key with a NULL refers to no row."""
    targets: Targets = []
    for link in links:
        parents: dict[Exact, int] = {}
        for number, row in enumerate(tables[link.other].rows):
            parents[exact(row[place] for place in link.referred)] = number
        pairs = source.pairs(link)
        if not parents.keys() >= set(pairs.values()):
            raise refusal("CONTRACT_VIOLATION", f"{link.other}: an index of the file has other values than its table")
        rows = []
        for row in tables[link.table].rows:
            values = [row[place] for place in link.places]
            found = pairs.get(exact(values))
            rows.append(NULL if None in values else NOWHERE if found is None else parents[found])
        targets.append((link, rows))
    return targets


def without_dropped(tables: Mapping[str, SourceTable], targets: Targets) -> tuple[dict[str, SourceTable], Targets]:
    """Return the tables and targets without the rows that a policy drops, again until nothing more is dropped.

    A key to a row that is dropped refers to no row, and has its own policy.
    """
    kept = {name: set(range(len(table.rows))) for name, table in tables.items()}
    dropping = [(link, rows) for link, rows in targets if link.policy == "drop"]
    before = -1
    while before != (before := sum(map(len, kept.values()))):
        for link, rows in dropping:
            whole = {NULL, *kept[link.other]}
            kept[link.table] -= {row for row, target in enumerate(rows) if target not in whole}
    numbers = {name: {row: number for number, row in enumerate(sorted(rows))} for name, rows in kept.items()}
    rest = {
        name: replace(table, rows=tuple(row for number, row in enumerate(table.rows) if number in kept[name]))
        for name, table in tables.items()
    }
    moved = [
        (
            link,
            [
                NULL if target == NULL else numbers[link.other].get(target, NOWHERE)
                for row, target in enumerate(rows)
                if row in kept[link.table]
            ],
        )
        for link, rows in targets
    ]
    return rest, moved


def resolve_keys(source: Source, table: SourceTable, targets: Targets) -> list[ForeignKey]:
    """Return the keys of a table.

    Raises CONTRACT_VIOLATION where the columns referred to hold values twice (a key of an ignored column is then none),
    then DANGLING_KEY where a row refers to none and the policy is to refuse.
    """
    resolved: list[ForeignKey] = []
    for link, rows in targets:
        if link.table != table.name:
            continue
        column = table.columns[link.column].name
        if source.repeats(link):
            if link.ignored:
                continue
            raise refusal("CONTRACT_VIOLATION", f"{table.name}.{column}: a value is there twice in {link.other}")
        if NOWHERE in rows and link.policy == "refuse":
            raise refusal("DANGLING_KEY", f"{table.name}.{column}: row {rows.index(NOWHERE)} refers to no row")
        whole = [NULL if row == NOWHERE else row for row in rows]
        resolved.append(ForeignKey(column=column, table=link.other, rows=tensor_of("int64", (len(whole),), whole)))
    return resolved
