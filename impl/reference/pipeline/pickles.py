"""Pickles, read with a closed list of opcodes: nothing in one is imported, and only what a reader knows is called."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from types import MappingProxyType
from typing import Any, Final

LAST_PROTOCOL: Final = 5
_INTEGER: Final = re.compile(r"-?[0-9]{1,4000}")
_FLOAT: Final = re.compile(r"-?(?:inf|nan|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)")
# No NaN equals another, but a dict finds the same object again.
_NAN: Final = float("nan")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))", re.DOTALL)


class NotPlain(Exception):
    """The bytes are no pickle of plain values; says why."""


class UnknownName(NotPlain):
    """A pickle names a class or a function that its reader does not know."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(f"it names {module}.{name}")
        self.module = module
        self.name = name


@dataclass(frozen=True, slots=True)
class Known:
    """Replace a class or a function that a pickle names; `make` is called in its place, where that is allowed."""

    name: str
    make: Callable[..., object] | None = None


Lookup = Callable[[str, str], Known]


def as_key(value: object) -> object:
    """Return a value as the key of a dict; every NaN becomes the same key (ruling QA18)."""
    return _NAN if isinstance(value, float) and isnan(value) else value


def no_name(module: str, name: str) -> Known:
    """Know no name."""
    raise UnknownName(module, name)


def no_storage(_told: object) -> object:
    """Know nothing that is kept outside the pickle."""
    raise NotPlain("it refers to something outside")


def read_pickle(
    content: bytes, most_opcodes: int, known: Lookup = no_name, outside: Callable[[object], object] = no_storage
) -> Any:
    """Return the value of a pickle of protocol 0 to 5; NotPlain for every other content.

    Read are dict, list, tuple (which becomes a list), str, int, float, bool and None. `known` has the stand-in of a
    name, and `outside` what for a persistent id; without them every such pickle is refused.
    """
    try:
        return _Reading(content, known, outside).run(most_opcodes)
    except (IndexError, TypeError, ValueError, OverflowError, struct.error) as error:
        raise NotPlain(f"it is damaged: {error}") from None


class _Reading:
    """Hold the place in a pickle, the stack, where its marks are, and what is remembered."""

    def __init__(self, content: bytes, known: Lookup, outside: Callable[[object], object]) -> None:
        self.content = content
        self.known = known
        self.outside = outside
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, most_opcodes: int) -> Any:
        for _ in range(most_opcodes):
            code = self.take(1)
            if code == b".":
                if self.at != len(self.content):
                    raise NotPlain("it goes on after its end")
                if len(self.stack) != 1 or self.marks:
                    raise NotPlain("it ends with another number of values than one")
                return self.stack[0]
            if code not in _STEPS:
                raise NotPlain(f"it holds the opcode {code!r} at byte {self.at - 1}")
            _STEPS[code](self)
        raise NotPlain(f"it holds more than {most_opcodes} opcodes")

    def take(self, count: int) -> bytes:
        part = self.content[self.at : self.at + count]
        if len(part) != count:
            raise NotPlain("it is cut off")
        self.at += count
        return part

    def number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)

    def line(self) -> str:
        end = self.content.index(b"\n", self.at)
        part = self.take(end - self.at)
        self.at += 1
        return part.decode("latin-1")

    def integer(self, text: str) -> int:
        if _INTEGER.fullmatch(text) is None:
            raise NotPlain("it holds an integer that is none")
        return int(text)

    def pop(self) -> Any:
        self.top()
        return self.stack.pop()

    def top(self) -> Any:
        if len(self.stack) == (self.marks[-1] if self.marks else 0):
            raise NotPlain("it takes from an empty stack")
        return self.stack[-1]

    def to_mark(self) -> list[Any]:
        if not self.marks:
            raise NotPlain("it has no mark")
        start = self.marks.pop()
        above = self.stack[start:]
        del self.stack[start:]
        return above

    def last(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def remember(self, index: int) -> None:
        self.memo[index] = self.top()

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise NotPlain("it recalls what it does not remember")
        self.push(self.memo[index])

    def append(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not list:
            raise NotPlain("it appends to what is no list")
        target += items

    def put(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not dict:
            raise NotPlain("it sets items of what is no dict")
        target |= self.dict_of(items)

    def dict_of(self, items: list[Any]) -> dict[Any, Any]:
        if len(items) % 2:
            raise NotPlain("it has a key without a value")
        keys = [as_key(key) for key in items[::2]]
        if not all(key is None or isinstance(key, str | int | float) for key in keys):
            raise NotPlain("it has a key that is no scalar")
        return dict(zip(keys, items[1::2], strict=True))

    def protocol(self) -> None:
        if self.at != 1 or self.number(1) > LAST_PROTOCOL:
            raise NotPlain("its protocol is none of 0 to 5")

    def int_line(self) -> int | bool:
        text = self.line()
        # What protocols 0 and 1 write for a bool.
        return text == "01" if text in ("00", "01") else self.integer(text)

    def float_line(self) -> float:
        text = self.line()
        if _FLOAT.fullmatch(text) is None:
            raise NotPlain("it holds a float that is none")
        return float(text)

    def text_line(self) -> str:
        return _ESCAPE.sub(_unescaped, self.line())

    def named(self, module: str, name: str) -> None:
        self.push(self.known(module, name))

    def named_on_stack(self) -> None:
        module, name = self.last(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise NotPlain("it names something by no text")
        self.named(module, name)

    def call(self) -> None:
        called, arguments = self.last(2)
        if not isinstance(called, Known) or called.make is None or type(arguments) is not list:
            raise NotPlain("it calls what cannot be called")
        self.push(called.make(*arguments))

    def attributes(self) -> None:
        # torch gives the dict of a model's state attributes, which are no items of it: they are passed over.
        state = self.pop()
        if self.known is no_name or type(self.top()) is not dict or type(state) is not dict:
            raise NotPlain("it gives attributes to what has none")


def _unescaped(found: re.Match[str]) -> str:
    if found[3] is not None:
        raise NotPlain("it holds an escape that is none")
    code = int(found[1] or found[2], 16)
    if 0xD800 <= code < 0xE000:
        raise NotPlain("it holds half of a surrogate pair")
    return chr(code)


_STEPS: Final[Mapping[bytes, Callable[[_Reading], object]]] = MappingProxyType(
    {
        b"\x80": _Reading.protocol,
        # A frame is a hint for reading ahead; what it says of its length is not looked at.
        b"\x95": lambda r: r.take(8),
        b"(": lambda r: r.marks.append(len(r.stack)),
        b"N": lambda r: r.push(None),
        b"\x88": lambda r: r.push(True),
        b"\x89": lambda r: r.push(False),
        b"I": lambda r: r.push(r.int_line()),
        b"L": lambda r: r.push(r.integer(r.line().removesuffix("L"))),
        b"K": lambda r: r.push(r.number(1)),
        b"M": lambda r: r.push(r.number(2)),
        b"J": lambda r: r.push(r.number(4, signed=True)),
        b"\x8a": lambda r: r.push(r.number(r.number(1), signed=True)),
        b"\x8b": lambda r: r.push(r.number(r.number(4), signed=True)),
        b"F": lambda r: r.push(r.float_line()),
        b"G": lambda r: r.push(struct.unpack(">d", r.take(8))[0]),
        b"V": lambda r: r.push(r.text_line()),
        b"X": lambda r: r.push(r.take(r.number(4)).decode("utf-8")),
        b"\x8c": lambda r: r.push(r.take(r.number(1)).decode("utf-8")),
        b"\x8d": lambda r: r.push(r.take(r.number(8)).decode("utf-8")),
        b"}": lambda r: r.push({}),
        b"d": lambda r: r.push(r.dict_of(r.to_mark())),
        b"s": lambda r: r.put(r.last(2)),
        b"u": lambda r: r.put(r.to_mark()),
        b"]": lambda r: r.push([]),
        b"l": lambda r: r.push(r.to_mark()),
        b"a": lambda r: r.append(r.last(1)),
        b"e": lambda r: r.append(r.to_mark()),
        b")": lambda r: r.push([]),
        b"t": lambda r: r.push(r.to_mark()),
        b"\x85": lambda r: r.push(r.last(1)),
        b"\x86": lambda r: r.push(r.last(2)),
        b"\x87": lambda r: r.push(r.last(3)),
        b"p": lambda r: r.remember(r.integer(r.line())),
        b"q": lambda r: r.remember(r.number(1)),
        b"r": lambda r: r.remember(r.number(4)),
        b"\x94": lambda r: r.remember(len(r.memo)),
        b"g": lambda r: r.recall(r.integer(r.line())),
        b"h": lambda r: r.recall(r.number(1)),
        b"j": lambda r: r.recall(r.number(4)),
        b"c": lambda r: r.named(r.line(), r.line()),
        b"\x93": _Reading.named_on_stack,
        b"Q": lambda r: r.push(r.outside(r.pop())),
        b"R": _Reading.call,
        b"b": _Reading.attributes,
    }
)
