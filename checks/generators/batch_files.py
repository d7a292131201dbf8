"""Writers of batch files: the same rows in the many forms that JSON and arrays allow.

Every choice is drawn. What the contract gives no meaning to differs from file to file (rulings QA18, QA34).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np

from checks.generators import zip_archives
from checks.generators.pickles import NOT_PLAIN, PickleWriter, Tensor

_TWICE: Final = 0.2  # share of maps that have a key twice, the first time with another value
# What makes a file damaged: in its metadata or its arrays, in its pickle, in the archive.
_ARRAY_FAULTS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "too short": lambda content: content[:-1],
    "too long": lambda content: content + b"\0",
    "version": lambda content: content.replace(b"\1\0", b"\2\0", 1),
    "order": lambda content: content.replace(b"False", b"True", 1),
    "blank": lambda content: content.replace(b"'shape': (", b"'shape':(", 1),
    "comma": lambda content: content.replace(b", }", b"}", 1),
}
_NO_NUMBERS: Final = ("NaN", "-Infinity", "01", "-01", "1.", ".5", "+1", "0x1", "1 1", "True")
_NOT_JSON: Final = (*_NO_NUMBERS, "'a'", '"\t"', '"\\x"', '"\\u12"', "[1,]", "{,}", "{1:1}", "[")
FAULTS: Final[Mapping[str, Sequence[str]]] = {
    "npz": (
        *(f"json {what}" for what in _NOT_JSON),
        *(f"array {what}" for what in _ARRAY_FAULTS),
        *(f"archive {what}" for what in zip_archives.FAULTS),
    ),
    "pt": (*(f"pickle {what}" for what in NOT_PLAIN), *(f"archive {what}" for what in zip_archives.FAULTS)),
}
_BLANKS: Final = ("", "", "", " ", "\n", "\t\r ")


def json_text(value: Mapping[str, Any], random: Random, earlier: str | None = None) -> bytes:
    """The JSON text of a map in a drawn form: blanks, escapes, the order of keys, and a key that is there twice.

    `earlier` is written as the value of a key that is there once more.
    """

    def blank() -> str:
        return random.choice(_BLANKS)

    def text(value: str) -> str:
        plain = ((letter, random.random() < 0.7 and letter >= " " and letter not in '"\\') for letter in value)
        return '"' + "".join(letter if as_it_is else _escaped(letter) for letter, as_it_is in plain) + '"'

    def written(value: Any) -> str:
        if isinstance(value, dict):
            pairs = list(value.items())
            random.shuffle(pairs)
            if pairs and random.random() < _TWICE:
                pairs.insert(0, (pairs[-1][0], random.choice([None, 1.5, [{}, "]"], "earlier"])))
            inside = [f"{blank()}{text(key)}{blank()}:{blank()}{written(item)}{blank()}" for key, item in pairs]
            return "{" + (",".join(inside) or blank()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(f"{blank()}{written(item)}{blank()}" for item in value) or blank()) + "]"
        if isinstance(value, str):
            return text(value)
        return "-0" if value == 0 and type(value) is int and random.random() < 0.5 else json.dumps(value)

    whole = written(value)
    if earlier is not None:
        whole = f"{{{text(next(iter(value)))}:{earlier},{whole[1:]}"
    return f"{blank()}{whole}{blank()}".encode()


def _escaped(letter: str) -> str:
    """A letter as the escapes of its UTF-16 units."""
    raw = letter.encode("utf-16-be")
    return "".join(f"\\u{raw[at]:02x}{raw[at + 1]:02x}" for at in range(0, len(raw), 2))


def npy(array: np.ndarray[Any, Any], random: Random) -> bytes:
    """The array in C order as NPY 1.0, with a header of a drawn length."""
    described = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    text = "{" + "".join(f"'{key}': {value!r}, " for key, value in described.items()) + "}"
    header = text.encode() + b" " * random.choice([0, 1, 63, random.randrange(900)]) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + array.tobytes()


def npz(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], random: Random, fault: str = "") -> bytes:
    """A batch file of arrays; with a fault of FAULTS it is none."""
    part, _, what = fault.partition(" ")
    members = {f"{name}.npy": npy(array, random) for name, array in arrays.items()}
    if part == "array":
        name = random.choice(list(members))
        members[name] = _ARRAY_FAULTS[what](members[name])
    members["metadata.json"] = json_text(told, random, what if part == "json" else None)
    return zip_archives.archive(members, random, what if part == "archive" else "")


def pt(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], random: Random, fault: str = "") -> bytes:
    """A batch file as torch writes it; with a fault of FAULTS it is none.

    Tensors may share a storage, which may have more bytes than they.
    """
    storages: dict[str, bytes] = {}
    tensors = {}
    for name, array in arrays.items():
        key = random.choice([*storages, str(random.randrange(10**6))])
        size = array.dtype.itemsize
        offset = -(-len(storages.get(key, b"")) // size) + random.choice([0, random.randrange(5)])
        storages[key] = storages.get(key, b"").ljust(offset * size, b"\7") + array.tobytes()
        tensors[name] = Tensor(array.dtype.name, array.shape, key, offset)
    more = {"version": b"3\n", "byteorder": b"little", ".data/serialization_id": b"1"}
    prefix = random.choice(["archive/", "1/"])
    members = {f"data/{key}": data + random.randbytes(random.choice([0, 8])) for key, data in storages.items()}
    members |= {name: more[name] for name in random.sample(list(more), random.randrange(4))}
    part, _, what = fault.partition(" ")
    earlier = NOT_PLAIN[what] if part == "pickle" else b""
    members["data.pkl"] = PickleWriter(random).pickle({"metadata": dict(told), "tensors": tensors}, earlier)
    members = {prefix + name: content for name, content in members.items()}
    return zip_archives.archive(members, random, what if part == "archive" else "")
