"""`tally verify`: check a certificate or an evidence bundle of somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from conformance.cli.backend_options import jobs_option, sandbox_read
from conformance.cli.certify import a_time, artifact_named, challenged, started_of
from conformance.cli.console import say
from conformance.cli.suite import current_suite, specification
from conformance.contract.suite_file import schema_folder
from conformance.contract.wording import counted
from conformance.report.certificate.artifact import Artifact
from conformance.report.certificate.evidence import Evidence, read_evidence
from conformance.report.certificate.keys import PublicKey, read_public
from conformance.report.certificate.statement import (
    HARNESS,
    JUDGED,
    NONCES,
    SCHEMA,
    VECTORS,
    Statement,
    harness_digest,
    judged_digest,
    read_statement,
    refusals,
)
from conformance.report.certificate.verification import SCHEMA as POLICY_SCHEMA
from conformance.report.certificate.verification import (
    Policy,
    all_faults,
    installed,
    lapsed,
    read_policy,
    require_record,
    trusted_signer,
)
from conformance.report.record import read_back
from conformance.report.untrusted import one_line
from conformance.trial.options import DEFAULT_TIMEOUT, RunOptions

VALID, NOT_VALID = 0, 1


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--key",
    "key_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.pub",
    help="A public key that you trust; repeatable. Not needed with a policy, which has the keys itself.",
)
@click.option(
    "--artifact",
    "artifact_text",
    type=click.Path(),
    metavar="PATH",
    help="The file, folder or oci:sha256:DIGEST that you have: is the certificate about it?",
)
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), metavar="FILE", help="What you ask for.")
@click.option("--replay", is_flag=True, help="Repeat the run with its nonce; needs --artifact and --backend.")
@click.option("--backend", metavar="TEXT", help="How to start the artifact, for --replay.")
@click.option(
    "--sandbox", type=click.Choice(["bwrap", "none"]), help="For --replay; without it, as in the certificate."
)
@sandbox_read
@jobs_option
@click.option("--time", "now", callback=a_time, metavar="TIME", help="Judge as at this time; without it, the clock's.")
def command(
    *,
    file: Path,
    key_files: Sequence[Path],
    artifact_text: str | None,
    policy_file: Path | None,
    replay: bool,
    backend: str | None,
    sandbox: str | None,
    readable: Sequence[Path],
    jobs: int,
    now: datetime | None,
) -> int:
    """Check the certificate or the evidence bundle in FILE, offline.

    Exit status: 0 valid, 1 not valid or lapsed, 2 unreadable.

    \b
    Examples:
      tally verify b.intoto.json --key me.pub --artifact b.py
      tally verify b.zip --policy policy.yaml
    """
    if not key_files and policy_file is None:
        raise click.UsageError("no key that you trust is named: give --key FILE.pub, or --policy FILE")
    for option, given in (("--backend", backend), ("--sandbox", sandbox), ("--sandbox-read", readable)):
        if given and not replay:
            raise click.UsageError(f"{option} is for --replay")
    if replay and (backend is None or artifact_text is None):
        raise click.UsageError("--replay needs --backend TEXT and --artifact PATH")
    schemas = schema_folder(current_suite())
    policy = None if policy_file is None else read_policy(policy_file, schemas / POLICY_SCHEMA)
    keys = [read_public(one) for one in key_files]
    evidence = read_evidence(file)
    signer = trusted_signer(evidence, keys, policy)
    if isinstance(signer, str):
        say(f"NOT VALID: {signer}")
        return NOT_VALID
    # Read only what a trusted key signed.
    statement = read_statement(evidence.envelope.payload, str(file), schemas / SCHEMA)
    require_record(evidence)
    artifact = None if artifact_text is None else artifact_named(artifact_text)
    now = now or datetime.now(UTC)
    faults = all_faults(evidence, statement, signer, policy, artifact, now)
    gone = lapsed(statement, installed(specification()))
    replayed = ""
    if replay and not faults and not gone:
        assert backend is not None
        assert artifact is not None
        options = _replay_options(statement, backend, sandbox or statement.sandbox, readable, jobs)
        started = started_of(specification(), options, artifact_text or "")
        faults += _replayed(statement, options, artifact, artifact_text or "")
        replayed = f"{started}; sandbox {options.sandbox}"
    issued = statement.issued.isoformat() + (", which is in the future" if statement.issued > now else "")
    _print(evidence, statement, signer, policy, artifact, faults, gone, issued, replayed)
    return NOT_VALID if faults or gone else VALID


def _replay_options(
    statement: Statement, backend: str, sandbox: str, readable: Sequence[Path], jobs: int
) -> RunOptions:
    """The options of a second run from the same nonce."""
    return RunOptions(
        backend=backend,
        wire=statement.scope["backend"]["wire"],
        profile=statement.scope["profile"],
        jobs=jobs,
        timeout=DEFAULT_TIMEOUT,
        seed=statement.nonce,
        sandbox=sandbox,
        readable=tuple(readable),
        crash=statement.scope["crash"] != "not tried",
        challenge=True,
    )


def _replayed(statement: Statement, options: RunOptions, artifact: Artifact, text: str) -> list[str]:
    """The faults of a second run from the same nonce: why it is not certified, or that its record differs."""
    library = specification()
    run = challenged(library, options)
    record = read_back(run, library)
    faults = [f"replay: {one}" for one in refusals(run, record, options, artifact, artifact_named(text))]
    same = {HARNESS: harness_digest(), VECTORS: record["vectors"]}
    alike = all(statement.digests[name] == digest for name, digest in same.items())
    if not faults and alike and judged_digest(record) != statement.digests[JUDGED]:
        faults.append("replay: the same questions gave another record")
    if not faults and not alike:
        say("replay: another harness or other vectors; the verdict counts, the records are not compared", err=True)
    return faults


def _print(
    evidence: Evidence,
    statement: Statement,
    signer: PublicKey,
    policy: Policy | None,
    artifact: Artifact | None,
    faults: Sequence[str],
    gone: Mapping[str, str],
    issued: str,
    replayed: str,
) -> None:
    for fault in faults:
        say(f"NOT VALID: {one_line(fault)}")
    if gone:
        say(f"LAPSED: changed contracts of {len(gone)} of {counted(len(statement.operators), 'operator')}")
    if not faults and not gone:
        say(f"VALID: {one_line(str(statement.subject))}")
    if signer.is_test:
        say("TEST KEY: everybody can sign with it, so this certificate does not say who made it")
    names = [one.name for one in policy.authorities if one.key.id == signer.id] if policy is not None else []
    rows = [
        ("artifact", f"{statement.subject}{'' if artifact is not None else ', not compared: no --artifact'}"),
        ("result", str(statement.scope.get("sentence", ""))),
        ("started", str(statement.started)),
        ("sandbox", statement.sandbox),
        *([("replay", replayed)] if replayed else []),
        ("crash", statement.scope["crash"]),
        ("nonce", "fresh" if statement.chosen == NONCES[-1] else "given: it may have been known before the run"),
        ("issued", issued),
        ("signed by", f"{signer.id} {' '.join(names)}".strip()),
        ("certificate", evidence.id),
        ("evidence", "record, observations and index of the vectors are as signed" if evidence.files else "not given"),
    ]
    for name, text in rows:
        say(f"  {name:<12}{one_line(str(text))}")
    for operator in statement.operators:
        version = statement.contracts.get(operator, "?").partition(" ")[0]
        state = f"lapsed: {gone[operator]}" if operator in gone else "as certified"
        say(f"  {one_line(operator):<46} {one_line(version):<8} {one_line(state)}")
