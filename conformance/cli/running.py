"""What `tally run` does, once its options are read."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

import click

from conformance.backend.resolve import BackendNotFound, resolve
from conformance.cli.complaint import Complaint, nearest, tell, writing
from conformance.cli.expected_failures import dump_expected_failures, load_expected_failures, updated
from conformance.cli.linting import require_clean_contracts
from conformance.cli.progress import shown_progress
from conformance.cli.specification import frozen_vectors, specification
from conformance.contract.library import Library
from conformance.report.build import record_of
from conformance.report.observed import observations_of
from conformance.report.record import Record, encode_record, read_record
from conformance.report.verdict import EXIT, NOT_CONFORMANT, exit_status
from conformance.report.writer import writer
from conformance.trial.check import Verdict
from conformance.trial.options import RunOptions
from conformance.trial.run import UnfitBackend, run_trial
from conformance.trial.run_result import ExpectedFailure, RunResult
from conformance.vectors.corpus import Corpus

_ELSEWHERE: Final = "name a folder that can be written"


def run_all(
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
    output: Path | None,
    formats: Sequence[str],
    show: int,
) -> int:
    """Try every backend, write and print the reports; the exit status is the worst."""
    backends = list(dict.fromkeys(backends)) or ["reference"]
    if update_expected and (expected is None or len(backends) > 1):
        raise click.UsageError("--update-expected needs --expected-failures FILE, and one backend")
    if same_process and any(not backend.startswith("python:") for backend in backends):
        raise click.UsageError("--same-process is for python:module backends only")
    if any(not pattern.strip() for pattern in select):
        raise click.UsageError("-k needs a pattern: an empty one would select everything")
    library = specification()
    corpus = frozen_vectors(library, least=1)
    for backend in backends:
        _startable(backend, wire, library)
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
    )
    folders = _folders(output, backends)
    records: list[Record] = []
    unfit = []
    for backend in backends:
        run = _tried(library, corpus, replace(options, backend=backend))
        if run is None:
            unfit.append(NOT_CONFORMANT)
            continue
        if update_expected and expected is not None:
            run = _rewritten(run, expected, reason, issue)
        records.append(_finished(run, library, folders.get(backend), formats))
    if records:
        _print(records, show)
    return exit_status([*unfit, *(record.verdict for record in records)])


def _startable(backend: str, wire: str, library: Library) -> None:
    if (mutant := backend.removeprefix("mutant:")) != backend:
        known = list(library.mutants)
        if mutant not in known:
            hint = nearest(mutant, known, "`tally mutants` names them all")
            raise Complaint(f"--backend {backend!r}", "T001", f"there is no mutant {mutant!r}", hint)
    package = backend.removeprefix("python:").partition(":")[0].partition(".")[0]
    if backend.startswith("python:") and PathFinder.find_spec(package, [*sys.path, str(Path.cwd())]) is None:
        message = f"there is no module {package!r} on PYTHONPATH, in this environment or in this folder"
        raise Complaint(f"--backend {backend!r}", "T001", message, "name the module, not its file")
    try:
        resolve(backend, wire)
    except BackendNotFound as error:
        hint = "tally run --help lists the forms of a backend; `tally new-backend` writes one"
        raise Complaint(f"--backend {backend!r}", "T001", str(error), hint) from None


def _listed(file: Path | None, library: Library, update: bool) -> tuple[ExpectedFailure, ...]:
    if file is None or (update and not file.exists()):
        return ()
    return load_expected_failures(file, library.layout.spec / "schema" / "expected-failures.schema.json")


def _tried(library: Library, corpus: Corpus, options: RunOptions) -> RunResult | None:
    try:
        with shown_progress(options.backend) as progress:
            return run_trial(library, corpus, options, progress)
    except UnfitBackend as error:
        hint = "answer tally.hello on stdout and nothing else there; `tally new-backend` writes a backend that does"
        place, said = f"--backend {options.backend!r}", error.stderr_tail.strip()
        extra = f"its stderr ended with:\n{said}" if said else "it wrote nothing on stderr"
        message = f"the backend did not introduce itself: {error.reason}"
        tell(Complaint(place, "T002", message, hint, EXIT[NOT_CONFORMANT], extra))
        return None


def _rewritten(run: RunResult, file: Path, reason: str, issue: str) -> RunResult:
    """The run judged under a list that excuses what fails now; the list is written."""
    failing = [r.check.id for r in run.results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]
    # What this run did not try, because of -k or a smaller profile, it cannot strike off.
    tried = [*(result.check.id for result in run.results), *run.unmatched_expectations]
    untried = [one for one in run.expected_failures if not any(fnmatchcase(id_, one.check) for id_ in tried)]
    entries = updated(run.expected_failures, failing, reason, issue, untried)
    added = [entry for entry in entries if entry not in run.expected_failures]
    if added and not (len(reason.strip()) >= 10 and re.match(r"https?://[^\s/]+/\S+\Z", issue)):
        message = f"{len(added)} failing checks are not listed yet, and a list says why: {added[0].check} ..."
        hint = "add --reason 'why they fail' (10 characters or more) and --issue https://..."
        raise Complaint("--update-expected", "T006", message, hint)
    with writing(f"--expected-failures {str(file)!r}", "name a file that can be written"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dump_expected_failures(entries), encoding="utf-8")
    click.echo(f"{file}: {len(entries)} entries, {len(added)} of them new", err=True)
    counts = replace(run.counts, expected_to_fail=len(entries))
    return replace(run, expected_failures=entries, unexpected_passes=(), unmatched_expectations=(), counts=counts)


def _finished(run: RunResult, library: Library, folder: Path | None, formats: Sequence[str]) -> Record:
    # Writers see what a reader of the file would see, and nothing more.
    record = read_record(encode_record(record_of(run, library)))
    if folder is not None:
        observations = observations_of(run.observations)
        for name in dict.fromkeys(["json", *formats]):
            with writing(f"--output {str(folder)!r}", _ELSEWHERE):
                files = writer(name).write(record, observations, folder)
            for file in files:
                click.echo(f"wrote {file}", err=True)
    return record


def _folders(output: Path | None, backends: Sequence[str]) -> dict[str, Path]:
    """A new or old folder for each backend's reports, made before the run, which may take an hour."""
    if output is None:
        return {}
    folders: dict[str, Path] = {}
    for backend in backends:
        folder = output if len(backends) == 1 else output / folder_name(backend)
        while folder in folders.values():
            folder = folder.with_name(f"{folder.name}-again")
        folders[backend] = folder
        with writing(f"--output {str(output)!r}", _ELSEWHERE):
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folders


def _print(records: Sequence[Record], most: int) -> None:
    from rich.console import Console

    from conformance.report.terminal import show

    show(records, Console(highlight=False), most)


def folder_name(backend: str) -> str:
    """A backend string as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", backend).strip("-.") or "backend"
