"""Groups along an axis: one line of a contract becomes, leaf by leaf, the values that a careless backend changes.

The group is first expanded as any other, into plain calls or traces; every leaf of the inputs of one step of these then
takes, alone, each value of the axis. The calls of a pure operator for one leaf are one case; a trace is a case for
each value, or, `packed`, gives every leaf another value at a time, or, `together`, asks the step with one value after
the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from conformance.codec.form import Form
from conformance.contract.model import Contract, first_false
from conformance.contract.types import is_place
from conformance.vectors.case import Asked, Question, slug
from conformance.vectors.compact import expanded, holds_recipe, is_recipe
from conformance.vectors.ends import ENDS
from conformance.vectors.group import Expansion
from conformance.vectors.leaf import Optional, Spot, is_placeholder, put, spots
from conformance.vectors.notable import NEAR, notable, odd_members, straddling

_LARGE: Final = 60_000  # items or bytes: such a value is no quick case
_REFUSED: Final = 2  # values of one leaf that the same guard refuses: the first and the last


@dataclass(frozen=True, slots=True)
class Variant:
    """One leaf with another value: its name, and the inputs of the step."""

    name: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """The variants of one leaf."""

    spot: Spot
    variants: tuple[Variant, ...]


def along_axis(expansion: Expansion, questions: Iterable[Question]) -> Iterator[Question]:
    """The cases of an `axis` group, made of the questions that the group gives without its axis."""
    for question in questions:
        asked = _step(expansion, question)
        if path := expansion.body.get("unknown"):
            yield _with(question, asked, "unknown", _with_unknown(expansion, asked, path))
            continue
        found = [_line(expansion, asked, spot) for spot in _leaves(expansion, asked)]
        lines = [one for one in found if one.variants]
        if expansion.body.get("packed"):
            yield from _packed(question, asked, lines, _repeats(expansion, question))
        elif expansion.body.get("together"):
            yield from _together(question, asked, lines)
        elif _repeats(expansion, question):
            for line in lines:
                yield from _single(question, asked, line)
        else:
            for line in lines:
                for variant in line.variants:
                    yield _with(question, asked, f"{_leaf_slug(line.spot)}={variant.name}", variant.inputs)


def _step(expansion: Expansion, question: Question) -> Asked:
    calls = question.calls
    name = expansion.body.get("step")
    for one in calls:
        if one.name == name or (name is None and one.operator == expansion.contract.operator):
            return one
    if name is None:
        return calls[0]
    raise (expansion.place / "step").problem("C008", f"no step {name!r} is a call", "name a step of the trace")


def _repeats(expansion: Expansion, question: Question) -> bool:
    """Whether the call can be asked again and again in one case: it is the only call and changes no directory."""
    return len(question.steps) == 1 and not expansion.codebook[question.operator].roots


def _leaves(expansion: Expansion, asked: Asked) -> Iterator[Spot]:
    """The first occurrence of every leaf that the group wants, or, with `every`, each occurrence."""
    wanted = expansion.body.get("leaves", ("*",))
    unwanted = expansion.body.get("except", ())
    seen: set[str] = set()
    for spot in spots(expansion.codebook[asked.operator].contract.inputs, asked.inputs):
        spot = replace(spot, place=_numbered(spot)) if expansion.body.get("every") else spot
        if spot.place in seen or is_placeholder(spot.value):
            continue
        name = _leaf_slug(spot)
        if any(_fits(name, one) for one in wanted) and not any(_fits(name, one) for one in unwanted):
            seen.add(spot.place)
            yield spot


def _numbered(spot: Spot) -> str:
    """The place with the index of every list item instead of `[]`."""
    place = spot.place
    for step in spot.steps:
        if isinstance(step, int):
            place = place.replace("[]", f".{step}", 1)
    return place


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern)


def _line(expansion: Expansion, asked: Asked, spot: Spot) -> Line:
    contract = expansion.codebook[asked.operator].contract
    form = expansion.codebook[asked.operator].inputs
    found: list[Variant] = []
    # What refuses a helper's call leaves the operator of the group without a question.
    refused: dict[str, list[Variant]] = {}
    for name, inputs in _inputs(expansion, asked, spot):
        variant = Variant(slug(name), inputs)
        judged = refusal_of(contract, form, variant.inputs)
        if judged == "":
            found.append(variant)
        elif judged is not None and asked.operator == expansion.contract.operator:
            refused.setdefault(judged, []).append(variant)
    # Of what one guard refuses two values tell enough, unless each of them looks like the right one.
    whole = expansion.body["axis"] in (NEAR, ENDS)
    thinned = [
        one for some in refused.values() for one in (some if whole or len(some) <= _REFUSED else (some[0], some[-1]))
    ]
    return Line(spot, (*found, *thinned))


def _inputs(expansion: Expansion, asked: Asked, spot: Spot) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The inputs with each value of the axis at one leaf; `against` another, with both on either side of a power."""
    if name := expansion.body.get("against"):
        found = spots(expansion.codebook[asked.operator].contract.inputs, asked.inputs)
        other = next((one for one in found if _fits(_leaf_slug(one), name)), None)
        if other is None:
            raise (expansion.place / "against").problem("C008", f"nothing stands at {name!r}", "name another leaf")
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
    pairs: Any = asked.inputs
    for step in steps:
        pairs = pairs[step]
    whole: Mapping[str, Any] = asked.inputs
    for pair in odd_members():
        more = put(whole, steps, [*pairs, pair])
        if refusal_of(contract, form, more) == "":
            whole, pairs = more, [*pairs, pair]
    return whole


def refusal_of(contract: Contract, form: Form, wire: Mapping[str, Any]) -> str | None:
    """The guard that refuses inputs in wire form, "" where none does; None where no backend is asked such a thing.

    A method's guards hang on a state that is not known here, and what an earlier step answers is not known either:
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
    leaf = _leaf_slug(line.spot)
    name = ",".join(filter(None, (_own(question), leaf)))
    steps = [replace(asked, name=one.name, inputs=one.inputs, pin=None) for one in line.variants]
    ordinary = tuple(one for one in steps if not _is_large(one.inputs))
    if ordinary:
        yield replace(question, id=_id(question, name), steps=ordinary)
    for one in steps:
        if _is_large(one.inputs):
            yield replace(question, id=_id(question, f"{name}={one.name}"), steps=(one,), profile=_slow(question))


def _packed(question: Question, asked: Asked, lines: list[Line], together: bool) -> Iterator[Question]:
    """Turn k gives leaf j the value number k + j of its own: each value of each leaf in some turn."""
    turns: list[Asked] = []
    for k in range(max((len(line.variants) for line in lines), default=0)):
        inputs: Mapping[str, Any] = asked.inputs
        for j, line in enumerate(lines):
            if isinstance(line.spot.type, Optional):
                continue
            variant = line.variants[(k + j) % len(line.variants)]
            part: Any = variant.inputs
            for step in line.spot.steps:
                part = part[step]
            inputs = put(inputs, line.spot.steps, part)
        if not together:
            yield _with(question, asked, f"packed-{k}", inputs)
        else:
            turns.append(replace(asked, name=f"packed-{k}", inputs=inputs, pin=None))
    if turns:
        name = ",".join(filter(None, (_own(question), "packed")))
        yield replace(question, id=_id(question, name), steps=tuple(turns))


def _together(question: Question, asked: Asked, lines: list[Line]) -> Iterator[Question]:
    """One case in which the step is asked once with every value of every leaf; large values have cases of their own."""
    named = [(f"{_leaf_slug(line.spot)}={one.name}", one) for line in lines for one in line.variants]
    steps = [replace(asked, name=name, inputs=one.inputs, pin=None) for name, one in named if not _is_large(one.inputs)]
    at = next(k for k, one in enumerate(question.steps) if one is asked)
    if steps:
        whole = (*question.steps[:at], *steps, *question.steps[at + 1 :])
        yield replace(question, id=_id(question, ",".join(filter(None, (_own(question), "together")))), steps=whole)
    for name, one in named:
        if _is_large(one.inputs):
            yield _with(question, asked, name, one.inputs)


def _with(question: Question, asked: Asked, name: str, inputs: Mapping[str, Any]) -> Question:
    steps = tuple(replace(one, inputs=inputs, pin=None) if one is asked else one for one in question.steps)
    slug_ = ",".join(filter(None, (_own(question), name)))
    profile = _slow(question) if _is_large(inputs) else question.profile
    return replace(question, id=_id(question, slug_), steps=steps, profile=profile)


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


def _own(question: Question) -> str:
    own = question.id.split("::", 2)[2]
    return "" if own in ("", "trace") else own


def _id(question: Question, name: str) -> str:
    operator, group, _ = question.id.split("::", 2)
    return f"{operator}::{group}::{name}"


def _leaf_slug(spot: Spot) -> str:
    """`manifest.datasets.*.cardinality`, `header.t`, `files.keys`, `shards.presence`."""
    place, _, kind = spot.place.partition("~")
    place += {"{key}": ".keys", "array": ".items", "map": ".items"}.get(kind, "")
    return place.replace("{key}", ".keys").replace("[]", ".+").replace("{}", ".*").replace("?", ".presence")
