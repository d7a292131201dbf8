"""What a law is, the parameters it has, and the tools that its conversation works with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Final, TypeVar

import conformance.trial.laws as rooms
from conformance.backend.driver import Call, Restart
from conformance.backend.outcome import BadAnswer, ObservedFailure, ObservedResult, Outcome, observe
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.model import Contract, LawUse
from conformance.contract.source import MalformedContract, Problem
from conformance.trial.check import FailedCall
from conformance.trial.generators.generator import offered
from conformance.vectors.temp_roots import Rooms

Axes = dict[str, tuple[Any, ...]]
Point = Mapping[str, Any]
_KINDS = {int: "a whole number from 0 on", str: "a text", bool: "true or false"}


def axes(use: LawUse, defaults: Mapping[str, Any]) -> Axes:
    """The values of each parameter, from `use.over` or else the defaults; a single value stands for a list of one.

    Raises MalformedContract for a parameter that is not among the defaults, or a value of another kind than theirs.
    """
    for name in use.over:
        if name not in defaults:
            known = ", ".join(defaults)
            problem = Problem(use.position, "C004", f"the law {use.law} has no parameter {name!r}", f"it has {known}")
            raise MalformedContract([problem])
        _check(use, name, _listed(defaults[name]))
    return {name: _listed(use.over.get(name, default)) for name, default in defaults.items()}


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _check(use: LawUse, name: str, defaults: tuple[Any, ...]) -> None:
    """No value of another kind than the defaults', none at all, or a negative one where no default is negative."""
    given = _listed(use.over[name])
    kinds = {type(value) for value in defaults}
    negative = any(isinstance(value, int) and value < 0 for value in defaults)
    wrong = [value for value in given if type(value) not in kinds]
    wrong += [value for value in given if type(value) is int and value < 0 and not negative]
    if given and not wrong:
        return
    found = f"{wrong[0]!r}" if wrong else "nothing"
    expected = " or ".join(sorted(_KINDS.get(kind, kind.__name__) for kind in kinds))
    message = f"the law {use.law} cannot take {found} as {name}"
    raise MalformedContract([Problem(use.position, "C004", message, f"give {expected}, as in {list(defaults)[:3]}")])


def grid(chosen: Axes) -> Iterator[Point]:
    """Every combination, the last parameter varying fastest."""
    for values in product(*chosen.values()):
        yield dict(zip(chosen, values, strict=True))


def slug(point: Point) -> str:
    """A point as it stands in a check's id: `block_size=7,seed=0`."""
    return ",".join(f"{name}={_text(value)}" for name, value in point.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


T = TypeVar("T")
LawTalk = Generator[Sequence[Call] | Restart, Sequence[Outcome], None]
Asking = Generator[Sequence[Call], Sequence[Outcome], T]  # a part of a talk that finds out a T
Native = Mapping[str, Any]


class LawBroken(Exception):
    """The relation does not hold; the message is one sentence with the values that show it."""

    def __init__(self, message: str, call: Call | None = None) -> None:
        super().__init__(message)
        self.message, self.call = message, call

    def answered(self) -> FailedCall | None:
        """The call that shows it, as results hold calls."""
        return FailedCall(self.call.operator, self.call.inputs) if self.call else None


@dataclass(frozen=True, slots=True)
class Tools:
    """How a law asks: native inputs in, native results out."""

    codebook: Codebook
    dialect: Dialect

    def call(self, operator: str, inputs: Native) -> Call:
        """The call with these native inputs."""
        return Call(operator, self.codebook[operator].inputs.from_native(dict(inputs)))

    def ask(self, calls: Sequence[Call]) -> Asking[list[dict[str, Any]]]:
        """The native results of calls that must all succeed; raises LawBroken where one does not."""
        outcomes = yield calls
        results = []
        for call, outcome in zip(calls, outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if isinstance(observed, ObservedResult):
                forms = self.codebook[call.operator]
                results.append({**(forms.lasting or forms.outputs).to_native(observed.fields), **observed.handles})
            elif isinstance(observed, ObservedFailure):
                raise LawBroken(f"a call that no guard refuses failed with {observed.code}", call)
            elif isinstance(observed, BadAnswer):
                raise LawBroken(f"an ill-typed answer: {observed.error}", call)
            else:
                raise LawBroken(f"no answer: {observed}", call)
        return results

    def ask_refused(self, calls: Sequence[Call]) -> Asking[None]:
        """Calls that some guard must refuse; raises LawBroken where one does not."""
        outcomes = yield calls
        for call, outcome in zip(calls, outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if isinstance(observed, ObservedResult):
                raise LawBroken("a call that must be refused was answered", call)
            if not isinstance(observed, ObservedFailure):
                raise LawBroken(f"a call that must be refused got no well-typed failure: {observed}", call)


@dataclass(frozen=True, slots=True)
class Instance:
    """A law with its parameters chosen: one conversation, which ends well or raises LawBroken."""

    slug: str
    start: Callable[[], LawTalk]
    alone: bool = False  # it restarts the process


@dataclass(frozen=True, slots=True)
class Law:
    """A named relation: the sentence for the user, the operators it calls, and its instances."""

    name: str
    sentence: str
    calls: tuple[str, ...]  # operators called besides the one that declares the law
    instances: Callable[[Tools, Contract, LawUse], Iterator[Instance]]


@cache
def known_laws() -> Mapping[str, Law]:
    """Every law of every family, found in the modules of this package that offer LAWS."""
    return offered(rooms, "LAWS")


_MISSING = "nothing"


def must(holds: bool, message: str, call: Call | None = None) -> None:
    """A plain condition."""
    if not holds:
        raise LawBroken(message, call)


def must_be_permutation(values: Sequence[int], start: int, stop: int, what: str, call: Call | None = None) -> None:
    """Each number of [start, stop) stands in `values` exactly once."""
    seen: set[int] = set()
    for position, value in enumerate(values):
        if not start <= value < stop:
            raise LawBroken(f"{what}: {value} at position {position} is outside [{start}, {stop})", call)
        if value in seen:
            raise LawBroken(f"{what}: {value} at position {position} stands there for the second time", call)
        seen.add(value)
    if len(seen) != stop - start:
        missing = next(value for value in range(start, stop) if value not in seen)
        raise LawBroken(f"{what}: {missing} is missing, one of {stop - start - len(seen)}", call)


def must_equal(expected: Any, actual: Any, what: str, call: Call | None = None) -> None:
    """Two native values are the same; the message names the first place where they differ."""
    if expected == actual:
        return
    path, left, right = first_difference(expected, actual)
    place = f"{path} is" if path else "it is"
    raise LawBroken(f"{what}: {place} {_shown(right)}, not {_shown(left)}", call)


def first_difference(expected: Any, actual: Any, path: str = "") -> tuple[str, Any, Any]:
    """The path of the first difference between two different native values, and both sides there."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in (*expected, *(name for name in actual if name not in expected)):
            left, right = expected.get(name, _MISSING), actual.get(name, _MISSING)
            if left != right:
                return first_difference(left, right, f"{path}.{name}" if path else str(name))
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        for index in range(max(len(expected), len(actual))):
            left = expected[index] if index < len(expected) else _MISSING
            right = actual[index] if index < len(actual) else _MISSING
            if left != right:
                return first_difference(left, right, f"{path}[{index}]")
    return path, expected, actual


def _shown(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 120 else text[:120] + "..."


def derived_bytes(name: str, size: int) -> bytes:
    """The first `size` bytes, at most 32, behind a name."""
    return hashlib.sha256(f"tallystick law {name}".encode()).digest()[:size]


def derived_number(name: str, below: int) -> int:
    """A number in [0, below) behind a name."""
    return int.from_bytes(derived_bytes(name, 16), "big") % below


def derived_choice(name: str, choices: Sequence[T]) -> T:
    """One of the choices, by a name."""
    return choices[derived_number(name, len(choices))]


_ROOT: Final = re.compile(r"\{root:([^}]*)\}\Z")


@contextmanager
def law_roots() -> Iterator[Rooms]:
    """Fresh roots; LawBroken leaves with `{root:NAME}` instead of any path of theirs."""
    with Rooms() as rooms:
        try:
            yield rooms
        except LawBroken as broken:
            call = broken.call and replace(broken.call, inputs=_as_frozen(rooms.masked(broken.call.inputs)))
            raise LawBroken(rooms.masked(broken.message), call) from None


def _as_frozen(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs whose whole roots are `{"root": NAME}`, as in the calls of frozen cases."""
    found = {name: _ROOT.match(item) if isinstance(item, str) else None for name, item in inputs.items()}
    return {name: {"root": root[1]} if (root := found[name]) else item for name, item in inputs.items()}
