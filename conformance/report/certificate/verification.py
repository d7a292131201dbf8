"""The policy of a verifier, and the checks of a certificate: is it whole, trusted and still valid?"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import MalformedContract, Position, Source
from conformance.report.certificate.artifact import STARTED, Artifact
from conformance.report.certificate.evidence import Evidence
from conformance.report.certificate.keys import PublicKey, public_from
from conformance.report.certificate.statement import (
    CRASH_LEVELS,
    INDEX,
    NONCES,
    OBSERVATIONS,
    RECORD,
    Statement,
    sha256,
)
from conformance.report.untrusted import Unreadable, read_bounded
from conformance.trial.options import PROFILES, SANDBOXES
from conformance.vectors.frozen.lock import contract_digests

SCHEMA: Final = "policy.schema.json"
_MOST: Final = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class AuthorizedKey:
    """A key, and the operators that its owner may certify, as patterns."""

    name: str
    key: PublicKey
    operators: tuple[str, ...]

    def may(self, operator: str) -> bool:
        """Whether the owner may certify an operator."""
        return any(fnmatchcase(operator, pattern) for pattern in self.operators)


@dataclass(frozen=True, slots=True)
class Policy:
    """The requirements of a verifier; an empty requirement is always met."""

    authorities: tuple[AuthorizedKey, ...]
    operators: tuple[str, ...] = ()  # patterns; each must match a certified operator
    profile: str = PROFILES[0]  # at least
    sandbox: str = SANDBOXES[0]  # at least
    crash: str = CRASH_LEVELS[0]  # at least
    started: str = STARTED[0]  # at least
    nonce: str = NONCES[0]  # at least
    maximum_age: timedelta | None = None
    revoked_keys: frozenset[str] = frozenset()
    revoked_certificates: frozenset[str] = frozenset()
    accepts_test_key: bool = False

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """Every key that may certify anything."""
        return tuple(one.key for one in self.authorities)

    def faults(self, statement: Statement, certificate: str, key: PublicKey, now: datetime) -> Iterator[str]:
        """The parts of a certificate, signed by this key, that the policy does not accept."""
        if key.is_test and not self.accepts_test_key:
            yield "it is signed with the test key, which everybody has, and the policy has no `accept_test_key: true`"
        if key.id in self.revoked_keys:
            yield f"the policy revokes the key {key.id}"
        if certificate in self.revoked_certificates:
            yield "the policy revokes this certificate"
        given = [one for one in self.authorities if one.key.id == key.id]
        for operator in statement.operators:
            if not any(one.may(operator) for one in given):
                yield f"the policy does not let this key certify {operator}"
        for pattern in self.operators:
            if not any(fnmatchcase(operator, pattern) for operator in statement.operators):
                yield f"the policy requires {pattern}, which is not certified"
        for what, wanted, found, order in (
            ("profile", self.profile, statement.scope["profile"], PROFILES),
            ("sandbox", self.sandbox, statement.sandbox, SANDBOXES),
            ("crash level", self.crash, statement.scope["crash"], CRASH_LEVELS),
            ("start", self.started, statement.started.how, STARTED),
            ("nonce", self.nonce, statement.chosen, NONCES),
        ):
            if found not in order or order.index(found) < order.index(wanted):
                yield f"the policy requires the {what} {wanted}, the certificate has {found}"
        if self.maximum_age is not None:
            age = now - statement.issued
            if age < timedelta(0):
                yield f"it was issued in the future: {statement.issued.isoformat()}"
            elif age > self.maximum_age:
                most = counted(self.maximum_age.days, "day")
                yield f"it is older than the policy accepts: {most}, and it was issued {statement.issued.isoformat()}"


def read_policy(file: Path, schema: Path) -> Policy:
    """The policy in a YAML file, or in a TOML file if its name ends so; raises Unreadable."""
    from conformance.contract.yaml.schema import violations

    source = _source(file)
    for problem in violations(source, schema):
        raise Unreadable(str(problem.position), problem.message, "docs/certificates.md shows a policy")
    body = source.value
    required, revoked = body.get("require", {}), body.get("revoked", {})
    days = required.get("maximum_age_days")
    authorities = tuple(
        AuthorizedKey(one["name"], public_from(one["public"].encode(), f"{file}: keys[{k}]"), tuple(one["operators"]))
        for k, one in enumerate(body["keys"])
    )
    return Policy(
        authorities,
        tuple(required.get("operators", ())),
        **{name: required[name] for name in ("profile", "sandbox", "crash", "started", "nonce") if name in required},
        maximum_age=None if days is None else timedelta(days=days),
        revoked_keys=frozenset(revoked.get("keys", ())),
        revoked_certificates=frozenset(revoked.get("certificates", ())),
        accepts_test_key=body.get("accept_test_key", False),
    )


def _source(file: Path) -> Source:
    try:
        text = read_bounded(file, _MOST).decode("utf-8")
        if file.suffix == ".toml":
            start = Position(str(file), 1, 1)
            return Source(str(file), tomllib.loads(text), {(): start}, {}, text)
        return parse(text, str(file))
    except MalformedContract as error:
        problem = error.problems[0]
        raise Unreadable(str(problem.position), problem.message, problem.hint) from None
    except (ValueError, RecursionError) as error:  # of UTF-8 and of TOML
        raise Unreadable(str(file), f"this is no policy: {str(error)[:160]}") from None


@dataclass(frozen=True, slots=True)
class Installed:
    """The contracts that certificates are compared with: versions and digests, and the machine of an operation."""

    contracts: Mapping[str, str]
    machine_of: Mapping[str, str]

    def of_operator(self, contracts: Mapping[str, str], operator: str) -> dict[str, str]:
        """The contracts of an operator, or of a machine and its operations."""
        return {
            name: said for name, said in contracts.items() if operator in (name, self.machine_of.get(name))
        }


def installed(library: Library) -> Installed:
    """The contracts of a suite."""
    machine_of = {name: machine for machine, methods in library.machines.items() for name in methods}
    return Installed(contract_digests(library), machine_of)


def trusted_signer(evidence: Evidence, keys: Sequence[PublicKey], policy: Policy | None) -> PublicKey | str:
    """The trusted key that signed; a sentence if there is none.

    With a policy, its keys are trusted; with a policy and keys, the keys that are in both.
    """
    known = [*keys, *(policy.keys if policy is not None else ())]
    key = evidence.envelope.signer(known)
    if key is None:
        said = ", ".join(one.keyid[:80] for one in evidence.envelope.signatures)
        return f"it has no signature by a trusted key; it names the keys {said}"
    if keys and all(one.id != key.id for one in keys):
        return f"the key {key.id} is in the policy, but it is not the one that --key names"
    if policy is not None and all(one.id != key.id for one in policy.keys):
        return f"the policy does not name the key {key.id}"
    return key


def bundle_faults(evidence: Evidence, statement: Statement) -> Iterator[str]:
    """The files of a bundle that differ from the signed ones."""
    for name in (RECORD, OBSERVATIONS, INDEX):
        if evidence.files and sha256(evidence.files[name]) != statement.digests.get(name):
            yield f"{name} in the bundle is not the file that was signed"


def artifact_faults(statement: Statement, artifact: Artifact | None) -> Iterator[str]:
    """The faults of an artifact that is not the certified one."""
    if artifact is not None and not artifact.is_same(statement.subject):
        yield f"the certificate is about another artifact: {statement.subject}, not {artifact}"


def lapsed(statement: Statement, installed: Installed) -> dict[str, str]:
    """The certified operators whose contracts have changed, each with a sentence."""
    return lapses(statement.operators, statement.contracts, installed)


def lapses(operators: Iterable[str], then: Mapping[str, str], installed: Installed) -> dict[str, str]:
    """The operators whose certificates lapse; `then` has the version and digest of every contract that they name."""
    found = {}
    for operator in operators:
        mine = installed.of_operator(then, operator)
        now = installed.of_operator(installed.contracts, operator)
        if not now:
            found[operator] = "there is no such contract now"
        elif mine != now:
            found[operator] = _change(mine.get(operator, ""), now.get(operator, ""))
    return found


def _change(then: str, now: str) -> str:
    old, new = then.partition(" ")[0], now.partition(" ")[0]
    if old != new:
        return f"certified for version {old or '?'}, the contract is {new or '?'} now"
    return f"the contract {new} was changed"


def require_record(evidence: Evidence) -> None:
    """Read the record of a bundle; raises Unreadable if it is no whole record."""
    from conformance.report.record import BrokenRecord, read_record

    if not evidence.files:
        return
    try:
        read_record(evidence.files[RECORD], RECORD)
    except (BrokenRecord, ValueError, RecursionError, AttributeError) as error:
        raise Unreadable(evidence.place, f"the record in it is broken: {str(error)[:160]}") from None


def all_faults(
    evidence: Evidence,
    statement: Statement,
    key: PublicKey,
    policy: Policy | None,
    artifact: Artifact | None,
    now: datetime,
) -> list[str]:
    """All faults of a certificate, except that it has lapsed."""
    faults = [*bundle_faults(evidence, statement), *artifact_faults(statement, artifact)]
    if policy is not None:
        faults += policy.faults(statement, evidence.id, key, now)
    return faults
