"""What a backend did with one call (glossary: outcome)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    """The process ended; `detail` says how and holds the end of its stderr."""

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
