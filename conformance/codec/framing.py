"""The two wires: one JSON message per line, or a CBOR sequence (RFC 8742). They cut a stream of bytes into messages."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from conformance.codec.cbor import MAX_ITEMS, MAX_NESTING, IllFormed, Incomplete, ItemReader, Tagged, encode
from conformance.codec.form import Form, form_of, typed_array
from conformance.contract.lazy import np
from conformance.contract.types import ListOf, Scalar

MAX_MESSAGE: Final = 64 * 1024 * 1024  # bytes; 2^20 indices are 23 MB as JSON at their widest
_SAMPLE: Final = 200  # bytes


class Garbage(Exception):
    """Bytes that are no message of this wire; `sample` is their start, from where a message should begin.

    Neither text depends on how the bytes were cut on their way, so a record may contain both.
    """

    def __init__(self, reason: str, sample: bytes | bytearray) -> None:
        super().__init__(reason)
        self.reason, self.sample = reason, bytes(sample[:_SAMPLE])


class LineSplitter:
    """One JSON message per line, UTF-8."""

    def __init__(self) -> None:
        self._begun = bytearray()  # a line whose end has not arrived

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The messages on the lines that end in `data`."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._begun:
                self._begun += line
                line, self._begun = bytes(self._begun), bytearray()
            if len(line) > MAX_MESSAGE:
                raise _too_long(line)
            yield _line_message(line)
        self._begun += rest
        if len(self._begun) > MAX_MESSAGE:
            raise _too_long(self._begun)

    def unfinished(self) -> bytes:
        """The beginning of the line whose end has not arrived."""
        return bytes(self._begun[:_SAMPLE])


def _too_long(line: bytes | bytearray) -> Garbage:
    return Garbage(f"a line of more than {MAX_MESSAGE} bytes", line)


def _line_message(line: bytes) -> Mapping[str, Any]:
    # Each member of a list or object except the first follows a comma; only a long line can have too many.
    if len(line) > MAX_ITEMS and line.count(b",") + line.count(b"[") + line.count(b"{") > MAX_ITEMS:
        raise Garbage(f"more than {MAX_ITEMS} items in one message", line)
    if line.startswith(BOM_UTF8):
        raise Garbage("a line that begins with a byte order mark, where UTF-8 without one is wanted", line)
    try:
        message = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Garbage(f"a line that is not UTF-8 at byte {error.start}", line) from None
    except RecursionError:
        raise _too_deep(line) from None
    except ValueError as error:
        raise Garbage(f"a line that is not JSON ({str(error)[:80]})", line) from None
    if type(message) is not dict:
        raise Garbage("a line that is not a JSON object", line)
    # Far below the interpreter's own limit, which code that walks the message could reach later.
    if line.count(b"[") + line.count(b"{") > MAX_NESTING and _nesting(message) > MAX_NESTING:
        raise _too_deep(line)
    return message


def _nesting(value: Any) -> int:
    deep, level = 0, [value]
    while level:
        deep += 1
        held = chain.from_iterable(one.values() if type(one) is dict else one for one in level)
        level = [one for one in held if type(one) is dict or type(one) is list]
    return deep


def _too_deep(line: bytes) -> Garbage:
    return Garbage(f"a line nested too deeply, more than {MAX_NESTING} objects and arrays", line)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object with a key twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


class SequenceSplitter:
    """A CBOR sequence of maps."""

    def __init__(self) -> None:
        self._begun = bytearray()  # an item whose end has not arrived
        self._needed = 1  # bytes of the item that are needed before reading can succeed
        self._reader = ItemReader()

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The messages that `data` completes."""
        buffer: bytes | bytearray = data
        if self._begun:
            self._begun += data
            buffer = self._begun
        if len(buffer) < self._needed:
            self._begun = buffer if isinstance(buffer, bytearray) else bytearray(buffer)
            return
        start = 0  # of the message being read
        while start < len(buffer):
            try:
                message = self._read(buffer, start)
            except Incomplete as error:
                self._needed = error.needed - start
                if max(self._needed, len(buffer) - start) > MAX_MESSAGE:
                    raise Garbage(f"an item of more than {MAX_MESSAGE} bytes", buffer[start : start + 9]) from None
                break
            except IllFormed as error:
                at = error.offset - start
                raise Garbage(f"{error} at byte {at}", buffer[start : error.offset + 1]) from None
            yield message
            start, self._reader = self._reader.at, ItemReader()
            self._reader.at, self._needed = start, 1
        self._reader.at -= start
        if buffer is self._begun:
            del self._begun[:start]
        else:
            self._begun = bytearray(buffer[start:])

    def unfinished(self) -> bytes:
        """The beginning of the item whose end has not arrived."""
        return bytes(self._begun[:_SAMPLE])

    def _read(self, buffer: bytes | bytearray, start: int) -> Mapping[str, Any]:
        if buffer[start] >> 5 != 5:
            hint = " (a JSON text?)" if buffer[start] in b'{["' else ""
            raise Garbage(f"an item that is not a CBOR map{hint}", buffer[start : start + 1])
        message = self._reader.read(buffer)
        if type(message) is not dict:
            raise Garbage("a map with a key twice or a key that is not text", buffer[start : self._reader.at])
        found: Mapping[str, Any] = message
        return found


@dataclass(frozen=True, slots=True)
class JsonDialect:
    """JSON-RPC 2.0, one message per line, UTF-8."""

    name: str = "json"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One line."""
        try:
            return _ENCODER.encode(message).encode("utf-8") + b"\n"
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8; escaped it reaches the receiver, who refuses it with its path.
            return json.dumps(message).encode() + b"\n"

    def splitter(self) -> LineSplitter:
        """A new splitter for the output of one process."""
        return LineSplitter()

    def outgoing(self, form: Form, wire: Any) -> Any:
        """The form of a JSON wire value inside a message: the value itself."""
        return wire

    def incoming(self, form: Form, value: Any) -> Any:
        """The JSON wire form of a value of a message; raises IllTyped where it is not of its type."""
        return form.check(value)

    def uint64_bytes(self, value: Any) -> bytes:
        """The little-endian bytes of a list of uint64 of a message; raises IllTyped."""
        return np.array(_UINT64S.check(value), dtype=np.uint64).astype("<u8", copy=False).tobytes()


@dataclass(frozen=True, slots=True)
class CborDialect:
    """The same messages as a CBOR sequence; lists of uint64 travel as RFC 8746 typed arrays."""

    name: str = "cbor"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One CBOR map."""
        return encode(message)

    def splitter(self) -> SequenceSplitter:
        """A new splitter for the output of one process."""
        return SequenceSplitter()

    def outgoing(self, form: Form, wire: Any) -> Any:
        """The form of a JSON wire value inside a message: its CBOR item."""
        return form.to_cbor(wire)

    def incoming(self, form: Form, value: Any) -> Any:
        """The JSON wire form of a value of a message; raises IllTyped where it is not of its type."""
        return form.from_cbor(value)

    def uint64_bytes(self, value: Any) -> bytes:
        """The little-endian bytes of a list of uint64 of a message, often a typed array's own; raises IllTyped."""
        if isinstance(value, Tagged):
            numbers = typed_array(value)
            own: bytes = value.item
            return own if numbers.itemsize == 8 else numbers.astype("<u8").tobytes()
        return np.array(list(map(int, _UINT64S.from_cbor(value))), dtype="<u8").tobytes()


Splitter = LineSplitter | SequenceSplitter
Dialect = JsonDialect | CborDialect
# Values are trees: a value that contains itself counts as nested too deeply.
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False)
_UINT64S: Final = form_of(ListOf(Scalar("uint64")))
DIALECTS: Final[Mapping[str, Dialect]] = {"json": JsonDialect(), "cbor": CborDialect()}
