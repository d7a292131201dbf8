"""Damage: what it refuses, and what it leaves alone. What it does to files, `tally run` shows with the reference."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conformance.codec.cbor import encode_canonical
from conformance.contract.family import FileFormat, FormedFile, Seal
from conformance.contract.yaml.source import Position
from conformance.trial.fuzz.file_edits import places_of
from conformance.vectors.files.damage import another, damage, damaged_bytes, emptied_value
from conformance.vectors.files.filecodec import decode_file, encode_file
from conformance.vectors.files.formed import crc32c, decoded
from conformance.vectors.files.temp_roots import StepRefused

PLACE = Position("formats.yaml", 1, 1)
BOXED = FileFormat(
    "boxed",
    "list.cbor",
    {"list": FormedFile("list.cbor", "cbor"), "named": FormedFile("{list.top}", "cbor")},
    {"list.flag": ("changed",)},
    (Seal("list.top", {"file": "named"}),),
    b"",
    PLACE,
)
SEALED = FileFormat(
    "sealed",
    "",
    {"whole": FormedFile(".", "cbor")},
    {"whole.0.n": ("float",)},
    (Seal("whole.1", {"hash": "$whole.0"}),),
    b"",
    PLACE,
)
ARCHIVE = FileFormat("archive", "*.npz", {"whole": FormedFile(".", "npz")}, {"whole.n": ("changed",)}, (), b"", PLACE)


def archive() -> bytes:
    tensor = {"dtype": "uint8", "shape": [2], "data": "AQI="}
    return encode_file("npz", [{"name": "metadata.json", "text": '{"n":1,"m":2}'}, {"name": "x.npy", "tensor": tensor}])


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "box"
    folder.mkdir()
    named = encode_canonical({"n": 1})
    (folder / sha256(named).hexdigest()).write_bytes(named)
    whole = {"parts": ["a", "b"], "top": sha256(named).digest(), "flag": True, "seq": 3}
    (folder / "list.cbor").write_bytes(encode_canonical(whole))
    return tmp_path


def listed(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = decoded("cbor", (root / "box" / "list.cbor").read_bytes(), "list.cbor")
    return found


def test_an_emptied_field_is_there_and_holds_nothing(box: Path) -> None:
    damage(box, "box", BOXED, "list.parts empty")
    assert listed(box)["parts"] == []
    damage(box, "box", BOXED, "list.flag empty")
    assert listed(box)["flag"] is False
    assert [emptied_value(one) for one in (7, 1.5, "a", b"a", [1], {"a": 1})] == [0, 0.0, "", b"", [], {}]


@pytest.mark.parametrize(
    ("edit", "found"),
    [("list.flag number", 1), ("list.seq float", 3.0), ("list.seq bool", True), ("list.seq null", None)],
)
def test_a_value_may_become_one_of_another_type(edit: str, found: object, box: Path) -> None:
    damage(box, "box", BOXED, edit)
    held = listed(box)[edit.split()[0].removeprefix("list.")]
    assert (held, type(held)) == (found, type(found))


def test_keys_in_the_wrong_order_are_written_so(box: Path) -> None:
    damage(box, "box", BOXED, "list unsorted")
    assert (box / "box" / "list.cbor").read_bytes() != encode_canonical(listed(box))


@pytest.mark.parametrize(
    ("edit", "member", "found"),
    [
        ("whole.metadata.n float", "metadata.json", '{"n":1.0,"m":2}'),
        ("whole.metadata unsorted", "metadata.json", '{"m":2,"n":1}'),
    ],
)
def test_a_field_of_an_archive_is_damaged_and_its_checksums_are_right(edit: str, member: str, found: str) -> None:
    members = decode_file("npz", damaged_bytes(archive(), ARCHIVE, edit))  # zipfile holds it to lengths and checksums
    assert [one["text"] for one in members if one["name"] == member] == [found]


def test_the_header_of_an_array_is_damaged_key_by_key() -> None:
    turned = damaged_bytes(archive(), ARCHIVE, "whole.arrays.x.fortran_order changed")
    assert b"'fortran_order': True, 'shape': (2,), }" in turned
    assert b"'shape': (2,), 'fortran_order'" in damaged_bytes(archive(), ARCHIVE, "whole.arrays.x unsorted")


def test_a_damaged_name_does_not_move_the_file(box: Path) -> None:
    before = {path.name for path in (box / "box").iterdir()}
    damage(box, "box", BOXED, "list.top changed")
    assert {path.name for path in (box / "box").iterdir()} == before


def test_what_is_not_there_cannot_be_damaged(box: Path) -> None:
    with pytest.raises(StepRefused, match=r"nothing at 'list\.missing'"):
        damage(box, "box", BOXED, "list.missing changed")


@pytest.mark.parametrize(
    ("data", "edit"), [(b"\xff", "whole.0.n float"), (encode_canonical([{"n": 1}]), "whole.0.n.k planted-zero")]
)
def test_bytes_of_another_form_cannot_be_damaged(data: bytes, edit: str) -> None:
    with pytest.raises(StepRefused):
        damaged_bytes(data, SEALED, edit)


def test_the_checksum_is_crc32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("value", [True, 0, 2**64 - 1, 1.5, "", b"", b"a", [], [1], {}])
def test_another_value_has_the_same_type(value: object) -> None:
    assert another(value) != value
    assert type(another(value)) is type(value)


def test_places_are_found_by_the_anchor_and_single_files_by_their_names() -> None:
    assert places_of(BOXED, {"box/list.cbor": 1, "list.cbor": 1, "other/xlist.cbor": 1}) == ["box", "."]
    files = {"queue/1.npz": 1, "x.npz.tmp": 1, "y.npz": 1}
    assert places_of(ARCHIVE, files) == ["queue/1.npz", "y.npz"]
    assert places_of(SEALED, files) == []
