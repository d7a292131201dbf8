"""The two wires: one JSON message per line, or the same messages as a CBOR sequence (RFC 8742)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from conformance.codec.form import Form, form_of, typed_array
from conformance.codec.item import IllFormed, Incomplete, Tagged, decode, encode
from conformance.contract.types import ListOf, Scalar

MAX_MESSAGE: Final = 64 * 1024 * 1024  # bytes; 2^20 indices are 23 MB as JSON at their widest


class Garbage(Exception):
    """Bytes on stdout that are no message of this wire; `sample` is their beginning."""

    def __init__(self, reason: str, sample: bytes | bytearray) -> None:
        super().__init__(reason)
        self.reason, self.sample = reason, bytes(sample[:200])


class Splitter(Protocol):
    """Cuts a stream of bytes into messages; one per process."""

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The whole messages that are there now; raises Garbage."""


class Dialect(Protocol):
    """How messages become bytes, and how values stand inside messages."""

    @property
    def name(self) -> str:
        """What --wire calls it."""

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """The bytes of one message."""

    def splitter(self) -> Splitter:
        """A new splitter for one process's output."""

    def outgoing(self, form: Form, wire: Any) -> Any:
        """A JSON wire value as it stands in a message of this dialect."""

    def incoming(self, form: Form, value: Any) -> Any:
        """The JSON wire form of what stood in a message, held to its type; raises IllTyped."""

    def uint64_bytes(self, value: Any) -> bytes:
        """The little-endian bytes of a list of uint64 as it stood in a message; raises IllTyped."""


class LineSplitter:
    """One JSON message per line, UTF-8."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # the beginning of a line whose end has not come
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The messages on the lines that end in `data`."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = b"".join((*self._parts, line))
            self._parts, self._size = [], 0
            yield _line_message(whole)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > MAX_MESSAGE:
            raise Garbage(f"a line of more than {MAX_MESSAGE} bytes", self._parts[0])


def _line_message(line: bytes) -> Mapping[str, Any]:
    try:
        message = json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Garbage(f"a line that is not JSON ({str(error)[:80]})", line) from None
    if not isinstance(message, dict):
        raise Garbage("a line that is not a JSON object", line)
    return message


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object with a key twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


class SequenceSplitter:
    """A CBOR sequence of maps."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = 1  # bytes before another attempt can succeed

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The messages that are whole once `data` is there."""
        self._buffer += data
        while len(self._buffer) >= self._needed:
            if self._buffer[0] >> 5 != 5:
                raise Garbage("an item that is not a CBOR map", self._buffer)
            # A few messages at a time, so that one small message does not copy a long buffer.
            window = bytes(self._buffer[: max(self._needed, 4096)])
            try:
                message, end = decode(window)
            except Incomplete as error:
                if error.needed > MAX_MESSAGE:
                    raise Garbage(f"an item of more than {MAX_MESSAGE} bytes", window) from None
                self._needed = max(error.needed, len(window) + 1)
                continue
            except IllFormed as error:
                raise Garbage(str(error), window) from None
            del self._buffer[:end]
            self._needed = 1
            if not isinstance(message, dict):
                raise Garbage("a map with repeated keys or keys that are not text", window)
            yield message


@dataclass(frozen=True, slots=True)
class JsonDialect:
    """JSON-RPC 2.0, one message per line, UTF-8."""

    name: str = "json"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One line."""
        return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def splitter(self) -> Splitter:
        """A splitter at line ends."""
        return LineSplitter()

    def outgoing(self, form: Form, wire: Any) -> Any:
        """The value itself."""
        return wire

    def incoming(self, form: Form, value: Any) -> Any:
        """The value, checked."""
        return form.check(value)

    def uint64_bytes(self, value: Any) -> bytes:
        """Each decimal string as eight bytes."""
        return np.array(_UINT64S.check(value), dtype=np.uint64).astype("<u8", copy=False).tobytes()


@dataclass(frozen=True, slots=True)
class CborDialect:
    """The same messages as a CBOR sequence; lists of uint64 travel as RFC 8746 typed arrays."""

    name: str = "cbor"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One CBOR map."""
        return encode(message)

    def splitter(self) -> Splitter:
        """A splitter at item ends."""
        return SequenceSplitter()

    def outgoing(self, form: Form, wire: Any) -> Any:
        """The value's CBOR form."""
        return form.to_cbor(wire)

    def incoming(self, form: Form, value: Any) -> Any:
        """The JSON wire form of a decoded item."""
        return form.from_cbor(value)

    def uint64_bytes(self, value: Any) -> bytes:
        """The typed array's own bytes, or each integer as eight."""
        if isinstance(value, Tagged):
            return bytes(typed_array(value).astype("<u8", copy=False).tobytes())
        return np.array(list(map(int, _UINT64S.from_cbor(value))), dtype="<u8").tobytes()


_UINT64S: Final = form_of(ListOf(Scalar("uint64")))
DIALECTS: Final[Mapping[str, Dialect]] = {"json": JsonDialect(), "cbor": CborDialect()}
