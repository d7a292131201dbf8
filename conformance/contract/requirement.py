"""Requirements and rulings: the numbered sentences of a source, and how each ambiguity was settled."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.contract.parse import names
from conformance.contract.position import Position
from conformance.contract.source import Source


@dataclass(frozen=True, slots=True)
class Requirement:
    """One testable sentence: the checks that test it, or the reason why none can."""

    id: str
    kind: str
    section: str
    text: str
    checks: tuple[str, ...]
    excluded: str
    position: Position
    reference_only: str = ""  # why only tests of the suite's reference check it, where that is so


@dataclass(frozen=True, slots=True)
class Ruling:
    """How one ambiguity of a source was settled."""

    id: str
    question: str
    ruling: str
    requirements: tuple[str, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirement file of one family."""

    family: str
    seed: str
    requirements: tuple[Requirement, ...]
    source: Source = field(repr=False)
    forbidden_names: tuple[str, ...] = ()  # words that no public name of the family may hold


def requirements_from(source: Source, family: str) -> Requirements:
    """The requirement file that a schema-valid source holds."""
    rows = tuple(
        Requirement(
            body["id"],
            body["kind"],
            str(body["section"]),
            body["text"],
            names(body, "checks"),
            body.get("excluded", ""),
            source.at(("requirements", k)),
            body.get("reference_only", ""),
        )
        for k, body in enumerate(source.value["requirements"])
    )
    return Requirements(family, source.value["seed"], rows, source, names(source.value, "forbidden_names"))


def rulings_from(source: Source) -> tuple[Ruling, ...]:
    """The rulings that a schema-valid source holds."""
    return tuple(
        Ruling(
            body["id"], body["question"], body["ruling"], names(body, "requirement"), source.at(("rulings", k))
        )
        for k, body in enumerate(source.value["rulings"])
    )
