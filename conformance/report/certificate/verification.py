"""What a verifier finds out about a certificate: whether it is whole, believed, still of use, and about what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from conformance.contract.library import Library
from conformance.report.certificate.artifact import Artifact
from conformance.report.certificate.bundle import CERTIFICATE, MAGIC, MOST, unpack
from conformance.report.certificate.envelope import Envelope, read_envelope
from conformance.report.certificate.fault import Unreadable, read_bounded
from conformance.report.certificate.keys import PublicKey
from conformance.report.certificate.policy import Policy
from conformance.report.certificate.statement import INDEX, OBSERVATIONS, RECORD, Statement, sha256
from conformance.vectors.lock import contract_digests


@dataclass(frozen=True, slots=True)
class Evidence:
    """A certificate file as it was read: the envelope, and the files of the bundle where it is one."""

    place: str
    envelope: Envelope
    files: Mapping[str, bytes]

    @property
    def id(self) -> str:
        """The SHA-256 of the statement, by which a policy revokes the certificate."""
        return sha256(self.envelope.payload)


def read_evidence(file: Path) -> Evidence:
    """The envelope or the bundle in a file; raises Unreadable."""
    data = read_bounded(file, MOST)
    if not data.startswith(MAGIC):
        return Evidence(str(file), read_envelope(data, str(file)), {})
    files = unpack(data, str(file))
    return Evidence(str(file), read_envelope(files[CERTIFICATE], f"{file}: {CERTIFICATE}"), files)


@dataclass(frozen=True, slots=True)
class Installed:
    """The contracts that certificates are held against: version and digest of each, and the machine of an operation."""

    contracts: Mapping[str, str]
    machine_of: Mapping[str, str]

    def of_operator(self, contracts: Mapping[str, str], operator: str) -> dict[str, str]:
        """Those of some contracts that belong to an operator, or to a machine and its operations."""
        return {
            name: said for name, said in contracts.items() if operator in (name, self.machine_of.get(name))
        }


def installed(library: Library) -> Installed:
    """The contracts of a suite."""
    machine_of = {name: machine for machine, methods in library.machines.items() for name in methods}
    return Installed(contract_digests(library), machine_of)


def trusted_signer(evidence: Evidence, keys: Sequence[PublicKey], policy: Policy | None) -> PublicKey | str:
    """The key that signed, of those that are trusted; a sentence where there is none.

    With a policy, its keys are trusted; with keys as well, those that are among both.
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
    """The files of a bundle that are not those that were signed."""
    for name in (RECORD, OBSERVATIONS, INDEX):
        if evidence.files and sha256(evidence.files[name]) != statement.digests.get(name):
            yield f"{name} in the bundle is not the file that was signed"


def artifact_faults(statement: Statement, artifact: Artifact | None) -> Iterator[str]:
    """Whether the artifact that the verifier has is another one."""
    if artifact is not None and not artifact.is_same(statement.subject):
        yield f"the certificate is about another artifact: {statement.subject}, not {artifact}"


def lapsed(statement: Statement, installed: Installed) -> dict[str, str]:
    """The certified operators whose contracts have changed, each with a sentence."""
    return lapses(statement.operators, statement.contracts, installed)


def lapses(operators: Iterable[str], then: Mapping[str, str], installed: Installed) -> dict[str, str]:
    """Those of some operators whose certificates lapse; `then` is version and digest of every contract they name."""
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
    """Read the record of a bundle; raises Unreadable where it is no whole record."""
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
    """Everything that is wrong with a certificate, apart from what has lapsed."""
    faults = [*bundle_faults(evidence, statement), *artifact_faults(statement, artifact)]
    if policy is not None:
        faults += policy.faults(statement, evidence.id, key, now)
    return faults
