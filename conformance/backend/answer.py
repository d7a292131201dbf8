"""A message from a backend becomes the outcome of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.backend.outcome import Failure, Outcome, ProtocolError, Result
from conformance.codec.illtyped import shorten

_MEMBERS: Final = frozenset({"jsonrpc", "id", "result", "error"})
_ERROR_MEMBERS: Final = frozenset({"code", "message", "data"})


def outcome_of(message: Mapping[str, Any]) -> Outcome:
    """What an answer says; an answer that JSON-RPC 2.0 does not know is a ProtocolError."""
    if message.get("jsonrpc") != "2.0":
        return ProtocolError('an answer without "jsonrpc": "2.0"')
    if ("result" in message) == ("error" in message):
        return ProtocolError("an answer must have either a result or an error")
    if not message.keys() <= _MEMBERS:
        return _unknown("an answer", message.keys() - _MEMBERS)
    if "result" in message:
        return Result(message["result"])
    error = message["error"]
    if not isinstance(error, Mapping):
        return ProtocolError("an error that is not an object")
    if not error.keys() <= _ERROR_MEMBERS:
        return _unknown("an error", error.keys() - _ERROR_MEMBERS)
    return Failure(error.get("code"), error.get("message"), error.get("data"))


def stranger(message: Mapping[str, Any]) -> ProtocolError:
    """What is wrong with a message whose id was never asked."""
    if "method" in message and "id" not in message:
        return ProtocolError(f"a notification, {shorten(message['method'])}: a backend only answers")
    error = message.get("error")
    said = f", saying {shorten(error, 200)}" if error is not None else ""
    return ProtocolError(f"an answer with the id {shorten(message.get('id'), 40)}, which was never asked{said}")


def _unknown(what: str, members: Any) -> ProtocolError:
    return ProtocolError(f"{what} with the unknown member {shorten(min(members))}")
