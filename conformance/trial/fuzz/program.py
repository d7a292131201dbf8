"""A sequence of calls of one machine, as a list of turns; it is asked and printed as a trace, and can be shrunk."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Type, is_integer
from conformance.contract.yaml.steps import kebab
from conformance.trial.fuzz.file_example import file_step_line
from conformance.trial.fuzz.shrink import RecordedChoices, fixed_value, kept_or_absent, one_of, simpler, tuple_of
from conformance.trial.generator import Native
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, QuestionCall, RestartStep
from conformance.vectors.compact import holds_recipe
from conformance.vectors.conversation.exchange import AnyStep
from conformance.vectors.conversation.state_tracking import UNKNOWN_HANDLE
from conformance.vectors.leaf import is_damaged, is_reference
from conformance.vectors.place import ABSENT
from conformance.vectors.questions.machine_trace import own_roots

NOT_GIVEN: Final = -1  # instead of the number of a turn: a handle that no operation returned


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One call. `native` are its inputs without places; `roots` its directories in frozen form.

    `handle` is the number of the turn that gave the handle, NOT_GIVEN for an unknown one, None if the call takes none.
    """

    operator: str
    native: Native
    roots: Mapping[str, Any] = field(default_factory=dict)
    handle: int | None = None


Program = tuple[ProgramCall, ...]


def method_of(codebook: Codebook, operator: str) -> Any:
    """What the contract says of an operation of a machine."""
    return codebook[operator].contract.method


def steps_of(program: Program, codebook: Codebook) -> tuple[QuestionCall, ...]:
    """The calls of a program as the steps of a trace."""
    return tuple(step_of(k, program, codebook) for k in range(len(program)))


def step_name(k: int, program: Sequence[ProgramCall], codebook: Codebook) -> str:
    """What the trace calls a turn."""
    return f"{kebab(method_of(codebook, program[k].operator).name)}-{k + 1}"


def step_of(k: int, program: Sequence[ProgramCall], codebook: Codebook, own: bool = True) -> QuestionCall:
    """One call of a program as a step; it opens a handle of `own` roots if the machine says so."""
    turn = program[k]
    forms, method = codebook[turn.operator], method_of(codebook, turn.operator)
    texts = dict.fromkeys((*turn.roots, *([method.takes] if method.takes else ())), UNKNOWN_HANDLE)
    wire = {**forms.inputs.from_native({**turn.native, **texts}), **turn.roots}
    if own:
        opened = sum(not method_of(codebook, one.operator).takes for one in program[: k + 1])
        wire = own_roots(forms.contract, wire, max(opened, 1))
    if method.takes:
        wire[method.takes] = _handle(turn.handle, program, codebook)
    return QuestionCall(step_name(k, program, codebook), turn.operator, wire)


def _handle(giver: int | None, program: Sequence[ProgramCall], codebook: Codebook) -> Any:
    if giver is None or giver == NOT_GIVEN:
        return UNKNOWN_HANDLE
    return {"from": f"{step_name(giver, program, codebook)}.{method_of(codebook, program[giver].operator).opens}"}


def program_of(case: Case, last: str, codebook: Codebook, methods: Sequence[str]) -> Program:
    """The calls of a frozen trace as a program, up to the step `last`, whatever its files and processes go through.

    Refusals before that step are left out: they change nothing.
    """
    turns: list[ProgramCall] = []
    names: dict[str, int] = {}
    for step in case.steps:
        if not isinstance(step, CallStep) or step.operator not in methods:
            continue
        if isinstance(step.expected, ExpectedFailure) and step.name != last:
            continue
        if (turn := turn_of(step, codebook, names)) is not None:
            names[step.name] = len(turns)
            turns.append(turn)
        if step.name == last:
            break
    return tuple(turns)


def turn_of(step: CallStep, codebook: Codebook, names: Mapping[str, int]) -> ProgramCall | None:
    """A frozen call as a turn; None if it takes more than a handle from earlier steps (`names`: their turns)."""
    forms, method = codebook[step.operator], method_of(codebook, step.operator)
    wire = dict(step.inputs)
    roots = {name: wire.pop(name) for name in forms.roots if isinstance(wire.get(name), Mapping)}
    handle: int | None = None
    if method.takes:
        given = wire.pop(method.takes)
        handle = names.get(given["from"].split(".")[0], NOT_GIVEN) if isinstance(given, Mapping) else NOT_GIVEN
    if holds_recipe(wire) or any(is_reference(part) or is_damaged(part) for part in wire.values()):
        return None
    places = (*roots, *([method.takes] if method.takes else ()))
    native = forms.inputs.to_native({**wire, **dict.fromkeys(places, UNKNOWN_HANDLE)})
    plain = {name: value for name, value in native.items() if name not in places}
    return ProgramCall(step.operator, plain, roots, handle)


def without_turns(program: Sequence[Any], gone: Container[int]) -> Program:
    """The program without some turns and without the turns that use a handle from them."""
    places: dict[int, int] = {}
    kept: list[ProgramCall] = []
    for k, turn in enumerate(program):
        if k in gone:
            continue
        giver = turn.handle
        if giver is not None and giver != NOT_GIVEN and giver not in places:
            continue
        places[k] = len(kept)
        kept.append(turn if giver is None or giver == NOT_GIVEN else replace(turn, handle=places[giver]))
    return tuple(kept)


def needed_turns(program: Program, last: int, codebook: Codebook) -> Program:
    """The turn `last` and the earlier turns that gave its handle or ended it."""
    handle = program[last].handle
    ends = {k for k in range(last) if program[k].handle == handle and method_of(codebook, program[k].operator).closes}
    return without_turns(program, {*range(len(program))} - ends - {last, handle})


def after_another_handle(program: Program) -> Program:
    """The program after a copy of its first turn, so that another handle is open all the time."""
    moved = (one if one.handle in (None, NOT_GIVEN) else replace(one, handle=one.handle + 1) for one in program)
    return (program[0], *moved)


def trace_lines(steps: Sequence[AnyStep], codebook: Codebook, contract: Contract) -> tuple[str, ...]:
    """The lines that a `trace:` of the machine's contract would hold."""
    return tuple(_line(step, codebook, contract) for step in steps)


def _line(step: AnyStep, codebook: Codebook, contract: Contract) -> str:
    if isinstance(step, FileStep):
        return file_step_line(step)
    if isinstance(step, RestartStep):
        return "- {restart: true}"
    assert isinstance(step, QuestionCall)
    forms, method = codebook[step.operator], method_of(codebook, step.operator)
    short = step.operator.removeprefix(f"{contract.operator}.")
    parts = [f"step: {step.name}", f"call: {short}"]
    given = step.inputs.get(method.takes)
    types = {member.name: member.type for member in forms.contract.inputs.fields}
    told = {
        name: value["root"] if name in forms.roots and isinstance(value, Mapping) else natural(types[name], value)
        for name, value in step.inputs.items()
        if not (name == method.takes and isinstance(value, Mapping))
    }
    if told:
        parts.append("set: {" + ", ".join(f"{name}: {_yaml(value)}" for name, value in told.items()) + "}")
    if isinstance(given, Mapping):
        parts.append(f"use: {{{method.takes}: {given['from']}}}")
    return f"- {{{', '.join(parts)}}}"


def natural(type_: Type, wire: Any) -> Any:
    """A wire value as people write it: numbers as numbers."""
    if is_integer(type_):
        return int(wire)
    match type_:
        case ListOf(item) if isinstance(wire, list):
            return [natural(item, one) for one in wire]
        case MapOf(item) if isinstance(wire, Mapping):
            return {key: natural(item, one) for key, one in wire.items()}
        case Struct(fields) if isinstance(wire, Mapping):
            types = {member.name: member.type for member in fields}
            return {key: natural(types[key], one) for key, one in wire.items()}
        case Scalar():
            return wire
    return wire


def _yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def simpler_program(inputs: Mapping[str, Struct], program: Program, step: int = 1) -> RecordedChoices:
    """The choices of programs with some of the turns, each with simpler inputs, on its own handle or an earlier one."""
    return tuple_of([_simpler(inputs, program, k, step) for k in range(len(program))]).map(_program_of)


def _simpler(inputs: Mapping[str, Struct], program: Program, k: int, step: int) -> RecordedChoices:
    turn = program[k]
    type_ = inputs.get(turn.operator)
    native = fixed_value(turn.native) if type_ is None else simpler(type_, turn.native, step)
    givers = {one.handle for one in program if one.handle is not None}
    earlier = [] if turn.handle is None else sorted(giver for giver in givers if NOT_GIVEN < giver < turn.handle)
    handle = one_of([*earlier, turn.handle])
    turns = tuple_of([native, handle]).map(lambda made: replace(turn, native=made[0], handle=made[1]))
    return kept_or_absent(turns)


def _program_of(turns: Sequence[Any]) -> Program:
    return without_turns(tuple(turns), [k for k, turn in enumerate(turns) if turn is ABSENT])
