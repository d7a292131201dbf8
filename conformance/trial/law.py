"""What a law is, how its parameters make its instances, and the tools that its conversation works with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeVar

from conformance.backend.driver import Call, Talk
from conformance.backend.outcome import BadAnswer, ObservedFailure, ObservedResult, Outcome, observe
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.model import LawUse
from conformance.contract.suite import Suite
from conformance.contract.yaml.source import MalformedContract, Problem
from conformance.trial.check import Check, FailedCall, Result, Verdict
from conformance.trial.generator import offered, shown_error
from conformance.vectors.files.temp_roots import Roots

Axes = dict[str, tuple[Any, ...]]
Point = Mapping[str, Any]
_KINDS = {int: "a whole number from 0 on", str: "a text", bool: "true or false"}


def axes(use: LawUse, defaults: Mapping[str, Any]) -> Axes:
    """The values of each parameter, from `use.over` or else the defaults; a single value counts as a list of one.

    Raises MalformedContract for an unknown parameter, and for a value of another type than the defaults.
    """
    for name in use.over:
        if name not in defaults:
            known = ", ".join(defaults)
            raise _malformed(use, f"the law {use.law} has no parameter {name!r}", f"it has {known}")
        _check(use, name, _listed(defaults[name]))
    return {name: _listed(use.over.get(name, default)) for name, default in defaults.items()}


def _malformed(use: LawUse, message: str, hint: str) -> MalformedContract:
    return MalformedContract([Problem(use.position, "C004", message, hint)])


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _check(use: LawUse, name: str, defaults: tuple[Any, ...]) -> None:
    """Refuse an empty list, a value of another type than the defaults, and a negative number."""
    given = _listed(use.over[name])
    kinds = {type(value) for value in defaults}
    wrong = [value for value in given if type(value) not in kinds or (type(value) is int and value < 0)]
    if given and not wrong:
        return
    found = f"{wrong[0]!r}" if wrong else "nothing"
    expected = " or ".join(sorted(_KINDS.get(kind, kind.__name__) for kind in kinds))
    raise _malformed(
        use, f"the law {use.law} cannot take {found} as {name}", f"give {expected}, as in {list(defaults)[:3]}"
    )


def grid(chosen: Axes) -> Iterator[Point]:
    """Every combination of values; the last parameter varies fastest."""
    for values in product(*chosen.values()):
        yield dict(zip(chosen, values, strict=True))


def slug(point: Point) -> str:
    """A point as the id of a check shows it: `block_size=7,seed=0`."""
    return ",".join(f"{name}={_text(value)}" for name, value in point.items())


def _text(value: Any) -> str:
    if isinstance(value, range):
        return f"{value[0]}-{value[-1]}"
    if isinstance(value, list):
        return "-".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


T = TypeVar("T")
LawTalk = Talk[None]
Asking = Talk[T]  # a part of a talk that returns a T
Native = Mapping[str, Any]


class LawBroken(Exception):
    """The relation is broken; the message is one sentence with the values that show it."""

    def __init__(self, message: str, call: Call | None = None) -> None:
        super().__init__(message)
        self.message, self.call = message, call

    def answered(self) -> FailedCall | None:
        """The call that shows it, in the form that a verdict contains."""
        return FailedCall(self.call.operator, self.call.inputs) if self.call else None


def judged(check: Check, talk: LawTalk, before: str = "") -> Talk[Result]:
    """The verdict of a law in one instance, whose talk is given; a message begins with `before`."""
    try:
        yield from talk
    except LawBroken as broken:
        return Result(check, Verdict.FAIL, "result", message=before + broken.message, call=broken.answered())
    return Result(check, Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Tools:
    """How a law asks: native inputs in, native results out."""

    codebook: Codebook
    dialect: Dialect

    def call(self, operator: str, inputs: Native) -> Call:
        """The call with these native inputs."""
        return Call(operator, self.codebook[operator].inputs.from_native(dict(inputs)))

    def ask_one(self, operator: str, inputs: Native) -> Asking[tuple[Call, dict[str, Any]]]:
        """A call that must succeed, and its native result."""
        call = self.call(operator, inputs)
        (result,) = yield from self.ask([call])
        return call, result

    def ask(self, calls: Sequence[Call]) -> Asking[list[dict[str, Any]]]:
        """The native results of calls that must all succeed; raises LawBroken where one does not."""
        outcomes = yield calls
        results = []
        for call, outcome in zip(calls, outcomes, strict=True):
            found = self._found(call, outcome)
            if isinstance(found, str):
                raise LawBroken(f"a call that no guard refuses failed with {found}", call)
            results.append(found)
        return results

    def ask_either(self, call: Call) -> Asking[dict[str, Any] | str]:
        """The native result of a call, or the code of its failure; raises LawBroken where it gives neither."""
        (outcome,) = yield [call]
        return self._found(call, outcome)

    def _found(self, call: Call, outcome: Outcome) -> dict[str, Any] | str:
        observed = observe(outcome, call.operator, self.codebook, self.dialect)
        if isinstance(observed, ObservedResult):
            forms = self.codebook[call.operator]
            return {**(forms.lasting or forms.outputs).to_native(observed.fields), **observed.handles}
        if isinstance(observed, ObservedFailure):
            return observed.code
        if isinstance(observed, BadAnswer):
            raise LawBroken(f"an ill-typed answer: {observed.error}", call)
        raise LawBroken(f"no answer: {observed}", call)

    def ask_refused(
        self, calls: Sequence[Call], what: str = "a call that must be refused"
    ) -> Asking[list[ObservedFailure]]:
        """The failures of calls that a guard must refuse; raises LawBroken where one is not refused."""
        outcomes = yield calls
        failures = []
        for call, outcome in zip(calls, outcomes, strict=True):
            observed = observe(outcome, call.operator, self.codebook, self.dialect)
            if isinstance(observed, ObservedResult):
                raise LawBroken(f"{what} was answered", call)
            if not isinstance(observed, ObservedFailure):
                raise LawBroken(f"{what} got no well-typed failure: {observed}", call)
            failures.append(observed)
        return failures


@dataclass(frozen=True, slots=True)
class Instance:
    """A law with its parameters chosen: one conversation, which ends well or raises LawBroken."""

    slug: str
    start: Callable[[], LawTalk]
    alone: bool = False  # it restarts the process


@dataclass(frozen=True, slots=True)
class Split:
    """How the values of the parameters become instances: one for every point of the grid, with these exceptions."""

    whole: tuple[str, ...] = ()  # parameters of which one instance takes all values; its slug does not name them
    counts: Mapping[str, str] = field(default_factory=dict)  # numbers of things: axes 0, 1, 2, ... of the names here
    fits: Callable[[Point], bool] = lambda arguments: True  # leaves instances out

    def __call__(self, chosen: Axes) -> Iterator[tuple[str, Point]]:
        shared = {name: chosen[name] for name in self.whole}
        axes: Axes = {}
        for name, values in chosen.items():
            if name in self.counts:
                axes[self.counts[name]] = tuple(range(values[0]))
            elif name not in shared:
                axes[name] = values
        for point in grid(axes):
            arguments = {**point, **shared}
            if self.fits(arguments):
                yield slug(point), arguments


EVERY_POINT: Final = Split()


@dataclass(frozen=True, slots=True)
class Law:
    """The conversation of a law that laws.yaml declares, and the values of its parameters."""

    name: str
    talk: Callable[..., LawTalk]  # takes the tools and the arguments that the split makes
    defaults: Mapping[str, Any]  # the parameters that a contract may set in `over`
    split: Callable[[Axes], Iterator[tuple[str, Point]]] = EVERY_POINT
    restarts: Callable[[Point], bool] = lambda arguments: False  # whether an instance needs a process of its own

    def instances(self, tools: Tools, use: LawUse) -> Iterator[Instance]:
        """Every instance of the law as a contract uses it; raises MalformedContract."""
        for name, arguments in self.split(axes(use, self.defaults)):
            yield Instance(name, partial(_judging, partial(self.talk, tools, **arguments)), self.restarts(arguments))


def _judging(start: Callable[[], LawTalk]) -> LawTalk:
    """The talk of a law that finds a backend wrong also where its answers fit the types and no relation at all.

    Such an answer has too few items or dimensions, or lacks an optional member that is always there. The message names
    the line of the law, because that may be wrong instead.
    """
    try:
        yield from start()
    except LawBroken:
        raise
    except Exception as error:
        told = f"the answers do not fit each other, or the law is wrong: {shown_error(error)}"
        raise LawBroken(told) from error


@cache
def known_laws(suite: Suite) -> Mapping[str, Law]:
    """The laws of a suite by name, from the LAWS of its modules; raises MalformedContract."""
    return offered(suite, suite.laws, "LAWS", Law)


_MISSING = "nothing"


def must(condition: bool, message: str, call: Call | None = None) -> None:
    """Raise LawBroken where the condition is not met."""
    if not condition:
        raise LawBroken(message, call)


def must_be_permutation(values: Sequence[int], start: int, stop: int, what: str, call: Call | None = None) -> None:
    """Each number of [start, stop) occurs in `values` exactly once."""
    seen: set[int] = set()
    for position, value in enumerate(values):
        if not start <= value < stop:
            raise LawBroken(f"{what}: {value} at position {position} is outside [{start}, {stop})", call)
        if value in seen:
            raise LawBroken(f"{what}: {value} at position {position} occurs for the second time", call)
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
    raise LawBroken(f"{what}: {place} {_short_text(right)}, not {_short_text(left)}", call)


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


def _short_text(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 120 else text[:120] + "..."


def derived_bytes(name: str, size: int) -> bytes:
    """The first `size` bytes, at most 32, of the digest of a name."""
    return hashlib.sha256(f"tallystick law {name}".encode()).digest()[:size]


def derived_number(name: str, below: int) -> int:
    """A number in [0, below) derived from a name."""
    return int.from_bytes(derived_bytes(name, 16), "big") % below


def derived_choice(name: str, choices: Sequence[T]) -> T:
    """One of the choices, derived from a name."""
    return choices[derived_number(name, len(choices))]


_ROOT: Final = re.compile(r"\{root:([^}]*)\}\Z")


@contextmanager
def law_root() -> Iterator[Path]:
    """A fresh root; a LawBroken that leaves it names the root as `{root:a}` and contains no path."""
    with Roots() as roots:
        try:
            yield roots.path("a")
        except LawBroken as broken:
            call = broken.call and replace(broken.call, inputs=_as_frozen(roots.masked(broken.call.inputs)))
            raise LawBroken(roots.masked(broken.message), call) from None


def _as_frozen(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs whose whole roots are `{"root": NAME}`, as in the calls of frozen cases."""
    found = {name: _ROOT.match(item) if isinstance(item, str) else None for name, item in inputs.items()}
    return {name: {"root": root[1]} if (root := found[name]) else item for name, item in inputs.items()}
