"""A loaded database kept as a folder of memory-mapped columns, so that the next start need not read the file again.

The folder has `database.json`, which tells everything but the numbers, and a file for each array: its little-endian
bytes, under the name of their SHA-256. What was not written to the end is never opened: the description comes last.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from impl.arguments import Judge
from impl.failure import ContractFailure
from impl.vectorized.batch.arrays import AnyArray
from impl.vectorized.batch.front.spool import PREFIX, SUFFIX, release, slices, unwritten
from impl.vectorized.batch.front.types import Wishes
from impl.vectorized.batch.model import Column, Database, ForeignKey, Table

_LOAD: Final = Judge("Batch.LoadDatabase")
FORMAT: Final = "tallystick.kept_database_v2"
DESCRIPTION: Final = "database.json"
_ARRAY: Final = re.compile(r"[0-9a-f]{64}[.]bin")
_OWN: Final = re.compile(rf"(?:[0-9a-f]{{64}}[.]bin|database[.]json)(?:[.]new)?|{PREFIX}.*{re.escape(SUFFIX)}")
_PIECE: Final = 1 << 20  # bytes that are read and written together
_DTYPES: Final = ("bool", "uint8", "uint32", "int64", "float16", "float64")
_MOST_BYTES: Final = 1 << 30  # of the description, which has every category


def origin(file: Path, wishes: Wishes, embedder: object) -> str:
    """Return the digest of what a database is made from: the file, what is declared, and the embedder's class."""
    kind = type(embedder)
    dimension = getattr(embedder, "dimension", None)
    asked = {name: asdict(wanted) for name, wanted in wishes.targets.items()}
    said = [wishes.words, sorted(wishes.leave_out), wishes.dangling, asked]
    told = [FORMAT, *said, kind.__module__, kind.__qualname__, dimension]
    whole = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    # The log lies beside the file itself, not beside a link to it; reading alone makes an empty one.
    file = file.resolve()
    for part in (file, Path(f"{file}-wal")):
        if part.is_file() and part.stat().st_size:
            with part.open("rb") as stream:
                whole.update(hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()


def keep_database(database: Database, folder: str | os.PathLike[str], made_from: str = "") -> None:
    """Keep a database in a folder, in place of the one that is kept there.

    `made_from` is text for the program that opens it, such as the digest of a file. Raises ContractFailure:
    CONTRACT_VIOLATION for a folder with anything else in it, or that cannot be made or written; LIMIT_EXCEEDED where
    the disk has no room.
    Source: contract `Batch.LoadDatabase`.
    """
    place = claimed_folder(folder)
    told = {
        "format": FORMAT,
        "made_from": made_from,
        "text_embeddings": _kept(place, database.text_embeddings),
        "tables": [
            {
                "name": table.name,
                "row_count": table.row_count,
                "time_column": table.time_column,
                "target_column": table.target_column,
                "columns": [
                    {
                        "name": column.name,
                        "semantic_type": column.semantic_type,
                        "values": _kept(place, column.values),
                        "is_null": _kept(place, column.is_null),
                        "mean": column.mean,
                        "deviation": column.deviation,
                        "cat_emb_start": column.cat_emb_start,
                        "categories": None if column.categories is None else list(column.categories),
                    }
                    for column in table.columns
                ],
                "foreign_keys": [
                    {"column": key.column, "table": key.table, "rows": _kept(place, key.rows)}
                    for key in table.foreign_keys
                ],
            }
            for table in database.tables
        ],
    }
    body = json.dumps(told, sort_keys=True, separators=(",", ":"))
    whole = json.dumps({"database": told, "sha256": hashlib.sha256(body.encode()).hexdigest()}, sort_keys=True)
    _written(place / DESCRIPTION, [whole.encode()])
    named = set(re.findall(r"[0-9a-f]{64}[.]bin", whole))
    for entry in list(os.scandir(place)):
        if entry.name not in named and entry.name != DESCRIPTION and not entry.name.startswith(PREFIX):
            (place / entry.name).unlink()


def claimed_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder to keep a database in, made if need be; an existing one may contain a database only."""
    place = _folder(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        foreign = [entry.name for entry in os.scandir(place) if not _OWN.fullmatch(entry.name)]
    except OSError as reason:
        raise _LOAD.failure(f"folder must be one that can be made and read: got {place.name!r}, {reason}") from reason
    if foreign:
        raise _LOAD.failure(f"folder must hold a kept database or nothing: got {place.name!r} with {foreign[0]!r}")
    return place


def open_kept_database(folder: str | os.PathLike[str]) -> Database:
    """Return the database that is kept in a folder, its arrays memory-mapped and read-only.

    Every array's digest is checked first. Raises ContractFailure CONTRACT_VIOLATION for a folder that keeps none, or
    where a file is missing or damaged. Source: contract `Batch.LoadDatabase`.
    """
    place = _folder(folder)
    return _opened(place, _described(place))


def kept_from(folder: Path, made_from: str) -> Database | None:
    """Return the database that is kept in a folder if it was made from this, None if there is none or another one."""
    if not (folder / DESCRIPTION).is_file():
        return None
    told = _described(folder)
    return _opened(folder, told) if told.get("made_from") == made_from else None


def _folder(folder: str | os.PathLike[str]) -> Path:
    place = _LOAD.path("folder", folder)
    if place.exists() and not place.is_dir():
        raise _LOAD.failure(f"folder must be a folder: got {place.name!r}, which is none")
    return place


def _damaged(place: Path, what: str) -> ContractFailure:
    said = f"folder must hold a whole kept database: got {place.name!r}, {what}"
    return _LOAD.failure(f"{said}; delete it and load again")


def _described(place: Path) -> dict[str, Any]:
    try:
        with (place / DESCRIPTION).open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        whole: Any = json.loads(content) if len(content) <= _MOST_BYTES else None
        told = whole["database"]
        body = json.dumps(told, sort_keys=True, separators=(",", ":"))
        if hashlib.sha256(body.encode()).hexdigest() != whole["sha256"] or told["format"] != FORMAT:
            raise ValueError("its digest or format is another")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as reason:
        raise _damaged(place, f"where {DESCRIPTION} is none: {reason}") from reason
    found: dict[str, Any] = told
    return found


def _opened(place: Path, told: Mapping[str, Any]) -> Database:
    try:
        tables = tuple(
            Table(
                table["name"],
                table["row_count"],
                tuple(
                    Column(
                        column["name"],
                        column["semantic_type"],
                        _mapped(place, column["values"]),
                        _mapped(place, column["is_null"]),
                        column["mean"],
                        column["deviation"],
                        column["cat_emb_start"],
                        column["categories"],
                    )
                    for column in table["columns"]
                ),
                tuple(
                    ForeignKey(key["column"], key["table"], _mapped(place, key["rows"]))
                    for key in table["foreign_keys"]
                ),
                table["time_column"],
                table["target_column"],
            )
            for table in told["tables"]
        )
        return Database(tables, _mapped(place, told["text_embeddings"]))
    except (KeyError, TypeError, ValueError, OSError) as reason:
        if isinstance(reason, ContractFailure):
            raise
        raise _damaged(place, f"which cannot be read: {reason}") from reason


def _kept(place: Path, array: AnyArray) -> dict[str, Any]:
    """Write an array that is not there yet; return its digest, dtype and shape."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    content = little.reshape(-1).view(np.uint8) if little.size else np.zeros(0, np.uint8)
    digest = hashlib.sha256()
    for part in _pieces(content):
        digest.update(part)
    file = place / f"{digest.hexdigest()}.bin"
    if not file.is_file() or file.stat().st_size != content.nbytes:
        _written(file, _pieces(content))
    return {"file": file.name, "dtype": array.dtype.name, "shape": list(array.shape)}


def _pieces(content: AnyArray) -> Iterator[memoryview]:
    """Return bytes some at a time; what was read of a file is let go."""
    for at in slices(len(content), _PIECE):
        yield content[at].data
        release(content)


def _mapped(place: Path, told: Mapping[str, Any]) -> AnyArray:
    name, shape = told["file"], tuple(told["shape"])
    if not _ARRAY.fullmatch(name) or told["dtype"] not in _DTYPES or not all(type(side) is int for side in shape):
        raise ValueError(f"{name} is no array")
    dtype = np.dtype(told["dtype"]).newbyteorder("<")
    file = place / name
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != file.stem:
            raise _damaged(place, f"where the content of {name} is another")
    if not file.stat().st_size:
        return np.zeros(shape, dtype)
    return np.memmap(file, dtype, "r", shape=shape).view(np.ndarray)


def _written(file: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file whole or not at all."""
    new = file.with_name(f"{file.name}.new")
    try:
        with new.open("wb") as stream:
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
    except OSError as reason:
        with suppress(OSError):
            new.unlink()
        raise unwritten(reason) from reason
