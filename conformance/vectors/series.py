"""Groups that accumulate: one long run of calls behind a running hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from conformance.contract.types import INTEGER_RANGES, ListOf, Scalar, Struct, Type, is_place
from conformance.vectors.case import Accumulation, Question
from conformance.vectors.draft import Draft, Place
from conformance.vectors.group import Combination, Expansion
from conformance.vectors.leaf import same_type

_PARAMETERS: Final = {"chain": "feed", "sweep": "sweep", "random": "random"}


def accumulations(expansion: Expansion) -> Iterator[Question]:
    """One accumulation per combination of the group's axes."""
    return expansion.each(partial(_accumulation, expansion))


def _accumulation(expansion: Expansion, combination: Combination) -> Question | None:
    body, place = expansion.body["accumulate"], expansion.place / "accumulate"
    if any(is_place(member.type) for member in expansion.contract.inputs.fields):
        hint = "a long run is made of calls of a pure operator; write a trace"
        raise place.problem("C015", f"{expansion.contract.operator} takes a root or a handle", hint)
    draft = expansion.draft()
    combination.apply(draft)
    generator = body["generator"]
    wanted = _PARAMETERS[generator]
    if wanted not in body:
        raise place.problem("C013", f"the generator {generator} lacks {wanted!r}", f"add {wanted}: {{input path: ...}}")
    for key in set(_PARAMETERS.values()) - {wanted}:
        if key in body:
            raise (place / key).key_problem("C013", f"the generator {generator} has no {key!r}", "remove it")
    if generator == "random" and not body.get("seed"):
        raise place.problem("C013", "the generator random lacks a seed", "add seed: any text")
    _hashable(expansion, body["output"], place / "output")
    parameters = _parameters(expansion, draft, body, place / wanted)
    for path in parameters:
        # Every path needs a value, so that the inputs of the first call are whole.
        if generator != "chain":
            draft.set(path, int(parameters[path].get("start", "0")), place / wanted / path)
    if not expansion.wanted(draft):
        return None
    made = Accumulation(
        operator=expansion.contract.operator,
        inputs=draft.wire(expansion.place),
        output=body["output"],
        generator=generator,
        parameters=parameters,
        seed=body.get("seed", ""),
        count=body["count"],
        checkpoints=(),
    )
    pin = body.get("pin", {})
    return expansion.question(
        combination.slug or "accumulate",
        (),
        expansion.place,
        accumulation=made,
        confirm=body.get("confirm", "whole"),
        sha256_pin=pin.get("sha256", ""),
        elements_pin=pin.get("elements"),
    )


def _parameters(expansion: Expansion, draft: Draft, body: Mapping[str, Any], place: Place) -> dict[str, Any]:
    generator = body["generator"]
    if generator == "chain":
        return {path: _fed(expansion, path, output, place / path) for path, output in body["feed"].items()}
    made: dict[str, Any] = {}
    for path, numbers in body[_PARAMETERS[generator]].items():
        here = place / path
        low, high = _range(_input_type(expansion, path, here), here)
        if generator == "sweep":
            start, step = numbers["start"], numbers["step"]
            last = start + step * (body["count"] - 1)
            if not (low <= start <= high and low <= last <= high):
                raise here.problem("C013", f"{path} sweeps from {start} to {last}", f"its type is {low}..{high}")
            made[path] = {"start": str(start), "step": str(step)}
        else:
            if not 0 < numbers["below"] <= high + 1:
                raise here.problem("C013", f"{path} below {numbers['below']}", f"write 1..{high + 1}")
            made[path] = {"below": str(numbers["below"])}
    return made


def _fed(expansion: Expansion, path: str, output: str, place: Place) -> str:
    wanted = _input_type(expansion, path, place)
    given = _output_type(expansion, output, place)
    if not same_type(wanted, given):
        raise place.problem("C010", f"{path} is {wanted}, but {output} is {given}", "feed an output of the same type")
    return output


def _input_type(expansion: Expansion, path: str, place: Place) -> Type:
    return place.typed(expansion.contract.inputs, path, f"unknown path {path!r} among the inputs", key=True)


def _output_type(expansion: Expansion, path: str, place: Place) -> Type:
    return place.typed(expansion.contract.outputs, path, f"unknown path {path!r} among the outputs")


def _range(type_: Type, place: Place) -> tuple[int, int]:
    if not isinstance(type_, Scalar) or type_.name not in INTEGER_RANGES:
        raise place.key_problem("C013", f"an input of type {type_} cannot be counted through", "name a sized integer")
    return INTEGER_RANGES[type_.name]


def _hashable(expansion: Expansion, output: str, place: Place) -> None:
    type_ = _output_type(expansion, output, place)
    if not isinstance(type_, Struct) and type_ not in (Scalar("uint64"), ListOf(Scalar("uint64"))):
        hint = "name a uint64, a list<uint64> or a struct"
        raise place.problem("C013", f"the output {output} is of type {type_}", hint)
