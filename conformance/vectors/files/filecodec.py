"""The content that a harness step writes to a file or reads from it: bytes, or a codec and its value.

Values are in JSON wire form, so that they can be frozen: `text` is a string; `cbor` and `pickle2` a self-describing
value; `npz` a list of members {name, tensor | text | bytes} in archive order; `pt` the list of entries of a
`torch.save` file, {name, value | tensor}, or {name, tensors} with a list of {name, tensor}; `sqlite` a list of SQL
statements, read back as a list of tables {name, sql, rows}, by name, rows in rowid order. A long value may be a recipe.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from contextlib import closing
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.cbor import IllFormed, Incomplete, decode
from conformance.codec.scalar import IllTyped
from conformance.contract.canonical import encode_item
from conformance.contract.lazy import sqlite3
from conformance.vectors.compact import expanded
from conformance.vectors.files.plain_pickle import pickled, unpickled
from conformance.vectors.files.stored_archive import arrays_in, arrays_zipped
from conformance.vectors.files.torch_file import entries_of, saved

CODECS: Final = ("bytes", "text", "npz", "pt", "pickle2", "cbor", "sqlite")
_COSTLY: Final = ("npz", "sqlite")


class Unencodable(Exception):
    """A codec cannot write a value; the message says why."""


class Undecodable(Exception):
    """A codec cannot read the bytes of a file; the message says why."""


def encode_file(codec: str, value: Any) -> bytes:
    """The bytes of a file, always the same for the same value; raises Unencodable."""
    try:
        return _encoded_once(codec, json.dumps(value)) if codec in _COSTLY else _ENCODERS[codec](expanded(value))
    except (IllTyped, TypeError, ValueError, KeyError, sqlite3.Error, pickle.PicklingError) as error:
        raise Unencodable(f"{codec} cannot encode it: {error}") from None


@lru_cache(64)
def _encoded_once(codec: str, text: str) -> bytes:
    """The bytes of a file, by the JSON text of its value: a run writes most databases and archives several times."""
    return _ENCODERS[codec](expanded(json.loads(text)))


def codec_for(path: str, decode: Mapping[str, str]) -> str | None:
    """The codec of the first pattern that fits a path; None if no pattern does."""
    return next((codec for pattern, codec in decode.items() if fnmatchcase(path, pattern)), None)


def decode_file(codec: str, data: bytes) -> Any:
    """The wire value in the bytes of a file; raises Undecodable, runs no code that they contain."""
    try:
        return _DECODERS[codec](data)
    except Exception as error:  # zip, npy, pickle and SQLite files raise a dozen exceptions, all of one meaning
        raise Undecodable(f"it is no {codec} file: {type(error).__name__}") from None


def _cbor_value(data: bytes) -> Any:
    try:
        item, end = decode(data)
    except (IllFormed, Incomplete):
        raise ValueError("it is no well-formed CBOR item") from None
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the CBOR item")
    return selfdescribing.from_item(item)


def _database(statements: Any) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        # SQLite cannot serialize a database without pages; its file is empty.
        pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
        return connection.serialize() if pages else b""


def _tables(data: bytes) -> Any:
    if not data:
        return []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return [{"name": name, "sql": sql, "rows": _rows(connection, name)} for name, sql in found]


def _rows(connection: sqlite3.Connection, table: str) -> list[Any]:
    quoted = table.replace('"', '""')
    rows = connection.execute(f'SELECT * FROM "{quoted}"').fetchall()  # noqa: S608 (the name is quoted)
    return [[selfdescribing.from_native(cell) for cell in row] for row in rows]


_ENCODERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "bytes": bytes.fromhex,
    "text": lambda value: str(value).encode(),
    "npz": arrays_zipped,
    "pt": saved,
    "pickle2": lambda value: pickled(selfdescribing.to_native(value)),
    "cbor": lambda value: encode_item(selfdescribing.to_native(value)),
    "sqlite": _database,
}
_DECODERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "bytes": bytes.hex,
    "text": bytes.decode,
    "npz": arrays_in,
    "pt": entries_of,
    "pickle2": lambda data: selfdescribing.check(selfdescribing.from_native(unpickled(data))),
    "cbor": _cbor_value,
    "sqlite": _tables,
}
