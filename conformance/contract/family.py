"""The files beside the contracts of a family: requirements, rulings, coverage, mutants, file formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.parse import names
from conformance.contract.source import Position, Source
from conformance.contract.suite import MUTANT


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
    forbidden_names: tuple[str, ...] = ()  # words that no public name of the family may contain


def requirements_from(source: Source, family: str) -> Requirements:
    """The requirement file of a schema-valid source."""
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
    """The rulings of a schema-valid source."""
    return tuple(
        Ruling(body["id"], body["question"], body["ruling"], names(body, "requirement"), source.at(("rulings", k)))
        for k, body in enumerate(source.value["rulings"])
    )


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
    """The coverage file of a schema-valid source."""
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


@dataclass(frozen=True, slots=True)
class Patch:
    """A text that is in a file of the reference exactly once, and what replaces it."""

    file: str
    find: str
    replace: str


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
    patches: tuple[Patch, ...] = ()

    @property
    def backend(self) -> str:
        """The backend string that serves this mutant."""
        return f"{MUTANT}{self.id}"


def mutants_from(source: Source, family: str) -> tuple[Mutant, ...]:
    """The mutants of a schema-valid mutants.yaml."""
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
            tuple(
                Patch(one["file"], one["find"], one["replace"])
                for one in body.get("patches", [body["patch"]] if "patch" in body else [])
            ),
        )
        for k, body in enumerate(source.value["mutants"])
    )


@dataclass(frozen=True, slots=True)
class LawDeclaration:
    """What a law says, the operators it calls besides the one that names it, and its parameters; without its code."""

    name: str
    sentence: str
    calls: tuple[str, ...]
    parameters: tuple[str, ...]
    position: Position


def laws_from(source: Source) -> tuple[LawDeclaration, ...]:
    """The laws of a schema-valid laws.yaml."""
    return tuple(
        LawDeclaration(
            body["law"],
            body["sentence"],
            tuple(body.get("calls", ())),
            tuple(body.get("parameters", ())),
            source.at(("laws", k)),
        )
        for k, body in enumerate(source.value["laws"])
    )


KINDS: Final = ("changed", "absent", "null")  # how a field is damaged unless its format says otherwise


@dataclass(frozen=True, slots=True)
class FormedFile:
    """One file of a format: its path below the place of the format, and the form of its bytes.

    A path may contain `{file.field}`, the hex digits of a field of another file; `.` is the place itself.
    """

    path: str
    form: str  # cbor; crc32c: a length, one CBOR item and a checksum; npz: metadata and arrays; pt; pickle2


@dataclass(frozen=True, slots=True)
class Seal:
    """A place that follows from other places: `to` is worded as `conformance.vectors.damage` reads it."""

    at: str
    to: Any


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A declared format; `seals` come from the inside out.

    `anchor` is the file by which a place of it is found; it is empty where the format is one of byte strings that
    operators give and take, and no file has it.
    """

    name: str
    anchor: str
    files: Mapping[str, FormedFile]
    fields: Mapping[str, tuple[str, ...]]  # by dotted place: the kinds of damage that are tried
    seals: tuple[Seal, ...]
    key: bytes  # the 32 bytes of a test key that signs; none where nothing is signed
    position: Position

    @property
    def edits(self) -> Iterator[str]:
        """Every damage of every field, as a step words it: `manifest.dp_enabled absent`."""
        return (f"{at} {kind}" for at, kinds in self.fields.items() for kind in kinds)


def formats_from(source: Source) -> dict[str, FileFormat]:
    """The formats of a schema-valid formats.yaml."""
    return {body["format"]: _format(body, source.at(("formats", k))) for k, body in enumerate(source.value["formats"])}


def _format(body: Mapping[str, Any], position: Position) -> FileFormat:
    fields: dict[str, tuple[str, ...]] = {}
    for at, kinds in (found for row in body["fields"] for found in _row(row)):
        fields[at] = (*fields.get(at, ()), *kinds)
    return FileFormat(
        body["format"],
        body.get("anchor", ""),
        {name: FormedFile(file["path"], file["form"]) for name, file in body["files"].items()},
        fields,
        tuple(Seal(seal["at"], seal["to"]) for seal in body["seals"]),
        bytes.fromhex(body.get("key", "")),
        position,
    )


def _row(row: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    kinds = names(row, "by") or KINDS
    return ((f"{row['of']}.{name}" if name != "." else row["of"], kinds) for name in names(row, "at"))
