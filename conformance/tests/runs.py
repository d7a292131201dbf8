"""Finished runs made by hand, so that reports are tested without a trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from conformance.contract.family import Requirement, Requirements, Ruling
from conformance.contract.library import Library
from conformance.contract.yaml.source import Position
from conformance.report.record import Record, encode_record, read_record, record_of
from conformance.trial.check import (
    BackendIdentity,
    Check,
    Counts,
    Difference,
    FailedCall,
    Kind,
    KnownFailure,
    Result,
    RunResult,
    Verdict,
)

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
BATCH = "UML_OS.Data.NextBatch_v2"
ORDER = "UML_OS.Data.SeededBlockPermute_v1"
EXCUSE = KnownFailure(f"{ORDER}*excused", "the tail is not done yet", "https://example.org/1")


def check(operator: str, name: str, kind: Kind = Kind.VECTOR, group: str = "tail-blocks") -> Check:
    separator = {Kind.VECTOR: "::", Kind.LAW: "#", Kind.BEHAVIOUR: "!", Kind.FUZZ: "?"}[kind]
    id_ = f"{operator}{separator}{group}::{name}" if kind is Kind.VECTOR else f"{operator}{separator}{name}"
    return Check(id_, kind, operator, group, "A short final block has its own modulus.", ("N12",), ("NA18",))


def passed(operator: str, name: str, kind: Kind = Kind.VECTOR) -> Result:
    return Result(check(operator, name, kind), Verdict.PASS)


def failed(operator: str, name: str, index: int = 3, **changes: Any) -> Result:
    difference = Difference(f"batch_sample_indices[{index}]", "243", "244")
    call = FailedCall(operator, {"block_id": "3", "local_pos": "5"}, {"result": {"original_index": "244"}})
    result = Result(check(operator, name), Verdict.FAIL, "result", difference=difference, call=call)
    return replace(result, **changes)


def lost(operator: str, name: str) -> Result:
    return Result(check(operator, name), Verdict.ERROR, "crash", message="a crash: it was ended by SIGSEGV")


def run_of(*results: Result, backend: str = "node acme.js", **changes: Any) -> RunResult:
    ran = sum(result.verdict is not Verdict.NOT_APPLICABLE for result in results)
    run = RunResult(
        backend=BackendIdentity(backend, "acme-sampler", "1.4.0", "JavaScript", "json", (BATCH, MAP)),
        profile="standard",
        selection="",
        seed="",
        counts=Counts(len(results) + 4, len(results), len(results) - ran, 0, ran),
        results=tuple(sorted(results, key=lambda result: result.check.id)),
        unattributed=(),
        fuzz={},
        expected_failures=(),
        unexpected_passes=(),
        unmatched_expectations=(),
        diagnosis=None,
        contracts={BATCH: "2.0.0 aa", MAP: "1.0.0 bb"},
        vectors="c0ffee" * 10,
        harness="0.1.0",
        declarable=3,
    )
    return replace(run, **changes)


def library() -> Library:
    place = Position("spec/data/requirements.yaml", 12, 3)
    row = Requirement("N12", "P", "5,6.8", "only full blocks are permuted, the short tail stays last", (), "", place)
    rows = Requirements("data", "data-next-batch", (row,), cast(Any, None))
    ruling = Ruling("NA18", "which modulus?", "min(block_size, cardinality - block_start)", ("N12",), place)
    return Library(cast(Any, None), {}, {}, {}, {"data": rows}, {}, {"NA18": ruling}, {})


def record(*results: Result, **changes: Any) -> Record:
    return read_record(encode_record(record_of(run_of(*results, **changes), library())))
