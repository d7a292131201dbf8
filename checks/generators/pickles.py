"""A writer of pickles: the same value in the many forms of all protocols (ruling QA21)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

_TWICE: Final = 0.2  # share of maps that have a key twice, the first time with another value
_RECALLED: Final = 0.5  # share of known values that are recalled instead of written again
_REMEMBERED: Final = 0.4  # share of values that are remembered
_FRAMED: Final = 0.05  # share of values before which a frame is announced
_KINDS: Final = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long"}
_STORAGES: Final = {**_KINDS, "bool": "Bool", "float16": "Half", "float32": "Float", "float64": "Double"}
# What is no plain value, each between two others; most of the opcodes that find nothing to work on end the pickle.
NOT_PLAIN: Final[Mapping[str, bytes]] = {
    "bytes, short": b"C\1a",
    "bytes": b"B\1\0\0\0a",
    "bytearray": b"\x96\1\0\0\0\0\0\0\0a",
    "text of Python 2, short": b"U\1a",
    "text of Python 2": b"T\1\0\0\0a",
    "text of Python 2 in a line": b"S'a'\n",
    "set": b"\x8f",
    "frozenset": b"(\x91",
    "name": b"cos\nsystem\n",
    "name from the stack": b"X\2\0\0\0os\x8c\6system\x93",
    "mark that stays": b"(N",
    "two values": b"NN",
    "value taken away": b"N0",
    "value written twice": b"N2",
    "persistent id": b"NQ",
    "persistent id in a line": b"P1\n",
    "extension": b"\x82\1",
    "protocol inside": b"\x80\2N",
    "memo that is empty": b"g99999999\n",
    "text that is no UTF-8": b"X\1\0\0\0\xff",
    "surrogate in a line": b"V\\ud800\n",
    "escape cut off": b"V\\u12\n",
    "integer with _": b"I1_0\n",
    "integer with +": b"I+1\n",
    "integer with two L": b"L1LL\n",
    "float with _": b"F1_0\n",
    "float with 0x": b"F0x1\n",
    "map with a list as key": b"}]Ns",
    "map with half a pair": b"}(Nu",
    "append without a mark": b"]}Ne",
    "append to no list": b"NNa",
    "state": b")b",
    "call": b")R",
    "instance": b"i",
    "object": b"o",
    "new object": b"\x81",
    "new object with keywords": b"\x92",
}


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

    def pickle(self, value: Mapping[Any, Any], earlier: bytes = b"") -> bytes:
        """The pickle of a map; `earlier` is written as the value of a key that is there once more."""
        protocol = self._random.choice([b"", *(b"\x80%c" % number for number in range(6))])
        if not earlier:
            return protocol + self._value(value) + b"."
        pairs = [self._value(key) + self._value(item) for key, item in value.items()]
        return protocol + b"}" + self._value(next(iter(value))) + earlier + b"s(" + b"".join(pairs) + b"u."

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
        if pairs and self._random.random() < _TWICE:
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
