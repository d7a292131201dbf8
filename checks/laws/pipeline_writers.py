"""Writers for the laws of the file queue: the same content in the many forms that pickles, JSON, arrays and zip allow.

Every choice is drawn. What the contract gives no meaning to differs from file to file (rulings QA18, QA21, QA36, QA38).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from zlib import crc32

import numpy as np

_PAIRS_FIRST: Final = 0.2  # share of maps that have a key twice, the first time with another value
_RECALLED: Final = 0.5  # share of known values that are recalled instead of written again
_REMEMBERED: Final = 0.4  # share of values that are remembered
_FRAMED: Final = 0.05  # share of values before which a frame is announced
_KINDS: Final = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long"}
_STORAGES: Final = {**_KINDS, "bool": "Bool", "float16": "Half", "float32": "Float", "float64": "Double"}
_BLANKS: Final = ("", "", "", " ", "\n", "\t\r ")


@dataclass(frozen=True, slots=True)
class Tensor:
    """Elements in a storage of a torch file: their dtype and shape, the storage's key, and how many lie before them."""

    dtype: str
    shape: tuple[int, ...]
    key: str
    offset: int


class PickleWriter:
    """Writes plain values as one pickle of a drawn form: opcodes of all protocols, tuples for lists, the memo.

    With a Tensor among them it is the pickle of a torch file.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._known: dict[str, int] = {}  # what was remembered, by its text: the place in the memo
        self._places: set[int] = set()

    def pickle(self, value: Any) -> bytes:
        """The pickle of a value of dict, list, str, int, float, bool and None."""
        protocol = self._random.choice([b"", *(b"\x80%c" % number for number in range(6))])
        return protocol + self._value(value) + b"."

    def _value(self, value: Any) -> bytes:
        shown = repr(value)
        if shown in self._known and self._random.random() < _RECALLED:
            return self._recall(self._known[shown])
        frame = b"\x95" + self._random.randbytes(8) if self._random.random() < _FRAMED else b""
        written = frame + self._written(value)
        if self._random.random() < _REMEMBERED:
            written += self._remember(shown)
        return written

    def _written(self, value: Any) -> bytes:
        draw = self._random
        if value is None:
            return b"N"
        if isinstance(value, bool):
            return draw.choice([b"\x88", b"I01\n"] if value else [b"\x89", b"I00\n"])
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float):
            return draw.choice([b"G" + struct.pack(">d", value), b"F%s\n" % repr(value).encode()])
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        return self._map(value) if isinstance(value, dict) else self._list(value)

    def _integer(self, value: int) -> bytes:
        draw, digits = self._random, str(value).encode()
        least = (value + (value < 0)).bit_length() // 8 + 1
        size = draw.choice([least, least + 1, 255]) if least < 255 else least
        raw = value.to_bytes(size, "little", signed=True) if value or draw.random() < 0.5 else b""
        forms = [b"L%sL\n" % digits, b"L%s\n" % digits, b"\x8b" + struct.pack("<l", len(raw)) + raw]
        forms += [b"\x8a%c%s" % (len(raw), raw)] if len(raw) < 256 else []
        forms += [b"I%s\n" % digits, b"L%sL\n" % digits.replace(b"-", b"-00") if value < 0 else b"L00%sL\n" % digits]
        forms += [struct.pack("<BB", ord("K"), value)] * 3 if 0 <= value < 2**8 else []
        forms += [b"M" + struct.pack("<H", value)] * 3 if 0 <= value < 2**16 else []
        forms += [b"J" + struct.pack("<l", value)] * 3 if -(2**31) <= value < 2**31 else []
        return draw.choice(forms)

    def _text(self, value: str) -> bytes:
        raw = value.encode()
        forms = [b"X" + struct.pack("<L", len(raw)) + raw, b"\x8d" + struct.pack("<Q", len(raw)) + raw]
        forms += [b"\x8c%c%s" % (len(raw), raw)] * 2 if len(raw) < 256 else []
        return self._random.choice([*forms, b"V%s\n" % "".join(map(self._letter, value)).encode("latin-1")])

    def _letter(self, letter: str) -> str:
        """A letter in a line of protocol 0: by itself or as an escape."""
        code = ord(letter)
        plain = code < 256 and letter not in "\\\n"
        if plain and self._random.random() < 0.8:
            return letter
        short = code < 2**16 and self._random.random() < 0.8
        digits = f"{code:04x}" if short else f"{code:08x}"
        return f"\\{'u' if short else 'U'}{self._random.choice([digits, digits.upper()])}"

    def _list(self, items: Sequence[Any]) -> bytes:
        form = self._random.choice(["list", "marked", "tuple", "one by one", "in two parts", "short"])
        if form == "short" and len(items) <= 3:
            return b"".join(map(self._value, items)) + (b")", b"\x85", b"\x86", b"\x87")[len(items)]
        if form in ("marked", "tuple"):
            return b"(" + b"".join(map(self._value, items)) + (b"l" if form == "marked" else b"t")
        cut = {"one by one": 0, "in two parts": len(items) // 2}.get(form, len(items))
        first = b"(" + b"".join(map(self._value, items[:cut])) + b"e"
        return b"]" + first + b"".join(self._value(item) + b"a" for item in items[cut:])

    def _map(self, items: Mapping[Any, Any]) -> bytes:
        """A map, sometimes with a key that is there twice; the later value counts."""
        pairs = list(items.items())
        self._random.shuffle(pairs)
        if pairs and self._random.random() < _PAIRS_FIRST:
            pairs.insert(0, (pairs[-1][0], self._random.choice([None, 7, "earlier"])))
        written = [self._value(key) + self._value(item) for key, item in pairs]
        form = self._random.randrange(4)
        if form == 0:
            return b"(" + b"".join(written) + b"d"
        cut = {1: 0, 2: len(written) // 2}.get(form, len(written))
        return b"}(" + b"".join(written[:cut]) + b"u" + b"".join(pair + b"s" for pair in written[cut:])

    def _tensor(self, tensor: Tensor) -> bytes:
        draw, typed = self._random, _STORAGES.get(tensor.dtype)
        untyped = typed is None or draw.random() < 0.3
        storage = self._name("torch.storage", "UntypedStorage") if untyped else self._name("torch", f"{typed}Storage")
        told = [self._value("storage"), storage, *map(self._value, (tensor.key, draw.choice(["cpu", "cuda:0"]), 7))]
        strides = [
            draw.randrange(9) if size == 1 else math.prod(tensor.shape[axis + 1 :])
            for axis, size in enumerate(tensor.shape)
        ]
        parts = [b"(" + b"".join(told) + b"tQ", self._value(tensor.offset), self._sizes(tensor.shape)]
        parts += [self._sizes(strides), self._value(draw.random() < 0.5)]
        parts += [self._name("collections", "OrderedDict"), b")R"]
        parts += [self._name("torch", tensor.dtype)] if untyped else []
        return self._name("torch._utils", f"_rebuild_tensor_v{3 if untyped else 2}") + b"(" + b"".join(parts) + b"tR"

    def _sizes(self, sizes: Sequence[int]) -> bytes:
        marked = b"(" + b"".join(map(self._value, sizes)) + b"t"
        return marked if self._random.random() < 0.8 else self._name("torch", "Size") + marked + b"\x85R"

    def _name(self, module: str, name: str) -> bytes:
        """The name of something in a module."""
        if self._random.random() < 0.7:
            return f"c{module}\n{name}\n".encode()
        return self._text(module) + self._text(name) + b"\x93"

    def _remember(self, shown: str) -> bytes:
        forms: list[Callable[[int], bytes]] = [lambda at: b"p%d\n" % at, lambda at: b"r" + struct.pack("<L", at)]
        place = self._random.choice([len(self._places), self._random.randrange(256), self._random.randrange(2**20)])
        forms += [lambda at: b"q%c" % at] if place < 256 else []
        forms += [lambda at: b"\x94"] if place == len(self._places) else []
        self._known = {known: at for known, at in self._known.items() if at != place} | {shown: place}
        self._places.add(place)
        return self._random.choice(forms)(place)

    def _recall(self, place: int) -> bytes:
        forms = [b"g%d\n" % place, b"j" + struct.pack("<L", place)]
        return self._random.choice([*forms, b"h%c" % place] if place < 256 else forms)


def json_text(value: Any, random: Random) -> bytes:
    """The JSON text of a value in a drawn form: blanks, escapes, the order of keys, and a key that is there twice."""

    def blank() -> str:
        return random.choice(_BLANKS)

    def text(value: str) -> str:
        return '"' + "".join(letter if random.random() < 0.7 else _escaped(letter) for letter in value) + '"'

    def written(value: Any) -> str:
        if isinstance(value, dict):
            pairs = list(value.items())
            random.shuffle(pairs)
            if pairs and random.random() < _PAIRS_FIRST:
                pairs.insert(0, (pairs[-1][0], random.choice([None, 1.5, [{}, "]"], "earlier"])))
            inside = [f"{blank()}{text(key)}{blank()}:{blank()}{written(item)}{blank()}" for key, item in pairs]
            return "{" + (",".join(inside) or blank()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(f"{blank()}{written(item)}{blank()}" for item in value) or blank()) + "]"
        if isinstance(value, str):
            return text(value)
        return "-0" if value == 0 and type(value) is int and random.random() < 0.5 else json.dumps(value)

    return f"{blank()}{written(value)}{blank()}".encode()


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


def npz(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], random: Random) -> bytes:
    """A batch file of arrays."""
    members = {f"{name}.npy": npy(array, random) for name, array in arrays.items()}
    return archive({**members, "metadata.json": json_text(told, random)}, random)


def pt(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]], random: Random) -> bytes:
    """A batch file as torch writes it; tensors may share a storage, which may have more bytes than they."""
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
    members["data.pkl"] = PickleWriter(random).pickle({"metadata": dict(told), "tensors": tensors})
    return archive({prefix + name: content for name, content in members.items()}, random)


def archive(members: Mapping[str, bytes], random: Random) -> bytes:
    """A zip archive of stored members in a drawn order; versions, dates, comments, extra fields, gaps are drawn too."""
    named = list(members.items())
    random.shuffle(named)
    body = entries = b""
    for name, content in named:
        body += random.randbytes(random.choice([0, 0, random.randrange(40)]))  # a gap
        offset, raw, checksum = len(body), name.encode(), crc32(content)
        flags = (0x800 if random.random() < 0.5 else 0) | (0x8 if random.random() < 0.3 else 0)
        own = struct.pack("<3L", checksum, len(content), len(content)) if not flags & 0x8 else bytes(12)
        extra, entry_extra, comment = (random.randbytes(random.choice([0, random.randrange(30)])) for _ in range(3))
        when = random.randbytes(4)
        body += b"PK\3\4" + struct.pack("<3H", random.randrange(64), flags, 0) + when + own
        body += struct.pack("<2H", len(raw), len(extra)) + raw + extra + content
        if flags & 0x8:
            body += b"PK\7\10" + struct.pack("<3L", checksum, len(content), len(content))
        entries += b"PK\1\2" + struct.pack("<4H", random.randrange(1024), random.randrange(64), flags, 0) + when
        entries += struct.pack("<3L", checksum, len(content), len(content))
        entries += struct.pack("<3H", len(raw), len(entry_extra), len(comment))
        entries += random.randbytes(8)  # the number of its disk, and attributes
        entries += struct.pack("<L", offset) + raw + entry_extra + comment
    large = b""
    if random.random() < 0.5:
        large = b"PK\6\6" + random.randbytes(52) + b"PK\6\7" + random.randbytes(4)
        large += struct.pack("<Q", len(body) + len(entries)) + random.randbytes(4)
    counts = struct.pack("<4H2LH", 0, 0, len(named), len(named), len(entries), len(body), 0)
    return body + entries + large + b"PK\5\6" + counts
