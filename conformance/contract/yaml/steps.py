"""Short forms of the steps of a trace and of pins: read before named values are written out, numbered afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from conformance.contract.suggest import nearest
from conformance.contract.yaml.source import Position, Source, ValuePath

_PINS: Final = {"gives": "result", "fails": "failure"}
_CALL_KEYS: Final = frozenset({"step", "call", "base", "set", "unset", "use", "pin", *_PINS})
_CASE_KEYS: Final = frozenset({"id", "base", "set", "unset", "why", "requirement", "ruling", "like", "pin", *_PINS})
_OTHERS: Final = frozenset(
    {"restart", "put", "flip", "truncate", "delete", "rename", "link", "damage", "tree", "like", "given"}
)  # the first keys of the maps among the steps that are no calls
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NUMBERED: Final = "-N"  # the end of a name that gets a number


def with_long_steps(source: Source) -> Source:
    """The source with `{Call: inputs}`, `{pattern: parts}`, `gives` and `fails` in the long form of a step.

    If a step means several (a named list or a `repeat`), the trace becomes a `join`.
    """
    if not isinstance(source.value, dict):
        return source
    reader = _Reader(source)
    value = dict(source.value)
    if isinstance(value.get("values"), dict):
        value["values"] = {name: reader.named(one, ("values", name)) for name, one in value["values"].items()}
    if isinstance(value.get("vectors"), list):
        value["vectors"] = [reader.group(one, ("vectors", k)) for k, one in enumerate(value["vectors"])]
    if not reader.moved:
        return replace(source, value=value)
    values = {reader.new_path(path): place for path, place in source.values.items()}
    keys = {reader.new_path(path): place for path, place in source.keys.items()}
    return replace(source, value=value, values={**reader.made, **values}, keys=keys)


class _Reader:
    """Reads the short forms of one source; `moved` maps the place of a key to its place in the long form."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.named_values = source.value.get("values")
        operations = source.value.get("operations")
        self.operations = list(operations) if isinstance(operations, dict) else []
        self.moved: dict[ValuePath, ValuePath] = {}
        self.made: dict[ValuePath, Position] = {}

    def new_path(self, path: ValuePath) -> ValuePath:
        new = list(path)
        # The last step that moved is replaced first, so that the paths above are still the old ones.
        for size in range(len(path), 0, -1):
            if path[:size] in self.moved:
                new[size - 1 : size] = self.moved[path[:size]]
        return tuple(new)

    def group(self, group: Any, at: ValuePath) -> Any:
        if not isinstance(group, dict):
            return group
        group = dict(group)
        if "trace" in group:
            group["trace"] = self.trace(group["trace"], (*at, "trace"))
        if isinstance(group.get("matrix"), dict):
            axes = group["matrix"].items()
            group["matrix"] = {name: self.axis(values, (*at, "matrix", name)) for name, values in axes}
        if isinstance(group.get("cases"), list):
            common = {key: group.pop(key) for key in ("gives", "fails") if key in group}
            group["cases"] = [
                self.case(one, common, (*at, "cases", k)) if isinstance(one, dict) else one
                for k, one in enumerate(group["cases"])
            ]
        return group

    def axis(self, values: Any, at: ValuePath) -> Any:
        """The values of an axis; a map of them has their names."""
        if not isinstance(values, dict) or values.keys() & {"damages", "like", "join", "series", "repeat"}:
            return values
        self.moved |= {(*at, name): (k, "value") for k, name in enumerate(values)}
        return [{"name": name, "value": value} for name, value in values.items()]

    def case(self, case: Mapping[str, Any], common: Mapping[str, Any], at: ValuePath) -> Mapping[str, Any]:
        """A case with `pin`; its other keys are set in the named value that it begins with."""
        named = self.named_values if isinstance(self.named_values, dict) else {}
        name = next((key for key in case if key in named and key not in _CASE_KEYS), "")
        pattern = named[name] if isinstance(named.get(name), dict) else {}
        own = (case.keys() | pattern.keys()) & {"pin", "like", *_PINS}
        if name and (both := next((key for key in ("set", "unset") if key in case and key in pattern), "")):
            message, hint = f"{both} in the case and in {name}", f"give what it sets to {name}, or write the case out"
            raise self.source.malformed((*at, both), "C018", message, hint)
        if not name:
            if "like" in case:
                message, hint = "`like` among the cases", "write the case out, or use a pattern: {id: x, NAME: {...}}"
                raise self.source.malformed(at, "C018", message, hint)
            return self.pinned(case if own else {**case, **common}, at)
        self.require_flat(name)
        self.moved[(*at, name)] = ("with",)
        beside = {key: part for key, part in case.items() if key != name}
        beside = dict(self.pinned(beside if own else {**beside, **common}, at))
        return {"like": name, "with": case[name], **({"set": beside} if beside else {})}

    def require_flat(self, name: str) -> None:
        """Refuse a pattern that is one map and uses another pattern, which only a list of steps may do."""
        body = self.named_values[name]
        for inner in body if isinstance(body, dict) else ():
            if inner in self.named_values and inner not in _CALL_KEYS | _CASE_KEYS | _OTHERS:
                message = f"the pattern {name} is one map, and uses the pattern {inner}"
                hint = f"write steps as a list, `{name}: [{{{inner}: ...}}]`, and what {inner} has here for a case"
                raise self.source.malformed(("values", name, inner), "C018", message, hint)

    def trace(self, steps: Any, at: ValuePath) -> Any:
        """Steps in a list, or in the lists of a `join` or `repeat`; one step may mean several."""
        if isinstance(steps, list):
            made = [self.step(one, (*at, k)) if isinstance(one, dict) else one for k, one in enumerate(steps)]
            several = [isinstance(one, dict) and self.is_several(one) for one in made]
            return self.spliced(made, several, at) if any(several) else made
        for form in ("join", "repeat"):
            if isinstance(steps, dict) and isinstance(steps.get(form), list):
                parts = enumerate(steps[form])
                return {**steps, form: [self.trace(part, (*at, form, k)) for k, part in parts]}
        return steps

    def is_several(self, step: Mapping[str, Any]) -> bool:
        """Whether a step is a `repeat` or a named list of steps."""
        named = step.get("like")
        known = self.named_values.get(named) if isinstance(named, str) and isinstance(self.named_values, dict) else None
        return "repeat" in step or isinstance(known, list)

    def spliced(self, steps: list[Any], several: list[bool], at: ValuePath) -> Mapping[str, Any]:
        """A list of steps, some of which mean several, as a `join`."""
        parts: list[Any] = []
        for k, (one, is_several) in enumerate(zip(steps, several, strict=True)):
            if is_several:
                self.moved[(*at, k)] = ("join", len(parts))
                parts.append(one)
                continue
            if not parts or not isinstance(parts[-1], list):
                parts.append([])
            self.moved[(*at, k)] = ("join", len(parts) - 1, len(parts[-1]))
            parts[-1].append(one)
        return {"join": parts}

    def step(self, step: Mapping[str, Any], at: ValuePath) -> Mapping[str, Any]:
        if "repeat" in step:
            if (key := next((key for key in step if key not in ("repeat", "from")), None)) is not None:
                hint = "only `from` may be beside it; set values in the steps that it repeats"
                raise self.source.malformed((*at, key), "C018", f"{key!r:.60} beside repeat", hint)
            return cast(Mapping[str, Any], self.trace(step, at))
        patterns = [key for key in step if key not in _OTHERS | _CALL_KEYS and not key[:1].isupper()]
        if not patterns or step.keys() & _OTHERS:
            return self.as_call(step, at)
        name, *others = patterns
        if not isinstance(self.named_values, dict) or name not in self.named_values:
            hint = "a step is a call, `Read: {...}`, a named value, or one of " + ", ".join(sorted(_OTHERS))
            hint = nearest(name, [*self.operations, *_OTHERS, *_CALL_KEYS, *(self.named_values or ())], hint)
            raise self.source.malformed((*at, name), "C018", f"no named value {name!r:.60}", hint)
        if others or step.keys() - {name, "step", "base", "use", "pin", *_PINS}:
            message, hint = f"more than one thing beside {name}", "beside it may be step, base, use, gives and fails"
            raise self.source.malformed(at, "C018", message, hint)
        self.require_flat(name)
        self.moved[(*at, name)] = ("with",)
        beside = self.as_call({key: part for key, part in step.items() if key != name}, at)
        return {"like": name, "with": step[name], **({"set": dict(beside)} if beside else {})}

    def named(self, value: Any, at: ValuePath) -> Any:
        """A named value in its long form; its steps and cases may be short."""
        if isinstance(value, list):
            maps = [one for one in value if isinstance(one, dict)]
            if not any(one.keys() & self.named_values.keys() or self.repeats_steps(one) for one in maps):
                return [self.named(one, (*at, k)) if isinstance(one, dict) else one for k, one in enumerate(value)]
            if all("id" in one for one in maps):
                return [self.case(one, {}, (*at, k)) if isinstance(one, dict) else one for k, one in enumerate(value)]
            return self.trace(value, at)
        if not isinstance(value, dict):
            return value
        calls = any(key[:1].isupper() for key in value)
        if ("step" in value or calls) and all(key in _CALL_KEYS or key[:1].isupper() for key in value):
            return self.as_call(value, at)
        # A case in a list that several contracts use, or a pattern of a case.
        return self.pinned(value, at) if "id" in value or value.keys() <= _CASE_KEYS else value

    def repeats_steps(self, one: Mapping[str, Any]) -> bool:
        """Whether a map of a named list is a `repeat` of steps."""
        match one.get("repeat"):
            case [[dict(first), *_], *_]:
                names = first.keys() & {"step", *_OTHERS, *self.named_values} or any(key[:1].isupper() for key in first)
                return bool(names) or self.repeats_steps(first)
        return False

    def as_call(self, step: Mapping[str, Any], at: ValuePath) -> Mapping[str, Any]:
        """A step with `call` and `set` instead of `Call: inputs`."""
        calls = [key for key in step if key[:1].isupper()]
        if not calls:
            return self.pinned(step, at)
        if len(calls) > 1 or step.keys() & {"call", "set"}:
            found = ", ".join(key for key in step if key in ("call", "set", *calls))
            raise self.source.malformed(at, "C018", f"one step with {found}", "write one call")
        (call,) = calls
        inputs = {"set": step[call]} if step[call] != {} else {}
        self.moved[(*at, call)] = ("set",)
        self.made[(*at, "call")] = self.source.key_at((*at, call))
        return self.pinned({**{key: part for key, part in step.items() if key != call}, "call": call, **inputs}, at)

    def pinned(self, step: Mapping[str, Any], at: ValuePath) -> Mapping[str, Any]:
        """A step or case with `pin` instead of `gives` or `fails`."""
        short = [key for key in ("pin", *_PINS) if key in step]
        if len(short) > 1:
            message = f"one answer with {' and '.join(short)}"
            raise self.source.malformed(at, "C018", message, "a call either gives or fails")
        if not short or short == ["pin"]:
            return step
        (key,) = short
        self.moved[(*at, key)] = ("pin", _PINS[key])
        self.made[(*at, "pin")] = self.source.key_at((*at, key))
        return {**{name: part for name, part in step.items() if name != key}, "pin": {_PINS[key]: step[key]}}


def with_named_steps(source: Source) -> Source:
    """The source with a name for every call of a trace: `advance` and `advance-2` for two of `Advance`."""
    if not isinstance(source.value, dict) or not isinstance(source.value.get("vectors"), list):
        return source
    groups = [
        {**group, "trace": _named(group["trace"])}
        if isinstance(group, dict) and isinstance(group.get("trace"), list)
        else group
        for group in source.value["vectors"]
    ]
    return replace(source, value={**source.value, "vectors": groups})


def _named(steps: list[Any]) -> list[Any]:
    found: list[Any] = []
    taken: set[str] = set()
    last: dict[str, int] = {}  # the last number that a name was given
    for step in steps:
        if isinstance(step, dict):
            name = step.get("step", _name_of(step["call"]) if isinstance(step.get("call"), str) else "")
            if isinstance(name, str) and name.endswith(NUMBERED):
                step = {**step, "step": _numbered(name.removesuffix(NUMBERED), taken, last)}
            if isinstance(step.get("step"), str):
                taken.add(step["step"])
        found.append(step)
    return found


def _name_of(call: str) -> str:
    """The name of a step without one: `NextChunk` is `next-chunk`, `Family.ReadRows_v1` is `read-rows`."""
    return kebab(re.sub(r"_v[0-9]+$", "", call.rpartition(".")[2])) + NUMBERED


def kebab(name: str) -> str:
    """`NextChunk` as `next-chunk`."""
    return _WORD.sub("-", name).lower()


def _numbered(name: str, taken: set[str], last: dict[str, int]) -> str:
    number = last.get(name, 0) + 1
    while (numbered := f"{name}-{number}" if number > 1 else name) in taken:
        number += 1
    last[name] = number
    return numbered
