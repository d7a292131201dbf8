"""The two wires: one JSON message per line, or the same messages as a CBOR sequence (RFC 8742)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from conformance.codec.form import Form, typed_array
from conformance.codec.illtyped import IllTyped
from conformance.codec.item import IllFormed, Incomplete, Tagged, decode, encode

MAX_MESSAGE: Final = 256 * 1024 * 1024  # bytes; 2^20 indices are 22 MB as JSON at their widest


class Garbage(Exception):
    """Bytes on stdout that are no message of this wire; `sample` is their beginning."""

    def __init__(self, reason: str, sample: bytes | bytearray) -> None:
        super().__init__(reason)
        self.reason, self.sample = reason, bytes(sample[:200])


class Dialect(Protocol):
    """How messages become bytes, and how values stand inside messages."""

    @property
    def name(self) -> str:
        """What --wire calls it."""

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """The bytes of one message."""

    def take(self, buffer: bytearray) -> Mapping[str, Any] | None:
        """The first whole message, removed from the buffer; None where more bytes are needed; raises Garbage."""

    def outgoing(self, form: Form, wire: Any) -> Any:
        """A JSON wire value as it stands in a message of this dialect."""

    def incoming(self, form: Form, value: Any) -> Any:
        """The JSON wire form of what stood in a message, held to its type; raises IllTyped."""

    def uint64_bytes(self, value: Any) -> bytes:
        """The little-endian bytes of a list of uint64 as it stood in a message; raises IllTyped."""


@dataclass(frozen=True, slots=True)
class JsonDialect:
    """JSON-RPC 2.0, one message per line, UTF-8."""

    name: str = "json"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One line."""
        return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def take(self, buffer: bytearray) -> Mapping[str, Any] | None:
        """The message on the first line."""
        end = buffer.find(b"\n")
        if end < 0:
            if len(buffer) > MAX_MESSAGE:
                raise Garbage("a line longer than the limit", buffer)
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        try:
            message = json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise Garbage(f"a line that is not JSON ({str(error)[:80]})", line) from None
        if not isinstance(message, dict):
            raise Garbage("a line that is not a JSON object", line)
        return message

    def outgoing(self, form: Form, wire: Any) -> Any:
        """The value itself."""
        return wire

    def incoming(self, form: Form, value: Any) -> Any:
        """The value, checked."""
        return form.check(value)

    def uint64_bytes(self, value: Any) -> bytes:
        """Each decimal string as eight bytes."""
        if type(value) is not list:
            raise IllTyped("a list", value)
        return b"".join(int(item).to_bytes(8, "little") for item in value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object with a key twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


@dataclass(frozen=True, slots=True)
class CborDialect:
    """The same messages as a CBOR sequence; lists of uint64 travel as RFC 8746 typed arrays."""

    name: str = "cbor"

    def dump(self, message: Mapping[str, Any]) -> bytes:
        """One CBOR map."""
        return encode(message)

    def take(self, buffer: bytearray) -> Mapping[str, Any] | None:
        """The message that the first item is."""
        if not buffer:
            return None
        if buffer[0] >> 5 != 5:
            raise Garbage("an item that is not a CBOR map", buffer)
        try:
            message, end = decode(bytes(buffer))
        except Incomplete:
            if len(buffer) > MAX_MESSAGE:
                raise Garbage("an item longer than the limit", buffer) from None
            return None
        except IllFormed as error:
            raise Garbage(str(error), buffer) from None
        del buffer[:end]
        if not isinstance(message, dict):
            raise Garbage("a map with repeated keys or keys that are not text", b"")
        return message

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
        if type(value) is not list or any(type(item) is not int or not 0 <= item < 2**64 for item in value):
            raise IllTyped("a list of uint64", value)
        return b"".join(item.to_bytes(8, "little") for item in value)


DIALECTS: Final[Mapping[str, Dialect]] = {"json": JsonDialect(), "cbor": CborDialect()}
