"""Groups whose cases have several calls: traces as written, chains unrolled into traces, long runs as one hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from conformance.contract.suggest import nearest
from conformance.contract.types import HANDLE, INTEGER_RANGES, ListOf, Scalar, Struct, Type, is_place
from conformance.vectors.case import Accumulation, HarnessStep, Pin, Question, QuestionCall, RestartStep
from conformance.vectors.draft import Draft, Reference, YamlPlace, pin_of
from conformance.vectors.leaf import same_type, type_at
from conformance.vectors.questions.filedraft import (
    FileDraft,
    action_of,
    is_volatile,
    refuse_unknown_damage,
    refuse_unstable,
    roots_of,
)
from conformance.vectors.questions.group import Combination, Expansion, combinations, substituted

Use = str | Mapping[str, str]


def traces(expansion: Expansion) -> Iterator[Question]:
    """One trace per combination of the group's axes."""
    return expansion.for_each(partial(_trace, expansion))


def chains(expansion: Expansion) -> Iterator[Question]:
    """One unrolled chain per combination of the group's axes."""
    return expansion.for_each(lambda combination: _Chain(expansion, combination).question())


def _trace(expansion: Expansion, combination: Combination) -> Question | None:
    steps: list[QuestionCall | HarnessStep | FileDraft] = []
    calls: dict[str, QuestionCall] = {}
    unseen = True  # no call of this group's own operator so far
    bodies = [substituted(body, combination) for body in expansion.body["trace"]]
    for k, body in enumerate(bodies):
        place = expansion.place / "trace" / k
        if "restart" in body:
            steps.append(RestartStep())
            continue
        if action_of(body):
            # The roots are known only after all calls are known.
            steps.append(FileDraft(expansion, place, (), dict(calls)))
            continue
        draft, operator = _step_draft(expansion, combination, body, place)
        if operator == expansion.contract.operator and unseen:
            unseen = False
            if not expansion.is_wanted(draft):
                return None
        earlier = {name: asked.operator for name, asked in calls.items()}
        for path, text in used(expansion, operator, body, earlier).items():
            refer(expansion, draft, path, text, earlier, place / "use" / path)
        if body["step"] in earlier:
            raise (place / "step").problem("C011", f"the step {body['step']!r} is used twice", "rename one")
        pin = expansion.pin(body, place, operator)
        calls[body["step"]] = QuestionCall(body["step"], operator, draft.wire(place), pin)
        steps.append(calls[body["step"]])
    roots = roots_of(expansion, calls)
    whole = tuple(
        replace(step, roots=roots).step(body) if isinstance(step, FileDraft) else step
        for step, body in zip(steps, bodies, strict=True)
    )
    refuse_unstable(whole, expansion.place / "trace")
    return expansion.question(combination.slug or "trace", whole, expansion.place)


def _step_draft(
    expansion: Expansion, combination: Combination, body: Mapping[str, Any], place: YamlPlace
) -> tuple[Draft, str]:
    """The inputs of one step without the answers that it uses; its own values win over those of group and axes."""
    operator, machine = body.get("call", expansion.contract.operator), expansion.contract.machine
    if machine is not None:
        operator = machine.full_name(operator)
    if operator not in expansion.codebook.forms or (machine is not None and operator == machine.name):
        hint = nearest(operator, sorted(expansion.codebook.forms), "name a contract of this library")
        if machine is not None:
            hint = f"operations: {', '.join(machine.methods)}"
            known = [*(name.rpartition(".")[2] for name in machine.methods), *sorted(expansion.codebook.forms)]
            hint = nearest(operator, known, hint)
        raise (place / "call").problem("C014", f"unknown operator {operator!r}", hint)
    if operator == expansion.contract.operator:
        draft = expansion.draft(body, place)
        combination.apply(draft)
    else:
        draft = Draft(expansion.codebook[operator].contract)
        if "base" in body:
            draft.base(body["base"], place / "base")
    draft.apply(body, place)
    return draft, operator


def used(expansion: Expansion, operator: str, body: Mapping[str, Any], earlier: Mapping[str, str]) -> Mapping[str, Use]:
    """The answers that a step takes from earlier ones; if it names no handle, it gets the last one of its machine."""
    use: Mapping[str, Use] = body.get("use", {})
    contract = expansion.codebook[operator].contract
    if contract.machine is None or contract.method is None:
        return use
    takes = contract.method.takes
    if not takes or takes in use or takes in body.get("set", {}):
        return use
    for step, other in reversed(list(earlier.items())):
        method = expansion.codebook[other].contract.method
        if other in contract.machine.methods and method is not None and method.opens:
            return {takes: f"{step}.{method.opens}", **use}
    return use


def refer(
    expansion: Expansion, draft: Draft, path: str, use: Use, earlier: Mapping[str, str], place: YamlPlace
) -> None:
    """Set the input at `path` to an earlier step's answer, `step.output.path`, or to the answer with a damaged field,
    `{from: step.output.path, format, edit}`; raises Unusable."""
    text = use if isinstance(use, str) else use["from"]
    step, _, output = text.partition(".")
    if step not in earlier or not output:
        known = ", ".join(earlier) or "none; the first step has nothing to use"
        raise place.problem("C010", f"{text!r} names no earlier step", f"write step.output.path; steps so far: {known}")
    outputs = expansion.codebook[earlier[step]].contract.outputs
    given = place.typed(outputs, output, f"{earlier[step]} has no output {output!r}", "C010")
    if given != Scalar(HANDLE) and is_volatile(outputs, output):
        raise place.problem("C010", f"{output} is volatile", "use an output that is the same in every run, or a handle")
    if isinstance(use, str):
        draft.set(path, Reference(text), place)
    else:
        refuse_unknown_damage(expansion, use["format"], use["edit"], place)
        draft.set(path, Reference(text, use["format"], use["edit"]), place)
    wanted = type_at(draft.contract.inputs, path)
    if not same_type(wanted, given):
        raise place.problem("C010", f"{path} is {wanted}, but {text} is {given}", "use an output of the same type")


@dataclass(slots=True)
class _Chain:
    """A chain being unrolled: rounds numbered from 1, every combination of `each` in every round."""

    expansion: Expansion
    combination: Combination
    steps: list[QuestionCall | HarnessStep] = field(default_factory=list)
    earlier: dict[str, str] = field(default_factory=dict)

    def question(self) -> Question | None:
        expansion, body = self.expansion, self.expansion.body["chain"]
        place = expansion.place / "chain"
        where = expansion.expression(body["where"], place / "where") if "where" in body else None
        pins = dict(body.get("pins", {}))
        feeder = ""
        for number in range(1, body["length"] + 1):
            first = ""
            for each in combinations(body.get("each", {}), place / "each"):
                draft = self._draft(number, each, place)
                if number == 1 and not first and not expansion.is_wanted(draft):
                    return None
                if not expansion.keeps(draft, where, place / "where"):
                    continue
                name = f"round-{number}" + (f",{each.slug}" if each.slug else "")
                self._ask(name, draft, feeder, self._pin(number, each, pins, place), place)
                first = first or name
            if not first:
                raise (place / "where").problem("C012", f"nothing is asked in round {number}", "widen `where`")
            feeder = first
            if number in body.get("restart_after", ()):
                self.steps.append(RestartStep())
        self._refuse_unused(pins, place)
        return expansion.question(self.combination.slug or "chain", tuple(self.steps), expansion.place)

    def _draft(self, number: int, each: Combination, place: YamlPlace) -> Draft:
        draft = self.expansion.draft()
        self.combination.apply(draft)
        body = self.expansion.body["chain"]
        draft.apply(body, place)
        for path, values in body.get("vary", {}).items():
            k = (number - 1) % len(values)
            draft.set(path, values[k], place / "vary" / path / k)
        each.apply(draft)
        return draft

    def _ask(self, name: str, draft: Draft, feeder: str, pin: Pin | None, place: YamlPlace) -> None:
        if feeder:
            for path, output in self.expansion.body["chain"]["feed"].items():
                refer(self.expansion, draft, path, f"{feeder}.{output}", self.earlier, place / "feed" / path)
        self.steps.append(QuestionCall(name, draft.contract.operator, draft.wire(place), pin))
        self.earlier[name] = draft.contract.operator

    def _pin(self, number: int, each: Combination, pins: Mapping[str, Any], place: YamlPlace) -> Pin | None:
        for key in (f"{number}.{each.slug}", str(number)):
            if key in pins:
                return pin_of(pins[key], place / "pins" / key, self.expansion.contract)
        return None

    def _refuse_unused(self, pins: Mapping[str, Any], place: YamlPlace) -> None:
        body = self.expansion.body["chain"]
        asked = {step.name for step in self.steps if isinstance(step, QuestionCall)}
        for key in pins:
            number, _, slug = key.partition(".")
            name = f"round-{number}" + (f",{slug}" if slug else "")
            whole_round = not slug and any(one.startswith(f"{name},") for one in asked)
            if name not in asked and not whole_round:
                hint = f"write a round of 1..{body['length']}, or round.axis=value"
                raise (place / "pins" / key).key_problem("C008", f"no round {key!r} is asked", hint)


_PARAMETERS: Final = {"chain": "feed", "sweep": "sweep", "random": "random"}


def accumulations(expansion: Expansion) -> Iterator[Question]:
    """One accumulation per combination of the group's axes."""
    return expansion.for_each(partial(_accumulation, expansion))


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
    parameters = _parameters(expansion, body, place / wanted)
    for path in parameters:
        # Every path needs a value, so that the inputs of the first call are complete.
        if generator != "chain":
            draft.set(path, int(parameters[path].get("start", "0")), place / wanted / path)
    if not expansion.is_wanted(draft):
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


def _parameters(expansion: Expansion, body: Mapping[str, Any], place: YamlPlace) -> dict[str, Any]:
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


def _fed(expansion: Expansion, path: str, output: str, place: YamlPlace) -> str:
    wanted = _input_type(expansion, path, place)
    given = _output_type(expansion, output, place)
    if not same_type(wanted, given):
        raise place.problem("C010", f"{path} is {wanted}, but {output} is {given}", "feed an output of the same type")
    return output


def _input_type(expansion: Expansion, path: str, place: YamlPlace) -> Type:
    return place.typed(expansion.contract.inputs, path, f"unknown path {path!r} among the inputs", key=True)


def _output_type(expansion: Expansion, path: str, place: YamlPlace) -> Type:
    return place.typed(expansion.contract.outputs, path, f"unknown path {path!r} among the outputs")


def _range(type_: Type, place: YamlPlace) -> tuple[int, int]:
    if not isinstance(type_, Scalar) or type_.name not in INTEGER_RANGES:
        raise place.key_problem("C013", f"an input of type {type_} cannot be counted through", "name a sized integer")
    return INTEGER_RANGES[type_.name]


def _hashable(expansion: Expansion, output: str, place: YamlPlace) -> None:
    type_ = _output_type(expansion, output, place)
    if not isinstance(type_, Struct) and type_ not in (Scalar("uint64"), ListOf(Scalar("uint64"))):
        hint = "name a uint64, a list<uint64> or a struct"
        raise place.problem("C013", f"the output {output} is of type {type_}", hint)
