"""Edits of one part of a file, or of two, where the reference reads the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, groupby, islice
from typing import Any, Final

from conformance.backend.outcome import ObservedResult
from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import Enum, ListOf, Scalar, walk
from conformance.trial.bystanders import is_matched, near_misses
from conformance.trial.check import comparable_answer
from conformance.trial.client import Client
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import (
    Base,
    CallAmongFiles,
    Example,
    ExampleFiles,
    Snapshots,
    calls_among_files,
    ranked,
)
from conformance.trial.fuzz.listings.written import near_text
from conformance.trial.turns import by_turns
from conformance.vectors.case import FileStep
from conformance.vectors.conversation.exchange import Transcript

_MOST_UNREAD: Final = 4  # cases in which an operation reads no file of a kind, until it counts as one that reads none
_MOST_IN_A_ROW: Final = 16  # files that an operation does not read, until it counts as one that reads none


@dataclass(frozen=True, slots=True)
class EditEffect:
    """What an edit changes: the new answers by step, and whether a call is refused that was not."""

    answers: tuple[tuple[str, str], ...] = ()
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceProbe:
    """Asks the reference alone; remembers where a kind of file was not read."""

    reference: Client
    _unread: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _in_a_row: Counter[str] = field(default_factory=Counter)

    def effect(self, example: Example, seen: Snapshots) -> EditEffect:
        """The answers that differ from those of the case that the example was made from."""
        walked = self.reference.walk(example.steps)
        made = walked.exchanges if isinstance(walked, Transcript) else ()
        told = [(one, repr(comparable_answer(one.observed))) for one in made if one.step in seen.answers]
        other = [(one, text) for one, text in told if text != seen.answers[one.step]]
        refuses = any(one.step in seen.succeeded and not isinstance(one.observed, ObservedResult) for one, _ in other)
        return EditEffect(tuple((one.step, text) for one, text in other), refuses)

    def reads(self, kind: str, call: CallAmongFiles, empty: Example) -> bool:
        """Whether a case reads a kind of file: the `empty` example changes an answer.

        False without a question if the operation read no such file in several cases.
        """
        operator, base = call.step.operator, call.base
        unread = self._unread.setdefault((kind, operator), set())
        if len(unread) >= _MOST_UNREAD or self._in_a_row[operator] >= _MOST_IN_A_ROW:
            return False
        is_read = bool(self.effect(empty, base[1]).answers)
        self._in_a_row[operator] = 0 if is_read else self._in_a_row[operator] + 1
        if is_read:
            unread.clear()
        else:
            unread.add(base[0].id)
        return is_read


def emptying_edits(root: str, paths: Sequence[str]) -> tuple[Edit, ...]:
    """The edits after which nothing is left in some files."""
    return tuple((file_step("put", root, path=path, text=""),) for path in paths)


_WORDABLE: Final = re.compile(r"[^.*\s]+")  # a key that a dotted place can name
_NUMBER: Final = re.compile(r"\.[0-9]+(?=[. ])")


@dataclass(frozen=True, slots=True)
class FormatFiles:
    """The files of one format that exist before a call of a case."""

    call: CallAmongFiles
    formed: ExampleFiles

    @property
    def emptied(self) -> Example:
        """The case with nothing left in the files."""
        return self.call.edited(*emptying_edits(self.call.root, self.formed.paths))


def lacking(contract: Contract, bases: Sequence[Base], reading: ReferenceProbe) -> Iterator[Example]:
    """Examples in which one part of a file is removed, null or empty, for every part of every format that is read.

    This finds readers that test a value for truth instead of presence, or that use a default for a missing key. Each
    part is tried in the first case that has and reads it. Damages that the format declares are left out, because the
    frozen cases have them.
    """
    done: set[tuple[str, str]] = set()
    for found in formed_files(contract, bases):
        form = found.formed.form.name
        fresh = {key: edit for key, edit in parts_of(found.formed) if (form, key) not in done}
        if fresh and reading.reads(form, found.call, found.emptied):
            done |= {(form, key) for key in fresh}
            yield from (found.call.edited((damaged(found, edit),)) for edit in fresh.values())


def formed_files(contract: Contract, bases: Sequence[Base]) -> Iterator[FormatFiles]:
    """The files of declared formats, each before the first call of an operation that finds it; best cases first."""
    for base in ranked(contract, bases):
        asked: set[tuple[str, str, str, str]] = set()
        for call in calls_among_files(contract, base):
            known = base[1].formed.get(call.root, {})
            parts = {path for formed in known.values() if len(formed.form.files) > 1 for path in formed.paths}
            for (name, place), formed in known.items():
                # A format of a single file may fit one file of a greater one by chance.
                if place in parts or not all(path in call.files for path in formed.paths):
                    continue
                mark = (call.step.operator, call.root, name, place)
                if mark not in asked and call.fits(emptying_edits(call.root, formed.paths)):
                    asked.add(mark)
                    yield FormatFiles(call, formed)


def damaged(found: FormatFiles, edit: str) -> FileStep:
    """The step that damages the files of a format in one way."""
    return file_step("damage", found.call.root, path=found.formed.place, format=found.formed.form.name, edit=edit)


def parts_of(formed: ExampleFiles) -> Iterator[tuple[str, str]]:
    """The damages that the format does not declare, each with a key that is the same for every list element."""
    declared = {_key(edit) for edit in formed.form.edits}
    for name, item in formed.items.items():
        for at, value in _inside(name, item):
            kinds = ("absent", *(("null",) if value is not None else ()), *(("empty",) if _is_full(value) else ()))
            edits = [f"{at} {kind}" for kind in kinds]
            yield from ((key, edit) for edit in edits if (key := _key(edit)) not in declared)


def maps_of(formed: ExampleFiles) -> Iterator[str]:
    """The dotted places of the maps in the files of a format; of the elements of a list, the first map only."""
    seen: set[str] = set()
    for name, item in formed.items.items():
        for at, value in [(name, item), *_inside(name, item)]:
            if isinstance(value, dict) and (key := _key(f"{at} ")) not in seen:
                seen.add(key)
                yield at


def _key(edit: str) -> str:
    """A damage with `*` for each list index in its place."""
    return _NUMBER.sub(".*", edit)


def _is_full(value: Any) -> bool:
    """Whether a value differs from the empty value of its type."""
    return isinstance(value, bool | int | float | str | bytes | list | dict) and value != type(value)()


def _inside(at: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value by dotted place, without the value itself.

    Of a list, only the first and last element are visited; of sibling maps with the same keys, only one.
    """
    parts: Mapping[Any, Any] = {}
    if isinstance(value, dict):
        parts = {key: one for key, one in value.items() if isinstance(key, str) and _WORDABLE.fullmatch(key)}
    elif isinstance(value, list) and value:
        parts = {0: value[0], len(value) - 1: value[-1]}
    alike: set[frozenset[Any]] = set()
    for key, part in parts.items():
        yield f"{at}.{key}", part
        if not isinstance(part, dict) or frozenset(part) not in alike:
            yield from _inside(f"{at}.{key}", part)
        alike |= {frozenset(part)} if isinstance(part, dict) else set()


_MOST_CASES: Final = 2  # in which two edits change the answer
_MOST_TRIED: Final = 4  # cases in which single edits are tried
_MOST_EDITS: Final = 12  # of one case, tried one at a time
_MOST_PAIRS: Final = 6  # of one case


def files_read_together(
    contract: Contract, codebook: Codebook, bases: Sequence[Base], reading: ReferenceProbe
) -> Iterator[Example]:
    """Examples for an operator that answers lists: pairs of edits with different effects, and all edits together.

    This finds operators that report only the first of several problems.
    """
    if not any(reports_problems(codebook[name].contract) for name in codebook.forms if contract.owns(name)):
        return
    cases = groupby(formed_files(contract, bases), key=lambda one: one.call)
    shown = 0
    for _, group in islice(cases, _MOST_TRIED):
        found = list(group)
        call = found[0].call
        noticed: dict[object, Edit] = {}
        for edit in islice(_edits(contract, found), _MOST_EDITS):
            effect = reading.effect(call.edited(edit), call.base[1])
            if effect.answers and not effect.refuses:
                noticed.setdefault(effect, edit)
        pairs = [*combinations(noticed.values(), 2)][:_MOST_PAIRS]
        yield from (call.edited(*pair) for pair in pairs)
        if len(noticed) > 2:
            yield call.edited(*noticed.values())
        shown += bool(pairs)
        if shown == _MOST_CASES:
            return


def reports_problems(contract: Contract) -> bool:
    """Whether an output is a list of texts or enums, in which an operator can report problems."""
    lists = (type_.item for _, type_ in walk(contract.outputs) if isinstance(type_, ListOf))
    return any(isinstance(item, Enum) or item == Scalar("string") for item in lists)


def _edits(contract: Contract, found: Sequence[FormatFiles]) -> Iterator[Edit]:
    """Edits that may be reported: an extra file beside each file, an extra key in each map; taken in turn."""
    lines: list[list[Edit]] = [[(damaged(one, f"{at} extra"),) for at in maps_of(one.formed)] for one in found]
    lines += [[_neighbour_file(contract, one, path) for path in one.formed.paths] for one in found]
    for edit in by_turns(lines):
        if edit and found[0].call.fits([edit]):
            yield edit


def _neighbour_file(contract: Contract, found: FormatFiles, path: str) -> Edit:
    """The edit that puts a file with another name beside one; empty if the operator could own that name."""
    taken = {**contract.bystanders.owned, **contract.bystanders.none}
    name = next((other for other in near_misses(path) if not is_matched(other, taken)), "")
    return (file_step("put", found.call.root, path=name, text=""),) if name else ()


_ID: Final = re.compile(r"[0-9a-f]{16,}|[0-9]+")
_MOST_KINDS: Final = 10  # kinds of file names that are tried
_MOST_WRITTEN: Final = 40  # texts instead of one that a file has


def lengthened(contract: Contract, bases: Sequence[Base], reading: ReferenceProbe) -> Iterator[Example]:
    """Examples with one more byte at the end or the beginning of a file, for each kind of file name; of a file that is
    a text, with other line ends, numbers and separators too.

    This finds readers that stop after the first item and ignore the rest of the file. A kind is tried in the first case
    that reads such a file; its first and its last file are changed.
    """
    done: set[str] = set()
    for call in chain.from_iterable(calls_among_files(contract, base) for base in ranked(contract, bases)):
        contents = call.base[1].contents.get(call.root, {})
        known = {path: data for path, data in contents.items() if call.files.get(path) == len(data)}
        kinds = groupby(sorted(known, key=_kind), key=_kind)
        for kind, paths in ((kind, [*some]) for kind, some in kinds if kind not in done):
            gone = [edit for edit in emptying_edits(call.root, paths) if call.fits([edit])]
            if gone and len(done) < _MOST_KINDS and reading.reads(kind, call, call.edited(*gone)):
                done.add(kind)
                first, last = gone[0][0].subject, gone[-1][0].subject
                for path in dict.fromkeys((first, last)):
                    yield from (call.edited(edit) for edit in _longer(call.root, path, known[path]))
                for content in near_text(known[first], _MOST_WRITTEN):
                    yield call.edited((file_step("put", call.root, path=first, bytes=content.hex()),))


def _kind(path: str) -> str:
    """The name of a file with each number replaced by `#`."""
    return _ID.sub("#", path.rpartition("/")[2])


def _longer(root: str, path: str, data: bytes) -> Iterator[Edit]:
    for content in (data + b"\0", data + data[-1:], b"\0" + data):
        yield (file_step("put", root, path=path, bytes=content.hex()),)
