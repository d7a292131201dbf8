"""What the specification says about the checks of a run, so that a record can be read without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from conformance.report.entry import Entry, cited_by_guards

if TYPE_CHECKING:
    from conformance.contract.library import Library

Prose = Mapping[str, Mapping[str, Mapping[str, str]]]


def prose_of(entries: Iterable[Entry], library: Library) -> Prose:
    """The requirements and rulings that entries name, and the postconditions they break, each with its place.

    `clauses` are keyed OPERATOR/id, by the operator of the call. What the library does not know is left out.
    """
    entries = list(entries)
    requirements = sorted({id_ for entry in entries for id_ in _cited(entry, "requirements")})
    rulings = sorted({id_ for entry in entries for id_ in _cited(entry, "rulings")})
    broken = sorted({(called(entry), id_) for entry in entries for id_ in entry.get("broken", ())})
    return {
        "requirements": {id_: text for id_ in requirements if (text := _requirement(id_, library))},
        "rulings": {id_: text for id_ in rulings if (text := _ruling(id_, library))},
        "clauses": {f"{operator}/{id_}": text for operator, id_ in broken if (text := _clause(operator, id_, library))},
    }


def _cited(entry: Entry, member: str) -> set[str]:
    return {*entry[member], *cited_by_guards(entry, member)}


def called(entry: Entry) -> str:
    """The operator of the call behind an entry: of a trace, the one that was answered wrongly."""
    return str(entry.get("call", {}).get("operator", entry["operator"]))


def _requirement(id_: str, library: Library) -> dict[str, str]:
    row = library.requirement(id_)
    return {} if row is None else {"text": row.text, "section": row.section, "place": str(row.position)}


def _ruling(id_: str, library: Library) -> dict[str, str]:
    row = library.rulings.get(id_)
    return {} if row is None else {"question": row.question, "text": row.ruling, "place": str(row.position)}


def _clause(operator: str, id_: str, library: Library) -> dict[str, Any]:
    contract = library.contracts.get(operator)
    if contract is None:
        return {}
    machine = library.contracts.get(contract.machine.name) if contract.machine is not None else None
    for clause in (*contract.ensures, *(machine.invariants if machine is not None else ())):
        if clause.id == id_:
            return {"text": clause.expression.text, "place": str(clause.position)}
    return {}
