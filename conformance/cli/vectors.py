"""`tally vectors`: build, check, compare and release the frozen cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from conformance.backend.hello import BadHello
from conformance.backend.resolve import BackendNotFound
from conformance.cli.backend_options import jobs_option
from conformance.cli.console import CommandError, require_known, say
from conformance.cli.progress import shown_progress
from conformance.cli.suite import contract_named, frozen_vectors, specification
from conformance.codec.codebook import codebook_of
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Problem
from conformance.lint.call import agreement
from conformance.vectors.frozen.build import build, check, diff, regenerate
from conformance.vectors.frozen.corpus import CorruptedCorpus, load_corpus
from conformance.vectors.frozen.freeze import FreezeProgress

FINE, BAD = 0, 1


def _tell(problems: Iterable[Problem]) -> None:
    for problem in problems:
        say(str(problem), err=True)


@contextmanager
def _meter() -> Iterator[FreezeProgress]:
    """The meter of a freeze; its steps are the cases that each backend is asked."""
    with shown_progress("vectors") as progress:

        def tick(done: int, total: int) -> None:
            if done == 1:
                progress.stage("derivations", total)
            progress.step()

        yield tick


@contextmanager
def _named_failures() -> Iterator[None]:
    """Turn the errors that stop the derivation of a corpus into CommandErrors."""
    try:
        yield
    except CorruptedCorpus as error:
        raise CommandError(error.place, "T004", error.message, error.hint, BAD) from None
    except BackendNotFound as error:
        raise CommandError(
            "a backend that derives vectors", "T001", str(error), "install it; see confirmed_by"
        ) from None
    except BadHello as error:
        hint = "try `tally run --backend NAME`"
        raise CommandError("a backend that derives vectors", "T002", str(error), hint) from None


_FULL = "golden"


@click.group("vectors")
def command() -> None:
    """Build the frozen vectors, check that they are reproducible, show what changed, or release them.

    Exit status: 0 unchanged or written, 1 drift, a value without a second derivation or a refused release, 2 a contract
    or backend that cannot be used.

    \b
    Examples:
      tally vectors build
      tally vectors check --jobs 2
    """


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    text = "golden: also derive N = 10^9 and up again; standard keeps the frozen golden cases."
    profile = click.option(
        "--profile", type=click.Choice(["standard", _FULL]), default="standard", show_default=True, help=text
    )
    return jobs_option(profile(function))


@command.command("build", short_help="derive the cases that changed, and write them")
@_shared
@click.option(
    "--only",
    multiple=True,
    metavar="OPERATOR",
    help="Derive every case of this operator again, changed or not; repeatable.",
)
@click.option("--changed/--all", default=True, show_default=True, help="Derive what changed, or every case again.")
def build_command(jobs: int, profile: str, only: tuple[str, ...], changed: bool) -> int:
    """Derive the cases that changed, and write them. If there is any problem, nothing is written.

    A case is derived if its question is new, if its frozen answer contradicts the contract as it now is or a pin, or
    if other backends confirm it. An answer stays frozen if only the reference changed: `tally run` shows what it now
    answers, `--only OPERATOR` or `--all` freezes its new answers, and `tally vectors check` derives every case and
    compares.

    \b
    Examples:
      tally vectors build
      tally vectors build --only Bounds.Clamp_v1 --jobs 2
    """
    library = specification()
    operators = [name for name, contract in library.contracts.items() if contract.method is None]
    for name in only:
        require_known(f"--only {name!r}", name, operators, "no contract has this operator")
    wanted = frozenset(only) if only or (changed and profile != _FULL) else None
    with _named_failures(), _meter() as progress:
        built, touched = build(library, jobs, profile == _FULL, progress, only=wanted, agrees=agreement(library))
    if built.problems:
        _tell(built.problems)
        say(f"{counted(len(built.problems), 'problem')}: nothing was written", err=True)
        return BAD
    for name in touched:
        say(f"{'wrote' if (library.suite.root / name).exists() else 'removed'} {name}")
    kept = f", {len(built.reused)} kept as frozen" if built.reused else ""
    say(f"{counted(len(built.corpus), 'case')}{kept}; {counted(len(touched), 'file')} changed")
    return FINE


@command.command("suggest", short_help="print the cases that an operator lacks")
@click.argument("operator")
def suggest_command(operator: str) -> int:
    """Print the cases that OPERATOR lacks, ready to paste into its contract.

    These are cases on both sides of every guard and next to its boundaries, pairs of neighbouring faults, edge cases,
    failures that no guard foresees, and groups along an axis or next to a limit. They are found by solving the
    comparisons of the guards and by fuzzing, and the reference answers them. A comment gives the reason why a case was
    not found. Exit status: 0 every missing case was found, 1 not all, 2 no judgement.

    \b
    Examples:
      tally vectors suggest Bounds.Clamp_v1
      tally vectors suggest Queue --suite contracts
    """
    from conformance.cli.suggest import page_lines, page_of
    from conformance.lint.rule import subject_of

    library = specification()
    contract = contract_named(library, operator)
    try:
        cases = tuple(load_corpus(library.suite))
    except CorruptedCorpus:
        cases = ()  # nothing is frozen yet
    with _named_failures():
        subject = subject_of(library, cases)
        methods = contract.machine.methods if contract.own_machine is not None and contract.machine else ()
        frozen = [call for name in (contract.operator, *methods) for call in subject.calls(name)]
        page = page_of(contract, library, codebook_of(library), frozen)
    lines = page_lines(page, contract.operator)
    say("\n".join(lines) if lines else f"# {contract.operator} lacks no case")
    return BAD if page.left else FINE


@command.command("check", short_help="derive every case, and compare it with the files")
@_shared
def check_command(jobs: int, profile: str) -> int:
    """Derive every case, compare every byte with the files, and compare the corpus with contracts.lock.

    \b
    Examples:
      tally vectors check
      tally vectors check --jobs 2 --profile golden
    """
    library = specification()
    with _named_failures(), _meter() as progress:
        checked = check(library, regenerate(library, jobs, profile == _FULL, progress))
    _tell(checked.problems)
    for change in checked.changes:
        say(str(change))
    say(checked.summary)
    return FINE if checked.passed else BAD


@command.command("diff", short_help="show what a build would change")
@click.option("--cases", is_flag=True, help="List every case.")
@_shared
def diff_command(jobs: int, profile: str, cases: bool) -> int:
    """Show what a build would change, by operator and requirement; exit status 1 if it would change anything.

    \b
    Examples:
      tally vectors diff
      tally vectors diff --cases --jobs 2
    """
    library = specification()
    with _named_failures(), _meter() as progress:
        old = load_corpus(library.suite)
        built = regenerate(library, jobs, profile == _FULL, progress)
        changes = diff(old, built.corpus)
    _tell(built.problems)
    for change in changes:
        say(str(change))
        for word, ids in change.parts() if cases else ():
            for id_ in ids:
                say(f"    {word} {id_}")
    said = f"{counted(len(changes), 'group')} of changes" if changes else "unchanged"
    say(f"{counted(len(built.corpus), 'case')}: {said}")
    return BAD if changes or built.problems else FINE


@command.command("release", short_help="fix the contracts and vectors as they are")
@click.option("--tag", default="", metavar="TAG", help="How the release is called; without it, the next version.")
@click.option("--dry-run", is_flag=True, help="Make all checks, and print what would be written.")
@_shared
def release_command(tag: str, dry_run: bool, jobs: int, profile: str) -> int:
    """Fix the contracts and vectors as they are: from then on `tally lint` (L501) compares every edit with them.

    The versions must be as governance asks since the last release, lint must find nothing, and every case is derived
    again. Then contracts.lock and CHANGELOG.md beside the vectors are written, both or neither. Exit status: 0 released
    or nothing to release, 1 refused, 2 a contract, lock or backend that cannot be used.

    \b
    Examples:
      tally vectors release --dry-run
      tally vectors release --tag v2.0.0
    """
    from conformance.cli import release

    library = specification()
    corpus = frozen_vectors(library, least=1)
    draft = release.drafted(library, corpus, tag)
    if draft is None:
        say("nothing changed since the last release: there is nothing to release")
        return FINE
    release.require_clean(library, corpus)
    with _named_failures(), _meter() as progress:
        checked = check(library, regenerate(library, jobs, profile == _FULL, progress))
    _tell(checked.problems)
    if not checked.passed:
        say("not released: the vectors are not what the contracts and backends make; nothing was written", err=True)
        return BAD
    if dry_run:
        say(
            "\n".join([f"{draft.tag} can be released", *release.release_preview(draft, library), "nothing was written"])
        )
        return FINE
    release.write(draft, library)
    for file in draft.texts:
        say(f"wrote {library.suite.path_text(file)}")
    say(f"released {draft.tag}: from now on `tally lint` is red where an edit needs another version")
    return FINE
