"""A frozen case as lint sees it: calls with native inputs and what must come back."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from conformance.codec.codebook import Codebook, OperatorForms
from conformance.codec.illtyped import IllTyped
from conformance.contract.file_format import FileFormat
from conformance.contract.machine import State
from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.vectors.case import Accumulation, CallStep, Case, ExpectedResult, RestartStep
from conformance.vectors.compact import is_marker
from conformance.vectors.damage import with_damage
from conformance.vectors.generate import inputs_of
from conformance.vectors.ledger import Ledger
from conformance.vectors.placeholder import anywhere
from conformance.vectors.recipe import holds_recipe
from conformance.vectors.typepath import value_at

_TENSOR_MARKER: Final = frozenset({"dtype", "shape", "sha256"})


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a frozen case.

    `result` is the native result where the call succeeds and the result is frozen; `elided` names the outputs of it
    that are frozen as a digest only, which stand as empty lists and as tensors of zeros. `code` is the failure that
    must come back.
    """

    case: Case
    step: str
    operator: str
    inputs: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    elided: frozenset[str] = frozenset()
    code: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    after: State | None = None  # of a machine, where the handle is still open; `inputs` hold the `state` before

    @property
    def succeeds(self) -> bool:
        """Whether a result must come back."""
        return not self.code

    def __str__(self) -> str:
        return self.case.id if self.case.kind != "trace" else f"{self.case.id}, step {self.step}"


@dataclass(frozen=True, slots=True)
class UnreadableCase(Exception):
    """A frozen case does not fit the types of its operator's contract."""

    case: Case
    reason: str


def calls_of(case: Case, codebook: Codebook) -> Iterator[Call]:
    """The calls of a case whose operators have contracts; raises UnreadableCase.

    A call whose inputs hang on an elided output is left out: nobody knows them without a backend. So is one with a
    recipe among its inputs: it was judged when it was frozen, and 65,537 items cost the rules seconds.
    """
    try:
        if case.accumulation is not None:
            yield from _accumulated(case, case.accumulation, codebook)
        else:
            yield from _stepped(case, codebook)
    except (IllTyped, KeyError, ValueError, TypeError) as error:
        raise UnreadableCase(case, str(error)) from error


def _accumulated(case: Case, run: Accumulation, codebook: Codebook) -> Iterator[Call]:
    """The first and the last call of the run; of a chain only the first, because its inputs are answers."""
    if run.operator not in codebook.forms:
        return
    forms = codebook[run.operator]
    if run.generator == "chain":
        numbered = {"first": run.inputs}
    else:
        numbered = {
            name: inputs_of(run, forms.contract, call) for name, call in (("first", 0), ("last", run.count - 1))
        }
    for name, inputs in numbered.items():
        yield Call(case, name, run.operator, forms.inputs.to_native(forms.inputs.check(inputs)))


def _stepped(case: Case, codebook: Codebook) -> Iterator[Call]:
    answers: dict[str, Any] = {}
    ledger = Ledger(codebook)
    for step in case.steps:
        if isinstance(step, RestartStep):
            ledger.restart()
        if not isinstance(step, CallStep):
            continue
        expected = step.expected
        answers[step.name] = expected.fields if isinstance(expected, ExpectedResult) else None
        if step.operator not in codebook.forms:
            continue
        forms = codebook[step.operator]
        try:
            if holds_recipe(step.inputs):
                raise LookupError(step.name)
            inputs = _resolved(_placed(step.inputs, forms), answers, codebook.formats)
        except LookupError:
            ledger.lose(step.name, step.operator, step.inputs)
            continue
        plain = forms.inputs.to_native(forms.inputs.check(inputs))
        native = ledger.situated(step.operator, step.inputs, plain)
        if isinstance(expected, ExpectedResult):
            result, elided = _native_result(forms, expected.fields)
            after = ledger.note(step.name, step.operator, step.inputs, native, result, elided)
            yield Call(case, step.name, step.operator, native, result, elided, after=after)
        else:
            yield Call(case, step.name, step.operator, native, code=expected.code, record=expected.data)


def _placed(inputs: Mapping[str, Any], forms: OperatorForms) -> Mapping[str, Any]:
    """Inputs with a text instead of every root and handle: nothing that lint looks at can hang on them."""
    places = {name for name in (*forms.roots, *forms.handles) if isinstance(inputs.get(name), Mapping)}
    return {**inputs, **{name: "/".join(inputs[name].values()) for name in places}} if places else inputs


def _resolved(value: Any, answers: Mapping[str, Any], formats: Mapping[str, FileFormat]) -> Any:
    if isinstance(value, Mapping):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            return _answer(value["from"], answers)
        return with_damage({key: _resolved(item, answers, formats) for key, item in value.items()}, formats)
    if isinstance(value, list):
        return [_resolved(item, answers, formats) for item in value]
    return value


def _answer(reference: str, answers: Mapping[str, Any]) -> Any:
    name, _, path = reference.partition(".")
    value = value_at(answers[name], path)
    if anywhere(value, is_marker):
        raise LookupError(reference)
    return value


def _native_result(forms: OperatorForms, fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
    elided: list[str] = []
    whole = _filled(forms.contract.outputs, fields, "", elided)
    outputs = forms.lasting or forms.outputs
    return outputs.to_native(outputs.check(whole)), frozenset(elided)


def _filled(type_: Type, wire: Any, path: str, elided: list[str]) -> Any:
    if isinstance(type_, Struct) and isinstance(wire, Mapping):
        members = {member.name: member.type for member in type_.fields}
        return {
            name: _filled(members[name], value, f"{path}.{name}" if path else name, elided)
            if name in members
            else value
            for name, value in wire.items()
        }
    if isinstance(type_, ListOf) and isinstance(wire, Mapping):
        elided.append(path)
        return []
    if isinstance(type_, Tensor) and isinstance(wire, Mapping) and wire.keys() == _TENSOR_MARKER:
        elided.append(path)
        size = math.prod(wire["shape"]) * np.dtype(wire["dtype"]).itemsize
        return {"dtype": wire["dtype"], "shape": wire["shape"], "data": base64.b64encode(bytes(size)).decode()}
    if isinstance(type_, MapOf | Scalar) and is_marker(wire):
        elided.append(path)
        return {} if isinstance(type_, MapOf) else ""
    if isinstance(type_, Value) and anywhere(wire, is_marker):
        elided.append(path)
        return None
    if isinstance(type_, ListOf) and isinstance(wire, list):
        return [_filled(type_.item, item, path, elided) for item in wire]
    if isinstance(type_, MapOf) and isinstance(wire, Mapping):
        return {key: _filled(type_.item, item, path, elided) for key, item in wire.items()}
    return wire
