"""The run of a backend for a command: the names it accepts, the operators it must declare, and the run itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path

from conformance.backend.resolve import BackendNotFound, resolve
from conformance.backend.sandbox import NoSandbox
from conformance.cli.console import Complaint, nearest, tell
from conformance.cli.progress import shown_progress
from conformance.contract.library import Library
from conformance.contract.suite import MUTANT
from conformance.report.verdict import NO_JUDGEMENT, NOT_CONFORMANT, status_of
from conformance.trial.check import RunResult
from conformance.trial.options import RunOptions
from conformance.trial.run import UnfitBackend, run_trial
from conformance.vectors.corpus import Corpus


def startable(backend: str, wire: str, library: Library) -> None:
    """Refuse a backend that names nothing that could be started; raises Complaint."""
    if (mutant := backend.removeprefix(MUTANT)) != backend:
        known = list(library.mutants)
        if mutant not in known:
            hint = nearest(mutant, known, "`tally mutants` names them all")
            raise Complaint(f"--backend {backend!r}", "T001", f"there is no mutant {mutant!r}", hint)
    package = backend.removeprefix("python:").partition(":")[0].partition(".")[0]
    if backend.startswith("python:") and PathFinder.find_spec(package, [*sys.path, str(Path.cwd())]) is None:
        message = f"there is no module {package!r} on PYTHONPATH, in this environment or in this folder"
        raise Complaint(f"--backend {backend!r}", "T001", message, "name the module, not its file")
    try:
        resolve(backend, library.suite, wire)
    except BackendNotFound as error:
        hint = "tally run --help lists the forms of a backend; `tally new-backend` writes one"
        raise Complaint(f"--backend {backend!r}", "T001", str(error), hint) from None


def required(names: Sequence[str], library: Library) -> tuple[str, ...]:
    """The operators and machines that must be declared; raises Complaint for a name that no hello can declare."""
    known = library.declarable
    if "all" in names:
        return known
    for name in names:
        if name not in known:
            hint = nearest(name, list(known), "name an operator or a machine of the contracts, or `all`")
            raise Complaint(f"--require {name!r}", "T003", "no operator or machine has this name", hint)
    return tuple(sorted(set(names)))


@contextmanager
def sandboxed() -> Iterator[None]:
    """A block that needs bubblewrap; raises Complaint where it cannot start."""
    try:
        yield
    except NoSandbox as error:
        hint = "install bubblewrap, or run without --sandbox; a container may forbid user namespaces"
        raise Complaint("--sandbox bwrap", "T014", f"no judgement: {error}", hint) from None


def tried(library: Library, corpus: Corpus, options: RunOptions) -> RunResult | str:
    """The run, or the verdict on a backend that gave no valid hello; raises Complaint where there is no sandbox."""
    try:
        with sandboxed(), shown_progress(options.backend) as progress:
            return run_trial(library, corpus, options, progress)
    except UnfitBackend as error:
        verdict = NOT_CONFORMANT if error.begun else NO_JUDGEMENT
        hint = "answer tally.hello on stdout and nothing else there; `tally new-backend` writes a backend that does"
        if not error.begun:
            hint = "the backend ended before it read anything: is the command right? run it by hand"
        place, said = f"--backend {options.backend!r}", error.stderr_tail.strip()
        extra = f"its stderr ended with:\n{said}" if said else "it wrote nothing on stderr"
        message = error.reason if error.reason.startswith("the backend") else f"no valid hello: {error.reason}"
        tell(Complaint(place, "T002", message, hint, status_of(verdict), extra))
        return verdict
