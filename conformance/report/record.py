"""The canonical record of one run: its bytes do not depend on the order of checks, the workers or the host."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from conformance.contract.library import Library
from conformance.contract.yaml.source import BadFile
from conformance.report.verdict import NOT_TRIED, sentence_of, verdict_of
from conformance.trial.check import Difference, FailedCall, Result, RunResult, Verdict
from conformance.vectors.jsontext import strict_json

if TYPE_CHECKING:
    from conformance.contract.model import Clause, Guard
    from conformance.vectors.call_sequence import CallSequence


Entry = Mapping[str, Any]
_ALWAYS: Final = frozenset({"id", "kind", "operator", "group", "why", "verdict", "requirements", "rulings"})


def entry_of(result: Result, excused: bool = False) -> Entry:
    """The record's entry for one result; `excused` if an expected-failures file lists it."""
    check = result.check
    members: dict[str, Any] = {
        "id": check.id,
        "kind": check.kind.value,
        "operator": check.operator,
        "group": check.group,
        "why": check.why,
        "requirements": list(check.requirements),
        "rulings": list(check.rulings),
        "verdict": result.verdict.value,
        "outcome": result.outcome,
        "step": result.step,
        "message": result.message,
        "difference": result.difference and _difference(result.difference),
        "call": result.call and _call(result.call),
        "broken": list(result.broken),
        "details": dict(result.details),
        "excused": excused,
    }
    return {name: value for name, value in members.items() if value or name in _ALWAYS}


def cited_by_guards(entry: Entry, member: str) -> list[str]:
    """The ids that the competing guards of an entry cite, each once; `member` is requirements or rulings."""
    return list(dict.fromkeys(id_ for guard in _guards(entry) for id_ in guard[member]))


def _difference(difference: Difference) -> Entry:
    members = {"path": difference.path, "expected": difference.expected, "actual": difference.actual}
    return {**members, "note": difference.note} if difference.note else members


def _call(call: FailedCall) -> Entry:
    members = {"operator": call.operator, "inputs": call.inputs}
    return members if call.answer is None else {**members, "answer": call.answer}


Prose = Mapping[str, Mapping[str, Mapping[str, str]]]


def prose_of(entries: Iterable[Entry], library: Library) -> Prose:
    """The text and place of the requirements, rulings and contract clauses that entries name.

    `clauses` are keyed OPERATOR/id, by the operator of the call. Ids that the library does not know are left out.
    """
    entries = list(entries)
    requirements = sorted({id_ for entry in entries for id_ in _cited(entry, "requirements")})
    rulings = sorted({id_ for entry in entries for id_ in _cited(entry, "rulings")})
    cited = sorted({(called(entry), id_) for entry in entries for id_ in clauses_of(entry)})
    return {
        "requirements": {
            id_: {"text": row.text, "section": row.section, "place": str(row.position)}
            for id_ in requirements
            if (row := library.requirement(id_)) is not None
        },
        "rulings": {
            id_: {"question": one.question, "text": one.ruling, "place": str(one.position)}
            for id_ in rulings
            if (one := library.rulings.get(id_)) is not None
        },
        "clauses": {f"{operator}/{id_}": text for operator, id_ in cited if (text := _clause(operator, id_, library))},
    }


def clauses_of(entry: Entry) -> list[str]:
    """The postconditions that an entry breaks, then the guards that compete in it."""
    return list(dict.fromkeys([*entry.get("broken", ()), *(guard["id"] for guard in _guards(entry))]))


def _guards(entry: Entry) -> list[Mapping[str, Any]]:
    guards = entry.get("details", {}).get("guards", {})
    return [*filter(None, [guards.get("decides")]), *guards.get("answered", ())]


def _cited(entry: Entry, member: str) -> set[str]:
    return {*entry[member], *cited_by_guards(entry, member)}


def called(entry: Entry) -> str:
    """The operator of the call of an entry; of a trace, the call that was answered wrongly."""
    return str(entry.get("call", {}).get("operator", entry["operator"]))


def _clause(operator: str, id_: str, library: Library) -> dict[str, Any]:
    contract = library.contracts.get(operator)
    if contract is None:
        return {}
    machine = library.contracts.get(contract.machine.name) if contract.machine is not None else None
    invariants = machine.invariants if machine is not None else ()
    clauses: tuple[Clause | Guard, ...] = (*contract.ensures, *invariants, *contract.requires)
    for clause in clauses:
        if clause.id == id_:
            return {"text": clause.expression.text, "place": str(clause.position)}
    return {}


def with_places(entries: Iterable[Entry], library: Library) -> Iterator[Entry]:
    """The entries; an entry whose answer differs in a value of a sequence gets the detail `sequence`.

    It has the unit, the positions of the call's first value and of the value that differs, and the sequence's length.
    """
    known: dict[str, CallSequence] = {}
    for entry in entries:
        place = _place(entry, library, known) if "difference" in entry and "call" in entry else None
        yield entry if place is None else {**entry, "details": {**entry.get("details", {}), "sequence": place}}


def _place(entry: Entry, library: Library, known: dict[str, CallSequence]) -> dict[str, Any] | None:
    from conformance.codec.form import form_of  # slow: these compile expressions; readers of records do not
    from conformance.vectors.call_sequence import call_sequence

    operator, inputs = entry["call"]["operator"], entry["call"]["inputs"]
    declaration = library.sequences.get(operator)
    if declaration is None or declaration.replay is not None:
        return None
    found = re.fullmatch(rf"{re.escape(declaration.values)}\[([0-9]+)\]", entry["difference"]["path"])
    if found is None:
        return None
    if operator not in known:
        known[operator] = call_sequence(declaration, library)
    native = form_of(library.contracts[operator].inputs).to_native(inputs)
    extent = known[operator].extent(inputs, native)
    if extent is None:
        return None
    begins = known[operator].first(native, extent.start)
    position = begins + int(found[1])
    if position >= extent.length:
        return None
    return {"unit": declaration.unit, "begins": begins, "position": position, "length": extent.length}


FORMAT: Final = 1
_FOOTER = re.compile(rb'  "whole": "([0-9a-f]{64})"\n\}\n\Z')
_SURROGATE = re.compile("[\ud800-\udfff]")


class BrokenRecord(BadFile):
    """A file is not a whole record."""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.hint}"


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
        """The verdict in one line, with the failures and the scope of the run."""
        return str(self.members["sentence"])


def by_operator(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of every operator, the operators sorted."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry["operator"], []).append(entry)
    return {operator: found[operator] for operator in sorted(found)}


def encode_record(record: Record) -> bytes:
    """The canonical bytes of a record."""
    members = {**record.members, "sections": dict(_sections(record.members))}
    lines = ["{"]
    for name in sorted(members):
        lines.append(f"  {_line(name)}: {_member_text(members[name])},")
    body = ("\n".join(lines) + "\n").encode()
    return body + b'  "whole": "' + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


def digest_of_record(record: Record) -> str:
    """The digest in the footer of a record; it identifies the record."""
    footer = _FOOTER.search(encode_record(record))
    assert footer is not None
    return footer[1].decode()


def read_record(data: bytes, name: str = "record.json") -> Record:
    """The record in `data`; raises BrokenRecord."""
    footer = _FOOTER.search(data)
    if footer is None:
        message = 'the record ends without its footer, the line "whole": it was cut off, or it is no record'
        line = data.count(b"\n") + 1
        raise BrokenRecord(f"{name}:{line}", message, "name a record.json, or run `tally run` again")
    body = data[: footer.start()]
    if hashlib.sha256(body).hexdigest().encode() != footer[1]:
        where, message = _damage(data)
        raise BrokenRecord(f"{name}:{where}", message, "run `tally run` again: a record must not be edited")
    try:
        members = strict_json(data)
    except ValueError as error:
        raise BrokenRecord(f"{name}:1", f"{error}, so `tally` did not write it", "run `tally run` again") from None
    if members.get("format") != FORMAT:
        found = f"format {members.get('format')!r:.40}, this tally reads format {FORMAT}"
        raise BrokenRecord(name, found, "read it with the tally that wrote it")
    return Record({key: value for key, value in members.items() if key not in ("sections", "whole")})


def _sections(members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in members.items():
        if name != "results":
            yield name, _digest(value)
            continue
        for operator, entries in by_operator(value).items():
            yield f"results/{operator}", _digest(entries)


def _damage(data: bytes) -> tuple[int | str, str]:
    """Where a record with a footer was changed, a line or a line and a column, and the fault."""
    try:
        members = json.loads(data)
        sections = members.pop("sections")
        del members["whole"]
        found = dict(_sections(members))
        altered = sorted(name for name in found.keys() | sections.keys() if found.get(name) != sections.get(name))
    except json.JSONDecodeError as error:
        return f"{error.lineno}:{error.colno}", f"not JSON here ({error.msg})"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 1, "not the members of a record"
    lines = data.split(b"\n")
    if altered:
        opening = f'  "{altered[0].split("/")[0]}": '.encode()
        number = next((k for k, line in enumerate(lines, 1) if line.startswith(opening)), 1)
        return number, f"altered in {', '.join(altered)}"
    return len(lines) - 2, "the footer does not match, though every section does: the layout was altered"


def _digest(value: Any) -> str:
    return hashlib.sha256(_line(value).encode()).hexdigest()


def _line(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    # A backend may send half a surrogate pair, which UTF-8 has no bytes for.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _member_text(value: Any) -> str:
    """One member on one line, or each of its items on a line, so that a diff of two records is short."""
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f"    {_line(key)}: {_line(value[key])}" for key in sorted(value)) + "\n  }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {_line(item)}" for item in value) + "\n  ]"
    return _line(value)


def record_of(run: RunResult, library: Library) -> Record:
    """The record of a run; a function of the results alone, without observations."""
    excused = run.excused
    entries = list(with_places((entry_of(result, result.check.id in excused) for result in run.results), library))
    entries.sort(key=lambda entry: str(entry["id"]))
    backend = {**asdict(run.backend), "operators": sorted(run.backend.operators)}
    diagnosis: dict[str, Any] | None = asdict(run.diagnosis) if run.diagnosis is not None else None
    expected = [asdict(entry) for entry in run.expected_failures]
    members = {
        "backend": backend,
        "contracts": dict(run.contracts),
        "counts": asdict(run.counts),
        "crash": NOT_TRIED if run.crash is None else {name: dict(found) for name, found in run.crash.items()},
        "diagnosis": diagnosis,
        "expected_failures": sorted(expected, key=lambda entry: str(entry["check"])),
        "format": FORMAT,
        "fuzz": {operator: dict(figures) for operator, figures in run.fuzz.items()},
        "harness": run.harness,
        "missing": sorted(run.missing),
        "obstacles": sorted(run.obstacles),
        "profile": run.profile,
        "prose": prose_of(entries, library),
        "results": entries,
        "scope": _scope_of(run),
        "seed": run.seed,
        "selection": run.selection,
        "unattributed": sorted(run.unattributed),
        "unexpected_passes": sorted(run.unexpected_passes),
        "unmatched_expectations": sorted(run.unmatched_expectations),
        "vectors": run.vectors,
    }
    return record_with_verdict({**members, "stopped": run.stopped} if run.stopped else members)


def read_back(run: RunResult, library: Library) -> Record:
    """The record of a run as read from its file: writers and verifiers get nothing more."""
    return read_record(encode_record(record_of(run, library)))


def _scope_of(run: RunResult) -> dict[str, Any]:
    counts = zip(("unconfirmed", "determined"), run.unconfirmed, strict=True)
    return {
        "operators": list(run.tested_operators),
        "of": run.declarable,
        **{name: count for name, count in counts if count},
    }


def record_with_verdict(members: Mapping[str, Any]) -> Record:
    """The record of the results, with its verdict."""
    counts = Counter(entry["verdict"] for entry in members["results"])
    found = {**members, "verdicts": {verdict.value: counts[verdict.value] for verdict in Verdict}}
    found["verdict"] = verdict_of(found)
    return Record({**found, "sentence": sentence_of(found)})


def observations_of(measured: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """The measurements of the run, with the digest of its record, the host and the time of writing."""
    written = datetime.now(UTC).isoformat(timespec="seconds")
    return {**measured, "host": host(), "record": digest_of_record(record), "written": written}


def host() -> dict[str, Any]:
    """The platform of this process; for observations and certificates, never for a record."""
    return {
        "machine": platform.machine(),
        "processors": os.cpu_count() or 0,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
