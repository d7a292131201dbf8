"""The inputs of one call while they are put together, and the values that a requirement page fixes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.codec.scalar import IllTyped, Path, show_path
from conformance.contract.model import Contract
from conformance.contract.source import Position, Problem, Source
from conformance.contract.suggest import nearest
from conformance.contract.types import INTEGER_RANGES, ListOf, Scalar, Type
from conformance.vectors.case import Pin
from conformance.vectors.leaf import UnknownPath, type_at
from conformance.vectors.natural import Reference, to_wire


class Unusable(Exception):
    """A case cannot be put together; carries the problem with its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a YAML source."""

    source: Source
    path: Path

    def __truediv__(self, step: str | int) -> Place:
        return Place(self.source, (*self.path, step))

    @property
    def position(self) -> Position:
        """Its file, line and column."""
        return self.source.at(self.path)

    def problem(self, code: str, message: str, hint: str = "") -> Unusable:
        """A problem at this place, ready to be raised."""
        return Unusable(Problem(self.position, code, message, hint))

    def typed(self, type_: Type, path: str, message: str, code: str = "C008", key: bool = False) -> Type:
        """The type at a dotted path that is the value, or the `key`, here; raises Unusable where there is none."""
        try:
            return type_at(type_, path)
        except UnknownPath as error:
            raise (self.key_problem if key else self.problem)(code, message, error.hint) from None

    def key_problem(self, code: str, message: str, hint: str = "") -> Unusable:
        """A problem with the key that leads here."""
        return Unusable(Problem(self.source.key_at(self.path), code, message, hint))


class Draft:
    """Inputs under construction: a base, then values set and unset by dotted path, later ones over earlier ones."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._tree: dict[str, Any] = {}
        self._origins: list[tuple[tuple[str, ...], Place]] = []

    def base(self, name: str, named_at: Place) -> None:
        """Start from a named base of the contract."""
        if name not in self.contract.bases:
            known = sorted(self.contract.bases)
            hint = nearest(name, known, f"bases of {self.contract.operator}: {', '.join(known) or 'none'}")
            raise named_at.problem("C007", f"unknown base {name!r}", hint)
        self._tree = copy.deepcopy(dict(self.contract.bases[name]))
        self._origins = [((), Place(self.contract.source, ("bases", name)))]

    def set(self, path: str, value: Any, place: Place) -> None:
        """Put a value at a dotted path, making the structs and maps above it where they are absent."""
        steps = self._steps(path, place)
        holder: Any = self._tree
        for depth, step in enumerate(steps[:-1]):
            if isinstance(holder, list):
                holder = holder[self._index(holder, step, place)]
            else:
                holder = holder.setdefault(step, {})
            if not isinstance(holder, dict | list):
                raise place.key_problem("C008", f"{'.'.join(steps[: depth + 1])} has no parts", "set it as a whole")
        value = value if isinstance(value, Reference) else copy.deepcopy(value)
        if isinstance(holder, list):
            holder[self._index(holder, steps[-1], place)] = value
        else:
            holder[steps[-1]] = value
        self._origins.append((steps, place))

    def unset(self, path: str, place: Place) -> None:
        """Remove the value at a dotted path."""
        steps = self._steps(path, place)
        holder: Any = self._tree
        for step in steps[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or steps[-1] not in holder:
            raise place.problem("C008", f"nothing is set at {path!r}", "remove the line, or name what is set")
        del holder[steps[-1]]

    def apply(self, body: Mapping[str, Any], place: Place) -> None:
        """Apply the `set` and `unset` of a group, case or step."""
        for path, value in body.get("set", {}).items():
            self.set(path, value, place / "set" / path)
        unset: Sequence[str] = body.get("unset", ())
        for k, path in enumerate(unset):
            self.unset(path, place / "unset" / k)

    def wire(self, place: Place) -> dict[str, Any]:
        """The inputs in JSON wire form, checked against the contract's types; `place` answers for what is missing."""
        try:
            return dict(to_wire(self.contract.inputs, self._tree))
        except IllTyped as error:
            raise self._ill_typed(error, place) from None

    def _steps(self, path: str, place: Place) -> tuple[str, ...]:
        message = f"unknown path {path!r} among the inputs of {self.contract.operator}"
        place.typed(self.contract.inputs, path, message, key=True)
        return tuple(path.split("."))

    def _index(self, holder: list[Any], step: str, place: Place) -> int:
        if int(step) >= len(holder):
            raise place.key_problem("C008", f"index {step} of a list of {len(holder)}", "set the list as a whole")
        return int(step)

    def _limits(self, steps: tuple[str, ...]) -> str:
        """The type at a path and its bounds, where it is an integer."""
        try:
            type_ = type_at(self.contract.inputs, ".".join(steps))
        except UnknownPath:
            return ""
        if not isinstance(type_, Scalar) or type_.name not in INTEGER_RANGES:
            return ""
        low, high = INTEGER_RANGES[type_.name]
        return f"{type_}, a whole number from {low} to {high}"

    def _ill_typed(self, error: IllTyped, place: Place) -> Unusable:
        steps = tuple(map(str, error.path))
        for origin, origin_place in reversed(self._origins):
            if steps[: len(origin)] == origin:
                place = Place(origin_place.source, (*origin_place.path, *error.path[len(origin) :]))
                break
        hint = "write it as the contract's `inputs` declare it"
        limits, wanted = self._limits(steps), error.expected
        if error.found == "nothing":
            hint = "the contract's `inputs` declare it: give it a value in the base, or under `set`"
        elif limits:
            hint, wanted = f"it is declared as {limits}", limits.split(",")[0]
        elif type(error.found) in (int, float) and ("hex" in error.expected or "string" in error.expected):
            hint = "put it in quotes; without them YAML reads a number"
        expected = f"expected {wanted}"
        if error.found != "nothing":
            expected += f", found {error.found!r:.80}"
        return place.problem("C009", f"ill-typed input {show_path(error.path)}: {expected}", hint)


MARKER_KEYS: Final = frozenset({"count", "sha256", "head", "tail"})


def pin_of(body: Mapping[str, Any], place: Place, contract: Contract) -> Pin:
    """The pin in `body`; raises Unusable."""
    if "failure" in body:
        code = body["failure"]
        raisable = contract.codes
        if code not in raisable:
            known = ", ".join(sorted(raisable)) or "no code"
            hint = nearest(code, sorted(raisable), f"`requires` and `refuses` declare: {known}")
            raise (place / "failure").problem("C008", f"the operator never fails with {code!r}", hint)
        return Pin({}, code, place.position)
    values = {}
    for path, value in body["result"].items():
        here = place / "result" / path
        message = f"unknown path {path!r} among the outputs of {contract.operator}"
        type_ = here.typed(contract.outputs, path, message, key=True)
        try:
            values[path] = pinned_value(type_, value)
        except IllTyped as error:
            raise here.problem("C009", f"ill-typed pin {path}: {error}", f"it is of type {type_}") from None
    return Pin(values, "", place.position)


def pinned_value(type_: Type, value: Any) -> Any:
    """A pinned value in wire form; a long list may be pinned by count, sha256, head and tail."""
    if isinstance(type_, ListOf) and isinstance(value, dict) and value and value.keys() <= MARKER_KEYS:
        return {key: to_wire(type_, part) if key in ("head", "tail") else part for key, part in value.items()}
    return to_wire(type_, value)
