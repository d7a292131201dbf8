"""A case as the JSON object that stands in a vector file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.vectors.case import (
    Accumulation,
    CallStep,
    Case,
    Expected,
    ExpectedFailure,
    ExpectedResult,
    FileStep,
    RestartStep,
    Step,
    TreeStep,
)
from conformance.vectors.digest import digest_of

DEFAULT_PROFILE: Final = "quick"


def case_record(case: Case) -> dict[str, Any]:
    """The JSON object of a case; what is empty or false is left out."""
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
    """What the digest covers: operators, inputs and expectations, without prose."""
    if case.accumulation is not None:
        return {"accumulation": accumulation_record(case.accumulation)}
    return {"steps": [_step_record(step) for step in case.steps]}


def case_digest(case: Case) -> str:
    """The digest of a case (DESIGN 5)."""
    return digest_of(essence(case))


def accumulation_record(accumulation: Accumulation) -> dict[str, Any]:
    """The JSON object of an accumulation."""
    return {
        "operator": accumulation.operator,
        "inputs": accumulation.inputs,
        "output": accumulation.output,
        "generator": accumulation.generator,
        "parameters": accumulation.parameters,
        "seed": accumulation.seed,
        "count": accumulation.count,
        "checkpoints": [[calls, sha256] for calls, sha256 in accumulation.checkpoints],
    }


def case_of(record: Mapping[str, Any]) -> Case:
    """The case that a schema-valid JSON object holds."""
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
        accumulation=None if accumulation is None else _accumulation_of(accumulation),
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
    expected = _expected_record(step.expected)
    return {"step": step.name, "call": step.operator, "inputs": step.inputs, "expected": expected}


def _expected_record(expected: Expected) -> dict[str, Any]:
    if isinstance(expected, ExpectedFailure):
        return {"failure": {"code": expected.code, "data": expected.data}}
    return {"result": expected.fields}


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


def _accumulation_of(record: Mapping[str, Any]) -> Accumulation:
    return Accumulation(
        operator=record["operator"],
        inputs=record["inputs"],
        output=record["output"],
        generator=record["generator"],
        parameters=record["parameters"],
        seed=record["seed"],
        count=record["count"],
        checkpoints=tuple((calls, sha256) for calls, sha256 in record["checkpoints"]),
    )
