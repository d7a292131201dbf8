"""The content that a harness step writes to a file or reads from it: bytes, or a codec and its value.

Values are in JSON wire form, so that they can be frozen: `text` is a string; `cbor` and `pickle2` a self-describing
value; `npz` a list of members {name, tensor | text | bytes} in archive order; `pt` the list of entries of a
`torch.save` file, {name, value | tensor}, or {name, tensors} with a list of {name, tensor}; `sqlite` a list of SQL
statements, read back as a list of tables {name, sql, rows}, by name, rows in rowid order. A long value may be a recipe.
Files of `torch.save` are written and read without torch.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.cbor import IllFormed, Incomplete, decode
from conformance.codec.form import form_of
from conformance.codec.scalar import IllTyped
from conformance.contract.canonical import encode_item
from conformance.contract.lazy import np, sqlite3
from conformance.contract.types import Tensor
from conformance.vectors.compact import expanded

CODECS: Final = ("bytes", "text", "npz", "pt", "pickle2", "cbor", "sqlite")
_COSTLY: Final = ("npz", "sqlite")
_TENSOR: Final = form_of(Tensor())
_NPY: Final = ".npy"


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


def decode_file(codec: str, data: bytes) -> Any:
    """The wire value in the bytes of a file; raises Undecodable, runs no code that they contain."""
    try:
        return _DECODERS[codec](data)
    except Undecodable:
        raise
    except Exception as error:  # zip, npy, pickle and SQLite files raise a dozen exceptions, all of one meaning
        raise Undecodable(f"it is no {codec} file: {type(error).__name__}") from None


# -- cbor, pickle


def _cbor_value(data: bytes) -> Any:
    try:
        item, end = decode(data)
    except (IllFormed, Incomplete):
        raise Undecodable("it is no well-formed CBOR item") from None
    if end != len(data):
        raise Undecodable(f"{len(data) - end} bytes follow the CBOR item")
    return selfdescribing.from_item(item)


def _pickled(value: Any) -> bytes:
    return pickled(selfdescribing.to_native(value))


def pickled(value: Any) -> bytes:
    """The pickle of protocol 2 of a plain value."""
    return _dumped(_plain(value))


def _dumped(value: Any) -> bytes:
    target = io.BytesIO()
    pickler = pickle.Pickler(target, protocol=2)
    # With the memo the bytes would also depend on which equal strings are one object.
    pickler.fast = True
    pickler.dump(value)
    return target.getvalue()


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_plain(item) for item in value]
        case dict() | tuple():
            pairs = value.items() if isinstance(value, Mapping) else value
            return {_plain(key): _plain(item) for key, item in pairs}
    raise TypeError(f"a {type(value).__name__}")


class _Harmless(pickle.Unpickler):
    """Unpickles what needs no class and no function."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise Undecodable(f"the pickle names {module_name}.{global_name}")


def _unpickled(data: bytes) -> Any:
    return selfdescribing.check(selfdescribing.from_native(unpickled(data)))


def unpickled(data: bytes) -> Any:
    """The plain value in a pickle; raises Undecodable, TypeError or what unpickling raises."""
    return _plain(_Harmless(io.BytesIO(data)).load())


# -- npz


def zipped(members: Iterable[tuple[str, bytes]], mode: int = 0o600) -> bytes:
    """The bytes of a zip file of stored members, the same on every platform and at any time.

    Nothing is compressed, because compressed bytes depend on the version of zlib.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, mode << 16
            archive.NameToInfo.pop(info.filename, None)  # no warning if two members have one name
            archive.writestr(info, content)
    return target.getvalue()


def _archive(members: Any) -> bytes:
    return zipped((member["name"], _member_bytes(member)) for member in members)


def _member_bytes(member: Mapping[str, Any]) -> bytes:
    if "tensor" not in member:
        return bytes.fromhex(member["bytes"]) if "bytes" in member else str(member["text"]).encode()
    target = io.BytesIO()
    np.lib.format.write_array(target, _TENSOR.to_native(member["tensor"]), version=(1, 0), allow_pickle=False)
    return target.getvalue()


def _members(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [_member(info.filename, _stored(archive, info)) for info in archive.infolist()]


def _stored(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    # The contracts have stored members only; a reader may accept no others.
    if info.compress_type != zipfile.ZIP_STORED:
        raise Undecodable(f"the member {info.filename!r} is compressed")
    return archive.read(info)


def _member(name: str, data: bytes) -> dict[str, Any]:
    if name.endswith(_NPY):
        return {"name": name, "tensor": _TENSOR.from_native(_array(name, data))}
    try:
        return {"name": name, "text": data.decode()}
    except UnicodeDecodeError:
        return {"name": name, "bytes": data.hex()}


def _array(name: str, data: bytes) -> Any:
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise Undecodable(f"the member {name!r} is of another version than NPY 1.0")
    _, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if is_fortran or dtype.byteorder == ">":
        raise Undecodable(f"the member {name!r} is not in C order, little endian")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    if stream.read(1):
        raise Undecodable(f"the member {name!r} goes on after its elements")
    return array


# -- sqlite


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


# -- pt

# The name that torch gives the storage of a dtype; uint16 and wider unsigned types have no name.
_STORAGES: Final[Mapping[str, str]] = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
}
_UNTYPED: Final = ("uint16", "uint32", "uint64")


class NotSaved(Exception):
    """The bytes are no file of `torch.save`; the message says why."""


def saved(entries: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a file with these entries; equal entries give equal bytes."""
    storages: list[bytes] = []
    items = b"".join(_part(entry["name"]) + _entry(entry, storages) for entry in entries)
    return zipped(
        [
            ("archive/data.pkl", b"\x80\x02}(" + items + b"u."),
            ("archive/byteorder", b"little"),
            *((f"archive/data/{key}", data) for key, data in enumerate(storages)),
            ("archive/version", b"3\n"),
        ]
    )


def _entry(entry: Mapping[str, Any], storages: list[bytes]) -> bytes:
    if "tensor" in entry:
        return _tensor(_TENSOR.to_native(entry["tensor"]), storages)
    if "tensors" in entry:
        named = (_part(one["name"]) + _tensor(_TENSOR.to_native(one["tensor"]), storages) for one in entry["tensors"])
        return b"}(" + b"".join(named) + b"u"
    return _part(selfdescribing.to_native(entry["value"]))


def _part(value: Any) -> bytes:
    """The opcodes of a plain value; they use no memo, so they can be put anywhere in a pickle."""
    return _dumped(_mapped(value))[2:-1]


def _mapped(value: Any) -> Any:
    """The value with a dict for every map that is written as pairs."""
    if isinstance(value, list):
        return [_mapped(item) for item in value]
    if isinstance(value, tuple):
        return {_mapped(key): _mapped(item) for key, item in value}
    return {key: _mapped(item) for key, item in value.items()} if isinstance(value, dict) else value


def _tensor(array: np.ndarray[Any, Any], storages: list[bytes]) -> bytes:
    storages.append(array.tobytes())
    dtype = array.dtype.name
    typed = dtype in _STORAGES
    storage = f"ctorch\n{_STORAGES[dtype]}\n" if typed else "ctorch.storage\nUntypedStorage\n"
    strides = [stride // array.itemsize for stride in np.zeros(array.shape, array.dtype).strides]
    return b"".join(
        [
            b"ctorch._utils\n_rebuild_tensor_v" + (b"2" if typed else b"3") + b"\n((",
            _part("storage") + storage.encode() + _part(str(len(storages) - 1)) + _part("cpu"),
            _part(array.size if typed else array.nbytes) + b"tQ" + _part(0),
            b"(" + b"".join(map(_part, array.shape)) + b"t(" + b"".join(map(_part, strides)) + b"t",
            b"\x89ccollections\nOrderedDict\n)R" + (b"" if typed else f"ctorch\n{dtype}\n".encode()) + b"tR",
        ]
    )


@dataclass(frozen=True)
class _Dtype:
    name: str


class _Reader(pickle.Unpickler):
    """Turns the tensors of a pickle into arrays; refuses every name except the few of torch."""

    def __init__(self, content: bytes, storages: Mapping[str, bytes]) -> None:
        super().__init__(io.BytesIO(content))
        self._storages = storages

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return dict
        if (module_name, global_name) == ("torch", "Size"):
            return list
        if module_name == "torch._utils" and global_name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
            return _rebuilt
        if (module_name, global_name) == ("torch.storage", "UntypedStorage"):
            return _Dtype("")
        for dtype, storage in _STORAGES.items():
            if module_name == "torch" and global_name in (dtype, storage):
                return _Dtype(dtype)
        if module_name == "torch" and global_name in _UNTYPED:
            return _Dtype(global_name)
        raise NotSaved(f"the pickle names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> tuple[str, bytes]:
        kind, dtype, key, _, count = pid
        if kind != "storage":
            raise NotSaved("the pickle refers to no storage")
        stored = self._storages[key]
        # What has no dtype is counted in bytes. torch reads no more than that of the storage.
        if count * (np.dtype(dtype.name).itemsize if dtype.name else 1) != len(stored):
            raise NotSaved(f"the storage {key} has {len(stored)} bytes and another count")
        return dtype.name, stored


def _rebuilt(storage: Any, offset: int, shape: Any, strides: Any, _grad: Any, _hooks: Any, told: Any = None) -> Any:
    dtype = np.dtype(told.name if told is not None else storage[0]).newbyteorder("<")
    size = int(np.prod(shape, dtype=object))
    start = offset * dtype.itemsize
    array = np.frombuffer(storage[1][start : start + size * dtype.itemsize], dtype).reshape(shape)
    if tuple(stride * dtype.itemsize for stride in strides) != np.zeros(shape, dtype).strides and size > 1:
        raise NotSaved("a tensor is not in C order")
    return array


def entries_of(data: bytes) -> list[dict[str, Any]]:
    """The entries of a file; raises NotSaved, or what a damaged archive or pickle raises."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(found) != 1:
            raise NotSaved("it has not one pickle")
        prefix = found[0].removesuffix("data.pkl") + "data/"
        storages = {
            name.removeprefix(prefix): archive.read(name) for name in archive.namelist() if name.startswith(prefix)
        }
        value = _Reader(archive.read(found[0]), storages).load()
    if not isinstance(value, dict):
        raise NotSaved("it holds no map")
    return [entry_of(name, item) for name, item in value.items()]


def entry_of(name: Any, item: Any) -> dict[str, Any]:
    """The entry of one item of the map: an array, a map of arrays, or a plain value; raises IllTyped."""
    if isinstance(item, np.ndarray):
        return {"name": name, "tensor": _TENSOR.from_native(item)}
    if isinstance(item, dict) and item and all(isinstance(one, np.ndarray) for one in item.values()):
        named = [{"name": key, "tensor": _TENSOR.from_native(one)} for key, one in item.items()]
        return {"name": name, "tensors": named}
    return {"name": name, "value": selfdescribing.check(selfdescribing.from_native(item))}


_ENCODERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "bytes": bytes.fromhex,
    "text": lambda value: str(value).encode(),
    "npz": _archive,
    "pt": saved,
    "pickle2": _pickled,
    "cbor": lambda value: encode_item(selfdescribing.to_native(value)),
    "sqlite": _database,
}
_DECODERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "bytes": bytes.hex,
    "text": bytes.decode,
    "npz": _members,
    "pt": entries_of,
    "pickle2": _unpickled,
    "cbor": _cbor_value,
    "sqlite": _tables,
}
