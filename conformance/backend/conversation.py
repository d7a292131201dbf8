"""Conversations: what the harness wants to ask in order, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from conformance.backend.outcome import Lost, Outcome, Side

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One question: an operator and its inputs in JSON wire form."""

    operator: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Restart:
    """The wish for a new backend process."""


RESTART: Final = Restart()
Talk = Generator[Sequence[Call] | Restart, Sequence[Outcome], T]


@dataclass(frozen=True, slots=True)
class Conversation(Generic[T]):
    """A named talk that can be held again from the start; `alone` where it restarts the process.

    Those that do and may share their processes are held `in_step`: each carries all of them on to their next restart.
    """

    key: str
    start: Callable[[], Talk[T]]
    alone: bool = False
    in_step: bool = False


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """A conversation's finding, or how the backend was lost in it.

    `stderr` is the end of what the lost backend wrote there: for observations, never for a record.
    """

    key: str
    finding: T | None
    lost: Lost | None = None
    stderr: str = ""
    asked: bool = True  # false where the driver had given the backend up
    called: frozenset[str] = frozenset()  # the operators that were called in it
    calls: int = 0  # of a lost one: how many were made; the last was open
    side: Side = Side.BACKEND  # who was lost
