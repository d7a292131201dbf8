"""The vector files: a case as a JSON object, calls as differences from others of their group, and the index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from conformance.vectors.case import (
    Accumulation,
    CallStep,
    Case,
    ExpectedFailure,
    ExpectedResult,
    FileStep,
    RestartStep,
    Step,
    TreeStep,
)
from conformance.vectors.jsontext import digest_of, json_text
from conformance.vectors.leaf import changed

LIKE: Final = "like"
_PARTS: Final = ("inputs", "expected")
_SHORT: Final = 0.6  # of the call's length: a longer difference makes the call one that others can differ from
_LAST: Final = 8  # whole calls that a call is compared with, beside the first; with 16 the files are as long
JsonObject = dict[str, Any]


class Models:
    """The whole calls of every operator in each group of one file; cases are given in the file's order."""

    def __init__(self) -> None:
        self._whole: dict[tuple[str, str], list[tuple[str, JsonObject]]] = {}  # by group and operator: names and calls
        self._named: dict[str, Mapping[str, Any]] = {}

    def step_records(self, case: str, steps: Sequence[JsonObject]) -> list[JsonObject]:
        """The records of a case's steps; a call like a whole one of its group is written as the difference from it."""
        group, slug = _group_and_slug(case)
        return [self._short_record(group, slug, step) if "call" in step else step for step in steps]

    def read(self, case: str, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The complete records of a case's steps; raises LookupError or TypeError if a change has no place."""
        group, slug = _group_and_slug(case)
        done: list[Mapping[str, Any]] = []
        for step in steps:
            if LIKE in step:
                model = self._named[f"{group}::{step[LIKE]}"]
                parts = {part: _full_record(model[part], step[part]) for part in _PARTS}
                step = {"step": step["step"], "call": step["call"], **parts}
            elif "call" in step:
                self._named.setdefault(f"{group}::{slug}::{step['step']}", step)
            done.append(step)
        return done

    def skip_case(self, case: str, steps: Sequence[Mapping[str, Any]]) -> None:
        """Remember the whole calls of a case that is not read, because later cases may refer to them."""
        group, slug = _group_and_slug(case)
        for step in steps:
            if "call" in step and LIKE not in step:
                self._named.setdefault(f"{group}::{slug}::{step['step']}", step)

    def _short_record(self, group: str, slug: str, step: JsonObject) -> JsonObject:
        known = self._whole.setdefault((group, step["call"]), [])
        near = [*known[:1], *known[1:][-_LAST:]]
        brief = min((_as_difference(step, *one) for one in near), key=_length, default=step)
        if _length(brief) < _SHORT * _length(step):
            return brief
        known.append((f"{slug}::{step['step']}", step))
        return step


def _as_difference(step: JsonObject, name: str, model: JsonObject) -> JsonObject:
    """A call as its difference from a whole one, or the call itself if its inputs are of another kind."""
    parts: dict[str, Any] = {}
    for part in _PARTS:
        found = list(_changes(model[part], step[part], ()))
        if all(path for path, _ in found):
            parts[part] = [[list(path), value] for path, value in found]
        elif part == "inputs":
            return step
        else:
            parts[part] = step[part]  # an answer of another kind is written whole
    return {"step": step["step"], "call": step["call"], LIKE: name, **parts}


def _length(record: JsonObject) -> int:
    return len(json.dumps(record))


def _group_and_slug(case: str) -> tuple[str, str]:
    operator, group, slug = case.split("::", 2)
    return f"{operator}::{group}", slug


def _changes(model: Any, other: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The paths and values where two JSON values differ; it descends while keys and lengths are equal."""
    if isinstance(model, Mapping) and isinstance(other, Mapping) and model.keys() == other.keys():
        for key in sorted(model):
            yield from _changes(model[key], other[key], (*path, key))
    elif isinstance(model, list) and isinstance(other, list) and len(model) == len(other):
        for k, (left, right) in enumerate(zip(model, other, strict=True)):
            yield from _changes(left, right, (*path, k))
    elif model != other:
        yield path, other


def _full_record(model: Any, part: Any) -> Any:
    return part if isinstance(part, Mapping) else changed(model, part)


@dataclass(frozen=True, slots=True)
class IndexedOperator:
    """One operator's entry: its file, the digest of its cases, and per case what confirmed it besides the reference."""

    file: str
    digest: str
    confirmed_by: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Index:
    """The whole index."""

    operators: Mapping[str, IndexedOperator]

    @property
    def root(self) -> str:
        """The digest of the whole corpus."""
        return digest_of({name: operator.digest for name, operator in self.operators.items()})


def index_of(
    cases: Mapping[str, Sequence[Case]], files: Mapping[str, str], confirmed_by: Mapping[str, tuple[str, ...]]
) -> Index:
    """The index of frozen cases; the keys of `confirmed_by` are case ids."""
    return Index(
        {
            operator: IndexedOperator(
                files[operator],
                digest_of({case.id: case.digest for case in some}),
                {case.id: confirmed_by[case.id] for case in some},
            )
            for operator, some in sorted(cases.items())
        }
    )


def index_record(index: Index) -> dict[str, Any]:
    """The JSON object of an index: by case id, without the operator's name, what confirmed the case."""
    return {
        "digest": index.root,
        "operators": {
            name: {
                "file": operator.file,
                "digest": operator.digest,
                "count": len(operator.confirmed_by),
                "cases": {
                    id_.removeprefix(f"{name}::"): list(backends) for id_, backends in operator.confirmed_by.items()
                },
            }
            for name, operator in index.operators.items()
        },
    }


def index_from(record: Mapping[str, Any]) -> Index:
    """The index in a JSON object; raises KeyError, ValueError, TypeError or AttributeError where none is."""
    operators = {}
    for name, body in record["operators"].items():
        confirmed_by = {f"{name}::{short}": tuple(map(str, names)) for short, names in body["cases"].items()}
        if body["count"] != len(confirmed_by):
            raise ValueError(f"count of {name}: it says {body['count']}, of {len(confirmed_by)} cases")
        operators[name] = IndexedOperator(str(body["file"]), str(body["digest"]), confirmed_by)
    return Index(operators)


DEFAULT_PROFILE: Final = "quick"


def case_record(case: Case) -> dict[str, Any]:
    """The JSON object of a case, without empty and false members."""
    record: dict[str, Any] = {
        "id": case.id,
        "why": case.why,
        "requirements": list(case.requirements),
        "digest": case.digest,
        **essence(case),
    }
    if case.profile != DEFAULT_PROFILE:
        record["profile"] = case.profile
    if case.rulings:
        record["rulings"] = list(case.rulings)
    if case.pinned:
        record["pinned"] = True
    return record


def essence(case: Case) -> dict[str, Any]:
    """The part of a case that its digest covers: operators, inputs and expectations, without prose."""
    if case.accumulation is not None:
        record = {one.name: getattr(case.accumulation, one.name) for one in fields(case.accumulation)}
        return {"accumulation": {**record, "checkpoints": list(map(list, case.accumulation.checkpoints))}}
    return {"steps": [_step_record(step) for step in case.steps]}


def case_digest(case: Case) -> str:
    """The digest of a case (DESIGN 5)."""
    return digest_of(essence(case))


def case_of(record: Mapping[str, Any]) -> Case:
    """The case in a schema-valid JSON object."""
    operator, group, _ = record["id"].split("::", 2)
    accumulation = record.get("accumulation")
    return Case(
        id=record["id"],
        operator=operator,
        group=group,
        why=record["why"],
        requirements=tuple(record["requirements"]),
        rulings=tuple(record.get("rulings", ())),
        profile=record.get("profile", DEFAULT_PROFILE),
        steps=tuple(_step_of(step) for step in record.get("steps", ())),
        accumulation=accumulation and Accumulation(
            **{**accumulation, "checkpoints": tuple(map(tuple, accumulation["checkpoints"]))}
        ),
        digest=record["digest"],
        pinned=record.get("pinned", False),
    )


def sealed(case: Case) -> Case:
    """The case with its digest."""
    return replace(case, digest=case_digest(case))


def _step_record(step: Step) -> dict[str, Any]:
    if isinstance(step, RestartStep):
        return {"restart": True}
    if isinstance(step, FileStep):
        return {step.action: step.body}
    if isinstance(step, TreeStep):
        decode = {"decode": step.decode} if step.decode else {}
        return {"tree": {"root": step.root, "path": step.path, **decode, "expected": step.expected}}
    match step.expected:
        case ExpectedFailure(code, data):
            expected: dict[str, Any] = {"failure": {"code": code, "data": data}}
        case ExpectedResult(result):
            expected = {"result": result}
    return {"step": step.name, "call": step.operator, "inputs": step.inputs, "expected": expected}


def _step_of(record: Mapping[str, Any]) -> Step:
    if "restart" in record:
        return RestartStep()
    if "tree" in record:
        tree = record["tree"]
        return TreeStep(tree["root"], tree["path"], tree.get("decode", {}), tree["expected"])
    if "call" not in record:
        ((action, body),) = record.items()
        return FileStep(action, body)
    expected = record["expected"]
    failure = expected.get("failure")
    return CallStep(
        record["step"],
        record["call"],
        record["inputs"],
        ExpectedResult(expected["result"]) if failure is None else ExpectedFailure(failure["code"], failure["data"]),
    )


FORMAT: Final = 1  # version of the files; other versions are refused
INDEX_FILE: Final = "index.json"


def vector_file(family: str, operator: str) -> str:
    """The path of an operator's vectors below `vectors/`."""
    return f"{family}/{operator}.json"


def operator_text(operator: str, version: str, cases: Sequence[Case]) -> str:
    """The text of one operator's file."""
    records, models = [case_record(case) for case in cases], Models()
    for record in records:
        if "steps" in record:
            record["steps"] = models.step_records(record["id"], record["steps"])
    return json_text({"format": FORMAT, "contract": operator, "version": version, "cases": records})


def corpus_texts(cases: Mapping[str, Sequence[Case]], index: Index, versions: Mapping[str, str]) -> dict[str, str]:
    """Every file of a corpus, by its path below `vectors/`."""
    texts = {
        index.operators[operator].file: operator_text(operator, versions[operator], some)
        for operator, some in cases.items()
    }
    return {**dict(sorted(texts.items())), INDEX_FILE: json_text(index_record(index))}
