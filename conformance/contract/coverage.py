"""Coverage: which requirement, ruling or exclusion carries each line of a source."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.contract.parse import names
from conformance.contract.position import Position
from conformance.contract.source import Source


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a source, first to last and counted from 1, and what carries them.

    `begins` is the start of its text, `digest` belongs to its lines; both are empty until they are filled in.
    """

    first: int
    last: int
    begins: str
    digest: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    excluded: str
    position: Position

    @property
    def size(self) -> int:
        """How many lines it has; 0 or less where its numbers contradict each other."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        where = f"line {self.first}" if self.size == 1 else f"lines {self.first}-{self.last}"
        return f"{where} ({self.begins!r})" if self.begins else where


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage file of one family: its document, line count and SHA-256 as they were when they were read."""

    family: str
    document: str  # the name of the source's file, without folders
    lines: int
    sha256: str
    passages: tuple[Passage, ...]
    source: Source = field(repr=False)


def coverage_from(source: Source, family: str) -> Coverage:
    """The coverage file that a schema-valid source holds."""
    body = source.value
    passages = tuple(
        Passage(
            one["lines"][0],
            one["lines"][1],
            one.get("begins", ""),
            one.get("digest", ""),
            names(one, "requirements"),
            names(one, "rulings"),
            one.get("excluded", ""),
            source.at(("passages", k)),
        )
        for k, one in enumerate(body["passages"])
    )
    return Coverage(family, body["document"], body.get("lines", 0), body.get("sha256", ""), passages, source)
