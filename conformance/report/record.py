"""The canonical record of one run: the same bytes for the same run, whatever the order, the workers or the host.

A record is a JSON object with sorted keys. Its last line holds `whole`, the SHA-256 of every byte before that line, so
that a record that was cut off or edited is known as such; `sections` says which part was touched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.report.entry import Entry

FORMAT: Final = 1
_FOOTER = re.compile(rb'  "whole": "([0-9a-f]{64})"\n\}\n\Z')
_SURROGATE = re.compile("[\ud800-\udfff]")


class BrokenRecord(Exception):
    """A file is not a whole record; says where it is broken, what was expected, and the next step."""


@dataclass(frozen=True, slots=True)
class Record:
    """The members of a record, without `sections` and `whole`."""

    members: Mapping[str, Any]

    def __getitem__(self, member: str) -> Any:
        return self.members[member]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every result, sorted by check id."""
        return tuple(self.members["results"])

    @property
    def verdict(self) -> str:
        """CONFORMANT, PASSED WITH n EXPECTED FAILURES, NOT CONFORMANT or NO JUDGEMENT."""
        return str(self.members["verdict"])

    @property
    def sentence(self) -> str:
        """The verdict in one line, with what is red and what was tried."""
        return str(self.members["sentence"])


def encode_record(record: Record) -> bytes:
    """The canonical bytes of a record."""
    members = {**record.members, "sections": dict(_sections(record.members))}
    lines = ["{"]
    for name in sorted(members):
        lines.append(f"  {_line(name)}: {_shown(members[name])},")
    body = ("\n".join(lines) + "\n").encode()
    return body + b'  "whole": "' + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


def read_record(data: bytes, name: str = "record.json") -> Record:
    """The record that `data` holds; raises BrokenRecord."""
    footer = _FOOTER.search(data)
    if footer is None:
        line = data.count(b"\n") + 1
        raise BrokenRecord(
            f'{name}:{line}: the record ends without its footer, the line "whole": it was cut off, or it is no '
            "record; run the trial again"
        )
    body = data[: footer.start()]
    if hashlib.sha256(body).hexdigest().encode() != footer[1]:
        raise BrokenRecord(f"{name}:{_damage(data)}; run the trial again, a record is never edited")
    members = json.loads(data)
    if members.get("format") != FORMAT:
        raise BrokenRecord(f"{name}: format {members.get('format')!r}, this tally reads format {FORMAT}")
    return Record({key: value for key, value in members.items() if key not in ("sections", "whole")})


def _sections(members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The digest of every member, and of the results of every operator."""
    for name, value in members.items():
        if name != "results":
            yield name, _digest(value)
            continue
        operators: dict[str, list[Entry]] = {}
        for entry in value:
            operators.setdefault(entry["operator"], []).append(entry)
        for operator, entries in operators.items():
            yield f"results/{operator}", _digest(entries)


def _damage(data: bytes) -> str:
    """Where a record with a footer differs from what was written: line, and what is wrong there."""
    try:
        members = json.loads(data)
        sections = members.pop("sections")
        del members["whole"]
        found = dict(_sections(members))
        altered = sorted(name for name in found.keys() | sections.keys() if found.get(name) != sections.get(name))
    except json.JSONDecodeError as error:
        return f"{error.lineno}:{error.colno}: not JSON here ({error.msg})"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "1: not the members of a record"
    lines = data.split(b"\n")
    if altered:
        opening = f'  "{altered[0].split("/")[0]}": '.encode()
        number = next((k for k, line in enumerate(lines, 1) if line.startswith(opening)), 1)
        return f"{number}: altered in {', '.join(altered)}"
    return f"{len(lines) - 2}: the footer does not match, though every section does: the layout was altered"


def _digest(value: Any) -> str:
    return hashlib.sha256(_line(value).encode()).hexdigest()


def _line(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    # A backend may say half a surrogate pair, which UTF-8 has no bytes for.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _shown(value: Any) -> str:
    """One member on one line, or its items on a line each, so that a difference between two records is short."""
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f"    {_line(key)}: {_line(value[key])}" for key in sorted(value)) + "\n  }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {_line(item)}" for item in value) + "\n  ]"
    return _line(value)
