"""SARIF 2.1.0 of a run: one result for each failing check, at the line of the clause that it contradicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.lint.sarif import location_of, log_of, result_of, rule_of, run_of
from conformance.report.failure import excuse_of, headline, reproduction_in
from conformance.report.record import Entry, Record, called, clauses_of
from conformance.report.untrusted import printable
from conformance.report.verdict import NO_JUDGEMENT, run_problems
from conformance.report.writer import Observations, span

_CHECK: Final = "check"  # the rule of a failure that names no clause
_RUN: Final = "run"  # the rule of problems that belong to no check
_PROSE: Final = {"clauses": "contract-clause", "requirements": "requirement", "rulings": "ruling"}


class Rules:
    """The rules that the results of one run refer to, in the order of their first use."""

    def __init__(self) -> None:
        self.known: list[dict[str, Any]] = []
        self._indices: dict[str, int] = {}

    def index(self, id_: str, name: str, sentence: str) -> int:
        """The index of a rule, which is added if it is new."""
        if id_ not in self._indices:
            self._indices[id_] = len(self.known)
            self.known.append(rule_of(id_, name, printable(sentence)))
        return self._indices[id_]


def sarif(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The log, one run for each record; the times of a run come from its observations."""
    return log_of(_run(record, observations) for record, observations in zip(records, observed, strict=True))


def _run(record: Record, observations: Observations) -> dict[str, Any]:
    rules = Rules()
    results = [_result(entry, record, rules) for entry in record.entries if entry["verdict"] in ("fail", "error")]
    for trouble in run_problems(record.members):
        index = rules.index(_RUN, "run", "A run is red for a reason that belongs to no check.")
        results.append(result_of(_RUN, index, printable(f"{trouble.name}: {trouble.text}"), []))
    invocation: dict[str, Any] = {"executionSuccessful": record.verdict != NO_JUDGEMENT}
    for name, moment in zip(("startTimeUtc", "endTimeUtc"), span(observations) or (), strict=False):
        invocation[name] = f"{moment:%Y-%m-%dT%H:%M:%S}Z"
    run = run_of("tally run", rules.known, results, invocation)
    run["automationDetails"] = {"id": printable(f"tallystick/{record['backend']['text']}")}
    backend = {name: printable(record["backend"][name]) for name in ("text", "name", "version")}
    run["properties"] = {"backend": backend, "verdict": record.verdict, "sentence": printable(record.sentence)}
    return run


def _result(entry: Entry, record: Record, rules: Rules) -> dict[str, Any]:
    cited = list(_cited(entry, record["prose"]))
    id_, kind, row = cited[0] if cited else (_CHECK, "check", {})
    index = rules.index(id_, kind, row.get("text") or "The answer to a check is not the expected one.")
    repeat = reproduction_in(record).repeat(entry["id"], entry["kind"] == "crash")
    text = "\n".join(filter(None, [headline(entry), entry["why"], f"repeat: {repeat}"]))
    location = location_of(row.get("place", ""), printable(entry["id"]))
    result = result_of(id_, index, printable(text), [location])
    result["relatedLocations"] = [
        {**location_of(row["place"], other), "message": {"text": printable(row["text"])}} for other, _, row in cited[1:]
    ]
    result["partialFingerprints"] = {"tallystickCheck/v1": printable(entry["id"])}
    result["properties"] = {"verdict": entry["verdict"], "operator": printable(entry["operator"])}
    if entry.get("excused", False):
        justification = printable(excuse_of(record, entry))
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return result


def _cited(entry: Entry, prose: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """The rules that a failure contradicts, clauses first: id, kind and row; ids without a row are left out."""
    ids = {
        "clauses": [f"{called(entry)}/{id_}" for id_ in clauses_of(entry)],
        "requirements": entry["requirements"],
        "rulings": entry["rulings"],
    }
    for member, kind in _PROSE.items():
        yield from ((printable(id_), kind, prose[member][id_]) for id_ in ids[member] if id_ in prose[member])
