"""The two wires: one JSON message per line, or the same messages as a CBOR sequence (RFC 8742)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from conformance.codec.form import Form, form_of, typed_array
from conformance.codec.item import Tagged, encode
from conformance.codec.splitter import LineSplitter, SequenceSplitter, Splitter
from conformance.contract.types import ListOf, Scalar


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
            numbers = typed_array(value)
            own: bytes = value.item
            return own if numbers.itemsize == 8 else numbers.astype("<u8").tobytes()
        return np.array(list(map(int, _UINT64S.from_cbor(value))), dtype="<u8").tobytes()


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_UINT64S: Final = form_of(ListOf(Scalar("uint64")))
DIALECTS: Final[Mapping[str, Dialect]] = {"json": JsonDialect(), "cbor": CborDialect()}
