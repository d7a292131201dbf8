"""`tally run`: test one backend or several, and print the verdict."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

import click

from conformance.backend.resolve import BackendNotFound, resolve
from conformance.backend.sandbox import NoSandbox
from conformance.cli.console import MUTANT_IDS, CommandError, nearest, require_known, say, tell, writing
from conformance.cli.known_failures import (
    dump_expected_failures,
    failed_last,
    load_expected_failures,
    remember,
    updated,
)
from conformance.cli.lint_outcome import require_clean_contracts
from conformance.cli.outputs import Output, outputs_of, print_report
from conformance.cli.progress import QUIET, Interrupted, shown_progress
from conformance.cli.run_options import failures_allowed, given_in, run_options, verbosity
from conformance.cli.suite import current_suite, frozen_vectors, specification
from conformance.contract.library import Library
from conformance.contract.suite import MUTANT, Suite
from conformance.contract.suite_file import schema_folder
from conformance.contract.wording import counted
from conformance.report.record import Record, observations_of, read_back
from conformance.report.untrusted import one_line
from conformance.report.verdict import CONFORMANT, NO_JUDGEMENT, NOT_CONFORMANT, exit_status, status_of
from conformance.trial.check import KnownFailure, RunResult, Verdict
from conformance.trial.options import RunOptions, is_red
from conformance.trial.run import UnfitBackend, run_trial, selected_checks
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.jsontext import write_whole

_WORD: Final = 4  # letters of a part of a name that a pattern may mean
_SHOWN: Final = 3  # failures of an interrupted run
# The options of a run with the same name on the command line.
_AS_GIVEN: Final = (
    *("wire", "profile", "jobs", "timeout", "examples", "seed"),
    *("same_process", "shuffle", "crash", "sandbox"),
)


def startable(backend: str, wire: str, library: Library) -> None:
    """Refuse a backend string that names nothing to start; raises CommandError."""
    if (mutant := backend.removeprefix(MUTANT)) != backend:
        known = list(library.mutants)
        if mutant not in known:
            hint = nearest(mutant, known, MUTANT_IDS)
            raise CommandError(f"--backend {backend!r}", "T001", f"there is no mutant {mutant!r}", hint)
    package = backend.removeprefix("python:").partition(":")[0].partition(".")[0]
    if backend.startswith("python:") and PathFinder.find_spec(package, [*sys.path, str(Path.cwd())]) is None:
        message = f"there is no module {package!r} on PYTHONPATH, in this environment or in this folder"
        raise CommandError(f"--backend {backend!r}", "T001", message, "name the module, not its file")
    try:
        resolve(backend, library.suite, wire)
    except BackendNotFound as error:
        hint = "tally run --help lists the forms of a backend; `tally new-backend` writes one"
        raise CommandError(f"--backend {backend!r}", "T001", str(error), hint) from None


def required(names: Sequence[str], library: Library) -> tuple[str, ...]:
    """The operators and machines that must be declared; raises CommandError for a name that no hello can declare."""
    known = library.declarable
    named = set(names) - {"all"}
    for name in sorted(named):
        otherwise = "name an operator or a machine of the contracts, or `all`"
        require_known(f"--require {name!r}", name, known, "no operator or machine has this name", otherwise)
    return known if "all" in names else tuple(sorted(named))


@contextmanager
def sandboxed() -> Iterator[None]:
    """A block that needs bubblewrap; raises CommandError if bubblewrap cannot start."""
    try:
        yield
    except NoSandbox as error:
        hint = "install bubblewrap, or run without --sandbox; a container may forbid user namespaces"
        raise CommandError("--sandbox bwrap", "T014", f"no judgement: {error}", hint) from None


def run_or_bad_hello(library: Library, corpus: Corpus, options: RunOptions) -> RunResult | str:
    """The run, or the verdict on a backend that gave no valid hello; raises CommandError if there is no sandbox."""
    try:
        with sandboxed(), shown_progress(options.backend) as progress:
            return run_trial(library, corpus, options, progress)
    except UnfitBackend as error:
        verdict = NOT_CONFORMANT if error.begun else NO_JUDGEMENT
        hint = "answer tally.hello on stdout and nothing else there; `tally new-backend` writes a backend that does"
        if not error.begun:
            hint = "the backend ended before it read anything: is the command right? run it by hand"
        elif error.understood:
            hint = "correct its answer to tally.hello; `tally docs writing-a-backend` has an example and the rules"
        elif options.wire != "json":
            hint = f"does it speak {options.wire}, which TALLY_WIRE tells it? without --wire it is asked in JSON"
        place, said = f"--backend {options.backend!r}", error.stderr_tail.strip()
        extra = f"its stderr ended with:\n{said}" if said else "it wrote nothing on stderr"
        message = error.reason if error.reason.startswith("the backend") else f"no valid hello: {error.reason}"
        tell(CommandError(place, "T002", message, hint, status_of(verdict), extra))
        return verdict


def _reference(suite: Suite) -> str:
    if not suite.reference:
        hint = "name it in [backends] and [derive]"
        raise CommandError(str(suite.file), "T001", "the suite has no reference to compare with", hint)
    return suite.reference


def _listed(file: Path | None, library: Library, update: bool) -> tuple[KnownFailure, ...]:
    if file is None or (update and not file.exists()):
        return ()
    return load_expected_failures(file, schema_folder(library.suite) / "expected-failures.schema.json")


def _rewritten(run: RunResult, file: Path, reason: str, issue: str) -> RunResult:
    """Write a list that excuses the checks that fail now, and return the run judged under this list."""
    failing = [r.check.id for r in run.results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]
    # Checks that this run did not make, because of -k or a smaller profile, stay in the list.
    tried = [*(result.check.id for result in run.results), *run.unmatched_expectations]
    untried = [one for one in run.expected_failures if not any(fnmatchcase(id_, one.check) for id_ in tried)]
    entries = updated(run.expected_failures, failing, reason, issue, untried)
    added = [entry for entry in entries if entry not in run.expected_failures]
    if added and not (len(reason.strip()) >= 10 and re.match(r"https?://[^\s/]+/\S+\Z", issue)):
        message = f"{len(added)} failing checks are new and need a reason and an issue: {added[0].check} ..."
        hint = "add --reason 'why they fail' (10 characters or more) and --issue https://..."
        raise CommandError("--update-expected", "T006", message, hint)
    with writing(f"--expected-failures {str(file)!r}", "name a writable file"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, dump_expected_failures(entries))
    say(f"{file}: {counted(len(entries), 'entry')}, {len(added)} of them new", err=True)
    counts = replace(run.counts, expected_to_fail=len(entries))
    return replace(run, expected_failures=entries, unexpected_passes=(), unmatched_expectations=(), counts=counts)


def _of_backend(options: RunOptions, backend: str, suite: Suite, last_failed: bool) -> RunOptions:
    """The options of one backend's run, with its checks that failed last if `--last-failed` is given."""
    failed = failed_last(suite, backend) if last_failed else frozenset()
    if last_failed and not failed:
        say(f"{one_line(backend)}: --last-failed: no check is known to have failed, so all are selected", err=True)
    return replace(options, backend=backend, last_failed=failed)


def _print_checks(library: Library, corpus: Corpus, runs: Sequence[RunOptions]) -> int:
    """Print the ids of the selected checks; raises CommandError if there are none."""
    found = sorted({id_ for options in runs for id_ in selected_checks(library, corpus, options)})
    if not found:
        hint = _meant(library, corpus, runs[0]) or "`tally run --list` prints the ids of all"
        raise CommandError(f"-k {' -k '.join(runs[0].select)}", "T003", "no check is selected", hint)
    say("\n".join(found))
    return status_of(CONFORMANT)


def _meant(library: Library, corpus: Corpus, options: RunOptions) -> str:
    """A hint with the groups of checks that the patterns may mean."""
    whole = replace(options, select=(), last_failed=frozenset())
    # Only groups: comparing a word with ten thousand checks takes seconds.
    groups = {id_.rpartition("::")[0] or id_ for id_ in selected_checks(library, corpus, whole)}
    known = sorted(groups | {part for group in groups for part in group.split("::")})
    words = sorted({word for part in known for word in re.split(r"[^A-Za-z0-9]+", part) if len(word) >= _WORD})
    return next((hint for one in options.select if (hint := nearest(one, known) or nearest(one, words))), "")


def _tell_interrupted(ended: Interrupted, options: RunOptions, suite: Suite) -> None:
    """Print the results until the user ended the run, and keep them."""
    red = {id_: is_red(Verdict(verdict), id_, options) for id_, verdict in ended.verdicts.items()}
    remember(suite, options.backend, red)
    failed = sorted(id_ for id_, is_one in red.items() if is_one)
    judged = f"{len(red)} of {max(ended.checks, len(red))}" if ended.checks else "before the first check"
    failures = counted(len(failed), "failure") if failed else "no failure"
    say(f"interrupted: {judged}, {failures} so far, no verdict", err=True)
    for id_ in failed[:_SHOWN]:
        say(f"    failed: {one_line(id_)}", err=True)


@click.command("run")
@run_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    backends: Sequence[str],
    select: Sequence[str],
    last_failed: bool,
    listed: bool,
    expected: Path | None,
    update_expected: bool,
    reason: str,
    issue: str,
    require: Sequence[str],
    readable: Sequence[Path],
    output: Path | None,
    formats: Sequence[Output],
    show: int,
    durations: int | None,
    **given: Any,
) -> int:
    """Test a backend against the contracts and print the verdict.

    Without --backend the reference of the suite is tested. Exit status: 0 conformant, or passed with expected failures,
    1 not conformant or no valid hello, 2 no judgement. A suite's tally.toml may have defaults of these options.

    \b
    Examples:
      tally run --backend "python my-backend/backend.py" -x
      tally run -k Clamp --profile quick --format json=-
    """
    level = verbosity(context)
    context.meta[QUIET] = level < 0
    reference = _reference(current_suite())
    backends = list(dict.fromkeys(backends)) or [reference]
    same_process, sandboxed = given["same_process"], given["sandbox"] != "none"
    for wrong, said in (
        (
            update_expected and (expected is None or len(backends) > 1),
            "--update-expected needs --expected-failures FILE, and one backend",
        ),
        (
            same_process and any(not backend.startswith("python:") for backend in backends),
            "--same-process is for python:module backends only",
        ),
        (given_in(context, "readable") and not sandboxed, "--sandbox-read needs --sandbox bwrap"),
        (
            given["crash"] and sandboxed,
            "--crash has no sandbox: it traces system calls; use it in a run without --sandbox",
        ),
        (same_process and sandboxed, "--same-process has no sandbox: the backend runs in this process"),
        (any(not pattern.strip() for pattern in select), "-k needs a pattern: an empty one selects everything"),
        (
            expected is not None and expected in [one.path for one in formats],
            "--format names the file of --expected-failures, which it would overwrite",
        ),
        (listed and given_in(context, "output", "formats"), "--list runs nothing, so there is no report to write"),
    ):
        if wrong:
            raise click.UsageError(said)
    outputs = outputs_of(None if listed else output, () if listed else formats, backends)
    if not listed:
        outputs.require_apart(current_suite())
        outputs.clear()
    library = specification()
    corpus = frozen_vectors(library, least=1)
    for backend in backends:
        startable(backend, given["wire"], library)
    options = RunOptions(
        **{name: given[name] for name in _AS_GIVEN},
        select=tuple(select),
        most_failures=failures_allowed(context),
        expected_failures=_listed(expected, library, update_expected),
        require=required(require, library),
        readable=tuple(readable),
    )
    suite = library.suite
    runs = [_of_backend(options, backend, suite, last_failed) for backend in backends]
    if listed:
        return _print_checks(library, corpus, runs)
    if not select and not all(one.last_failed for one in runs):
        require_clean_contracts(library, corpus, given["profile"])
    outputs.require_writable()
    records: list[Record] = []
    observed = []
    unfit = []
    for options in runs:
        try:
            run = run_or_bad_hello(library, corpus, options)
        except Interrupted as ended:
            _tell_interrupted(ended, options, suite)
            unfit.append(NO_JUDGEMENT)
            break
        if isinstance(run, str):
            unfit.append(run)
            continue
        if select and not run.counts.selected and (hint := _meant(library, corpus, options)):
            say(f"-k {' -k '.join(select)}: no check has this in its id; {hint}", err=True)
        if last_failed and not run.selection:  # none of the checks that failed last is among the checks now
            require_clean_contracts(library, corpus, run.profile)
        if update_expected and expected is not None:
            run = _rewritten(run, expected, reason, issue)
        record = read_back(run, library)
        records.append(record)
        observed.append(observations_of(run.observations, record))
        outputs.keep(options.backend, record, observed[-1])
        if not run.empty:
            judged = replace(options, expected_failures=run.expected_failures)
            red = {one.check.id: is_red(one.verdict, one.check.id, judged) for one in run.results}
            remember(suite, options.backend, red)
    status = exit_status([*unfit, *(record.verdict for record in records)])
    if records:
        print_report(records, observed, show, level, durations, stderr=outputs.on_stdout)
    outputs.finish(records, observed)
    return status
