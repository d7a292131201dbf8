"""`tally certify`: challenge a backend, and sign the result."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from conformance.backend.resolve import resolve
from conformance.backend.sandbox import Sandbox
from conformance.cli.backend_options import jobs_option, sandbox_read, timeout_option, wire_option
from conformance.cli.console import CommandError, say, tell, writing
from conformance.cli.lint_outcome import require_clean_contracts
from conformance.cli.outputs import print_report
from conformance.cli.run import required, run_or_bad_hello, sandboxed, startable
from conformance.cli.suite import frozen_vectors, specification
from conformance.contract.library import Library
from conformance.report.certificate.artifact import (
    Artifact,
    NoArtifact,
    StartedArtifact,
    artifact_of,
    files_of,
    path_of,
    started_by,
)
from conformance.report.certificate.evidence import CERTIFICATE, encode_envelope, pack, signed
from conformance.report.certificate.keys import read_signing
from conformance.report.certificate.statement import (
    INDEX,
    OBSERVATIONS,
    RECORD,
    index_of,
    moment,
    refusals,
    statement_of,
)
from conformance.report.record import Record, encode_record, observations_of, read_record, record_of
from conformance.report.verdict import status_of
from conformance.report.writer import observations_text
from conformance.trial.check import RunResult
from conformance.trial.options import RunOptions
from conformance.vectors.files.temp_roots import run_folder
from conformance.vectors.jsontext import write_new

_PROFILES: Final = ("standard", "golden")
_MOST_FAILURES: Final = 3  # failures that are shown of a run that is not certified


def _nonce(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """32 bytes as hex digits, as click's own types read a value."""
    if text is not None and (len(text) != 64 or set(text) - set("0123456789abcdef")):
        raise click.BadParameter("a nonce is 64 hex digits in lower case")
    return text


def a_time(context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    """A time in ISO 8601, as click's own types read a value."""
    try:
        return None if text is None else moment(text)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is no time such as 2026-11-23T12:00:00Z") from None


def artifact_named(text: str) -> Artifact:
    """The artifact that --artifact names; raises CommandError."""
    try:
        return artifact_of(text)
    except NoArtifact as error:
        raise CommandError(f"--artifact {text!r}", "T021", str(error), error.hint) from None


def _require_free(files: Sequence[Path | None]) -> None:
    """Refuse existing files and folders that are not writable, before a run that takes minutes."""
    for file in files:
        if file is None:
            continue
        if os.path.lexists(file):
            raise CommandError(str(file), "T005", "the file is in the way", "name another file, or remove it")
        if not os.access(file.absolute().parent, os.W_OK):
            raise CommandError(str(file), "T011", "cannot be written", "name a file in a writable folder")


def _require_outside(artifact_text: str, key: Path, written: Sequence[Path | None]) -> None:
    """Refuse a private key that is a part of the artifact, and output files that would change the artifact."""
    artifact = path_of(artifact_text)
    if artifact is None:
        return
    if key.resolve().is_relative_to(artifact.resolve()):
        message = "the private key is in the artifact, so whoever gets the artifact can sign as you"
        raise CommandError(f"--key {str(key)!r}", "T020", message, "keep it in a folder that you do not give away")
    for file in written:
        if file is not None and file.resolve().is_relative_to(artifact.resolve()):
            message = "it would be in the artifact, which would then be another one"
            raise CommandError(str(file), "T011", message, "name a file outside the artifact")


def started_of(library: Library, options: RunOptions, artifact_text: str) -> StartedArtifact:
    """How the backend's command uses the artifact; raises CommandError if its sandbox hides all of it."""
    place, suite = path_of(artifact_text), library.suite
    startable(options.backend, options.wire, library)
    command = resolve(options.backend, suite, options.wire)
    if options.sandbox == "none" or place is None:
        return started_by(command, place)
    sandbox = Sandbox(suite, run_folder(), options.readable, options.secret)
    with sandboxed():
        seen = sandbox.can_read(command, files_of(place))
    if not seen:
        message = "no file of it is readable in the backend's sandbox, so the backend is something else"
        hint = "start the backend from the artifact, or let it read it: --sandbox-read PATH"
        raise CommandError(f"--artifact {artifact_text!r}", "T021", message, hint)
    return started_by(sandbox.inside(command), place)


def challenged(library: Library, options: RunOptions) -> RunResult:
    """The run with the challenge of a startable backend; raises CommandError, and Exit if it gives no hello."""
    corpus = frozen_vectors(library, least=1)
    require_clean_contracts(library, corpus, options.profile)
    run = run_or_bad_hello(library, corpus, options)
    if isinstance(run, str):
        raise click.exceptions.Exit(status_of(run))
    return run


def _refused(reasons: Sequence[str], run: RunResult, record: Record, options: RunOptions) -> int:
    print_report([record], [run.observations], _MOST_FAILURES)
    again = f"tally run --backend {options.backend!r} --seed {options.seed} explains the failures of fuzzing"
    for reason in reasons:
        tell(CommandError("not certified", "T022", reason, again if reason is reasons[-1] else "", status=1))
    return max(1, status_of(record.verdict))


@click.command("certify")
@click.option("--backend", required=True, metavar="TEXT", help="The backend, as for tally run.")
@click.option(
    "--artifact",
    "artifact_text",
    required=True,
    type=click.Path(),
    metavar="PATH",
    help="The file or folder that the certificate is about, or oci:sha256:DIGEST for an image.",
)
@click.option(
    "--key",
    "key_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.key",
    help="The private key to sign with.",
)
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), metavar="FILE.intoto.json", help="The certificate."
)
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE.zip", help="Also write the evidence bundle.")
@click.option("--nonce", callback=_nonce, metavar="HEX64", help="The challenge's 32 bytes; without it, fresh ones.")
@click.option(
    "--sandbox",
    type=click.Choice(["bwrap", "none"]),
    default="bwrap",
    show_default=True,
    help="none: the certificate says that the backend ran without a sandbox.",
)
@sandbox_read
@click.option("--profile", type=click.Choice(_PROFILES), default="standard", show_default=True, help="Which checks.")
@click.option("--crash", is_flag=True, help="Also crash the backend in the workloads; needs --sandbox none.")
@click.option("--require", multiple=True, metavar="OPERATOR", help="Refuse if it is not declared; repeatable, or all.")
@wire_option
@jobs_option
@timeout_option
@click.option("--time", "now", callback=a_time, metavar="TIME", help="The time of issue; without it, the clock's.")
@click.option(
    "--reproducible",
    is_flag=True,
    help="The same bytes on every machine: nothing of the machine and no observations; needs --nonce and --time.",
)
def command(
    *,
    backend: str,
    artifact_text: str,
    key_file: Path,
    output: Path,
    bundle: Path | None,
    nonce: str | None,
    sandbox: str,
    readable: Sequence[Path],
    crash: bool,
    require: Sequence[str],
    now: datetime | None,
    reproducible: bool,
    **given: Any,  # profile, wire, jobs and timeout, as in `tally run`
) -> int:
    """Test a backend, also with questions that its author could not know, and sign the result.

    It makes all checks of the profile for every operator that the backend declares. A certificate is written only if
    all answers are right. Exit status: 0 certified, 1 refused, 2 no judgement.

    \b
    Examples:
      tally certify --backend ./b --artifact ./b --key k.key --output c.json
      tally certify --backend ./b --artifact b --key k --output c.json --jobs 2
    """
    if crash and sandbox != "none":
        raise click.UsageError("--crash traces system calls, which no sandbox allows: it needs --sandbox none")
    if readable and sandbox == "none":
        raise click.UsageError("--sandbox-read needs --sandbox bwrap")
    if bundle is not None and bundle.resolve() == output.resolve():
        raise click.UsageError("--output and --bundle name one file; the bundle has the certificate in it")
    if reproducible and (nonce is None or now is None or bundle is not None):
        raise click.UsageError("--reproducible needs --nonce and --time, and does not go with --bundle")
    key = read_signing(key_file)
    _require_free([output, bundle])
    before = artifact_named(artifact_text)
    _require_outside(artifact_text, key_file, [output, bundle])
    library = specification()
    options = RunOptions(
        backend=backend,
        **given,
        seed=nonce or secrets.token_hex(32),
        sandbox=sandbox,
        readable=tuple(readable),
        secret=(key_file,),
        require=required(require, library),
        crash=crash,
        challenge=True,
    )
    started = started_of(library, options, artifact_text)
    run = challenged(library, options)
    after = artifact_named(artifact_text)
    data = encode_record(record_of(run, library))
    record = read_record(data)
    if reasons := list(refusals(run, record, options, before, after)):
        return _refused(reasons, run, record, options)
    files = {RECORD: data, INDEX: index_of(library.suite)}
    if not reproducible:
        files[OBSERVATIONS] = observations_text(observations_of(run.observations, record)).encode()
    payload = statement_of(record, files, library.suite, after, now or datetime.now(UTC), started, nonce is None)
    files[CERTIFICATE] = encode_envelope(signed(payload, key))
    written = {output: files[CERTIFICATE], **({} if bundle is None else {bundle: pack(files)})}
    with writing(f"--output {str(output)!r}", "name a new file in a writable folder"):
        write_new(written)
    _say_certified(after, record, options, started)
    for file in filter(None, [output, bundle]):
        say(f"wrote {file}", err=True)
    return 0


def _say_certified(artifact: Artifact, record: Record, options: RunOptions, started: StartedArtifact) -> None:
    say(f"CERTIFIED: {artifact}")
    say(f"  {record.sentence}")
    how = "under bubblewrap" if options.sandbox != "none" else "WITHOUT A SANDBOX: it could read the expected answers"
    say(f"  the backend ran {how}; nonce {options.seed}")
    say(f"  {started}")
