"""Where one conversation takes place: its roots, and what earlier steps answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType, TracebackType
from typing import Any, Final

from conformance.backend.drive import Call
from conformance.backend.observed import BadAnswer, Observed, ObservedFailure, ObservedResult, observe
from conformance.backend.outcome import Outcome
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect
from conformance.codec.illtyped import IllTyped
from conformance.contract.file_format import FileFormat
from conformance.vectors.case import CallStep, FileStep, TreeStep
from conformance.vectors.damage import with_damage
from conformance.vectors.fileaction import perform
from conformance.vectors.question import Asked
from conformance.vectors.recipe import expanded
from conformance.vectors.room import Rooms
from conformance.vectors.room_path import StepRefused
from conformance.vectors.tree import Tree, tree_of
from conformance.vectors.typepath import value_at

_NO_FORMATS: Final[Mapping[str, FileFormat]] = MappingProxyType({})
ANSWERED: Final = re.compile(r"\{([a-z0-9_-]+)\.([\w.]+)\}")  # inside a path: what an earlier step answered


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call that was made: the step, its inputs, and what came back.

    References are resolved in the inputs; roots stand as {root: name} and handles as {from: step.output}, as they are
    frozen, so that no path and no handle gets further than the wire.
    """

    step: str
    operator: str
    inputs: Mapping[str, Any]
    observed: Observed


class Stage:
    """The roots and answers of one conversation; a context manager that leaves nothing behind."""

    def __init__(self, codebook: Codebook, dialect: Dialect) -> None:
        self._codebook, self._dialect = codebook, dialect
        self.rooms = Rooms()
        self._made: dict[str, Exchange] = {}

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.rooms.__exit__(kind, error, _)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges so far, in order."""
        return tuple(self._made.values())

    def inputs(self, step: CallStep | Asked) -> Mapping[str, Any]:
        """The inputs of a step, references resolved, recipes expanded; raises KeyError where nothing was answered, or
        nothing that can be damaged so."""
        given = resolve(step.inputs, self._made, self._codebook.formats) if self._made else step.inputs
        whole: Mapping[str, Any] = expanded(given)
        return whole

    def call(self, operator: str, inputs: Mapping[str, Any]) -> Call:
        """The call that puts inputs to a backend: with real directories and real handles."""
        forms = self._codebook[operator]
        if not forms.roots and not forms.handles:
            return Call(operator, inputs)
        real = dict(inputs)
        for name in forms.roots:
            if isinstance(real.get(name), Mapping):
                real[name] = str(self.rooms.path(real[name]["root"]))
        for name in forms.handles:
            if isinstance(real.get(name), Mapping):
                step, _, output = real[name]["from"].partition(".")
                observed = self._made[step].observed
                assert isinstance(observed, ObservedResult)
                real[name] = observed.handles[output]
        return Call(operator, real)

    def note(self, step: str, operator: str, inputs: Mapping[str, Any], outcome: Outcome) -> Exchange:
        """Remember what came back under the name of the step."""
        observed = self._masked(observe(outcome, operator, self._codebook, self._dialect))
        self._made[step] = Exchange(step, operator, inputs, observed)
        return self._made[step]

    def take(self, step: FileStep | TreeStep) -> Tree | None:
        """Do a file step, or look at a tree; raises StepRefused."""
        if isinstance(step, TreeStep):
            return tree_of(replace(step, path=self._filled(step.path)), self.rooms)
        body = {
            key: self._filled(value) if key in ("path", "from", "to", "target") else value
            for key, value in step.body.items()
        }
        perform(FileStep(step.action, body), self.rooms, self._codebook.formats)
        return None

    def _filled(self, path: str) -> str:
        """A path with every `{step.output}` replaced by what that step answered."""

        def answer(match: re.Match[str]) -> str:
            exchange = self._made.get(match[1])
            try:
                if exchange is None or not isinstance(exchange.observed, ObservedResult):
                    raise KeyError(match[1])
                return str(value_at(exchange.observed.fields, match[2]))
            except KeyError:
                raise StepRefused(f"{path!r}: the step {match[1]} did not answer {match[2]}") from None

        return ANSWERED.sub(answer, path)

    def _masked(self, observed: Observed) -> Observed:
        """What a backend said, without the path of any root in it."""
        if not self.rooms.names:
            return observed
        match observed:
            case ObservedResult(fields, handles):
                return ObservedResult(self.rooms.masked(fields), handles)
            case ObservedFailure(code, data):
                return ObservedFailure(code, self.rooms.masked(data))
            case BadAnswer(error):
                return BadAnswer(IllTyped(error.expected, self.rooms.masked(error.found), error.path))
        return observed


def resolve(value: Any, made: Mapping[str, Exchange], formats: Mapping[str, FileFormat] = _NO_FORMATS) -> Any:
    """`value` with every reference to a step in `made` replaced; raises KeyError where that step gave no such result.

    Only a reference to a step that has been asked is one: a map that happens to look like a reference is left alone.
    A reference to a handle stays: its value is only for the backend that gave it.
    """
    if isinstance(value, dict):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            step, _, path = value["from"].partition(".")
            if path and step in made:
                observed = made[step].observed
                if not isinstance(observed, ObservedResult):
                    raise KeyError(value["from"])
                return value if path in observed.handles else value_at(observed.fields, path)
        return with_damage({key: resolve(part, made, formats) for key, part in value.items()}, formats)
    if isinstance(value, list) and not (value and isinstance(value[0], str)):
        return [resolve(part, made, formats) for part in value]
    return value
