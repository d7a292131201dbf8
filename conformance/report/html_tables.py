"""The tables and bars of the HTML page: the matrix, all checks, crash levels, time, the proof of the suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.contract.family import Requirements
from conformance.report.failure import cut, failures_of, headline
from conformance.report.html_failures import parting_of
from conformance.report.record import Entry, Record, by_operator
from conformance.report.stored import STATES
from conformance.report.summary import KINDS, score_of
from conformance.report.untrusted import printable
from conformance.report.writer import Observations
from conformance.trial.committed_reports import FLOOR_FILE, MATRIX_FILE, read_report
from conformance.trial.mutants.floor import ALL, LIMIT, PassRate, read_floor
from conformance.trial.mutants.kill_matrix import FORMAT

LEVELS: Final = ("kill", "ext4", "posix")
BINS: Final = 20  # bins of a histogram; each is 5 % of a sequence


def matrix_of(records: Sequence[Record]) -> Mapping[str, Any]:
    """The scores of operators by kind of check, for one backend or several.

    `kinds` are names and titles. A row has the operator, its version, for each backend a list with one score for each
    kind, and a total for each backend.
    """
    tables = [by_operator(record.entries) for record in records]
    used = {entry["kind"] for record in records for entry in record.entries}
    kinds = [(kind, title) for kind, title in KINDS.items() if kind in used]
    rows = []
    for operator in sorted({name for table in tables for name in table}):
        version = next((v for record in records if (v := record["contracts"].get(operator))), "").split(" ")[0]
        found = [table.get(operator, []) for table in tables]
        scores = [[score_of(e for e in entries if e["kind"] == kind) for kind, _ in kinds] for entries in found]
        rows.append((operator, version, scores, [score_of(entries) for entries in found]))
    return {"kinds": kinds, "rows": rows}


def crash_rows(record: Record, observations: Observations) -> Sequence[Mapping[str, Any]]:
    """The workloads of a record by name: the levels asked for and reached, and how many states each model has.

    Empty if crashes were not tried. `reached` is none, a level, or empty if it could not be tried; `level` and
    `wanted` are how many of the models a backend survives and has to survive; the states are those observed.
    """
    crash = record["crash"]
    if isinstance(crash, str):
        return ()
    seen: Mapping[str, Mapping[str, Mapping[str, int]]] = observations.get("crash_states", {})
    return [
        {
            "workload": name,
            **{member: found[member] for member in ("asked", "reached", "sampled")},
            "level": _models(found["reached"]),
            "wanted": _models(found["asked"]),
            "states": [
                (model, *(one[count] for count in STATES))
                for model in LEVELS
                if (one := seen.get(name, {}).get(model)) is not None
            ],
        }
        for name, found in sorted(crash.items())
    ]


def _models(level: str) -> int:
    return LEVELS.index(level) + 1 if level in LEVELS else 0


def time_rows(record: Record, observations: Observations) -> Sequence[Mapping[str, Any]]:
    """The operators of a record with the seconds of their checks, the slowest first; empty if none were observed.

    `share` is the time divided by that of the slowest operator.
    """
    durations: Mapping[str, float] = observations.get("durations", {})
    spent: dict[str, float] = {}
    checks: Counter[str] = Counter()
    for entry in record.entries:
        checks[entry["operator"]] += entry["verdict"] != "not_applicable"
        if entry["id"] in durations:
            spent[entry["operator"]] = spent.get(entry["operator"], 0) + durations[entry["id"]]
    most = max(spent.values(), default=0) or 1
    order = sorted(spent, key=lambda operator: (-spent[operator], operator))
    return [
        {"operator": name, "checks": checks[name], "seconds": spent[name], "share": spent[name] / most}
        for name in order
    ]


def sequence_difference_rows(record: Record) -> Sequence[Mapping[str, Any]]:
    """The operators that answered wrong sequences, by name, with a histogram of the places of the first difference."""
    rows = []
    for operator, entries in by_operator(failures_of(record.entries)).items():
        found = [parting for entry in entries if (parting := parting_of(entry)) is not None]
        if found:
            counts = Counter(min(int(parting.share * BINS), BINS - 1) for parting in found)
            bins = [counts[k] for k in range(BINS)]
            rows.append({"operator": operator, "sequences": len(found), "bins": bins, "highest": max(bins)})
    return rows


def undeclared(record: Record) -> Sequence[tuple[str, int]]:
    """The operators that a backend does not declare, with the number of checks that do not apply."""
    counts = Counter(entry["operator"] for entry in record.entries if entry["verdict"] == "not_applicable")
    return sorted(counts.items())


def unasked_operators(record: Record) -> Sequence[str]:
    """The operators and machines that have a contract but no check in this run."""
    asked = {entry["operator"] for entry in record.entries}
    methods = tuple(f"{name}." for name in asked)
    return [name for name in sorted(record["contracts"]) if name not in asked and not name.startswith(methods)]


def expected_failures(record: Record) -> Sequence[Mapping[str, Any]]:
    """The expected failures with their reasons; an issue is a link only if it is a web address."""
    return [
        {**one, "linked": str(one["issue"]).startswith(("https://", "http://"))} for one in record["expected_failures"]
    ]


_LETTERS: Final = {"pass": "p", "fail": "f", "error": "e", "not_applicable": "n"}
_EXCUSED: Final = "x"
_ABSENT: Final = "-"  # the record has no such check
_LONGEST: Final = 300  # characters of a text in the list


def checks_json(records: Sequence[Record], anchors: Sequence[Mapping[str, str]]) -> str:
    """Every check of the records in JSON that can be part of a page; `anchors` maps failing ids to their place in it.

    A check is [id, operator, kind, reason, what it cites, a letter for the verdict on each backend, notes]; a note is
    [backend, headline, anchor]. Operators, kinds and reasons are indices into lists in the same JSON.
    """
    operators, kinds, whys = _Numbered(), _Numbered(), _Numbered()
    by_record = [{entry["id"]: entry for entry in record.entries} for record in records]
    checks = []
    for id_ in sorted({id_ for entries in by_record for id_ in entries}):
        found = [entries.get(id_) for entries in by_record]
        first = next(entry for entry in found if entry is not None)
        notes = [
            [number, _printable(headline(entry)), anchors[number].get(id_, "")]
            for number, entry in enumerate(found)
            if entry is not None and entry["verdict"] in ("fail", "error")
        ]
        cites = " ".join([*first["requirements"], *first["rulings"]])
        names = (
            operators[_printable(first["operator"])],
            kinds[_printable(first["kind"])],
            whys[_printable(first["why"])],
        )
        row = [_printable(id_), *names, _printable(cites), "".join(map(_letter, found))]
        checks.append([*row, notes] if notes else row)
    members = {"operators": list(operators), "kinds": list(kinds), "whys": list(whys), "checks": checks}
    return inert(json.dumps(members, separators=(",", ":"), sort_keys=True))


def inert(text: str) -> str:
    """JSON text that cannot close the HTML element that contains it."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _Numbered(dict[str, int]):
    """Distinct texts with their numbers, in the order of the numbers."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def _letter(entry: Entry | None) -> str:
    if entry is None:
        return _ABSENT
    return _EXCUSED if entry.get("excused", False) else _LETTERS[entry["verdict"]]


def _printable(text: str) -> str:
    return printable(cut(text, _LONGEST))


_KILLERS: Final = {
    "frozen vectors": ("killed_by_vectors", "mutants"),
    "laws or fuzzing, where both were tried": ("killed_by_laws_or_fuzzing", "tried_on_laws_and_fuzzing"),
    "fuzzing against the reference": ("killed_by_fuzzing", "mutants"),
    "laws": ("killed_by_laws", "mutants"),
    "crash workloads": ("killed_by_crashes", "mutants"),
}


@dataclass(frozen=True, slots=True)
class UntestedRequirement:
    """A requirement that no check of any backend tests, and the reason."""

    id: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class SuiteStrength:
    """The evidence for the power of the suite; it says nothing about the tested backend."""

    kills: Mapping[str, PassRate]  # kind of check -> mutants that it notices, of those that it was tried on
    floor: Mapping[str, PassRate]  # trivial backend -> cases that it passes
    limit: float  # the share of cases that a trivial backend must not reach
    single_clauses: tuple[str, ...]  # check strings that rest on a single case
    single_mutants: int  # mutants that a single case kills, and no fuzzing
    reference_only: tuple[
        UntestedRequirement, ...
    ]  # only tests of the suite's reference check these, no check of a backend does
    excluded: tuple[UntestedRequirement, ...]


def proof_of(folder: Path, requirements: Mapping[str, Requirements]) -> SuiteStrength | None:
    """The proof in a suite's folder of reports, None if one of its two files is missing; requirements by family.

    Raises UnreadableReport if a report exists but cannot be read.
    """
    if not (folder / MATRIX_FILE).is_file() or not (folder / FLOOR_FILE).is_file():
        return None
    summary: Mapping[str, Any] = read_report(folder / MATRIX_FILE, FORMAT, _summary, "tally mutants --write")
    floor = read_floor(folder / FLOOR_FILE)
    rows = {row.id: row for _, family in sorted(requirements.items()) for row in family.requirements}
    alone = [rows[id_] for id_ in summary["requirements_of_the_reference_only"] if id_ in rows]
    return SuiteStrength(
        kills={name: PassRate(summary[count], summary[of]) for name, (count, of) in _KILLERS.items()},
        floor={name: scores[ALL] for name, scores in sorted(floor.scores.items())},
        limit=float(LIMIT),
        single_clauses=tuple(summary["clauses_on_a_single_case"]),
        single_mutants=len(summary["mutants_on_a_single_case"]),
        reference_only=tuple(UntestedRequirement(row.id, row.text, row.reference_only) for row in alone),
        excluded=tuple(UntestedRequirement(row.id, row.text, row.excluded) for row in rows.values() if row.excluded),
    )


def _summary(report: Mapping[str, Any]) -> Mapping[str, Any]:
    summary = report["summary"]
    for members in _KILLERS.values():
        for member in members:
            int(summary[member])
    return {**summary, "requirements_of_the_reference_only": list(summary["requirements_of_the_reference_only"])}
