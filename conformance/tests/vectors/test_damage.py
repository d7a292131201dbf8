"""Damage and repair: one field is wrong, and whatever seals it is right again."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.codec.cbor import encode_canonical
from conformance.contract.family import FileFormat, FormedFile, Seal
from conformance.contract.yaml.source import Position
from conformance.trial.fuzz.file_edits import places_of
from conformance.vectors.files.damage import another, damage, damaged_bytes, emptied_value
from conformance.vectors.files.filecodec import decode_file, encode_file
from conformance.vectors.files.formed import crc32c, decoded, encoded
from conformance.vectors.files.temp_roots import StepRefused

LEAVES = {"each": "$list.parts", "is": {"hash": ["leaf", "$@.sum"]}}
KEY = bytes(range(32))
PARTS = [{"path": "a/x", "sum": b"", "size": 0}, {"path": "b", "sum": b"", "size": 0}]
FORMAT = FileFormat(
    "boxed",
    "list.cbor",
    {
        "list": FormedFile("list.cbor", "cbor"),
        "log": FormedFile("log.rec", "crc32c"),
        "named": FormedFile("{list.top}", "cbor"),
    },
    {"list.parts.0.sum": ("changed",), "named.n": ("changed",)},
    (
        Seal("list.parts.*.sum", {"digest": "$@.path"}),
        Seal("list.parts.*.size", {"size": "$@.path"}),
        Seal("list.root", {"merkle": LEAVES, "node": "n", "empty": "e"}),
        Seal("list.below", {"hash": {"each": "$list.parts", "below": "a/", "is": "$@.size"}}),
        Seal("list.top", {"file": "named"}),
        Seal("list.signature", {"signed": {"without": "$list", "key": "signature"}}),
        Seal("log.prev", "$list.root"),
        Seal("log.gone", {"hash": "$list.not_there"}),
    ),
    KEY,
    Position("formats.yaml", 1, 1),
)


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "box"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "x").write_bytes(b"xx")
    (folder / "b").write_bytes(b"b")
    named = encode_canonical({"n": 1})
    whole: dict[str, Any] = {"parts": PARTS, "root": b"", "below": b"", "top": sha256(named).digest(), "flag": True}
    (folder / sha256(named).hexdigest()).write_bytes(named)
    (folder / "list.cbor").write_bytes(encode_canonical({**whole, "signature": b""}))
    (folder / "log.rec").write_bytes(encoded("crc32c", {"prev": b"", "seq": 3}))
    return tmp_path


def listed(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = decoded("cbor", (root / "box" / "list.cbor").read_bytes(), "list.cbor")
    return found


def hashed(item: Any) -> bytes:
    return sha256(encode_canonical(item)).digest()


def test_everything_above_a_field_is_made_right_again(box: Path) -> None:
    damage(box, "box", FORMAT, "list.flag changed")
    whole = listed(box)
    assert whole["flag"] is False
    assert [part["sum"] for part in whole["parts"]] == [sha256(b"xx").digest(), sha256(b"b").digest()]
    assert [part["size"] for part in whole["parts"]] == [2, 1]
    leaves = [hashed(["leaf", part["sum"]]) for part in whole["parts"]]
    assert whole["root"] == hashed(["n", leaves])
    assert whole["below"] == hashed([2])
    payload = {name: value for name, value in whole.items() if name != "signature"}
    Ed25519PrivateKey.from_private_bytes(KEY).public_key().verify(whole["signature"], encode_canonical(payload))
    log = (box / "box" / "log.rec").read_bytes()
    assert decoded("crc32c", log, "log")["prev"] == whole["root"]
    assert log[-4:] == crc32c(log[4:-4]).to_bytes(4, "little")


def test_the_damaged_field_itself_stays_wrong_and_is_covered_as_it_is(box: Path) -> None:
    damage(box, "box", FORMAT, "list.flag changed")
    right = listed(box)["parts"][0]["sum"]
    damage(box, "box", FORMAT, "list.parts.0.sum changed")
    wrong = listed(box)
    assert wrong["parts"][0]["sum"] == right[:-1] + bytes([right[-1] ^ 1])
    assert wrong["root"] == hashed(["n", [hashed(["leaf", part["sum"]]) for part in wrong["parts"]]])


def test_an_emptied_field_is_there_and_holds_nothing(box: Path) -> None:
    damage(box, "box", FORMAT, "list.parts empty")
    assert listed(box)["parts"] == []
    damage(box, "box", FORMAT, "list.flag empty")
    assert listed(box)["flag"] is False
    assert [emptied_value(one) for one in (7, 1.5, "a", b"a", [1], {"a": 1})] == [0, 0.0, "", b"", [], {}]


def test_a_file_named_by_its_content_moves_along(box: Path) -> None:
    before = {path.name for path in (box / "box").iterdir()}
    damage(box, "box", FORMAT, "named.n changed")
    (fresh,) = {path.name for path in (box / "box").iterdir()} - before
    assert fresh == listed(box)["top"].hex()
    assert decoded("cbor", (box / "box" / fresh).read_bytes(), fresh) == {"n": 2}


def test_a_damaged_name_does_not_move_the_file(box: Path) -> None:
    before = {path.name for path in (box / "box").iterdir()}
    damage(box, "box", FORMAT, "list.top changed")
    assert {path.name for path in (box / "box").iterdir()} == before


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("list.flag absent", None),
        ("list.flag null", None),
        ("list.flag number", 1),
        ("log.seq float", 3.0),
        ("log.seq bool", True),
    ],
)
def test_kinds_of_damage(box: Path, edit: str, found: object) -> None:
    damage(box, "box", FORMAT, edit)
    name = edit.split()[0].split(".")[1]
    log = decoded("crc32c", (box / "box" / "log.rec").read_bytes(), "log")
    held = {**listed(box), **log}
    assert (name in held) == (not edit.endswith("absent"))
    assert held.get(name) == found
    assert type(held.get(name)) is type(found)


def test_keys_in_the_wrong_order_are_written_so(box: Path) -> None:
    damage(box, "box", FORMAT, "log unsorted")
    data = (box / "box" / "log.rec").read_bytes()
    assert data[4:-4] != encode_canonical(decoded("crc32c", data, "log"))


def test_what_is_not_there_cannot_be_damaged(box: Path) -> None:
    with pytest.raises(StepRefused, match=r"nothing at 'list\.missing'"):
        damage(box, "box", FORMAT, "list.missing changed")


def test_the_checksum_is_crc32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("value", [True, 0, 2**64 - 1, 1.5, "", b"", b"a", [], [1], {}])
def test_another_value_has_the_same_type(value: object) -> None:
    assert another(value) != value
    assert type(another(value)) is type(value)


def test_places_are_found_by_the_anchor() -> None:
    assert places_of(FORMAT, {"box/list.cbor": 1, "list.cbor": 1, "other/xlist.cbor": 1}) == ["box", "."]


SEALED = FileFormat(
    "sealed",
    "",
    {"whole": FormedFile(".", "cbor")},
    {"whole.0.n": ("float",)},
    (Seal("whole.1", {"hash": "$whole.0"}),),
    b"",
    Position("formats.yaml", 1, 1),
)
ARCHIVE = FileFormat(
    "archive",
    "*.npz",
    {"whole": FormedFile(".", "npz")},
    {"whole.arrays.x.data": ("changed",)},
    (),
    b"",
    Position("formats.yaml", 1, 1),
)


def archive() -> bytes:
    tensor = {"dtype": "uint8", "shape": [2], "data": "AQI="}
    return encode_file("npz", [{"name": "metadata.json", "text": '{"n":1,"m":2}'}, {"name": "x.npy", "tensor": tensor}])


def test_bytes_that_no_file_holds_are_damaged_and_sealed_alike() -> None:
    right = encode_canonical([{"n": 1}, hashed({"n": 1})])
    assert damaged_bytes(right, SEALED, "whole.0.n float") == encode_canonical([{"n": 1.0}, hashed({"n": 1.0})])
    with pytest.raises(StepRefused):
        damaged_bytes(b"\xff", SEALED, "whole.0.n float")


def test_an_archive_is_written_as_it_was_read() -> None:
    assert encoded("npz", decoded("npz", archive(), "x")) == archive()


@pytest.mark.parametrize(
    ("edit", "member", "found"),
    [
        ("whole.metadata.n absent", "metadata.json", '{"m":2}'),
        ("whole.metadata.n float", "metadata.json", '{"n":1.0,"m":2}'),
        ("whole.metadata unsorted", "metadata.json", '{"m":2,"n":1}'),
        ("whole.arrays.x.data changed", "x.npy", {"dtype": "uint8", "shape": [2], "data": "AQM="}),
    ],
)
def test_a_field_of_an_archive_is_damaged_and_its_checksums_are_right(edit: str, member: str, found: object) -> None:
    members = decode_file("npz", damaged_bytes(archive(), ARCHIVE, edit))  # zipfile holds it to lengths and checksums
    (held,) = (one for one in members if one["name"] == member)
    assert held.get("text", held.get("tensor")) == found


def test_the_header_of_an_array_is_damaged_key_by_key() -> None:
    turned = damaged_bytes(archive(), ARCHIVE, "whole.arrays.x.fortran_order changed")
    assert b"'fortran_order': True, 'shape': (2,), }" in turned
    assert b"'shape': (2,), 'fortran_order'" in damaged_bytes(archive(), ARCHIVE, "whole.arrays.x unsorted")


def test_single_files_are_found_by_their_names_and_bytes_nowhere() -> None:
    files = {"queue/1.npz": 1, "x.npz.tmp": 1, "y.npz": 1}
    assert places_of(ARCHIVE, files) == ["queue/1.npz", "y.npz"]
    assert places_of(SEALED, files) == []


PICKLED = FileFormat(
    "metadata",
    "meta.pkl",
    {"whole": FormedFile(".", "pickle2")},
    {"whole.m": ("planted-zero",)},
    (),
    b"",
    Position("formats.yaml", 1, 1),
)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("whole.m planted-zero", {"n": {"k": 1}, "m": 0}),
        ("whole.n.k planted-null", {"n": {"k": None}}),
        ("whole.n.l planted-text", {"n": {"k": 1, "l": "1"}}),
        ("whole.n.k absent", {"n": {}}),
    ],
)
def test_a_field_that_is_not_there_is_planted_with_a_value_that_it_may_not_have(edit: str, found: object) -> None:
    right = encoded("pickle2", {"n": {"k": 1}})
    assert decoded("pickle2", damaged_bytes(right, PICKLED, edit), "x") == found


def test_nothing_is_planted_in_what_is_no_map() -> None:
    with pytest.raises(StepRefused):
        damaged_bytes(encoded("pickle2", {"n": 1}), PICKLED, "whole.n.k planted-zero")
