"""What fuzzing lists before it draws: versions beside registered ones, temporary files that a killed writer left."""

from __future__ import annotations

import hashlib

from conformance.codec.cbor import encode_canonical
from conformance.contract.types import Field, Scalar, Struct
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.leftovers import leftovers, losses
from conformance.trial.fuzz.near_bytes import item_in
from conformance.trial.fuzz.versions import is_version, near_versions, versions
from conformance.vectors.case import FileStep

FILES = {"COMMITTED": 9, "wal/00000000000000000000.rec": 9, "objects/" + "ab" * 32: 1}


def test_a_version_has_three_numbers() -> None:
    assert [one for one in ("1.2.3", "1.2", "1.02.3", "v1.2.3", "1.2.3\n", "١.2.3", 1) if is_version(one)] == ["1.2.3"]


def test_each_part_of_a_known_version_is_moved_alone_and_none_is_negative() -> None:
    near = near_versions(["1.0.0"])
    assert {"1.0.0", "1.0.1", "1.1.0", "2.0.0", "0.0.0"} <= {*near}
    assert not [one for one in near if "-" in one]


def test_a_leaf_takes_what_lies_beside_the_versions_of_all_examples() -> None:
    type_ = Struct((Field("since", Scalar("string")), Field("name", Scalar("string"))))
    natives = [{"since": "1.0.0", "name": "a"}, {"since": "1.4.0", "name": "b"}]
    found = [native["since"] for native in versions(type_, natives, ["3.0.0", "word"])]
    assert {"1.0.1", "1.4.1", "3.0.1"} <= {*found}
    assert {native["name"] for native in versions(type_, natives, [])} == {"a"}


def test_a_version_inside_a_canonical_item_is_changed_and_its_digest_made_right() -> None:
    inner = {"v": "1.1.0"}
    blob = encode_canonical([inner, hashlib.sha256(encode_canonical(inner)).digest()])
    found = [native["blob"] for native in versions(Struct((Field("blob", Scalar("bytes")),)), [{"blob": blob}], [])]
    items = [item[0] for data in found if (item := item_in(data)) is not None]
    assert "1.1.1" in {item[0]["v"] for item in items}
    assert all(item[1] == hashlib.sha256(encode_canonical(item[0])).digest() for item in items)


def test_leftovers_are_the_names_that_a_contract_owns_and_that_frozen_steps_plant() -> None:
    contract = shipped_library().contracts["UML_OS.Checkpoint.RecoverRun_v1"]
    steps = [FileStep("put", {"root": "a", "path": ".mine.tmp", "text": ""})]
    paths = {edit[0].body["path"] for edit in leftovers(contract, "a", FILES, steps)}
    assert {".COMMITTED.tmp", ".mine.tmp", "wal/.00000000000000000000.rec.tmp"} <= paths
    assert any(path.startswith("objects/.") for path in paths)


def test_trees_lose_one_file_or_folder_and_then_two() -> None:
    lost = [{edit[0].body["path"] for edit in edits} for edits in losses("a", FILES)]
    assert {"wal"} in lost
    assert {"COMMITTED", "wal"} in lost
    assert not any({"wal", "wal/00000000000000000000.rec"} <= one for one in lost)
