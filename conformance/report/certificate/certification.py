"""From a run to a certificate: why a run is not certified, and what the certificate of one that is says."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from conformance import __version__
from conformance.contract.cache import source_files
from conformance.contract.suite import Suite
from conformance.report.certificate.artifact import Artifact, Started
from conformance.report.certificate.statement import (
    CONTRACTS,
    CRASH_LEVELS,
    ENVIRONMENT,
    HARNESS,
    INDEX,
    JUDGED,
    MATRIX,
    MUTANTS,
    NONCE,
    OBSERVATIONS,
    RECORD,
    SANDBOX,
    SCOPE,
    VECTORS,
    digest_of_json,
    encode_statement,
    sha256,
)
from conformance.report.record import Record
from conformance.report.verdict import CONFORMANT, some_of
from conformance.trial.challenge import unforeseen
from conformance.trial.check import RunResult, Verdict
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.options import RunOptions
from conformance.vectors.vector_file import INDEX_FILE

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_NONCE_BYTES: Final = 32


def refusals(run: RunResult, record: Record, options: RunOptions, before: Artifact, after: Artifact) -> Iterator[str]:
    """Why a run is not certified, one sentence each; none where it is."""
    if before != after:
        yield f"the artifact changed during the run: it was {before.digest}, now it is {after.digest}"
    if record.verdict != CONFORMANT:
        yield f"the verdict is: {record.sentence}"
    if options.expected_failures or run.expected_failures:
        yield "expected failures were given; a certificate excuses nothing"
    if options.same_process:
        yield "the backend ran in the process of the harness"
    if len(options.seed) != 2 * _NONCE_BYTES or run.seed != options.seed or not options.challenge:
        yield f"the run was not challenged with a nonce of {_NONCE_BYTES} bytes"
    if options.examples is not None:
        yield "the number of fuzzed calls was changed"
    if run.selection or run.counts.selected != run.counts.loaded:
        yield f"only {run.counts.selected} of {run.counts.loaded} checks were selected"
    declared = set(run.backend.operators)
    untried = [one.check.id for one in run.results if _is_untried(one.verdict, one.check.operator, declared)]
    if untried:
        yield f"not every applicable check was tried and passed: {some_of(untried)}"
    counted = unforeseen(run.fuzz)
    if unchallenged := sorted(name for name in run.tried if not counted.get(name)):
        yield f"nothing that was asked could not be foreseen: {some_of(unchallenged)}"


def _is_untried(verdict: Verdict, operator: str, declared: set[str]) -> bool:
    return verdict is not Verdict.PASS and not (verdict is Verdict.NOT_APPLICABLE and operator not in declared)


def statement_of(
    record: Record,
    files: Mapping[str, bytes],
    suite: Suite,
    artifact: Artifact,
    now: datetime,
    started: Started | None = None,
) -> bytes:
    """The bytes of the statement about a certified run; `files` are those of the evidence, by name.

    Without observations among the files, the statement says nothing of the machine either, so that the same run gives
    the same bytes on every machine.
    """
    backend = {name: record["backend"][name] for name in ("text", "name", "version", "language", "wire")}
    scope = {
        "operators": list(record["scope"]["operators"]),
        "of": record["scope"]["of"],
        "profile": record["profile"],
        "crash": crash_level(record["crash"]),
        "checks": record["counts"]["run"],
        "sentence": record.sentence,
        "backend": backend,
        "started": (started or Started()).annotations,
    }
    observed = json.loads(files[OBSERVATIONS]) if OBSERVATIONS in files else None
    machine = environment() if observed is not None else {"tally": __version__, "reproducible": True}
    said = {} if observed is None else {"said": str(observed.get("sandbox", ""))}
    configuration: dict[str, str | Mapping[str, Any]] = {
        SCOPE: scope,
        ENVIRONMENT: {**machine, "issued": now.isoformat(timespec="seconds")},
        CONTRACTS: dict(record["contracts"]),
        NONCE: {"hex": record["seed"]},
        SANDBOX: {"kind": record["backend"]["sandbox"], **said},
        JUDGED: judged_digest(record),
        HARNESS: harness_digest(),
        VECTORS: record["vectors"],
        MUTANTS: mutants_digest(suite),
        **{name: sha256(files[name]) for name in (RECORD, OBSERVATIONS, INDEX) if name in files},
    }
    matrix = suite.reports / MATRIX_FILE
    if matrix.is_file():
        configuration[MATRIX] = sha256(matrix.read_bytes())
    return encode_statement(artifact, configuration)


def judged_digest(record: Record) -> str:
    """The digest of what a replay must find again: the record without how the backend was started."""
    backend = {name: value for name, value in record["backend"].items() if name not in ("text", "sandbox")}
    return digest_of_json({**record.members, "backend": backend})


def crash_level(crash: Mapping[str, Mapping[str, Any]] | str) -> str:
    """The lowest level that a workload reached, as one of CRASH_LEVELS."""
    if isinstance(crash, str):
        return CRASH_LEVELS[0]
    if not crash:
        return CRASH_LEVELS[-1]
    reached = [str(one["reached"] or CRASH_LEVELS[1]) for one in crash.values()]
    return min(reached, key=CRASH_LEVELS.index)


def environment() -> dict[str, Any]:
    """Where a certificate is made."""
    return {
        "tally": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processors": os.cpu_count() or 0,
    }


def harness_digest() -> str:
    """The digest of the source of the harness: of the lines that sha256sum writes for its files, sorted by path."""
    return manifest_digest(source_files(_PACKAGE))


def mutants_digest(suite: Suite) -> str:
    """The digest of the files that describe the mutants, made in the same way."""
    files = {file.relative_to(suite.spec).as_posix(): file.read_bytes() for file in suite.spec.glob("*/mutants.yaml")}
    return manifest_digest(files)


def manifest_digest(files: Mapping[str, bytes]) -> str:
    """The SHA-256 of the lines that sha256sum writes for files, sorted bytewise by path."""
    names = sorted(files, key=os.fsencode)
    return sha256(b"".join(b"%b  %b\n" % (sha256(files[name]).encode(), os.fsencode(name)) for name in names))


def index_of(suite: Suite) -> bytes:
    """The index of the vectors, which names every case and its second derivation."""
    file = suite.vectors / INDEX_FILE
    return file.read_bytes() if file.is_file() else b"{}\n"
