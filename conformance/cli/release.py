"""`tally vectors release`: the lock records the contracts, and lint compares every later edit with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.cli.console import CommandError, writing
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.report.suite_difference import Edition, SuiteDifference, as_entry, difference_of, edition_of
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.governance import Level, numbers, raised, refusal
from conformance.vectors.frozen.lock import LOCK_FILE, Release, lock_text, read_lock, release
from conformance.vectors.jsontext import write_all

CHANGELOG: Final = "CHANGELOG.md"  # beside the vectors
FIRST: Final = "v1.0.0"
_HEAD: Final = """# Changelog of the contracts and vectors

`tally vectors release` writes it, the newest release first.
"""
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
_NUMBERED: Final = re.compile(r"([A-Za-z0-9._+-]{0,60}?)([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})\Z")
_REFUSED: Final = 1
_SHOWN: Final = 5  # findings


@dataclass(frozen=True, slots=True)
class NextRelease:
    """An allowed release: its tag, the files that it writes by their path, and its entry of the changelog."""

    tag: str
    texts: Mapping[Path, str]  # the lock last: only the lock makes the rules of governance apply
    entry: str


def drafted(library: Library, corpus: Corpus, tag: str) -> NextRelease | None:
    """The release of the present files, which have cases; None if nothing changed since the last one.

    Without a tag, it is the next version: MAJOR if a contract has a successor, MINOR for any other new or extended
    contract, else PATCH. Raises CommandError.
    """
    suite = library.suite
    locked = read_lock(suite)
    before = locked.released
    old = Edition(before.tag if before is not None else "", before if before is not None else Release("", {}, {}))
    difference = difference_of(old, edition_of("this suite", library, corpus, locked.contracts))
    if difference.refused:
        raise _refused(difference)
    if before is not None and not difference.contracts and not difference.requirements:
        return None
    tag = _tag(tag, difference, before)
    text = lock_text(release(library, corpus, tag))
    entry = as_entry(difference, tag)
    changelog = suite.vectors / CHANGELOG
    return NextRelease(tag, {changelog: _with_entry(_read(changelog), entry), suite.spec / LOCK_FILE: text}, entry)


def _refused(difference: SuiteDifference) -> CommandError:
    lines = [f"{refusal(change, difference.old)}: {change.advice}" for change in difference.refused]
    message = f"{len(lines)} of the contracts need another version than they have; nothing was written"
    hint = f"`tally diff {difference.old} .` shows what changed"
    return CommandError("not released", "T024", message, hint, status=_REFUSED, extra="\n".join(lines))


def _tag(wanted: str, difference: SuiteDifference, before: Release | None) -> str:
    """The tag of a release; raises CommandError for a version that is too low for the changes."""
    if wanted and not _TAG.match(wanted):
        hint = "use letters, digits, `.`, `_`, `+` and `-`, a letter or digit first"
        raise CommandError(f"--tag {wanted!r}", "T024", "this is no tag", hint)
    if before is None:
        return wanted or FIRST
    level = max((change.level for change in difference.contracts), default=Level.PATCH)
    last = _NUMBERED.match(before.tag)
    if last is None:
        if wanted and wanted != before.tag:
            return wanted
        message = f"the last release is called {before.tag}, which has no version to raise"
        raise CommandError("tally vectors release", "T024", message, "name another one with --tag")
    least = raised(last[2], level)
    named = _NUMBERED.match(wanted)
    if wanted == before.tag or (named is not None and numbers(named[2]) < numbers(least)):
        message = f"{level.name} changes since {before.tag} need another tag"
        raise CommandError(f"--tag {wanted!r}", "T024", message, f"name {last[1]}{least} or a later one", _REFUSED)
    return wanted or f"{last[1]}{least}"


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CommandError(
            str(file), "T005", f"the changelog cannot be read: {said}", "repair or move the file"
        ) from None


def _with_entry(text: str, entry: str) -> str:
    """A changelog with one more entry at the top; an entry with the same heading is replaced."""
    head, *entries = re.split(r"(?m)^(?=## )", text or _HEAD)
    title = entry.partition("\n")[0]
    others = [one for one in entries if one.partition("\n")[0].rstrip() != title]
    return "\n\n".join(part.strip("\n") for part in (head, entry, *others) if part.strip()) + "\n"


def write(draft: NextRelease, library: Library) -> None:
    """Write all files of a release, or none if one cannot be written; raises CommandError."""
    place = library.suite.path_text(library.suite.spec / LOCK_FILE)
    with writing(place, "make the suite writable; nothing was released"):
        write_all(draft.texts)


def release_preview(draft: NextRelease, library: Library) -> Iterator[str]:
    """The files that a release would write, for a dry run."""
    for file, text in draft.texts.items():
        name = library.suite.path_text(file)
        if file.name == LOCK_FILE:
            yield f"would write {name}: {draft.tag} in `released`, {counted(len(text.encode()), 'byte')}"
        else:
            yield f"would write {name}, with this entry:"
            yield from (f"    {line}".rstrip() for line in draft.entry.splitlines())


def require_clean(library: Library, corpus: Corpus) -> None:
    """Raise CommandError if lint has findings."""
    from conformance.cli.lint_outcome import outcome_of
    from conformance.lint.output import as_text

    if found := outcome_of(library, corpus).findings:
        message = f"lint has {counted(len(found), 'finding')}; nothing was written"
        shown = as_text(found[:_SHOWN])
        raise CommandError("not released", "T024", message, "run `tally lint`", status=_REFUSED, extra=shown)
