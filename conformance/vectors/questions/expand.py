"""Turns contracts into questions: every case of every group, with inputs in wire form and no expectation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.library import Library
from conformance.contract.model import Contract, Group
from conformance.contract.suggest import nearest
from conformance.contract.yaml.source import MalformedContract, Problem
from conformance.vectors.case import Question, QuestionCall
from conformance.vectors.compact import MARK
from conformance.vectors.draft import Unusable
from conformance.vectors.questions.axis import axis_cases, has_axis_case, limit_cases
from conformance.vectors.questions.group import Combination, Expansion, combinations, substituted
from conformance.vectors.questions.machine_trace import check_words, derived
from conformance.vectors.questions.trace import accumulations, chains, traces


def expand(contract: Contract, codebook: Codebook) -> tuple[Question, ...]:
    """Every question of a contract, in the contract's order; raises MalformedContract with all problems."""
    questions: list[Question] = []
    problems: list[Problem] = []
    seen: dict[str, Question] = {}
    for group in contract.groups:
        expansion = Expansion(contract, group, codebook)
        found = list(_questions(expansion))
        problems += [*_twice(found, seen), *expansion.problems]
        if not found and not expansion.problems:
            problems.append(_no_case(group))
        questions += found
    if problems:
        raise MalformedContract(problems)
    return tuple(questions)


def _no_case(group: Group) -> Problem:
    hint = "no leaf is like those of `leaves`" if "leaves" in group.body else "`where` keeps no combination"
    return Problem(group.position, "C012", f"the group {group.name} has no case", hint)


def expand_words(contract: Contract, codebook: Codebook) -> None:
    """Check the text of every group without expanding all cases; raises MalformedContract like `expand`.

    Each value of a matrix is tried once, recipes make short values, no axis is walked and no trace is derived. Only a
    group that might have no case at all is expanded like in `expand`, up to its first case.
    """
    problems: list[Problem] = []
    seen: dict[str, Question] = {}
    groups = tuple(replace(group, body=_with_short_recipes(group.body)) for group in contract.groups)
    whole, contract = contract, replace(contract, bases=_with_short_recipes(contract.bases), groups=groups)
    for group, whole_group in zip(contract.groups, whole.groups, strict=True):
        expansion = Expansion(contract, group, codebook, each_once=True)
        if "derive" in expansion.body:
            check_words(expansion)
            problems += expansion.problems
            continue
        try:
            found = list(_questions_of(expansion))
        except Unusable as error:
            found = []
            problems.append(error.problem)
        twice = list(_twice(found, seen))
        noted = [*expansion.problems, *(list(_values_twice(expansion)) or twice)]
        if not noted and (not found or {"leaves", "except"} & group.body.keys()):
            noted = list(_first_case_missing(Expansion(whole, whole_group, codebook)))
        problems += noted
    if problems:
        raise MalformedContract(problems)


def _first_case_missing(expansion: Expansion) -> Iterator[Problem]:
    """The problem that a group has no case; nothing if it has one."""
    with expansion.noting():
        along = "axis" in expansion.body
        has_case = any(not along or has_axis_case(expansion, one) for one in _questions_of(expansion))
        if not has_case and not expansion.problems:
            yield _no_case(expansion.group)
    yield from expansion.problems


def _values_twice(expansion: Expansion) -> Iterator[Problem]:
    """The values of a matrix that give two cases one id."""
    for path, values in expansion.body.get("matrix", {}).items():
        place = expansion.place / "matrix"
        slugs = [one.slug for one in combinations({path: values}, place)] if isinstance(values, list) else []
        for k, name in enumerate(slugs):
            if name in slugs[:k]:
                message, hint = f"two cases have the id {name}", "remove one, or name them: {name: slug, value: X}"
                yield (place / path / k).problem("C011", message, hint).problem


def _with_short_recipes(value: Any) -> Any:
    """A YAML value whose recipes are cut to the few items that show whether they have the right type."""
    if isinstance(value, list):
        return [_with_short_recipes(part) for part in value]
    if not isinstance(value, dict) or "shape" in value:  # a tensor's shape says how much data there is
        return value
    recipe = value.get(MARK) if len(value) == 1 else None
    if isinstance(recipe, dict) and type(recipe.get("count")) is int and "shape" not in recipe:
        return {MARK: {**recipe, "count": min(recipe["count"], _ENOUGH)}}
    return {key: _with_short_recipes(part) for key, part in value.items()}


_ENOUGH: Final = 8


def _twice(questions: Iterable[Question], seen: dict[str, Question]) -> Iterator[Problem]:
    """A problem for each question that has the id of an earlier one; `seen` are those so far."""
    for question in questions:
        if (earlier := seen.setdefault(question.id, question)) is not question:
            hint = f"the other is at {earlier.position}; give the value or the case another name"
            yield Problem(question.position, "C011", f"two cases have the id {question.id}", hint)


def expand_all(codebook: Codebook) -> dict[str, tuple[Question, ...]]:
    """The questions of every contract of a library; raises MalformedContract with the problems of all."""
    questions: dict[str, tuple[Question, ...]] = {}
    problems: list[Problem] = []
    for operator in sorted(codebook.forms):
        try:
            questions[operator] = expand(codebook[operator].contract, codebook)
        except MalformedContract as error:
            problems += error.problems
    if problems:
        raise MalformedContract(problems)
    return questions


_MAKERS: Final[Mapping[str, Callable[[Expansion], Iterator[Question]]]] = {
    "trace": traces,
    "derive": derived,
    "limit": limit_cases,
    "chain": chains,
    "accumulate": accumulations,
}


def _questions_of(expansion: Expansion) -> Iterator[Question]:
    make = next((make for key, make in _MAKERS.items() if key in expansion.body), _explicit)
    return make(expansion)


def _questions(expansion: Expansion) -> Iterator[Question]:
    found = _questions_of(expansion)
    return axis_cases(expansion, found) if "axis" in expansion.body else found


def _explicit(expansion: Expansion) -> Iterator[Question]:
    for combination in expansion.combinations():
        for k, body in enumerate(expansion.body.get("cases", ({},))):
            yield from expansion.attempt(partial(_single, expansion, combination, k, body))


def _single(expansion: Expansion, combination: Combination, k: int, body: Mapping[str, Any]) -> Question | None:
    """One call: the base, then the values of the group, the case and the axes; later values replace earlier ones."""
    words = substituted(expansion.body, combination)
    expansion = replace(expansion, group=replace(expansion.group, body=words))
    body = substituted(body, combination)
    place = expansion.place / "cases" / k if body else expansion.place
    draft = expansion.draft(body, place)
    if body:
        draft.apply(body, place)
    combination.apply(draft)
    inputs = draft.wire(place)
    if not expansion.is_wanted(draft):
        return None
    operator = expansion.contract.operator
    slug = ",".join(filter(None, (body.get("id", ""), combination.slug)))
    asked = QuestionCall("call", operator, inputs, expansion.pin(body, place, operator))
    return expansion.question(slug, (asked,), place, body)


def preflight(library: Library) -> tuple[Problem, ...]:
    """Every base, path, value, pin and second derivation of the contracts that cannot be used, at its position.

    Each value of a matrix is tried once, not in every combination, and no axis is walked: to expand a large suite
    completely takes ten times as long. A contract that passed before, with the same types, is not tried again.
    """
    codebook = codebook_of(library)
    cache = open_cache("vectors")
    problems: list[Problem] = []
    for operator in sorted(codebook.forms):
        contract = codebook[operator].contract
        problems += _unknown_backends(contract, library)
        if not contract.groups:
            continue
        key = _digest(contract, codebook)
        if cache.get("usable", key) is True:
            continue
        try:
            expand_words(contract, codebook)
        except MalformedContract as error:
            problems += error.problems
        else:
            cache.put("usable", key, True)
    return tuple(sorted(set(problems)))


def _unknown_backends(contract: Contract, library: Library) -> Iterator[Problem]:
    """The second derivations that are no backend of the suite, no Python object and no command."""
    known = library.suite.backends
    for k, name in enumerate(contract.confirmed_by or ()):
        if name in known or set(name) & set(":/ ") or shutil.which(name) or contract.method is not None:
            continue
        hint = nearest(name, list(known), f"the backends of tally.toml are {', '.join(known) or 'none'}")
        place = contract.source.at(("confirmed_by", k))
        yield Problem(place, "C019", f"{name!r} is no backend of this suite", hint)


def _digest(contract: Contract, codebook: Codebook) -> str:
    """The digest of a contract and of all that its cases are checked against; empty if any of it is not plain data."""
    named = sorted({contract.operator, *_operators_called(contract, codebook)})
    types = [f"{one} {codebook[one].contract.inputs!r} {codebook[one].contract.outputs!r}" for one in named]
    bases = [json.dumps([codebook[one].contract.bases, sorted(codebook[one].contract.codes)]) for one in named]
    formats = [f"{name} {sorted(one.edits)}" for name, one in sorted(codebook.formats.items())]
    examples = [json.dumps(codebook[one].contract.source.value.get("examples")) for one in named]
    lets = [f"{let.name} {let.expression.text}" for let in contract.environment.lets]
    return digest_of_texts([json.dumps(contract.source.value), *types, *bases, *formats, *examples, *lets])


def _operators_called(contract: Contract, codebook: Codebook) -> Iterator[str]:
    """The operators that the traces of a contract call."""
    machine = contract.machine
    for group in contract.groups:
        yield from machine.methods if machine is not None and "derive" in group.body else ()
        for step in group.body.get("trace", ()):
            name = step.get("call", contract.operator)
            name = name if machine is None else machine.full_name(name)
            if name in codebook.forms:
                yield name
