"""The error codes of a suite, and a family's files besides its contracts: requirements, rulings and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.suite import MUTANT
from conformance.contract.yaml.source import Position, Problem, Source, ValuePath, names, row


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
    reference_only: str = ""  # the reason if only tests of the suite's reference check it


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
        row(Requirement, body, section=str(body["section"]), position=place)
        for body, place in source.rows("requirements")
    )
    return row(Requirements, source.value, family=family, requirements=rows, source=source)


def rulings_from(source: Source) -> tuple[Ruling, ...]:
    """The rulings of a schema-valid source."""
    return tuple(row(Ruling, body, position=place) for body, place in source.rows("rulings"))


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a source, first to last, counted from 1, and the requirements, rulings or exclusion that cover them."""

    first: int
    last: int
    begins: str  # the start of its text; empty until it is filled in
    digest: str  # of its lines; empty until it is filled in
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    excluded: str
    position: Position

    @property
    def size(self) -> int:
        """The number of lines; 0 or less if the line numbers contradict each other."""
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
    passages = tuple(
        row(Passage, body, first=body["lines"][0], last=body["lines"][1], position=place)
        for body, place in source.rows("passages")
    )
    return row(Coverage, source.value, family=family, passages=passages, source=source)


@dataclass(frozen=True, slots=True)
class Patch:
    """A text that occurs exactly once in a file of the reference, and its replacement."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate mistake; `control` has none, `equivalent_to` names the class it belongs to."""

    id: str
    sentence: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    control: bool
    equivalent_to: str
    position: Position
    solo: str = ""  # the reason why no check kills it if one operator is declared alone
    breaks: tuple[str, ...] = ()  # check strings of the guards, refusals, postconditions and workloads to break
    patches: tuple[Patch, ...] = ()

    @property
    def backend(self) -> str:
        """The backend string that serves this mutant."""
        return f"{MUTANT}{self.id}"


def mutants_from(source: Source) -> tuple[Mutant, ...]:
    """The mutants of a schema-valid mutants.yaml."""
    return tuple(
        row(Mutant, body, position=place, patches=tuple(row(Patch, one) for one in _patches(body)))
        for body, place in source.rows("mutants")
    )


def _patches(body: Mapping[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = body.get("patches", [body["patch"]] if "patch" in body else [])
    return found


@dataclass(frozen=True, slots=True)
class LawDeclaration:
    """The statement of a law, its parameters, and the operators that it calls besides the one that names it."""

    name: str
    sentence: str
    calls: tuple[str, ...]
    parameters: tuple[str, ...]
    position: Position


def laws_from(source: Source) -> tuple[LawDeclaration, ...]:
    """The laws of a schema-valid laws.yaml."""
    return tuple(row(LawDeclaration, body, name=body["law"], position=place) for body, place in source.rows("laws"))


KINDS: Final = ("changed", "absent", "null")  # how a field is damaged unless its format says otherwise


@dataclass(frozen=True, slots=True)
class FormedFile:
    """One file of a format: its path below the place of the format, and the form of its bytes."""

    path: str  # `{file.field}` in it are the hex digits of a field of another file; `.` is the format's own place
    form: str  # cbor; crc32c: a length, one CBOR item and a checksum; npz: metadata and arrays; pt; pickle2


@dataclass(frozen=True, slots=True)
class Seal:
    """A place whose value is computed from other places; `conformance.vectors.files.damage` reads `to`."""

    at: str
    to: Any


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A declared format; `seals` come from the inside out."""

    name: str
    anchor: str  # the file that shows where the format is used; empty if it is only for byte strings of operators
    files: Mapping[str, FormedFile]
    fields: Mapping[str, tuple[str, ...]]  # the kinds of damage to try, by dotted place
    seals: tuple[Seal, ...]
    key: bytes  # the 32 bytes of the test key for signatures; empty if nothing is signed
    position: Position

    @property
    def edits(self) -> Iterator[str]:
        """Every damage of every field, as written in a step: `manifest.dp_enabled absent`."""
        return (f"{at} {kind}" for at, kinds in self.fields.items() for kind in kinds)


def formats_from(source: Source) -> dict[str, FileFormat]:
    """The formats of a schema-valid formats.yaml."""
    return {body["format"]: _format(body, place) for body, place in source.rows("formats")}


def _format(body: Mapping[str, Any], position: Position) -> FileFormat:
    fields: dict[str, tuple[str, ...]] = {}
    for at, kinds in (found for one in body["fields"] for found in _damages(one)):
        fields[at] = (*fields.get(at, ()), *kinds)
    return row(
        FileFormat,
        body,
        name=body["format"],
        files={name: row(FormedFile, file) for name, file in body["files"].items()},
        fields=fields,
        seals=tuple(row(Seal, seal) for seal in body["seals"]),
        key=bytes.fromhex(body.get("key", "")),
        position=position,
    )


def _damages(body: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    kinds = names(body, "by") or KINDS
    return ((f"{body['of']}.{name}" if name != "." else body["of"], kinds) for name in names(body, "at"))


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One registered failure code."""

    code: str
    number: int
    subsystem: str
    severity: str
    message: str
    diagnostics: Mapping[str, str]
    position: Position


def errors_from(source: Source, problems: list[Problem]) -> dict[str, ErrorCode]:
    """The registry of a schema-valid errors.yaml, by code; adds to `problems` if a code or number occurs twice."""
    found = [row(ErrorCode, body, position=place) for body, place in source.rows("errors")]
    for key in ("code", "number"):
        first: dict[Any, ErrorCode] = {}
        for one in found:
            value = getattr(one, key)
            if (other := first.setdefault(value, one)) is not one:
                hint = f"it is at {other.position} already; give this one another {key}"
                problems.append(Problem(one.position, "C005", f"the {key} {value} twice", hint))
    return {one.code: one for one in found}


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One step of a derivation: it has exactly one of `value`, `told` and `call`."""

    name: str
    value: str  # an expression over the inputs
    told: str  # a path in the operator's own answer
    call: str  # a helper operator
    inputs: Mapping[str, str]  # of the call: input -> expression
    uses: Mapping[str, str]  # of the call: input -> an input of the operator, or STEP.output of an earlier call
    path: str  # the output of the call that is shown
    element: str  # an expression: which element of the list at the path; empty for the whole
    when: str  # an expression; the step is taken if it is true or empty
    otherwise: str  # an expression: the value of a step that is not taken
    path_in_file: ValuePath = field(repr=False)


@dataclass(frozen=True, slots=True)
class Replay:
    """A sequence without random access: the steps `before` are taken once, the steps `round` again and again."""

    before: tuple[str, ...]
    round: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True)
class SequenceDeclaration:
    """One sequence of an operator or machine, as written in its file; expressions are texts.

    The inputs or steps are those of the frozen case `case`. `position` is the input with the first position of
    a call, `length` the number of positions, `stride` how many of them one call gives, `values` the output with the
    values, and `first` the position of its first value. A `replay` has none of these.
    """

    operator: str
    case: str
    unit: str
    at: str
    length: str
    stride: str
    values: str
    first: str
    replay: Replay | None
    steps: tuple[DerivationStep, ...]
    position: Position
    source: Source = field(repr=False)
    path: ValuePath = ()

    @property
    def name(self) -> str:
        """The operator's name: an operator has at most one sequence."""
        return self.operator


def sequences_from(source: Source) -> tuple[SequenceDeclaration, ...]:
    """The sequences of a schema-valid sequences.yaml."""
    return tuple(_sequence(source, body, ("sequences", k)) for k, body in enumerate(source.value["sequences"]))


def _sequence(source: Source, body: Mapping[str, Any], path: ValuePath) -> SequenceDeclaration:
    replay = body.get("replay")
    return row(
        SequenceDeclaration,
        {"stride": "1u", "first": "position", **body},
        at=body.get("position", ""),
        replay=replay and row(Replay, replay),
        steps=tuple(_step(one, (*path, "derivation", k)) for k, one in enumerate(body.get("derivation", ()))),
        position=source.at(path),
        source=source,
        path=path,
    )


def _step(body: Mapping[str, Any], path: ValuePath) -> DerivationStep:
    inputs, uses = body.get("with", {}), body.get("use", {})
    return row(DerivationStep, body, name=body["step"], inputs=inputs, uses=uses, path_in_file=path)
