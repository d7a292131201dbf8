"""What a backend did with one call (glossary: outcome)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.codec.illtyped import shorten


@dataclass(frozen=True, slots=True)
class Result:
    """It answered; `value` as it stood in the message, not yet held to its type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """It refused: the JSON-RPC error as it stood in the message."""

    code: Any
    message: Any
    data: Any


@dataclass(frozen=True, slots=True)
class Crash:
    """The process ended; `detail` says how, without its stderr, which no record may hold."""

    detail: str


@dataclass(frozen=True, slots=True)
class Timeout:
    """No answer came in time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """What came back was no answer: garbage, an unknown id, a second answer, not UTF-8."""

    reason: str


Outcome = Result | Failure | Crash | Timeout | ProtocolError
Lost = Crash | Timeout | ProtocolError


class Side(Enum):
    """Who was lost."""

    BACKEND = "the backend"
    STAND_IN = "the stand-in"
    INSTALLATION = "the installation"  # a stand-in that cannot begin: no backend's doing, whatever it was asked before


class LostBackend(Exception):
    """The backend can no longer be spoken to; `reason` is the outcome of whoever caused it."""

    side = Side.BACKEND

    def __init__(self, reason: Lost) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Unsendable(Exception):
    """A request that the wire cannot carry, so that it was never asked; `reason` is the outcome of whoever made it."""

    def __init__(self, operator: str, why: object) -> None:
        super().__init__(f"the request to {operator} cannot be sent: {why}")
        self.reason = ProtocolError(str(self))


def describe(outcome: Outcome) -> str:
    """An outcome in a few words for people."""
    match outcome:
        case Result():
            return "a result"
        case Failure(code, message):
            return f"the failure {shorten(message)} ({shorten(code)})"
        case Crash(detail):
            return f"a crash: {detail}"
        case Timeout(seconds):
            return f"a timeout: no answer within {seconds:g} s"
        case ProtocolError(reason):
            return f"a protocol error: {reason}"
