"""Groups along an axis (values that careless code changes, one leaf at a time), and groups on both sides of a limit.

A group along an axis is first expanded like any other, into plain calls or traces. Then each leaf of one step's inputs
takes each value of the axis, while the other leaves stay. For a pure operator, the calls for one leaf are one case.
A trace gives one case for each value. If the group is `packed`, every leaf gets another value at a time; if `together`,
one case asks the step with one value after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from conformance.codec.codebook import OperatorForms
from conformance.contract.cel.syntax import BYTES, SizeLimit, size_limits
from conformance.contract.model import first_false
from conformance.contract.suggest import nearest
from conformance.contract.types import ListOf, MapOf, Scalar, Value, places_of
from conformance.vectors.case import HarnessStep, Question, QuestionCall, slug
from conformance.vectors.compact import expanded, holds_recipe, is_recipe
from conformance.vectors.leaf import LeafOccurrence, Optional, is_placeholder, put, spots, value_at
from conformance.vectors.notable import ENDS, NEAR, notable_values, odd_members, straddling
from conformance.vectors.questions.group import Expansion

_LARGE: Final = 60_000  # items or bytes; a case with a larger value is not in the quick profile
_REFUSED: Final = 2  # values of one leaf that the same guard refuses: the first and the last
Variant = tuple[str, Mapping[str, Any]]  # a name, and the inputs of the step with another value of a leaf


@dataclass(frozen=True, slots=True)
class LeafVariants:
    """The variants of one leaf."""

    leaf: str
    spot: LeafOccurrence
    variants: tuple[Variant, ...]


def axis_cases(expansion: Expansion, questions: Iterable[Question]) -> Iterator[Question]:
    """The cases of an `axis` group, made from the questions that the group would give without its axis."""
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
                yield _case(
                    question, "packed", [_with_inputs(asked, f"packed-{k}", one) for k, one in enumerate(turns)]
                )
            elif not repeats:
                yield from (_with(question, asked, f"packed-{k}", one) for k, one in enumerate(turns))
        elif body.get("together"):
            yield from _together(question, asked, named)
        elif repeats:
            for line in lines:
                yield from _single(question, asked, line)
        else:
            yield from (_with(question, asked, name, inputs) for name, inputs in named)


def has_axis_case(expansion: Expansion, question: Question) -> bool:
    """Whether `axis_cases` makes a case from a question; it stops at the first leaf that gives one."""
    return "unknown" in expansion.body or next(_lines(expansion, _step(expansion, question)), None) is not None


def _step(expansion: Expansion, question: Question) -> QuestionCall:
    calls = question.calls
    name = expansion.body.get("step")
    for one in calls:
        if one.name == name or (name is None and one.operator == expansion.contract.operator):
            return one
    if name is None:
        return calls[0]
    raise (expansion.place / "step").problem("C008", f"no step {name!r} is a call", "name a step of the trace")


def _lines(expansion: Expansion, asked: QuestionCall) -> Iterator[LeafVariants]:
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
                yield LeafVariants(leaf, spot, variants)


def _numbered(spot: LeafOccurrence) -> str:
    """The place with the index of every list item instead of `[]`."""
    place = spot.place
    for step in spot.steps:
        if isinstance(step, int):
            place = place.replace("[]", f".{step}", 1)
    return place


def _variants(expansion: Expansion, asked: QuestionCall, spot: LeafOccurrence) -> tuple[Variant, ...]:
    """The variants of a leaf that no guard refuses, then some of the refused ones."""
    forms = expansion.codebook[asked.operator]
    found: dict[str, list[Variant]] = {"": []}  # by the guard that refuses them
    for name, inputs in _inputs(expansion, asked, spot):
        guard = refusal_of(forms, inputs)
        # If a helper's call is refused, the operator of the group is never asked.
        if guard == "" or (guard is not None and asked.operator == expansion.contract.operator):
            found.setdefault(guard, []).append((slug(name), inputs))
    accepted = found.pop("")
    # Two refused values per guard are enough, unless each of them looks like the right one.
    if expansion.body["axis"] not in (NEAR, ENDS):
        found = {guard: some if len(some) <= _REFUSED else [some[0], some[-1]] for guard, some in found.items()}
    return (*accepted, *(one for some in found.values() for one in some))


def _inputs(expansion: Expansion, asked: QuestionCall, spot: LeafOccurrence) -> Iterator[Variant]:
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
    for name, value in notable_values(expansion.body["axis"], spot):
        if most is None or _size(value) <= most:
            yield name, put(asked.inputs, spot.steps, value)


def _with_unknown(expansion: Expansion, asked: QuestionCall, path: str) -> Mapping[str, Any]:
    """The inputs where the map at a path also has a member for every odd value of every kind that no guard refuses."""
    forms = expansion.codebook[asked.operator]
    steps = (*path.split("."), "map")
    whole, pairs = asked.inputs, _part(asked.inputs, steps)
    for pair in odd_members():
        more = put(whole, steps, [*pairs, pair])
        if refusal_of(forms, more) == "":
            whole, pairs = more, [*pairs, pair]
    return whole


def refusal_of(forms: OperatorForms, wire: Mapping[str, Any]) -> str | None:
    """The guard that refuses inputs in wire form, "" if none does; None if no backend is asked such inputs.

    A method's guards depend on a state that is not known here, and an earlier step's answer is not known either:
    such inputs count as accepted. So do large ones, on which the expression engine would take seconds.
    """
    contract = forms.contract
    places = places_of(contract.inputs)
    if _is_large(wire) or any(is_placeholder(part) and name not in places for name, part in wire.items()):
        return ""
    inputs = {name: "x" if name in places else part for name, part in wire.items()}
    call = contract.environment.bind(forms.inputs.to_native(expanded(inputs)))
    stateless = contract.method is None or not contract.method.takes
    if stateless and (guard := first_false(contract.requires, lambda one: one.holds(call))) is not None:
        return guard.id
    return "" if all(one.holds(call) for one in contract.domain) else None


def _size(value: Any) -> int:
    if holds_recipe(value):
        return int(next(iter(value.values()))["count"])
    return len(value) if isinstance(value, list | Mapping | str) else 0


def _single(question: Question, asked: QuestionCall, line: LeafVariants) -> Iterator[Question]:
    """One case for all ordinary values of a leaf, and one for each large one."""
    ordinary = [_with_inputs(asked, *one) for one in line.variants if not _is_large(one[1])]
    if ordinary:
        yield _case(question, line.leaf, ordinary)
    for name, inputs in line.variants:
        if _is_large(inputs):
            yield _case(question, f"{line.leaf}={name}", [_with_inputs(asked, name, inputs)], _slow(question))


def _turns(asked: QuestionCall, lines: list[LeafVariants]) -> Iterator[Mapping[str, Any]]:
    """In turn k, leaf j has its value number k + j, so each leaf has each of its values in some turn."""
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


def _together(question: Question, asked: QuestionCall, named: list[Variant]) -> Iterator[Question]:
    """One case in which the step is asked once with every value of every leaf; large values have cases of their own."""
    steps = [_with_inputs(asked, *one) for one in named if not _is_large(one[1])]
    at = next(k for k, one in enumerate(question.steps) if one is asked)
    if steps:
        yield _case(question, "together", [*question.steps[:at], *steps, *question.steps[at + 1 :]])
    for name, inputs in named:
        if _is_large(inputs):
            yield _with(question, asked, name, inputs)


def _with_inputs(asked: QuestionCall, name: str, inputs: Mapping[str, Any]) -> QuestionCall:
    return replace(asked, name=name, inputs=inputs, pin=None)


def _with(question: Question, asked: QuestionCall, name: str, inputs: Mapping[str, Any]) -> Question:
    steps = [_with_inputs(asked, asked.name, inputs) if one is asked else one for one in question.steps]
    return _case(question, name, steps, _slow(question) if _is_large(inputs) else "")


def _case(question: Question, name: str, steps: Sequence[QuestionCall | HarnessStep], profile: str = "") -> Question:
    """The question with other steps; `name` is added to the end of its id."""
    operator, group, own = question.id.split("::", 2)
    slug_ = name if own in ("", "trace") else f"{own},{name}"
    return replace(
        question, id=f"{operator}::{group}::{slug_}", steps=tuple(steps), profile=profile or question.profile
    )


def _is_large(inputs: Any) -> bool:
    if isinstance(inputs, str):  # first, as most are
        return len(inputs) > _LARGE
    if isinstance(inputs, Mapping):
        if is_recipe(inputs):
            return int(inputs["generated"]["count"]) > _LARGE
        return len(inputs) > _LARGE or any(map(_is_large, inputs.values()))
    return isinstance(inputs, list) and (len(inputs) > _LARGE or any(map(_is_large, inputs)))


def _slow(question: Question) -> str:
    return "standard" if question.profile == "quick" else question.profile


def _leaf_slug(spot: LeafOccurrence) -> str:
    """`manifest.datasets.*.cardinality`, `header.t`, `files.keys`, `shards.presence`."""
    place, _, kind = spot.place.partition("~")
    place += {"{key}": ".keys", "array": ".items", "map": ".items"}.get(kind, "")
    return place.replace("{key}", ".keys").replace("[]", ".+").replace("{}", ".*").replace("?", ".presence")


_LETTERS: Final = {"one-byte": "a", "two-byte": "\u00e9", "astral": "\U0001f600"}
_LONG: Final = 8192  # a longer text is made of two-byte letters alone: each case costs its length in the corpus
_TRIES: Final = 8  # attempts: a longer text can need a longer CBOR head
Make = Callable[[int, int], Any]  # from the number of letters and the number of shortest ones


def limit_cases(expansion: Expansion) -> Iterator[Question]:
    """The cases of a `limit` group: the value at `grow`, as long as the guard allows and one longer."""
    makers: list[tuple[str, Make]] = []
    with expansion.noting():
        makers.extend(_makers(expansion))
    limited = expansion.body["limit"]
    in_bytes = any(one.unit == BYTES for one in expansion.contract.requires if one.id == limited)
    for name, make in makers:
        for side, more in (("longest", 0), ("one-more", 1)):
            yield from expansion.attempt(partial(_question, expansion, f"{name}{side}", make, more))
        if name == "astral-" and in_bytes:
            yield from expansion.attempt(partial(_in_units, expansion, make))


def _in_units(expansion: Expansion, make: Make) -> Question | None:
    """Astral letters: their number is below a limit in bytes, the number of their UTF-16 units is above it."""
    most, place = _limit(expansion).most, expansion.place / "grow"
    draft = expansion.draft()
    draft.set(expansion.body["grow"], make(most // 2 + 1, 0), place)
    asked = QuestionCall("call", expansion.contract.operator, draft.wire(place), None)
    why = f"{expansion.group.why} {most // 2 + 1} letters beyond U+FFFF have more UTF-16 units than {most}."
    return expansion.question("astral-one-unit-more", (asked,), expansion.place, {"why": why})


def _limit(expansion: Expansion) -> SizeLimit:
    place, wanted = expansion.place / "limit", expansion.body["limit"]
    guard = next((one for one in expansion.contract.requires if one.id == wanted), None)
    found = list(size_limits(guard.expression.text)) if guard is not None else []
    if len(found) != 1:
        hint = "name a guard that compares one `size(...)` with a number, such as `size(bytes(name)) <= 4096`"
        near = nearest(wanted, [one.id for one in expansion.contract.requires], hint) if guard is None else hint
        raise place.problem("C008", f"{wanted!r} is no guard that bounds one size", near)
    return found[0]


def _makers(expansion: Expansion) -> Iterator[tuple[str, Make]]:
    path = expansion.body["grow"]
    type_ = (expansion.place / "grow").typed(expansion.contract.inputs, path, f"unknown path {path!r}")
    if isinstance(type_, Value) or type_ == Scalar("string"):
        for name, letter in _LETTERS.items():
            if name == "two-byte" or _limit(expansion).most <= _LONG:
                yield f"{name}-", partial(_text, letter, isinstance(type_, Value))
    elif isinstance(type_, ListOf | MapOf):
        yield "", partial(_items, expansion)
    else:
        yield "", _zeros


def _text(letter: str, tagged: bool, letters: int, short: int) -> Any:
    text = letter * letters + "a" * short
    return {"text": text} if tagged else text


def _zeros(letters: int, short: int) -> str:
    return "00" * (letters + short)


def _items(expansion: Expansion, letters: int, short: int) -> Any:
    count = letters + short
    draft = expansion.draft()
    whole = value_at(draft.wire(expansion.place), expansion.body["grow"])
    if not whole:
        path = expansion.body["grow"]
        hint = f"add `set: {{{path}: ...}}` to the group, with one item, which is then repeated"
        raise (expansion.place / "grow").problem("C015", f"{path} is empty: no item of it can be repeated", hint)
    if isinstance(whole, dict):
        item = next(iter(whole.values()))
        return {f"k{k}": item for k in range(count)}
    return [whole[0]] * count


def _question(expansion: Expansion, slug: str, make: Make, more: int) -> Question:
    limit, place = _limit(expansion), expansion.place / "grow"
    wanted = limit.most + more
    measure = expansion.contract.environment.compile(limit.measure, None)
    forms = expansion.codebook[expansion.contract.operator].inputs

    def measured(letters: int, short: int) -> int:
        draft.set(expansion.body["grow"], make(letters, short), place)
        native = forms.to_native(draft.wire(place))
        size = measure.evaluate(expansion.contract.environment.bind(native))
        if not isinstance(size, int):
            raise place.problem("C015", f"{limit.measure} has no value for a text of {letters + short} letters")
        return size

    draft = expansion.draft()
    width = max(1, measured(9, 0) - measured(8, 0))
    letters, short = 0, 0
    for _ in range(_TRIES):
        short += wanted - measured(letters, short)
        letters, short = max(0, letters + short // width), short % width
        if measured(letters, short) == wanted:
            asked = QuestionCall("call", expansion.contract.operator, draft.wire(place), None)
            said = f"{wanted} {'is one too many' if more else 'are allowed'}, and {limit.measure} counts them."
            return expansion.question(slug, (asked,), expansion.place, {"why": f"{expansion.group.why} {said}"})
    hint = "name a text, byte string or list of the inputs of which the guard's size depends"
    raise place.problem("C015", f"{limit.measure} does not reach {wanted} by the value at `grow`", hint)
