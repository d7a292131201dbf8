"""The reference held to its contract before its answers are frozen: guards, domain, postconditions, pins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.backend.observed import ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook
from conformance.codec.illtyped import show_path
from conformance.contract.position import Problem
from conformance.contract.types import ListOf, Type
from conformance.vectors.case import TreeStep, label
from conformance.vectors.compact import compact_list
from conformance.vectors.difference import first_difference
from conformance.vectors.exchange import Exchange, Held
from conformance.vectors.pin import MARKER_KEYS
from conformance.vectors.question import Asked, Pin, Question
from conformance.vectors.situation import Situation
from conformance.vectors.tree import tree_difference
from conformance.vectors.typepath import type_at, value_at


def complaints(question: Question, situation: Situation, codebook: Codebook) -> Iterator[Problem]:
    """What the reference's answer to one call contradicts."""
    exchange = situation.exchange
    forms = codebook[exchange.operator]
    contract, observed = forms.contract, exchange.observed
    where = f"{question.id}, step {exchange.step}"
    asked = next(step for step in question.calls if step.name == exchange.step)
    yield from pin_complaints(question, asked, exchange, codebook)
    if not isinstance(observed, ObservedResult | ObservedFailure):
        return
    inputs = situation.inputs
    if not contract.foresees(inputs):
        return
    guard = contract.refusal(inputs)
    if isinstance(observed, ObservedFailure):
        foreseen = contract.later_codes if guard is None else {guard.code}
        if observed.code not in foreseen:
            predicted = f"the guard {guard.id} predicts {guard.code}" if guard else "every guard holds"
            message = f"{where}: {predicted}, but the reference fails with {observed.code}"
            yield Problem(question.position, "V005", message)
        return
    if guard is not None:
        message = f"{where}: the guard {guard.id} predicts {guard.code}, but the reference answers with a result"
        yield Problem(question.position, "V005", message)
        return
    if not contract.in_domain(inputs):
        hint = "an input that no guard refuses is judged only inside the contract's `domain`"
        yield Problem(question.position, "V006", f"{where}: the inputs lie outside the domain", hint)
    for clause in contract.broken_postconditions(inputs, situation.result or {}):
        message = f"{where}: the reference's result breaks the postcondition {clause.id} ({clause.position})"
        yield Problem(question.position, "V004", message, f"the result is {observed.fields!r:.300}")
    for clause in situation.broken:
        message = f"{where}: the state afterwards breaks the invariant {clause.id} ({clause.position})"
        yield Problem(question.position, "V004", message, f"the state is {situation.after!r:.300}")


def tree_complaints(question: Question, held: Held) -> Iterator[Problem]:
    """Where the files that the reference leaves are not what the contract pins."""
    for number, step in enumerate(question.steps, start=1):
        name = label(step, number) if isinstance(step, TreeStep) else ""
        if not isinstance(step, TreeStep) or step.expected is None or name not in held.trees:
            continue
        if (apart := tree_difference(step, step.expected, held.trees[name])) is not None:
            shown = f"{apart.expected!r:.200}, the reference leaves {apart.actual!r:.200}"
            message = f"{question.id}, {name}: {show_path(apart.path)} is pinned as {shown}"
            yield Problem(question.position, "V002", message)


def pin_complaints(question: Question, asked: Asked, exchange: Exchange, codebook: Codebook) -> Iterator[Problem]:
    """Where an answer is not what the requirement page pins."""
    pin, observed = asked.pin, exchange.observed
    if pin is None:
        return
    if pin.failure:
        agrees = isinstance(observed, ObservedFailure) and observed.code == pin.failure
        said = [] if agrees else [f"pinned {pin.failure}, the reference gives {_shown(observed)}"]
    elif isinstance(observed, ObservedResult):
        said = list(_pin_differences(pin, observed.fields, codebook[asked.operator].contract.outputs))
    else:
        said = [f"pinned a result, the reference gives {_shown(observed)}"]
    for message in said:
        yield Problem(pin.position, "V002", f"{question.id}, step {asked.name}: {message}")


def _pin_differences(pin: Pin, fields: Mapping[str, Any], outputs: Type) -> Iterator[str]:
    for path, pinned in pin.values.items():
        try:
            actual = value_at(fields, path)
        except KeyError:
            yield f"{path} is pinned, but the reference's result has no such part"
            continue
        if message := _pin_difference(pinned, actual, type_at(outputs, path)):
            yield f"{path}{message}"


def _pin_difference(pinned: Any, actual: Any, type_: Type) -> str:
    if isinstance(type_, ListOf) and isinstance(pinned, Mapping) and pinned.keys() <= MARKER_KEYS:
        marker = compact_list(actual, type_.item)
        for key in sorted(pinned):
            if marker[key] != pinned[key]:
                return f" is pinned with {key} {pinned[key]!r}, the reference gives {marker[key]!r}"
        return ""
    found = first_difference(pinned, actual, type_)
    if found is None:
        return ""
    shown = f" is pinned as {found.expected!r:.200}, the reference gives {found.actual!r:.200}"
    return f" at {show_path(found.path)}{shown}" if found.path else shown


def fixes(pin: Pin, result: Mapping[str, Any]) -> bool:
    """Whether a pin fixes the whole of an answer: a failure's code, or every part of a result."""
    if pin.failure:
        return True
    leaves = _leaves(result) if result else ()
    return all(any(path == name or name.startswith(f"{path}.") for path in pin.values) for name in leaves)


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value and not value.keys() >= {"count", "sha256"}:
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else key)
    else:
        yield path


def _shown(observed: Any) -> str:
    if isinstance(observed, ObservedFailure):
        return f"the failure {observed.code}"
    if isinstance(observed, ObservedResult):
        return f"the result {observed.fields!r:.200}"
    return str(observed)
