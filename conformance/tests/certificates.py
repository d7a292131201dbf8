"""Certificates made by hand, without a run: keys, evidence and bundles for tests that spoil them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance.contract.suite import Suite
from conformance.contract.suite_file import bundled_suite
from conformance.report.certificate.artifact import Artifact, artifact_of
from conformance.report.certificate.evidence import CERTIFICATE, encode_envelope, pack, signed
from conformance.report.certificate.keys import PublicKey, SigningKey, new_pair, read_public, read_signing
from conformance.report.certificate.statement import INDEX, OBSERVATIONS, RECORD, statement_of
from conformance.report.record import encode_record
from conformance.tests.runs import MAP, passed, record
from conformance.vectors.frozen.lock import contract_digests

NONCE = "5eed" * 16
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Certifier:
    """A folder with a key pair, an artifact, a certificate about it, and its evidence bundle."""

    folder: Path
    key: SigningKey
    public: PublicKey
    artifact: Artifact
    files: Mapping[str, bytes]

    @property
    def bundle(self) -> bytes:
        return pack(self.files)

    @property
    def certificate(self) -> bytes:
        return self.files[CERTIFICATE]


def certifier(folder: Path, library: Any, **changes: Any) -> Certifier:
    """A certificate of one operator with the contracts of `library`; `changes` are of the run."""
    new_pair(folder / "acme")
    (folder / "sampler").mkdir()
    (folder / "sampler" / "main.py").write_text("print('sampler')\n")
    artifact = artifact_of(str(folder / "sampler"))
    key = read_signing(folder / "acme.key")
    files = evidence(key, artifact, contracts=contract_digests(library), **changes)
    made = Certifier(folder, key, read_public(folder / "acme.pub"), artifact, files)
    (folder / "acme.intoto.json").write_bytes(made.certificate)
    (folder / "acme.zip").write_bytes(made.bundle)
    return made


def evidence(key: SigningKey, artifact: Artifact, now: datetime = NOW, **changes: Any) -> dict[str, bytes]:
    """The files of a bundle about a run that passed."""
    found = record(passed(MAP, "a"), **{"seed": NONCE, "vectors": "c0ffee00" * 8, **changes})
    files = {RECORD: encode_record(found), OBSERVATIONS: b'{"sandbox": "none"}\n', INDEX: b"{}\n"}
    payload = statement_of(found, files, bundled_suite(), artifact, now)
    return {**files, CERTIFICATE: encode_envelope(signed(payload, key))}


def policy(public: PublicKey, operators: str = '["*"]', more: str = "") -> str:
    """A policy in YAML that lets one key certify some operators."""
    indented = "".join(f"      {line}\n" for line in public.pem.decode().splitlines())
    return f"policy: 1\nkeys:\n  - name: Acme\n    operators: {operators}\n    public: |\n{indented}{more}"


def certificate_of_one(place: Path, suite: Suite, operator: str, contracts: dict[str, str]) -> None:
    """A certificate for one operator with some contracts, signed by a new key; `place` begins the files' names."""
    new_pair(place)
    tried = record(passed(operator, "a"), seed=NONCE, vectors="c0ffee00" * 8, contracts=contracts)
    found = {RECORD: encode_record(tried), OBSERVATIONS: b"{}\n", INDEX: b"{}\n"}
    payload = statement_of(tried, found, suite, Artifact("sampler", "file", "sha256", "ab" * 32), NOW)
    envelope = encode_envelope(signed(payload, read_signing(place.with_name(f"{place.name}.key"))))
    place.with_name(f"{place.name}.intoto.json").write_bytes(envelope)
