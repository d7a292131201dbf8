"""File formats as data: which files a format has, which of their fields are tried, and what seals what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.parse import names
from conformance.contract.position import Position
from conformance.contract.source import Source

KINDS: Final = ("changed", "absent", "null")  # how a field is damaged unless its format says otherwise


@dataclass(frozen=True, slots=True)
class FormedFile:
    """One file of a format: its path below the place of the format, and the form of its bytes.

    A path may hold `{file.field}`, the hex digits of a field of another file; `.` is the place itself.
    """

    path: str
    form: str  # cbor; crc32c: a length, one CBOR item and a checksum; npz: an archive of metadata and arrays


@dataclass(frozen=True, slots=True)
class Seal:
    """A place that follows from other places: `to` is worded as `conformance.vectors.reseal` reads it."""

    at: str
    to: Any


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A declared format; `seals` come from the inside out.

    `anchor` is the file by which a place of it is found; it is empty where the format is one of byte strings that
    operators give and take, and no file holds it.
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
    """The formats that a schema-valid formats.yaml holds."""
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
