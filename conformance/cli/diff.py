"""`tally diff`: what changed between two states of a suite, which certificates lapse, which versions must rise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import CommandError
from conformance.cli.outputs import output_option, require_apart, write_page
from conformance.cli.suite import current_suite
from conformance.contract.revision import NoRevision, copy_revision
from conformance.contract.suite import FILE, Suite
from conformance.contract.yaml.source import MalformedContract, Problem

if TYPE_CHECKING:
    from conformance.report.certificate.statement import Statement
    from conformance.report.suite_difference import Edition

GOVERNED, UNGOVERNED = 0, 1
_FORMATS: Final = ("json", "markdown", "text")
_CERTIFICATES: Final = ("*.intoto.json", "*.zip")  # the files that are read in a folder


def named_edition(text: str) -> Edition:
    """The edition for a folder, a revision of git, or the tag of the release in the lock; raises CommandError."""
    if text and _is_there(Path(text) / FILE):
        return _edition(text, Path(text), text)
    suite = current_suite()
    with TemporaryDirectory(prefix="tally-diff-") as folder:
        try:
            copy_revision(suite.root, text, Path(folder))
            return _edition(text, Path(folder), f"{text}:")
        except NoRevision as error:
            found, hint = str(error), error.hint
    if (released := _released(suite, text)) is None:
        is_folder = bool(text) and _is_there(Path(text))
        message = f"there is no {FILE} in it, and as a revision: {found}" if is_folder else found
        raise CommandError(repr(text), "T023", message, hint)
    return released


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long
        return False


def _edition(name: str, folder: Path, prefix: str) -> Edition:
    from conformance.contract.library import load_library
    from conformance.contract.suite_file import read_suite
    from conformance.report.suite_difference import edition_of
    from conformance.vectors.frozen.corpus import CorruptedCorpus, load_corpus
    from conformance.vectors.frozen.lock import BadLock, read_lock

    try:
        suite = read_suite(folder)
        library, corpus = load_library(suite), load_corpus(suite)
        locked = read_lock(suite).contracts
        return edition_of(name, library, corpus, locked)
    except MalformedContract as error:
        raise MalformedContract([_placed(one, folder, prefix) for one in error.problems]) from None
    except (CorruptedCorpus, BadLock) as error:
        raise CommandError(_inside(prefix, error.place), "T004", error.message, error.hint) from None
    except (LookupError, TypeError, AttributeError, ValueError, OSError) as error:
        message = f"this tally cannot read its contracts ({error!r:.100})"
        raise CommandError(name, "T009", message, "compare it with the tally that it was written for") from None


def _placed(problem: Problem, folder: Path, prefix: str) -> Problem:
    """A problem with the user's path of its file, not that in a temporary folder."""
    file = Path(problem.position.file)
    root = folder.resolve()
    shown = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
    return replace(problem, position=replace(problem.position, file=_inside(prefix, shown)))


def _inside(prefix: str, file: str) -> str:
    return f"{prefix}{file}" if prefix.endswith(":") else str(Path(prefix) / file)


def _released(suite: Suite, text: str) -> Edition | None:
    """The release in the lock of a suite if it has this tag; raises CommandError if the lock cannot be read."""
    from conformance.report.suite_difference import Edition
    from conformance.vectors.frozen.lock import read_lock

    released = read_lock(suite).released
    if released is None or released.tag != text:
        return None
    return Edition(text, released, remark=f"{text} is known from the lock alone: it has no calls and no sentences")


def _statements(places: Sequence[Path]) -> list[tuple[str, Statement]]:
    """Every certificate in some files and folders; raises CommandError."""
    from conformance.contract.suite_file import schema_folder
    from conformance.report.certificate.evidence import read_evidence
    from conformance.report.certificate.statement import SCHEMA, read_statement

    found = []
    for place in places:
        files = [place]
        if place.is_dir():
            files = sorted(file for pattern in _CERTIFICATES for file in place.glob(pattern))
            if not files:
                hint = f"name a certificate, or a folder with {' or '.join(_CERTIFICATES)}"
                raise CommandError(str(place), "T020", "there is no certificate in it", hint)
        for file in files:
            payload = read_evidence(file).envelope.payload
            found.append((str(file), read_statement(payload, str(file), schema_folder(current_suite()) / SCHEMA)))
    return found


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--certificate",
    "certificates",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A certificate, an evidence bundle or a folder of them: does it lapse? Repeatable.",
)
@click.option("--cases", is_flag=True, help="List every case and every requirement.")
@click.option(
    "--format", "format_", type=click.Choice(_FORMATS), default="text", show_default=True, help="What to write."
)
@output_option
def command(old: str, new: str, certificates: Sequence[Path], cases: bool, format_: str, output: Path) -> int:
    """Compare two states of a suite: vectors, requirements, the certificates that lapse, and the versions.

    OLD and NEW are each a folder with a tally.toml, a revision of git (a tag, a branch, a commit) in the repository of
    the current suite, or the tag of its last release. Only files are compared; nothing of a suite is run. Exit status:
    0 every version is as governance asks, 1 a version must rise or a contract must come back, 2 one of the two cannot
    be read.

    \b
    Examples:
      tally diff v1.0.0 .
      tally diff HEAD~3 HEAD --certificate certificates/ --format markdown
    """
    from conformance.report.suite_difference import SuiteDifference, as_json, as_markdown, as_text, difference_of

    place = f"--output {str(output)!r}"
    statements = _statements(certificates)
    require_apart(output, [Path(file) for file, _ in statements], place, "it is one of the files that are read")
    difference = difference_of(named_edition(old), named_edition(new), statements)
    writers: dict[str, Callable[[SuiteDifference, bool], str]] = {
        "json": as_json,
        "markdown": as_markdown,
        "text": as_text,
    }
    write_page(writers[format_](difference, cases).encode(), output, place)
    return UNGOVERNED if difference.refused else GOVERNED
