"""What a backend did with one call, read from its message and compared with the types of the contract."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.codec.scalar import IllTyped, shorten

NOT_ASKED: Final = "not asked: "  # the reason of a protocol error that only says that an earlier loss was the cause
STDOUT_IS_WIRE: Final = "stdout belongs to the protocol, prints belong on stderr"
UNREGISTERED: Final = "a registered failure code"  # the expected text if an error belongs to no contract


@dataclass(frozen=True, slots=True)
class RawResult:
    """It answered; `value` as in the message, not yet checked against its type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """It refused: the JSON-RPC error as in the message."""

    code: Any
    message: Any
    data: Any


@dataclass(frozen=True, slots=True)
class Crash:
    """The process ended; `detail` says how, without its stderr, which must not get into a record."""

    detail: str


@dataclass(frozen=True, slots=True)
class Timeout:
    """No answer came in time; `begun` is the beginning of a message whose end is missing."""

    seconds: float
    begun: bytes = b""


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """What came back was no answer: garbage, an unknown id, a second answer, not UTF-8."""

    reason: str


Outcome = RawResult | Failure | Crash | Timeout | ProtocolError
Lost = Crash | Timeout | ProtocolError


class Side(Enum):
    """The process that was lost."""

    BACKEND = "the backend"
    STAND_IN = "the stand-in"
    INSTALLATION = "the installation"  # a stand-in cannot start; the backend is not the cause


class LostBackend(Exception):
    """The backend was lost; `reason` is the outcome of the conversation that caused it."""

    side = Side.BACKEND

    def __init__(self, reason: Lost) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Unsendable(Exception):
    """A request that the wire cannot carry, so it was not sent; `reason` is the outcome of its conversation."""

    def __init__(self, operator: str, why: object) -> None:
        super().__init__(f"the request to {operator} cannot be sent: {why}")
        self.reason = ProtocolError(str(self))


def describe(outcome: Outcome | Observed) -> str:
    """An outcome in a few words for people, before or after the check against the types of the contract."""
    match outcome:
        case RawResult() | ObservedResult():
            return "a result"
        case ObservedFailure(code):
            return f"the failure {code}"
        case BadAnswer(error) if error.expected == UNREGISTERED:
            return f"the failure {error.found}: expected {UNREGISTERED}"
        case BadAnswer(error):
            return f"an answer of another type: {error}"
        case Failure(code, message):
            return f"the failure {shorten(message)} ({shorten(code)})"
        case Crash(detail):
            return f"a crash: {detail}"
        case Timeout(seconds, begun):
            return f"a timeout: no answer within {seconds:g} s{unfinished(begun)}"
        case ProtocolError(reason):
            return f"a protocol error: {reason}"


def unfinished(begun: bytes) -> str:
    """What to add to a timeout if stdout has the beginning of a message; empty if it has none."""
    said = "stdout has the beginning of a message and not its end (is a flush missing, or the newline after JSON?)"
    return f"; {said}: {begun!r}" if begun else ""


def is_unasked(said: str) -> bool:
    """Whether a description says that a call was not asked, which is the consequence of another loss."""
    return said.startswith(describe(ProtocolError(NOT_ASKED)))


def kind_of_loss(said: str) -> str:
    """A description without numbers, and that of a loss also without what came, which differs from call to call."""
    return _NUMBER.sub("#", _DETAIL.sub(r"\1", said))


_DETAIL: Final = re.compile(r"\A(a (?:timeout|protocol error): .*?)(?: \(|: b['\"]|, saying ).*", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]+")
_MEMBERS: Final = frozenset({"jsonrpc", "id", "result", "error"})
_SHOWN: Final = 8  # members of a message that is no answer
_ENVELOPE: Final = 'wanted is {"jsonrpc": "2.0", "id": .., "result": ..}'
_ERROR_MEMBERS: Final = frozenset({"code", "message", "data"})


def outcome_of(message: Mapping[str, Any]) -> Outcome:
    """The outcome in an answer; an answer that is not valid JSON-RPC 2.0 is a ProtocolError."""
    if message.get("jsonrpc") != "2.0":
        return ProtocolError('an answer without "jsonrpc": "2.0"')
    if "result" not in message and "error" not in message:
        return ProtocolError("an answer with neither a result nor an error; it must have one of them")
    if "result" in message and "error" in message:
        null = [f"; leave out {name!r}, which is null" for name in ("error", "result") if message[name] is None]
        return ProtocolError(f"an answer with both a result and an error; it must have one of them{''.join(null[:1])}")
    if not message.keys() <= _MEMBERS:
        return _unknown("an answer", message.keys() - _MEMBERS)
    if "result" in message:
        return RawResult(message["result"])
    error = message["error"]
    if not isinstance(error, Mapping):
        return ProtocolError("an error that is not an object")
    if not error.keys() <= _ERROR_MEMBERS:
        return _unknown("an error", error.keys() - _ERROR_MEMBERS)
    return Failure(error.get("code"), error.get("message"), error.get("data"))


def unexpected_message(message: Mapping[str, Any]) -> ProtocolError:
    """The protocol error for a message whose id no request had."""
    if "method" in message and "id" not in message:
        return ProtocolError(f"a notification, {shorten(message['method'])}: a backend only answers")
    error = message.get("error")
    said = f", saying {shorten(error, 200)}" if error is not None else ""
    if "id" not in message:
        members = ", ".join(map(shorten, list(message)[:_SHOWN])) or "none"
        lacking = f"a message without the `id` of its request ({_ENVELOPE}, found is {members}){said}"
        return ProtocolError(f"{lacking}; {STDOUT_IS_WIRE}")
    return ProtocolError(f"an answer with the id {shorten(message.get('id'), 40)}, which was never asked{said}")


def _unknown(what: str, members: Any) -> ProtocolError:
    return ProtocolError(f"{what} with the unknown member {shorten(min(members))}")


@dataclass(frozen=True, slots=True)
class ObservedResult:
    """A well-typed result in JSON wire form, without volatile fields; the handles in it only serve to be given back."""

    fields: Mapping[str, Any]
    handles: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ObservedFailure:
    """A well-typed contract failure."""

    code: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """A framed answer whose content is not of the declared types."""

    error: IllTyped


Observed = ObservedResult | ObservedFailure | BadAnswer | Lost


def observe(outcome: Outcome, operator: str, codebook: Codebook, dialect: Dialect) -> Observed:
    """An outcome after the check against the types of the operator's contract."""
    forms = codebook[operator]
    try:
        if isinstance(outcome, RawResult):
            fields = dialect.incoming(forms.outputs, outcome.value)
            if not forms.given:
                return ObservedResult(fields)
            return ObservedResult(fields, {name: outcome.value[name] for name in forms.given if name in outcome.value})
        if isinstance(outcome, Failure):
            return _failure(outcome, operator, codebook, dialect)
    except IllTyped as error:
        return BadAnswer(error)
    return outcome


def _failure(outcome: Failure, operator: str, codebook: Codebook, dialect: Dialect) -> ObservedFailure:
    code = outcome.message
    number = codebook.numbers.get(code) if type(code) is str else None
    if number is None:
        raise IllTyped(UNREGISTERED, f"{shorten(code)} ({shorten(outcome.code)})", ("error", "message"))
    if type(outcome.code) is not int or outcome.code != number:
        raise IllTyped(f"{number}, the number of {code}", outcome.code, ("error", "code"))
    try:
        data = dialect.incoming(codebook[operator].failure, outcome.data)
    except IllTyped as error:
        raise error.inside("data").inside("error") from None
    return ObservedFailure(code, data)
