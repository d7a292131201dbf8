"""The list of all checks as data of the HTML page, which its script shows and filters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from conformance.report.failure import cut, headline
from conformance.report.printable import printable
from conformance.report.record import Entry, Record

_LETTERS: Final = {"pass": "p", "fail": "f", "error": "e", "not_applicable": "n"}
_EXCUSED: Final = "x"
_ABSENT: Final = "-"  # the record has no such check
_LONGEST: Final = 300  # characters of a text in the list


def checks_json(records: Sequence[Record], anchors: Sequence[Mapping[str, str]]) -> str:
    """Every check of the records in JSON that can be part of a page; `anchors` maps failing ids to their place in it.

    A check is [id, operator, kind, reason, what it cites, a letter for the verdict on each backend, notes], a note is
    [backend, headline, anchor]; operators, kinds and reasons are numbers of the lists beside them.
    """
    operators, kinds, whys = _Numbered(), _Numbered(), _Numbered()
    by_record = [{entry["id"]: entry for entry in record.entries} for record in records]
    checks = []
    for id_ in sorted({id_ for entries in by_record for id_ in entries}):
        found = [entries.get(id_) for entries in by_record]
        first = next(entry for entry in found if entry is not None)
        notes = [
            [number, _shown(headline(entry)), anchors[number].get(id_, "")]
            for number, entry in enumerate(found)
            if entry is not None and entry["verdict"] in ("fail", "error")
        ]
        cites = " ".join([*first["requirements"], *first["rulings"]])
        names = operators[_shown(first["operator"])], kinds[_shown(first["kind"])], whys[_shown(first["why"])]
        row = [_shown(id_), *names, _shown(cites), "".join(map(_letter, found))]
        checks.append([*row, notes] if notes else row)
    members = {"operators": operators.names, "kinds": kinds.names, "whys": whys.names, "checks": checks}
    return inert(json.dumps(members, separators=(",", ":"), sort_keys=True))


def inert(text: str) -> str:
    """JSON text that cannot end the element of a page that it is in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _Numbered:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def names(self) -> Iterable[Any]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def _letter(entry: Entry | None) -> str:
    if entry is None:
        return _ABSENT
    return _EXCUSED if entry.get("excused", False) else _LETTERS[entry["verdict"]]


def _shown(text: str) -> str:
    return printable(cut(text, _LONGEST))
