"""Groups along an axis: one line of a contract becomes, leaf by leaf, the values that a careless backend changes.

The group is first expanded as any other, into plain calls or traces; every leaf of the inputs of one step of these then
takes, alone, each value of the axis. The calls of a pure operator for one leaf are one case; a trace is a case for
each value, or, `packed`, gives every leaf another value at a time, or, `together`, asks the step with one value after
the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from conformance.codec.form import Form
from conformance.contract.model import Contract, first_false
from conformance.contract.types import is_place
from conformance.vectors.case import Asked, HarnessStep, Question, slug
from conformance.vectors.compact import expanded, holds_recipe, is_recipe
from conformance.vectors.group import Expansion
from conformance.vectors.leaf import Optional, Spot, is_placeholder, put, spots
from conformance.vectors.notable import ENDS, NEAR, notable, odd_members, straddling

_LARGE: Final = 60_000  # items or bytes: such a value is no quick case
_REFUSED: Final = 2  # values of one leaf that the same guard refuses: the first and the last
Variant = tuple[str, Mapping[str, Any]]  # a name, and the inputs of the step with another value of a leaf


@dataclass(frozen=True, slots=True)
class Line:
    """The variants of one leaf."""

    leaf: str
    spot: Spot
    variants: tuple[Variant, ...]


def along_axis(expansion: Expansion, questions: Iterable[Question]) -> Iterator[Question]:
    """The cases of an `axis` group, made of the questions that the group gives without its axis."""
    body = expansion.body
    for question in questions:
        asked = _step(expansion, question)
        # The only call of a case that changes no directory can be asked again and again in it.
        repeats = len(question.steps) == 1 and not expansion.codebook[question.operator].roots
        if path := body.get("unknown"):
            yield _with(question, asked, "unknown", _with_unknown(expansion, asked, path))
            continue
        lines = list(_lines(expansion, asked))
        named = [(f"{line.leaf}={name}", inputs) for line in lines for name, inputs in line.variants]
        if body.get("packed"):
            turns = list(_turns(asked, lines))
            if repeats and turns:
                yield _case(question, "packed", [_asked(asked, f"packed-{k}", one) for k, one in enumerate(turns)])
            elif not repeats:
                yield from (_with(question, asked, f"packed-{k}", one) for k, one in enumerate(turns))
        elif body.get("together"):
            yield from _together(question, asked, named)
        elif repeats:
            for line in lines:
                yield from _single(question, asked, line)
        else:
            yield from (_with(question, asked, name, inputs) for name, inputs in named)


def _step(expansion: Expansion, question: Question) -> Asked:
    calls = question.calls
    name = expansion.body.get("step")
    for one in calls:
        if one.name == name or (name is None and one.operator == expansion.contract.operator):
            return one
    if name is None:
        return calls[0]
    raise (expansion.place / "step").problem("C008", f"no step {name!r} is a call", "name a step of the trace")


def _lines(expansion: Expansion, asked: Asked) -> Iterator[Line]:
    """The first occurrence of every leaf that the group wants, or, with `every`, each occurrence, and its variants."""
    wanted = expansion.body.get("leaves", ("*",))
    unwanted = expansion.body.get("except", ())
    seen: set[str] = set()
    for spot in spots(expansion.codebook[asked.operator].contract.inputs, asked.inputs):
        spot = replace(spot, place=_numbered(spot)) if expansion.body.get("every") else spot
        if spot.place in seen or is_placeholder(spot.value):
            continue
        leaf = _leaf_slug(spot)
        if any(fnmatchcase(leaf, one) for one in wanted) and not any(fnmatchcase(leaf, one) for one in unwanted):
            seen.add(spot.place)
            if variants := _variants(expansion, asked, spot):
                yield Line(leaf, spot, variants)


def _numbered(spot: Spot) -> str:
    """The place with the index of every list item instead of `[]`."""
    place = spot.place
    for step in spot.steps:
        if isinstance(step, int):
            place = place.replace("[]", f".{step}", 1)
    return place


def _variants(expansion: Expansion, asked: Asked, spot: Spot) -> tuple[Variant, ...]:
    """The variants of a leaf that no guard refuses, and behind them some of those that one does."""
    contract, form = expansion.codebook[asked.operator].contract, expansion.codebook[asked.operator].inputs
    found: dict[str, list[Variant]] = {"": []}  # by the guard that refuses them
    for name, inputs in _inputs(expansion, asked, spot):
        guard = refusal_of(contract, form, inputs)
        # What refuses a helper's call leaves the operator of the group without a question.
        if guard == "" or (guard is not None and asked.operator == expansion.contract.operator):
            found.setdefault(guard, []).append((slug(name), inputs))
    accepted = found.pop("")
    # Of what one guard refuses two values are enough, unless each of them looks like the right one.
    if expansion.body["axis"] not in (NEAR, ENDS):
        found = {guard: some if len(some) <= _REFUSED else [some[0], some[-1]] for guard, some in found.items()}
    return (*accepted, *(one for some in found.values() for one in some))


def _inputs(expansion: Expansion, asked: Asked, spot: Spot) -> Iterator[Variant]:
    """The inputs with each value of the axis at one leaf; `against` another, with both on either side of a power."""
    if name := expansion.body.get("against"):
        found = spots(expansion.codebook[asked.operator].contract.inputs, asked.inputs)
        other = next((one for one in found if fnmatchcase(_leaf_slug(one), name)), None)
        if other is None:
            raise (expansion.place / "against").problem("C008", f"there is no leaf {name!r}", "name another leaf")
        for one, beside in straddling(spot.type, other.type):
            yield f"{one}-against-{beside}", put(put(asked.inputs, spot.steps, one), other.steps, beside)
        return
    most = expansion.body.get("largest")
    for name, value in notable(expansion.body["axis"], spot):
        if most is None or _size(value) <= most:
            yield name, put(asked.inputs, spot.steps, value)


def _with_unknown(expansion: Expansion, asked: Asked, path: str) -> Mapping[str, Any]:
    """The inputs with a member for every odd value of every kind in the map at a path, but for what a guard refuses."""
    contract, form = expansion.codebook[asked.operator].contract, expansion.codebook[asked.operator].inputs
    steps = (*path.split("."), "map")
    whole, pairs = asked.inputs, _part(asked.inputs, steps)
    for pair in odd_members():
        more = put(whole, steps, [*pairs, pair])
        if refusal_of(contract, form, more) == "":
            whole, pairs = more, [*pairs, pair]
    return whole


def refusal_of(contract: Contract, form: Form, wire: Mapping[str, Any]) -> str | None:
    """The guard that refuses inputs in wire form, "" where none does; None where no backend is asked such a thing.

    A method's guards depend on a state that is not known here, and what an earlier step answers is not known either:
    such inputs are taken to be accepted, and so are large ones, which cost the expression engine seconds.
    """
    places = {member.name for member in contract.inputs.fields if is_place(member.type)}
    if _is_large(wire) or any(is_placeholder(part) and name not in places for name, part in wire.items()):
        return ""
    inputs = {name: "x" if name in places else part for name, part in wire.items()}
    call = contract.environment.bind(form.to_native(expanded(inputs)))
    stateless = contract.method is None or not contract.method.takes
    if stateless and (guard := first_false(contract.requires, lambda one: one.holds(call))) is not None:
        return guard.id
    return "" if all(one.holds(call) for one in contract.domain) else None


def _size(value: Any) -> int:
    if holds_recipe(value):
        return int(next(iter(value.values()))["count"])
    return len(value) if isinstance(value, list | Mapping | str) else 0


def _single(question: Question, asked: Asked, line: Line) -> Iterator[Question]:
    """One case for all ordinary values of a leaf, and one for each large one."""
    ordinary = [_asked(asked, *one) for one in line.variants if not _is_large(one[1])]
    if ordinary:
        yield _case(question, line.leaf, ordinary)
    for name, inputs in line.variants:
        if _is_large(inputs):
            yield _case(question, f"{line.leaf}={name}", [_asked(asked, name, inputs)], _slow(question))


def _turns(asked: Asked, lines: list[Line]) -> Iterator[Mapping[str, Any]]:
    """Turn k gives leaf j the value number k + j of its own: each value of each leaf in some turn."""
    for k in range(max((len(line.variants) for line in lines), default=0)):
        inputs = asked.inputs
        for j, line in enumerate(lines):
            if not isinstance(line.spot.type, Optional):
                _, variant = line.variants[(k + j) % len(line.variants)]
                inputs = put(inputs, line.spot.steps, _part(variant, line.spot.steps))
        yield inputs


def _part(value: Any, steps: Iterable[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def _together(question: Question, asked: Asked, named: list[Variant]) -> Iterator[Question]:
    """One case in which the step is asked once with every value of every leaf; large values have cases of their own."""
    steps = [_asked(asked, *one) for one in named if not _is_large(one[1])]
    at = next(k for k, one in enumerate(question.steps) if one is asked)
    if steps:
        yield _case(question, "together", [*question.steps[:at], *steps, *question.steps[at + 1 :]])
    for name, inputs in named:
        if _is_large(inputs):
            yield _with(question, asked, name, inputs)


def _asked(asked: Asked, name: str, inputs: Mapping[str, Any]) -> Asked:
    return replace(asked, name=name, inputs=inputs, pin=None)


def _with(question: Question, asked: Asked, name: str, inputs: Mapping[str, Any]) -> Question:
    steps = [_asked(asked, asked.name, inputs) if one is asked else one for one in question.steps]
    return _case(question, name, steps, _slow(question) if _is_large(inputs) else "")


def _case(question: Question, name: str, steps: Sequence[Asked | HarnessStep], profile: str = "") -> Question:
    """The question with other steps; its name goes behind the question's own."""
    operator, group, own = question.id.split("::", 2)
    slug_ = name if own in ("", "trace") else f"{own},{name}"
    return replace(
        question, id=f"{operator}::{group}::{slug_}", steps=tuple(steps), profile=profile or question.profile
    )


def _is_large(inputs: Any) -> bool:
    if isinstance(inputs, Mapping):
        if is_recipe(inputs):
            return int(inputs["generated"]["count"]) > _LARGE
        return len(inputs) > _LARGE or any(map(_is_large, inputs.values()))
    if isinstance(inputs, list):
        return len(inputs) > _LARGE or any(map(_is_large, inputs))
    return isinstance(inputs, str) and len(inputs) > _LARGE


def _slow(question: Question) -> str:
    return "standard" if question.profile == "quick" else question.profile


def _leaf_slug(spot: Spot) -> str:
    """`manifest.datasets.*.cardinality`, `header.t`, `files.keys`, `shards.presence`."""
    place, _, kind = spot.place.partition("~")
    place += {"{key}": ".keys", "array": ".items", "map": ".items"}.get(kind, "")
    return place.replace("{key}", ".keys").replace("[]", ".+").replace("{}", ".*").replace("?", ".presence")
