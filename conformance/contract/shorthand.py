"""Replaces the short forms of long values by the values."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from conformance.contract.canonical import value_item, wire_value
from conformance.contract.types import INTEGER_RANGES
from conformance.contract.yaml.companions import SHARED, VALUES
from conformance.contract.yaml.source import (
    MAX_NESTING,
    MAX_VALUES,
    MalformedContract,
    Position,
    Problem,
    Source,
    ValuePath,
)
from conformance.contract.yaml.steps import with_long_steps, with_named_steps

LONGEST: Final = 1_000_000  # letters and items of one value; the longest in use has 131,186
LARGEST: Final = 5_000_000  # letters and items of all forms in one file; the most in use are 1,545,806
DEEPEST: Final = 32  # levels of named values that use each other; three are in use
_FORMS: Final[Mapping[str, frozenset[str]]] = {  # by the first key: the other keys that a form may have
    "repeat": frozenset({"from"}),
    "series": frozenset(),
    "join": frozenset(),
    "cbor": frozenset(),
    "edit": frozenset({"replace"}),
    "like": frozenset({"with", "set", "unset"}),
    "given": frozenset({"default"}),
}
_RECIPE: Final = "generated"  # a value below this key is a recipe, which has a {k} of its own
_DTYPES: Final = ("uint8", "uint16", "uint32", "uint64", "int32", "int64")
_TENSORS: Final = frozenset({"bool", "int8", "int16", "float16", "float32", "float64", *_DTYPES})
# The keys of a map under one of these are names, never forms: {set: {repeat: 3}} sets what is called `repeat`.
_NAMES: Final = frozenset({"set", "with", "fields", "result", "bases", "inputs", "outputs", "use", "decode", "state"})

# Below `vectors`, the keys of a map under one of these may be inputs; if all of them are, the map is no form either.
_INPUTS: Final = frozenset({"matrix", "feed", "each", "vary", "sweep", "random"})


def written_out(source: Source) -> Source:
    """The source with every short form replaced by its value, and without `values`; raises MalformedContract.

    A value that a form copies whole, by `like` or `join`, keeps its positions in the file. The key of a named value
    that nothing uses keeps its position, for L109; shared values do not, because another contract may use them.
    """
    if not isinstance(source.value, dict):
        return source
    if not isinstance(source.value.get(VALUES, {}), dict):
        raise source.malformed((VALUES,), "C002", "values: expected a map", "name each value")
    source = with_long_steps(source)
    writer = _Writer(source)
    value = {key: writer.out(part, (key,), (key,)) for key, part in source.value.items() if key != VALUES}
    places = {(): source.at(()), **writer.values}
    unused: dict[ValuePath, Position] = {
        path: source.keys[path]
        for path in ((VALUES, name) for name in writer.named if name not in writer.used)
        if Path(source.keys[path].file).name != SHARED
    }
    return with_named_steps(replace(source, value=value, values=places, keys={**writer.keys, **unused}))


class _Refused(Exception):
    """A form cannot be written out: the mistake and the next step."""


class _Writer:
    """Writes out one file. `at` is the path of a value in the file, `to` its path in the result, None inside a form."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.named: Mapping[str, Any] = source.value.get(VALUES, {})
        self.inputs = frozenset(_inputs(source.value))
        self.values: dict[ValuePath, Position] = {}
        self.keys: dict[ValuePath, Position] = {}
        self.under_way: list[str] = []
        self.used: set[str] = set()
        self.given: Mapping[str, Any] = {}  # the values that the current `like` gives to the value that it names
        self.used_at: ValuePath = ()  # where the current named value is used
        self.count = 0
        self.depth = 0
        self.size = 0
        self.numbered = 0  # the forms around the current value that replace {k}

    def out(self, value: Any, at: ValuePath, to: ValuePath | None = None) -> Any:
        """A value from the file where every form is replaced."""
        self.count += 1
        if self.count > MAX_VALUES:
            message, hint = f"more than {MAX_VALUES:,} values, written out", "a named value may be used too often"
            raise self.source.malformed(at, "C018", message, hint)
        self.depth += 1
        made = self.written(value, at, to)
        self.depth -= 1
        return made

    def written(self, value: Any, at: ValuePath, to: ValuePath | None) -> Any:
        if to is not None and at in self.source.values:
            self.values[to] = self.source.values[at]
            if at in self.source.keys:
                self.keys[to] = self.source.keys[at]
        if isinstance(value, list):
            return [self.out(part, (*at, k), to and (*to, k)) for k, part in enumerate(value)]
        if not isinstance(value, dict):
            return value
        form = "" if (at[-1] in _NAMES and at[0] != VALUES) or self.has_inputs(value, at) else _form(value)
        if not form:
            return {key: self.out(part, (*at, key), to and (*to, key)) for key, part in value.items()}
        try:
            return self.measured(getattr(self, f"_{form}")(value, at, to))
        except RecursionError:
            raise self.source.malformed(at, "C018", f"{form}: {_TOO_DEEP}", _FLATTER) from None
        except _Refused as error:
            message, hint = error.args
            raise self.source.malformed(at, "C018", f"{form}: {message}", hint) from None
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            message, hint = f"{form}: a part is of the wrong kind ({error!s:.80})", "docs/language.md, Long values"
            raise self.source.malformed(at, "C018", message, hint) from None

    def has_inputs(self, value: Mapping[str, Any], at: ValuePath) -> bool:
        """Whether the keys of a map are inputs, which may be called like a form."""
        in_place = (at[0] == "vectors" and at[-1] in _INPUTS) or (at[0] == "bases" and len(at) == 2)
        return in_place and value.keys() <= self.inputs

    def measured(self, made: Any) -> Any:
        """The value that a form was replaced by; refuses one that is nested too deep or makes the file too large."""
        depth, size = _extent(made)
        if self.depth + depth > MAX_NESTING:
            raise _Refused(_TOO_DEEP, _FLATTER)
        self.size += size
        if self.size > LARGEST:
            raise _Refused(f"more than {LARGEST:,} letters and items in one file", "repeat or use less of it")
        return made

    def _repeat(self, body: Mapping[str, Any], at: ValuePath, _: ValuePath | None) -> Any:
        first = body.get("from")
        match body["repeat"]:
            case [unit, int(count)] if type(count) is int and count >= 0 and type(first) in (int, type(None)):
                self.numbered += first is not None
                if not self.numbered and _waits_for_number(unit):
                    raise _Refused("{k} is in what is repeated, but nothing numbers the copies", "add `from: 1`")
                unit = self.out(unit, (*at, "repeat", 0))
                self.numbered -= first is not None
                if isinstance(unit, str | list):
                    if (size := _extent(unit)[1] * count) > LONGEST:
                        raise _Refused(f"{size:,} letters and items, of at most {LONGEST:,} in all", "repeat it less")
                    return unit * count if first is None else _numbered(unit, range(first, first + count))
        hint = "{repeat: [a, 300]}, of a list {repeat: [[1], 300]}; with `from: 1`, {k} is the number of the copy"
        raise _Refused(f"expected [a text or a list, how often], found {dict(body)!r:.80}", hint)

    def _series(self, body: Mapping[str, Any], _: ValuePath, __: ValuePath | None) -> Any:
        match body["series"]:
            case {"start": int(start), "count": int(count), **rest} if 0 <= count <= LONGEST:
                step, modulo, dtype = rest.pop("step", 1), rest.pop("modulo", 0), rest.pop("as", "")
                truths = bool in map(type, (start, count))
                if not (rest or truths) and type(step) is type(modulo) is int and dtype in ("", *INTEGER_RANGES):
                    numbers = [start + step * k for k in range(count)]
                    numbers = [number % modulo for number in numbers] if modulo else numbers
                    return _elements(numbers, dtype) if dtype else numbers
        raise _Refused("expected {start, step?, count, modulo?, as?}", "`as: uint16` gives the hex of its elements")

    def _join(self, body: Mapping[str, Any], at: ValuePath, to: ValuePath | None) -> Any:
        parts: Any = body["join"] if isinstance(body["join"], list) else []
        items: list[Any] = []
        texts: list[str] = []
        maps: dict[str, Any] = {}
        for k, part in enumerate(parts):
            # The items of a list in the file keep their positions; the length of another part is not known yet.
            here = (*at, "join", k)
            if isinstance(part, list) and to is not None:
                first = len(items)
                items += [self.out(item, (*here, j), (*to, first + j)) for j, item in enumerate(part)]
            elif isinstance(made := self.out(part, here), list):
                items += made
            elif isinstance(made, dict):
                maps |= made
            else:
                texts += [str(made) if type(made) is int else made]
        kinds = sum(map(bool, (items, texts, maps)))
        if not parts or kinds > 1 or not all(isinstance(text, str) for text in texts):
            raise _Refused("expected a list of texts, of lists, or of maps", "{join: [ab, {repeat: [c, 300]}]}")
        if _extent([*texts, *items])[1] > LONGEST:
            raise _Refused(f"more than {LONGEST:,} letters or items", "make it shorter, or write a recipe")
        return "".join(texts) if texts else maps or items

    def _cbor(self, body: Mapping[str, Any], at: ValuePath, _: ValuePath | None) -> str:
        return value_item(wire_value(self.out(body["cbor"], (*at, "cbor")), canonical=True)).hex()

    def _edit(self, body: Mapping[str, Any], at: ValuePath, _: ValuePath | None) -> str:
        base = body["edit"]
        whole = _bytes(self.named_value(base, at) if _is_in(base, self.named) else self.out(base, (*at, "edit")))
        parts, done = [], 0
        if "replace" not in body:
            raise _Refused("nothing is replaced", 'add `replace: [[0, "00", "01"]]`')
        for row in self.out(body["replace"], (*at, "replace")):
            match row:
                case [bool(), *_] | [_, bool(), *_]:
                    raise _Refused(f"expected [offset, old hex or size, new hex], found {row!r:.80}", "write numbers")
                case [int(offset), str(old), str(new)] if done <= offset <= len(whole):
                    before = _bytes(old)
                    if whole[offset : offset + len(before)] != before:
                        found = whole[offset : offset + len(before)].hex()
                        raise _Refused(f"the base has {found!r:.80} at {offset}, not {old!r:.80}", "look at the base")
                    parts += [whole[done:offset], _bytes(new)]
                    done = offset + len(before)
                case [int(offset), int(size), str(new)] if offset >= done and 0 <= size <= len(whole) - offset:
                    parts += [whole[done:offset], _bytes(new)]
                    done = offset + size
                case _:
                    hint = f"offsets count the {len(whole)} bytes of the base and ascend; quote the hex"
                    raise _Refused(f"expected [offset, old hex or size, new hex], found {row!r:.80}", hint)
        return b"".join([*parts, whole[done:]]).hex()

    def _tensor(self, body: Mapping[str, Any], at: ValuePath, _: ValuePath | None) -> Any:
        ((dtype, items),) = body.items()
        shape, data = _flat(self.out(items, (*at, dtype)))
        return {"dtype": dtype, "shape": shape, "data": data}

    def _given(self, body: Mapping[str, Any], at: ValuePath, _: ValuePath | None) -> Any:
        if body["given"] in self.given:
            return copy.deepcopy(self.given[body["given"]])
        if "default" in body:
            return self.out(body["default"], (*at, "default"))
        name = body["given"]
        place = self.source.at(self.used_at or at)
        hint = f"{self.source.at(at)} takes it; {{like: NAME, with: {{{name}: ...}}}}"
        raise MalformedContract([Problem(place, "C018", f"given: nothing gives {name!r:.60}", hint)])

    def _like(self, body: Mapping[str, Any], at: ValuePath, to: ValuePath | None) -> Any:
        given = self.out(body.get("with", {}), (*at, "with"))
        if not isinstance(given, dict):
            message = f"expected a map of what is given to {body['like']!r:.60}, found {given!r:.60}"
            raise _Refused(message, "{name: value}")
        unused = given.keys() - set(_names_given(self.named.get(str(body["like"]))))
        if unused:
            raise _Refused(f"{body['like']} uses no {', '.join(sorted(unused))}", "leave it out")
        value = copy.deepcopy(self.named_value(body["like"], at, to if len(body) == 1 else None, given))
        for path in body.get("unset", ()):
            holder, last = _parent_and_step(value, path)
            if not isinstance(holder, dict) or last not in holder:
                raise _Refused(f"nothing is at {path!r} to unset", "name a part that is there")
            del holder[last]
        for path, part in body.get("set", {}).items():
            holder, last = _parent_and_step(value, path)
            made = self.out(part, (*at, "set", path))
            if isinstance(holder, list) and last.isdigit() and int(last) < len(holder):
                holder[int(last)] = made
            elif isinstance(holder, dict):
                holder[last] = made
            else:
                raise _Refused(f"nothing is above {path!r}", "name a part of what is there")
        return value

    def named_value(
        self, name: Any, at: ValuePath, to: ValuePath | None = None, given: Mapping[str, Any] | None = None
    ) -> Any:
        """A named value that is used at a path, written out with the values given to it."""
        if not _is_in(name, self.named):
            raise _Refused(f"unknown value {name!r:.60}", f"values here: {', '.join(self.named) or 'none'}")
        if name in self.under_way:
            raise _Refused(f"{name} is made of itself", "break the circle")
        if len(self.under_way) >= DEEPEST:
            raise _Refused(f"more than {DEEPEST} values made of one another", "write one of them out")
        outer = self.given, self.used_at
        self.given, self.used_at = given or {}, at
        self.under_way.append(name)
        self.used.add(name)
        value = self.out(self.named[name], (VALUES, name), to)
        self.under_way.pop()
        self.given, self.used_at = outer
        return value


_TOO_DEEP: Final = f"more than {MAX_NESTING} lists and maps in one another, written out"
_FLATTER: Final = "use fewer named values in one another"


def _extent(value: Any) -> tuple[int, int]:
    """The depth of nested lists and maps, and the number of letters and items."""
    depth, size, level = 0, 0, [value]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, str):
                size += len(one)
            elif isinstance(one, list):
                size += len(one)
                inner += one
            elif isinstance(one, dict):
                size += len(one)
                inner += one.values()
        depth, level = depth + 1, inner
    return depth, size


def _inputs(contract: Mapping[str, Any]) -> Iterator[str]:
    """The names of the inputs of an operator, or of the operations of a machine."""
    operations = contract.get("operations")
    for owner in (contract, *(operations.values() if isinstance(operations, dict) else ())):
        if isinstance(owner, dict) and isinstance(owner.get("inputs"), dict):
            yield from owner["inputs"]


def _form(value: Mapping[str, Any]) -> str:
    """The key that tells which form a map is; empty for a plain map."""
    if len(value) == 1 and _TENSORS.issuperset(value):
        return "tensor"
    return next((name for name, beside in _FORMS.items() if name in value and value.keys() - {name} <= beside), "")


def _waits_for_number(unit: Any) -> bool:
    """Whether a text has {k} that no form or recipe in the unit replaces."""
    if isinstance(unit, str):
        return "{k}" in unit
    if isinstance(unit, list):
        return any(map(_waits_for_number, unit))
    if not isinstance(unit, dict) or {"repeat", "from"} <= unit.keys():
        return False
    return any(_waits_for_number(part) for key, part in unit.items() if key != _RECIPE)


def _numbered(unit: Any, numbers: Sequence[int]) -> Any:
    """One copy of a text or list for each number, with the number in place of {k}."""

    def copied(value: Any, number: int) -> Any:
        if isinstance(value, str):
            return number if value == "{k}" else value.replace("{k}", str(number))
        if isinstance(value, list):
            return [copied(part, number) for part in value]
        return {key: copied(part, number) for key, part in value.items()} if isinstance(value, dict) else value

    if isinstance(unit, str):
        return "".join(unit.replace("{k}", str(number)) for number in numbers)
    return [part for number in numbers for part in copied(unit, number)]


def _flat(items: Any) -> tuple[list[int], list[Any]]:
    """The shape of nested lists, and their items in one list."""
    if not isinstance(items, list):
        raise _Refused(f"expected a list, found {items!r:.60}", "{uint8: [[1, 2, 3], [4, 5, 6]]}")
    if not any(isinstance(item, list) for item in items):
        return [len(items)], items
    parts = [_flat(item) for item in items]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise _Refused("the inner lists have different lengths", "write {dtype, shape, data} where they must")
    return [len(items), *parts[0][0]], [item for _, flat in parts for item in flat]


def _names_given(value: Any) -> Iterator[str]:
    """The names that a named value takes from `with`."""
    if isinstance(value, dict):
        if isinstance(value.get("given"), str):
            yield value["given"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _names_given(part)


def _is_in(name: Any, known: Mapping[str, Any]) -> bool:
    return isinstance(name, str) and name in known


def _parent_and_step(value: Any, path: str) -> tuple[Any, str]:
    """The map or list above the last step of a dotted path, or None, and that step; a key may contain dots."""
    while "." in path and not (isinstance(value, dict) and path in value):
        step, _, path = path.partition(".")
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value, path


def _bytes(text: Any) -> bytes:
    try:
        found = bytes.fromhex(text)
    except (TypeError, ValueError):
        found = b""
    if found.hex() != text:
        raise _Refused(f"expected hex, found {text!r:.60}", "lower-case letters, no blanks, and quotes around digits")
    return found


def _elements(numbers: Sequence[int], dtype: str) -> str:
    signed, size = dtype.startswith("int"), int(dtype.lstrip("uint")) // 8
    try:
        return b"".join(number.to_bytes(size, "little", signed=signed) for number in numbers).hex()
    except OverflowError:
        raise _Refused(f"a number is no {dtype}", "add modulo, or take a wider type") from None
