"""Sequences: which operators give the values of a long sequence, and how one value is derived; sequences.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.contract.source import Path, Position, Source


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One step on the way to a value: exactly one of `value`, `told` and `call` is there.

    `value` is an expression over the inputs, `told` a path in the operator's own answer, `call` a helper operator.
    """

    name: str
    value: str
    told: str
    call: str
    inputs: Mapping[str, str]  # of the call: input -> expression
    uses: Mapping[str, str]  # of the call: input -> an input of the operator, or STEP.output of an earlier call
    path: str  # the output of the call that is looked at
    element: str  # an expression: which element of the list at the path; empty for the whole
    when: str  # an expression; the step is taken where it is true, and always where there is none
    otherwise: str  # an expression: the value of a step that is not taken
    path_in_file: Path = field(repr=False)


@dataclass(frozen=True, slots=True)
class Replay:
    """A sequence without random access: the steps `before` are taken once, those of `round` again and again."""

    before: tuple[str, ...]
    round: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True)
class SequenceDeclaration:
    """One sequence of an operator or machine, as its file words it; expressions are texts.

    The inputs or steps are those of the frozen case `case`. `position` is the input that says where a call begins,
    `length` how many positions there are, `stride` how many one call is about, `values` the output that has them and
    `first` the position of its first value. A `replay` has none of these.
    """

    operator: str
    case: str
    unit: str
    at: str
    length: str
    stride: str
    values: str
    first: str
    replay: Replay | None
    steps: tuple[DerivationStep, ...]
    position: Position
    source: Source = field(repr=False)
    path: Path = ()

    @property
    def name(self) -> str:
        """The operator: it has one sequence at most."""
        return self.operator


def sequences_from(source: Source) -> tuple[SequenceDeclaration, ...]:
    """The sequences of a schema-valid sequences.yaml."""
    return tuple(_sequence(source, body, ("sequences", k)) for k, body in enumerate(source.value["sequences"]))


def _sequence(source: Source, body: Mapping[str, Any], path: Path) -> SequenceDeclaration:
    replay = body.get("replay")
    return SequenceDeclaration(
        body["operator"],
        body["case"],
        body["unit"],
        body.get("position", ""),
        body.get("length", ""),
        body.get("stride", "1u"),
        body.get("values", ""),
        body.get("first", "position"),
        replay and Replay(tuple(replay.get("before", ())), tuple(replay["round"]), replay["times"]),
        tuple(_step(one, (*path, "derivation", k)) for k, one in enumerate(body.get("derivation", ()))),
        source.at(path),
        source,
        path,
    )


def _step(body: Mapping[str, Any], path: Path) -> DerivationStep:
    texts = {key: body.get(key, "") for key in ("value", "told", "call", "path", "element", "when", "otherwise")}
    return DerivationStep(
        body["step"], inputs=body.get("with", {}), uses=body.get("use", {}), path_in_file=path, **texts
    )
