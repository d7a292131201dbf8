"""Framing: bytes in, JSON-RPC messages out, and back."""

import json
from collections.abc import Iterator
from typing import Any, Protocol

from impl.types import uint64
from impl.wire.cbor_form import CborForm, Incomplete, decode_item, encode_item
from impl.wire.codec import Codec, Form, compile_codec
from impl.wire.json_form import JsonForm


class Unreadable:
    """Represent a message that could not be read, with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Wire(Protocol):
    """Turn chunks of input into messages, and a message into bytes."""

    form: Form
    index: Codec

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Yield each message that is complete now; Unreadable in the place of a bad one."""

    def encode(self, message: dict[str, Any]) -> bytes:
        """Return the bytes of one message."""


class JsonLines:
    """One JSON message per line, UTF-8."""

    def __init__(self) -> None:
        self.form: Form = JsonForm()
        self.index = compile_codec(uint64, self.form)
        self._pieces: list[bytes] = []
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Yield each message whose line has ended."""
        self._pieces.append(chunk)
        if b"\n" not in chunk:
            return
        *lines, rest = b"".join(self._pieces).split(b"\n")
        self._pieces = [rest]
        for line in lines:
            if line.strip():
                yield _read_line(line)

    def encode(self, message: dict[str, Any]) -> bytes:
        """Return one line."""
        return self._encode(message).encode("utf-8") + b"\n"


def _read_line(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as reason:
        return Unreadable(str(reason))


class CborSequence:
    """A sequence of CBOR items (RFC 8742), each one message."""

    def __init__(self) -> None:
        self.form: Form = CborForm()
        self.index = compile_codec(uint64, self.form)
        self._pieces: list[bytes] = []
        self._held = 0
        self._needed = 1

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Yield each message that is complete; after an unreadable one the sequence has no further boundary."""
        self._pieces.append(chunk)
        self._held += len(chunk)
        if self._held < self._needed:
            return
        data = b"".join(self._pieces)
        position = 0
        self._needed = 1
        while position < len(data):
            try:
                message, end = decode_item(data, position)
            except Incomplete as unfinished:
                self._needed = unfinished.needed
                break
            except (ValueError, RecursionError) as reason:
                yield Unreadable(str(reason))
                position = len(data)
                break
            yield message
            position = end
        self._pieces = [data[position:]]
        self._held = len(data) - position

    def encode(self, message: dict[str, Any]) -> bytes:
        """Return one item."""
        return encode_item(message)


def wire_of(first: bytes) -> Wire:
    """Return the wire that the first input bytes speak: a CBOR map head starts a sequence, anything else JSON."""
    return CborSequence() if 0xA0 <= first[0] <= 0xBF else JsonLines()
