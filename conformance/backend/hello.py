"""The answer of a backend to tally.hello."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.outcome import Lost, ProtocolError
from conformance.codec.scalar import shorten

PROTOCOL: Final = 1
DEFAULT_IN_FLIGHT: Final = 1
MAX_IN_FLIGHT: Final = 1024
_LONGEST: Final = 200  # characters


class BadHello(Exception):
    """A started backend gave no valid introduction; the message says what was expected and what came.

    `stderr` is its stderr, for people; `lost` is the outcome for a conversation that needed the hello. If it has not
    `begun`, it ended before it read or wrote anything: the command starts no backend.
    """

    def __init__(self, reason: str, lost: Lost | None = None, stderr: str = "", begun: bool = True) -> None:
        super().__init__(reason)
        self.begun = begun
        self.lost: Lost = lost or ProtocolError(f"no valid hello: {reason}")
        self.stderr = stderr


class WrongHello(BadHello):
    """An answer to tally.hello that was understood, and is no introduction."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A valid introduction."""

    name: str
    version: str
    language: str
    wires: tuple[str, ...]
    operators: frozenset[str]
    max_in_flight: int
    changed: frozenset[str] | None = None  # of a mutant: the operators that its mistake can affect
    sources: str = ""  # of a mutant: a digest of everything that the operators in `changed` rest on
    functions: frozenset[str] | None = None  # of a mutant: the only functions that it changes
    explains: bool = False  # whether it answers tally.explain


def hello_from(result: Any, wire: str) -> Hello:
    """The introduction in a hello result that came over a wire; raises WrongHello."""
    if not isinstance(result, Mapping):
        raise WrongHello(f"the result of tally.hello is {type(result).__name__}, not an object")
    if result.get("protocol") != PROTOCOL or type(result.get("protocol")) is not int:
        raise WrongHello(f"protocol {PROTOCOL} was asked for, the backend speaks {shorten(result.get('protocol'))}")
    operators = _names(result, "operators", "operator names")
    in_flight = result.get("max_in_flight", DEFAULT_IN_FLIGHT)
    if type(in_flight) is not int or in_flight < 1:
        raise WrongHello(f"`max_in_flight` must be a positive integer, not {shorten(in_flight)}")
    wires = _names({"wires": ["json"], **result}, "wires", "wire names")
    if "wires" in result and wire not in wires:
        listed = ", ".join(map(shorten, wires)) or "none"
        raise WrongHello(f"`wires` must list {wire!r}, the wire in use (--wire), and lists {listed}")
    texts = [result.get(key, "") for key in ("name", "version", "language")]
    if not isinstance(texts[0], str) or not texts[0] or not all(isinstance(text, str) for text in texts):
        raise WrongHello("`name` must be text, `version` and `language` text where they are given")
    if not all(text.isprintable() and len(text) <= _LONGEST for text in texts):
        # Reports show it, and a separate line there could be mistaken for the verdict.
        raise WrongHello(f"`name`, `version` and `language` are each one line of at most {_LONGEST} characters")
    changed = None if result.get("changed") is None else _names(result, "changed", "operator names")
    functions = None if result.get("functions") is None else _names(result, "functions", "texts")
    sources = result.get("sources", "")
    if not isinstance(sources, str):
        raise WrongHello("`sources` must be text")
    return Hello(
        name=texts[0],
        version=texts[1],
        language=texts[2],
        wires=tuple(wires),
        operators=frozenset(operators),
        max_in_flight=min(in_flight, MAX_IN_FLIGHT),
        changed=changed if changed is None else frozenset(changed),
        sources=sources,
        functions=functions if functions is None else frozenset(functions),
        explains=result.get("explain") is True,
    )


def _names(result: Mapping[str, Any], key: str, of: str) -> list[str]:
    names = result.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WrongHello(f"`{key}` must be a list of {of}")
    return names
