"""The policy of a verifier: whose keys may certify which operators, and what a certificate must show."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from conformance.contract.source import MalformedContract, Position, Source, parse
from conformance.report.certificate.fault import Unreadable, read_bounded
from conformance.report.certificate.keys import PublicKey, public_from
from conformance.report.certificate.started import STARTED
from conformance.report.certificate.statement import CRASH_LEVELS, SANDBOXES, Statement
from conformance.trial.options import PROFILES

SCHEMA: Final = "policy.schema.json"
_MOST: Final = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A key, and the operators that its owner may certify, as patterns."""

    name: str
    key: PublicKey
    operators: tuple[str, ...]

    def may(self, operator: str) -> bool:
        """Whether the owner may certify an operator."""
        return any(fnmatchcase(operator, pattern) for pattern in self.operators)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a verifier asks for; an empty requirement asks for nothing."""

    authorities: tuple[Authority, ...]
    operators: tuple[str, ...] = ()  # patterns, each of which a certified operator must match
    profile: str = PROFILES[0]  # at least
    sandbox: str = SANDBOXES[0]  # at least
    crash: str = CRASH_LEVELS[0]  # at least
    started: str = STARTED[0]  # at least
    maximum_age: timedelta | None = None
    revoked_keys: frozenset[str] = frozenset()
    revoked_certificates: frozenset[str] = frozenset()
    accepts_test_key: bool = False

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """Every key that may certify anything."""
        return tuple(one.key for one in self.authorities)

    def faults(self, statement: Statement, certificate: str, key: PublicKey, now: datetime) -> Iterator[str]:
        """What of a certificate, by its id, that this key signed, the policy does not accept."""
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
        ):
            if found not in order or order.index(found) < order.index(wanted):
                yield f"the policy requires the {what} {wanted}, the certificate has {found}"
        if self.maximum_age is not None:
            age = now - statement.issued
            if age < timedelta(0):
                yield f"it was issued in the future: {statement.issued.isoformat()}"
            elif age > self.maximum_age:
                yield f"it is {age.days} days old, the policy accepts {self.maximum_age.days}"


def read_policy(file: Path, schema: Path) -> Policy:
    """The policy in a YAML file, or a TOML file by its ending; raises Unreadable."""
    from conformance.contract.schema import violations

    source = _source(file)
    for problem in violations(source, schema):
        raise Unreadable(str(problem.position), problem.message, "docs/certificates.md shows a policy")
    body = source.value
    required, revoked = body.get("require", {}), body.get("revoked", {})
    days = required.get("maximum_age_days")
    authorities = tuple(_authority(one, f"{file}: keys[{k}]") for k, one in enumerate(body["keys"]))
    return Policy(
        authorities,
        tuple(required.get("operators", ())),
        required.get("profile", PROFILES[0]),
        required.get("sandbox", SANDBOXES[0]),
        required.get("crash", CRASH_LEVELS[0]),
        required.get("started", STARTED[0]),
        None if days is None else timedelta(days=days),
        frozenset(revoked.get("keys", ())),
        frozenset(revoked.get("certificates", ())),
        body.get("accept_test_key", False),
    )


def _authority(body: dict[str, Any], place: str) -> Authority:
    key = public_from(body["public"].encode(), place)
    return Authority(body["name"], key, tuple(body["operators"]))


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
