"""What a machine's file says of its state: the variables, and what each operation makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.expression import Environment
from conformance.contract.machine import Machine, Mentions, Method, Variable, names_of
from conformance.contract.position import Path, Problem
from conformance.contract.source import Source
from conformance.contract.types import HANDLE, Enum, Field, ListOf, MapOf, Scalar, Struct, Type, is_place, members_of
from conformance.contract.typetext import NamedTypes, type_at

UNKNOWN: Final = "unknown"  # what a variable becomes where no expression says it
_SENTENCE = re.compile(r"[A-Z].*\.\Z", re.DOTALL)


def machine_from(source: Source, named: NamedTypes, problems: list[Problem]) -> Machine:
    """The machine that the source of a machine's own contract holds."""
    body = source.value
    variables = tuple(_variable(source, name, named, problems) for name in body["state"])
    given = tuple(body.get("given", ()))
    methods = names_of(body["methods"], body["contract"])
    return Machine(body["contract"], variables, methods, given, body.get("own_roots", False))


def _variable(source: Source, name: str, named: NamedTypes, problems: list[Problem]) -> Variable:
    path: Path = ("state", name)
    position = source.key_at(path)
    if source.value["state"][name].get("opaque"):
        return Variable(name, None, position)
    type_ = type_at(source, path, named)
    if not _simple(type_):
        hint = "declare each part as a variable of its own, or the whole as `opaque: true`"
        problems.append(source.problem(path, "C003", f"state cannot be of type {type_}", hint))
        return Variable(name, None, position)
    return Variable(name, type_, position)


def _simple(type_: Type) -> bool:
    """Whether an expression can make a value of the type."""
    if isinstance(type_, ListOf | MapOf):
        return _simple(type_.item)
    return isinstance(type_, Enum) or (isinstance(type_, Scalar) and not is_place(type_))


@dataclass(frozen=True, slots=True)
class Words:
    """What an operation says of itself, before its expressions are compiled."""

    machine: Machine
    takes: str
    opens: str
    closes: bool
    texts: Mapping[str, str]
    keeps: frozenset[str]
    said: Mapping[str, str]
    unknown: frozenset[str]

    def seen(self, inputs: Struct) -> Struct:
        """The inputs as expressions see them: with the state behind the handle that the operation takes."""
        if not self.takes:
            return inputs
        return Struct((*inputs.fields, Field("state", self.machine.state, optional=True)), inputs.name)

    @property
    def following(self) -> list[tuple[str, str, Type]]:
        """The state after the operation: name, text and type of every variable that has one."""
        types = {member.name: member.type for member in self.machine.state.fields}
        return [(f"next.{name}", text, types[name]) for name, text in self.texts.items() if name in types]

    @property
    def silent(self) -> Mapping[str, str]:
        """The variables that have no value, and why."""
        found: dict[str, str] = {}
        for one in self.machine.variables:
            if one.opaque:
                why = "it is opaque; what hangs on it is a `refuses`, in words"
                found |= {f"state.{one.name}": why, f"next.{one.name}": why}
        return found | {f"next.{name}": "nobody knows it after this operation" for name in self.unknown}


def words_of(source: Source, machine: Machine, inputs: Struct, outputs: Struct, problems: list[Problem]) -> Words:
    """What the source of a method says; what contradicts itself is noted in `problems`."""
    body = source.value
    takes, opens = members_of(inputs, HANDLE), body.get("opens", "")
    for path, message, hint in _faults(body, machine, takes, members_of(outputs, HANDLE)):
        problems.append(source.problem(path, "C016", message, hint))
    becomes: Mapping[str, str] = body.get("becomes", {})
    opaque = {one.name for one in machine.variables if one.opaque}
    keeps = frozenset(body.get("keeps", ()))
    texts = {name: text for name, text in becomes.items() if name not in opaque and text != UNKNOWN}
    texts |= {one.name: f"state.{one.name}" for one in machine.variables if one.name in keeps - becomes.keys() - opaque}
    return Words(
        machine,
        takes[0] if takes else "",
        opens,
        bool(body.get("closes")),
        texts,
        keeps,
        {name: text for name, text in becomes.items() if name in opaque},
        frozenset(name for name, text in becomes.items() if text == UNKNOWN and name not in opaque),
    )


def _faults(
    body: Mapping[str, Any], machine: Machine, takes: tuple[str, ...], gives: tuple[str, ...]
) -> Iterator[tuple[Path, str, str]]:
    opens = body.get("opens", "")
    if len(takes) > 1 or len(gives) > 1:
        yield ("inputs",), "an operation takes one handle and gives one", "split it"
    if not takes and not opens:
        yield ("contract",), "the operation neither opens nor takes a handle", "write it as a contract of its own"
    if (opens and opens not in gives) or (gives and not opens):
        yield ("outputs",), "`opens` names the output of type handle", f"opens: {gives[0] if gives else 'handle'}"
    if body.get("closes") and (opens or not takes or body.get("becomes") or body.get("keeps")):
        yield ("closes",), "an operation that closes takes a handle and leaves no state", "drop becomes and keeps"
    if opens and not takes and body.get("keeps"):
        yield ("keeps",), "an operation that opens has nothing to keep", "say in `becomes` what the state begins with"
    known = {one.name: one for one in machine.variables}
    for key in ("becomes", "keeps"):
        for at, name in enumerate(body.get(key, ())):
            if name not in known:
                place = (key, name) if key == "becomes" else (key, at)
                yield place, f"no state variable {name!r}", f"variables of {machine.name}: {', '.join(known)}"
    for name, text in body.get("becomes", {}).items():
        if name in known and known[name].opaque and not _SENTENCE.match(text):
            hint = "a capital and a full stop; or declare the variable with a type"
            yield ("becomes", name), f"{name} is opaque, so what it becomes is a sentence", hint
    if "state" in body.get("inputs", {}):
        yield ("inputs", "state"), "an input called `state` would hide the machine's", "rename it"


def method_from(
    words: Words, body: Mapping[str, Any], lets: Mapping[str, str], after: Environment
) -> tuple[Method, Mentions]:
    """The method once its expressions are compiled, and which state its texts hang on."""
    mentions = Mentions(lets, words.texts)
    compiled = {let.name.removeprefix("next."): let.expression for let in after.after}
    needs = {name: mentions.of(text) for name, text in words.texts.items()}
    texts = [clause["that"] for key in ("requires", "ensures") for clause in body.get(key, ())]
    texts += [edge["when"] for edge in body.get("edge_cases", ())]
    needs[""] = frozenset().union(*(mentions.of(text) for text in texts))
    name = body["contract"].removeprefix(f"{words.machine.name}.")
    method = Method(
        name, words.takes, words.opens, words.closes, compiled, needs, words.keeps, words.unknown, words.said
    )
    return method, mentions
