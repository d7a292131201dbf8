"""One record made of the records of several runs that each tried a part of the checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from conformance.report.failure import cut
from conformance.report.record import Entry, Record, digest_of_record, record_with_verdict
from conformance.report.verdict import NOT_TRIED
from conformance.report.writer import Observations
from conformance.trial.check import Diagnosis, Kind

# These members must be the same in every part: then one run could have tried all of it.
_COMMON: Final = ("format", "harness", "contracts", "vectors", "profile", "seed", "backend", "expected_failures")
_MADE: Final = ("verdict", "verdicts", "sentence", "stopped")  # computed again for the whole
_UNITED: Final = ("missing", "obstacles", "unexpected_passes", "unmatched_expectations")


class Unmergeable(Exception):
    """Two records contradict each other or are parts of different runs; the message says how."""


def merged(names: Sequence[str], records: Sequence[Record]) -> Record:
    """The record of all parts, judged as a whole; raises Unmergeable."""
    first = records[0]
    for name, record in zip(names[1:], records[1:], strict=True):
        for member, mine, theirs in _common(first, record):
            if mine != theirs:
                found = f"{names[0]} has {cut(str(mine), 80)}, {name} has {cut(str(theirs), 80)}"
                raise Unmergeable(f"they are no parts of one run, their {member} differs: {found}")
    parts = [{entry["id"]: entry for entry in record.entries} for record in records]
    entries = _united("check", names, parts)
    results = [entries[id_] for id_ in sorted(entries)]
    ran = [entry for entry in results if entry["verdict"] != "not_applicable"]
    whole = len(results) == first["counts"]["loaded"]
    stopped = max(record.members.get("stopped", 0) for record in records)
    selections = sorted({record["selection"] for record in records})
    prose = {
        member: _united(member, names, [record["prose"][member] for record in records]) for member in first["prose"]
    }
    return record_with_verdict(
        {
            **{name: value for name, value in first.members.items() if name not in _MADE},
            **{name: sorted({one for record in records for one in record[name]}) for name in _UNITED},
            "counts": {
                "loaded": first["counts"]["loaded"],
                "selected": len(results),
                "not_applicable": len(results) - len(ran),
                "expected_to_fail": first["counts"]["expected_to_fail"],
                "run": len(ran),
            },
            "crash": _crash(names, records),
            "diagnosis": _diagnosis(records),
            "fuzz": _united("fuzzing of", names, [record["fuzz"] for record in records]),
            "prose": prose,
            "results": results,
            "scope": {
                "operators": sorted({entry["operator"] for entry in ran}),
                "of": first["scope"]["of"],
                **_of_one(records, ran),
            },
            "selection": "" if whole or "" in selections else " | ".join(selections),
            "unattributed": sorted(loss for record in records for loss in record["unattributed"]),
            **({"stopped": stopped} if stopped and not whole else {}),
        }
    )


def _of_one(records: Sequence[Record], ran: Sequence[Entry]) -> dict[str, int]:
    """The vectors of one implementation alone in all parts; a record does not say which they are, so those that parts
    share count more than once, but never as more than all vectors."""
    vectors = sum(entry["kind"] == Kind.VECTOR for entry in ran)
    counts = {
        name: min(vectors, sum(record["scope"].get(name, 0) for record in records))
        for name in ("unconfirmed", "determined")
    }
    return {name: count for name, count in counts.items() if count}


def _common(one: Record, other: Record) -> Iterator[tuple[str, Any, Any]]:
    backends = one["backend"], other["backend"]
    yield from ((f"backend's {name}", *(each[name] for each in backends)) for name in backends[0])
    yield from ((member, one[member], other[member]) for member in _COMMON)
    yield "number of operators", one["scope"]["of"], other["scope"]["of"]
    # With --crash there are more.
    yield "number of loaded checks", one["counts"]["loaded"], other["counts"]["loaded"]


def _united(what: str, names: Sequence[str], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The members of all parts; raises Unmergeable if two parts have different values of one member."""
    united: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, part in zip(names, parts, strict=True):
        for key, value in part.items():
            if united.setdefault(key, value) != value:
                said = " and ".join(_brief(one) for one in (united[key], value))
                raise Unmergeable(f"{origin[key]} and {name} contradict each other in {what} {key}: {said}")
            origin.setdefault(key, name)
    return united


def _brief(value: Any) -> str:
    return str(value["verdict"]) if isinstance(value, dict) and "verdict" in value else cut(str(value), 80)


def _crash(names: Sequence[str], records: Sequence[Record]) -> Any:
    tried = [(name, one["crash"]) for name, one in zip(names, records, strict=True) if one["crash"] != NOT_TRIED]
    if not tried:
        return NOT_TRIED
    return _united("crash workload", [name for name, _ in tried], [crash for _, crash in tried])


def _diagnosis(records: Sequence[Record]) -> Mapping[str, Any] | None:
    """The diagnosis that all parts with failures share; if they have different ones, no known mistake explains all."""
    red = [record for record in records if any(one["verdict"] in ("fail", "error") for one in record.entries)]
    found: list[Mapping[str, Any] | None] = [record["diagnosis"] for record in red]
    if not found or None in found:
        return None
    return found[0] if all(one == found[0] for one in found) else asdict(Diagnosis(explained=False))


def merged_observations(record: Record, observed: Sequence[Observations]) -> Observations:
    """The times and texts of all parts; empty if those of one part are unknown."""
    if not all(observed):
        return {}
    written = [one["written"] for one in observed if one.get("written")]
    return {
        "record": digest_of_record(record),
        "seconds": round(sum(one.get("seconds", 0) for one in observed), 3),
        "calls": sum(one.get("calls", 0) for one in observed),
        "crash_states": {id_: found for one in observed for id_, found in sorted(one.get("crash_states", {}).items())},
        "durations": {id_: spent for one in observed for id_, spent in sorted(one.get("durations", {}).items())},
        "stderr": {id_: said for one in observed for id_, said in sorted(one.get("stderr", {}).items())},
        **({"written": max(written)} if written else {}),
    }
