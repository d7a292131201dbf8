"""Mutants as data: the reference with one deliberate mistake, and the sentence that tells a user about it."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.contract.parse import names
from conformance.contract.position import Position
from conformance.contract.source import Source


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate mistake; `control` has none, `equivalent_to` names the class it belongs to.

    `breaks` are the check strings of the guards, refusals, postconditions and workloads that it is there to break.
    """

    id: str
    family: str
    sentence: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    control: bool
    equivalent_to: str
    position: Position
    solo: str = ""  # why no operator declared alone kills it
    breaks: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """The backend string that serves this mutant."""
        return f"mutant:{self.id}"


def mutants_from(source: Source, family: str) -> tuple[Mutant, ...]:
    """The mutants that a schema-valid mutants.yaml holds."""
    return tuple(
        Mutant(
            body["id"],
            family,
            body["sentence"],
            names(body, "requirement"),
            names(body, "ruling"),
            body.get("control", False),
            body.get("equivalent_to", ""),
            source.at(("mutants", k)),
            body.get("solo", ""),
            names(body, "breaks"),
        )
        for k, body in enumerate(source.value["mutants"])
    )
