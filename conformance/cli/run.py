"""`tally run`: test one backend or several, and print the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.console import Complaint, say, writing
from conformance.cli.expected_failures import dump_expected_failures, load_expected_failures, updated
from conformance.cli.lint_outcome import require_clean_contracts
from conformance.cli.on_trial import Seconds, required, startable, tried
from conformance.cli.outputs import LAST, Output, outputs_of, parsed
from conformance.cli.specification import frozen_vectors, specification
from conformance.cli.suite_option import current_suite
from conformance.contract.finder import schema_folder
from conformance.contract.library import Library
from conformance.contract.suite import Suite
from conformance.report.record import Record, encode_record, observations_of, read_record, record_of
from conformance.report.verdict import exit_status
from conformance.report.writer import FORMATS
from conformance.trial.check import Verdict
from conformance.trial.options import DEFAULT_TIMEOUT, PROFILES, RunOptions
from conformance.trial.run_result import ExpectedFailure, RunResult
from conformance.vectors.jsontext import write_whole


def _reference(suite: Suite) -> str:
    if not suite.reference:
        hint = "name it in [backends] and [derive]"
        raise Complaint(str(suite.file), "T001", "the suite has no reference to compare with", hint)
    return suite.reference


def _listed(file: Path | None, library: Library, update: bool) -> tuple[ExpectedFailure, ...]:
    if file is None or (update and not file.exists()):
        return ()
    return load_expected_failures(file, schema_folder(library.suite) / "expected-failures.schema.json")


def _rewritten(run: RunResult, file: Path, reason: str, issue: str) -> RunResult:
    """The run judged under a list that excuses what fails now; the list is written."""
    failing = [r.check.id for r in run.results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]
    # What this run did not try, because of -k or a smaller profile, it cannot strike off.
    tried = [*(result.check.id for result in run.results), *run.unmatched_expectations]
    untried = [one for one in run.expected_failures if not any(fnmatchcase(id_, one.check) for id_ in tried)]
    entries = updated(run.expected_failures, failing, reason, issue, untried)
    added = [entry for entry in entries if entry not in run.expected_failures]
    if added and not (len(reason.strip()) >= 10 and re.match(r"https?://[^\s/]+/\S+\Z", issue)):
        message = f"{len(added)} failing checks are new and need a reason and an issue: {added[0].check} ..."
        hint = "add --reason 'why they fail' (10 characters or more) and --issue https://..."
        raise Complaint("--update-expected", "T006", message, hint)
    with writing(f"--expected-failures {str(file)!r}", "name a writable file"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, dump_expected_failures(entries))
    say(f"{file}: {len(entries)} entries, {len(added)} of them new", err=True)
    counts = replace(run.counts, expected_to_fail=len(entries))
    return replace(run, expected_failures=entries, unexpected_passes=(), unmatched_expectations=(), counts=counts)


def _record(run: RunResult, library: Library) -> Record:
    # Writers see what a reader of the file would see, and nothing more.
    return read_record(encode_record(record_of(run, library)))


def _print(records: Sequence[Record], observed: Sequence[Mapping[str, Any]], most: int, err: bool) -> None:
    from rich.console import Console

    from conformance.report.terminal import show

    show(records, Console(highlight=False, stderr=err), most, observed)


_BACKEND: Final = (
    "A name of the suite, mutant:ID, python:module[:object], or a command line; the default is the suite's reference. "
    "Repeatable: one column for each."
)
_SANDBOX: Final = (
    "bwrap: run the backend under bubblewrap, without network and without access to contracts, vectors and harness."
)

_FORMAT: Final = (
    f"Also write this report: {', '.join(sorted(FORMATS))}. It goes to PATH, and with - to stdout; without a path into "
    f"DIR ({LAST} without --output). Repeatable."
)


@click.command("run")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option(
    "--wire", type=click.Choice(["json", "cbor"]), default="json", show_default=True, help="The encoding of messages."
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="standard",
    show_default=True,
    help="quick: vectors; standard: also laws, behaviour and fuzzing; golden: also N = 10^9 and up.",
)
@click.option(
    "-k",
    "--select",
    multiple=True,
    metavar="PATTERN",
    help="Run only the checks whose id contains or matches this; repeatable.",
)
@click.option("--sandbox", type=click.Choice(["none", "bwrap"]), default="none", show_default=True, help=_SANDBOX)
@click.option(
    "--sandbox-read",
    "readable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, resolve_path=True),
    metavar="PATH",
    help="Another file or folder that the sandboxed backend may read; repeatable.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of backend processes at a time."
)
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds without an answer before a backend counts as hung.",
)
@click.option(
    "--expected-failures",
    "expected",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A list of checks that are known to fail, with reason and issue. A listed check that passes fails the run.",
)
@click.option("--update-expected", is_flag=True, help="Rewrite FILE so that it lists the checks that fail now.")
@click.option("--reason", default="", help="The reason for the checks that --update-expected adds.")
@click.option("--issue", default="", metavar="URL", help="The issue of the checks that --update-expected adds.")
@click.option("--fuzz-examples", type=click.IntRange(1), metavar="N", help="Number of fuzzed calls per operator.")
@click.option(
    "--seed", default="", metavar="TEXT", help="Fuzz with this seed; without it the calls are always the same."
)
@click.option("--shuffle", default="", metavar="TEXT", help="Run the checks in a random order from this seed.")
@click.option(
    "--require",
    multiple=True,
    metavar="OPERATOR",
    help="Fail if the backend does not declare this operator or machine; repeatable, or `all`.",
)
@click.option("--crash", is_flag=True, help="Also crash the backend in the workloads of its operators.")
@click.option("--same-process", is_flag=True, help="Run a python: backend in this process, for a debugger.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write record.json and observations.json there.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    callback=parsed,
    metavar="NAME[=PATH]",
    help=_FORMAT,
)
@click.option(
    "--show", type=click.IntRange(0), default=8, show_default=True, help="Number of distinct failures to print."
)
def command(
    *,
    backends: Sequence[str],
    wire: str,
    profile: str,
    select: Sequence[str],
    jobs: int,
    timeout: float,
    expected: Path | None,
    update_expected: bool,
    reason: str,
    issue: str,
    fuzz_examples: int | None,
    seed: str,
    shuffle: str,
    same_process: bool,
    require: Sequence[str],
    crash: bool,
    sandbox: str,
    readable: Sequence[Path],
    output: Path | None,
    formats: Sequence[Output],
    show: int,
) -> int:
    """Test a backend against the contracts and print the verdict.

    Without --backend the reference of the suite is tested. Exit status: 0 conformant, or passed with expected failures,
    1 not conformant or no valid hello, 2 no judgement.
    """
    reference = _reference(current_suite())
    backends = list(dict.fromkeys(backends)) or [reference]
    if update_expected and (expected is None or len(backends) > 1):
        raise click.UsageError("--update-expected needs --expected-failures FILE, and one backend")
    if same_process and any(not backend.startswith("python:") for backend in backends):
        raise click.UsageError("--same-process is for python:module backends only")
    if readable and sandbox == "none":
        raise click.UsageError("--sandbox-read needs --sandbox bwrap")
    if crash and sandbox != "none":
        raise click.UsageError("--crash has no sandbox: it traces system calls; use it in a run without --sandbox")
    if same_process and sandbox != "none":
        raise click.UsageError("--same-process has no sandbox: the backend runs in this process")
    if any(not pattern.strip() for pattern in select):
        raise click.UsageError("-k needs a pattern: an empty one selects everything")
    outputs = outputs_of(output, formats, backends)
    outputs.clear()
    library = specification()
    corpus = frozen_vectors(library, least=1)
    for backend in backends:
        startable(backend, wire, library)
    if profile != "quick" and not select:
        require_clean_contracts(library, corpus)
    options = RunOptions(
        wire=wire,
        profile=profile,
        jobs=jobs,
        timeout=timeout,
        select=tuple(select),
        seed=seed,
        examples=fuzz_examples,
        expected_failures=_listed(expected, library, update_expected),
        same_process=same_process,
        shuffle=shuffle,
        require=required(require, library),
        crash=crash,
        sandbox=sandbox,
        readable=tuple(readable),
    )
    outputs.require_writable()
    records: list[Record] = []
    observed = []
    unfit = []
    for backend in backends:
        run = tried(library, corpus, replace(options, backend=backend))
        if isinstance(run, str):
            unfit.append(run)
            continue
        if update_expected and expected is not None:
            run = _rewritten(run, expected, reason, issue)
        records.append(record := _record(run, library))
        observed.append(observations_of(run.observations, record))
        outputs.keep(backend, record, observed[-1])
    status = exit_status([*unfit, *(record.verdict for record in records)])
    if records:
        _print(records, observed, show, err=outputs.on_stdout)
    outputs.finish(records, observed)
    return status
