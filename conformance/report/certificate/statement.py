"""The signed content: an in-toto Statement v1 with the predicate test-result/v0.1; and why a run is not certified."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from conformance import __version__
from conformance.codec.framing import DIALECTS
from conformance.contract.cache import source_files
from conformance.contract.suite import Suite
from conformance.report.certificate.artifact import (
    STARTED,
    Artifact,
    StartedArtifact,
    changed_files,
    started_from,
    sums_of,
)
from conformance.report.record import Record, host
from conformance.report.untrusted import Unreadable, plain_json
from conformance.report.verdict import CONFORMANT, some_of
from conformance.trial.challenge import newly_asked_share
from conformance.trial.check import RunResult, Verdict
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.options import PROFILES, SANDBOXES, RunOptions
from conformance.vectors.frozen.vector_file import INDEX_FILE

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
SCHEMA: Final = "certificate.schema.json"
SCOPE, ENVIRONMENT, CONTRACTS, NONCE, SANDBOX = "scope", "environment", "contracts", "nonce", "sandbox"
RECORD, OBSERVATIONS, INDEX, JUDGED = "record.json", "observations.json", "vectors-index.json", "judged"
HARNESS, VECTORS, MUTANTS, MATRIX = "harness", "vectors", "mutants", "kill-matrix"
NONCES: Final = ("given", "fresh")  # chosen by the certifier, or at random
_NONCE_BYTES: Final = 32
# If no operator has a workload, a crash can do no harm.
CRASH_LEVELS: Final = ("not tried", "unknown", "none", "kill", "ext4", "posix", "no workload")


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of a certificate, by the names of its configuration."""

    subject: Artifact
    digests: Mapping[str, str]  # of the configuration, hex SHA-256 by name
    annotations: Mapping[str, Mapping[str, Any]]  # of the configuration, by name

    @property
    def scope(self) -> Mapping[str, Any]:
        """The scope of the run: operators, profile, crash level, backend, counts, seed."""
        return self.annotations[SCOPE]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators and machines that are certified."""
        return tuple(self.scope["operators"])

    @property
    def contracts(self) -> Mapping[str, str]:
        """Version and digest of every contract of the suite, by operator."""
        return self.annotations[CONTRACTS]

    @property
    def nonce(self) -> str:
        """The 32 bytes, in hex, from which the challenge was made."""
        return str(self.annotations[NONCE]["hex"])

    @property
    def chosen(self) -> str:
        """How the nonce was chosen: one of NONCES. A given nonce may have been known before the run."""
        return str(self.annotations[NONCE].get("chosen", NONCES[0]))

    @property
    def sandbox(self) -> str:
        """The sandbox of the backend: bwrap or none."""
        return str(self.annotations[SANDBOX]["kind"])

    @property
    def started(self) -> StartedArtifact:
        """Whether the tested command starts the artifact, as far as its words show."""
        return started_from(self.scope.get("started", {}))

    @property
    def issued(self) -> datetime:
        """When the certificate was made, by the certifier's clock."""
        return moment(self.annotations[ENVIRONMENT]["issued"])


def moment(text: str) -> datetime:
    """A time in ISO 8601, in UTC if it names no zone; raises ValueError."""
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def encode_statement(subject: Artifact, configuration: Mapping[str, str | Mapping[str, Any]]) -> bytes:
    """The bytes of a statement.

    Each entry of the configuration is a digest, or annotations, whose digest is that of their canonical JSON.
    """
    scope = configuration[SCOPE]
    assert isinstance(scope, Mapping)
    value = {
        "_type": STATEMENT,
        "subject": [
            {
                "name": subject.name,
                "digest": {subject.algorithm: subject.digest},
                "annotations": {"kind": subject.kind},
            }
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "PASSED",
            "configuration": [_resource(name, body) for name, body in sorted(configuration.items())],
            "passedTests": sorted(scope["operators"]),
        },
    }
    return canonical(value)


def _resource(name: str, body: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(body, str):
        return {"name": name, "digest": {"sha256": body}}
    described: dict[str, Any] = {"name": name, "digest": {"sha256": digest_of_json(body)}, "annotations": dict(body)}
    if name == NONCE:
        nonce = bytes.fromhex(body["hex"])
        described |= {"digest": {"sha256": sha256(nonce)}, "content": b64encode(nonce).decode()}
    return described


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def digest_of_json(value: Any) -> str:
    """The hex SHA-256 of the canonical JSON of a value."""
    return sha256(canonical(value))


def sha256(data: bytes) -> str:
    """The hex SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def read_statement(payload: bytes, place: str, schema: Path) -> Statement:
    """The statement in a payload, which has the form of `schema`; raises Unreadable.

    Its bytes must be those that `encode_statement` writes, so that no two parts of it contradict each other.
    """
    import jsonschema

    value = plain_json(payload, place)
    form = json.loads(schema.read_text("utf-8"))
    try:
        jsonschema.Draft202012Validator(form).validate(value)
    except jsonschema.ValidationError as error:
        where = ".".join(map(str, error.absolute_path)) or "the statement"
        raise Unreadable(place, f"the statement has another form: {where}: {error.message[:160]}") from None
    except RecursionError:
        raise Unreadable(place, "the statement has too many levels") from None
    (subject,) = value["subject"]
    ((algorithm, digest),) = subject["digest"].items()
    resources = value["predicate"]["configuration"]
    digests = {one["name"]: one["digest"]["sha256"] for one in resources}
    annotations = {one["name"]: one["annotations"] for one in resources if "annotations" in one}
    artifact = Artifact(subject["name"], subject["annotations"]["kind"], algorithm, digest)
    _require_whole(len(resources) == len(digests), place, "two entries of the configuration have one name")
    for name in (SCOPE, ENVIRONMENT, CONTRACTS, NONCE, SANDBOX):
        _require_whole(name in annotations, place, f"the configuration has no annotations of {name!r}")
    for name in (RECORD, JUDGED, HARNESS, VECTORS):
        _require_whole(name in digests, place, f"the configuration has no digest of {name!r}")
    statement = Statement(artifact, digests, annotations)
    try:
        whole = _is_whole(statement) and encode_statement(artifact, {**digests, **annotations}) == payload
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Unreadable(place, f"the statement lacks something: {error!r:.120}") from None
    _require_whole(whole, place, "the parts of the statement do not fit each other")
    return statement


def _is_whole(statement: Statement) -> bool:
    """Whether it has everything that a verifier reads, with the right types."""
    scope = statement.scope
    return (
        len(bytes.fromhex(statement.nonce)) == _NONCE_BYTES
        and statement.issued.year > 1
        and statement.sandbox in SANDBOXES
        and statement.chosen in NONCES
        and scope["profile"] in PROFILES
        and scope["crash"] in CRASH_LEVELS
        and scope["backend"]["wire"] in DIALECTS
        and statement.started.how in STARTED
        and bool(statement.operators)
        and all(isinstance(one, str) for one in (*scope["operators"], *statement.contracts.values()))
    )


def _require_whole(condition: bool, place: str, message: str) -> None:
    if not condition:
        raise Unreadable(place, message)


_PACKAGE: Final = Path(__file__).resolve().parents[2]


_MOST_CHANGED: Final = 3  # files that a sentence names
_BYTECODE: Final = (
    "; Python writes compiled modules: start it with -B, or with PYTHONPYCACHEPREFIX naming an empty folder, "
    "and remove __pycache__"
)


def refusals(run: RunResult, record: Record, options: RunOptions, before: Artifact, after: Artifact) -> Iterator[str]:
    """The reasons why a run is not certified, one sentence each; none if it is."""
    if before != after:
        said = f"the artifact changed during the run: it was {before.digest}, now it is {after.digest}"
        changed = changed_files(before, after)
        told = f"; {some_of(changed, _MOST_CHANGED)}" if changed else ""
        yield said + told + (_BYTECODE if any("__pycache__/" in one for one in changed) else "")
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
    counted = newly_asked_share(run.fuzz)
    if unchallenged := sorted(name for name in run.tested_operators if not counted.get(name)):
        yield f"nothing that was asked could not be foreseen: {some_of(unchallenged)}"


def _is_untried(verdict: Verdict, operator: str, declared: set[str]) -> bool:
    return verdict is not Verdict.PASS and not (verdict is Verdict.NOT_APPLICABLE and operator not in declared)


def statement_of(
    record: Record,
    files: Mapping[str, bytes],
    suite: Suite,
    artifact: Artifact,
    now: datetime,
    started: StartedArtifact | None = None,
    fresh: bool = False,
) -> bytes:
    """The bytes of the statement about a certified run; `files` are those of the evidence, by name.

    `fresh` means that the nonce was chosen at random for this run.

    Without observations among the files, the statement has nothing about the machine, so that the same run gives
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
        "started": (started or StartedArtifact()).annotations,
    }
    observed = json.loads(files[OBSERVATIONS]) if OBSERVATIONS in files else None
    machine = host() if observed is not None else {"reproducible": True}
    said = {} if observed is None else {"said": str(observed.get("sandbox", ""))}
    configuration: dict[str, str | Mapping[str, Any]] = {
        SCOPE: scope,
        ENVIRONMENT: {**machine, "tally": __version__, "issued": now.isoformat(timespec="seconds")},
        CONTRACTS: dict(record["contracts"]),
        NONCE: {"hex": record["seed"], **({"chosen": NONCES[-1]} if fresh else {})},
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
    """The digest of the part that a replay must reproduce: the record without the start of the backend."""
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


def harness_digest() -> str:
    """The digest of the source of the harness: of the lines that sha256sum writes for its files, sorted by path."""
    return manifest_digest(source_files(_PACKAGE))


def mutants_digest(suite: Suite) -> str:
    """The digest of the files that describe the mutants, made like `harness_digest`."""
    files = {file.relative_to(suite.spec).as_posix(): file.read_bytes() for file in suite.spec.glob("*/mutants.yaml")}
    return manifest_digest(files)


def manifest_digest(files: Mapping[str, bytes]) -> str:
    """The SHA-256 of the lines that sha256sum writes for files, sorted bytewise by path."""
    return sha256(sums_of({name: sha256(content) for name, content in files.items()}))


def index_of(suite: Suite) -> bytes:
    """The index of the vectors, which names every case and its second derivation."""
    file = suite.vectors / INDEX_FILE
    return file.read_bytes() if file.is_file() else b"{}\n"
