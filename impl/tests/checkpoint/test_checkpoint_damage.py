"""A container that was damaged after it was written: every kind of damage has its reason, and none gets through."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from impl.tests.checkpoint.checkpoint_calls import call, reading, reason, refusal, rewrite, tree, written

SHARD = "tensors/rank=0/shard=1.bin"
OTHER = "tensors/rank=0/shard=2.bin"
MANIFEST = "checkpoint_manifest.cbor"
HEADER = "checkpoint_header.cbor"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole container."""
    written(tmp_path)
    return tmp_path / "c"


def found(folder: Path, stage: str = "train") -> tuple[str, str]:
    return reason("ReadContainer", **reading(folder.parent, folder.name, stage=stage))


def flip(file: Path, offset: int = 0) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)


def swap(folder: Path) -> None:
    first, second = folder / SHARD, folder / OTHER
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def replace(file: Path, make: Callable[[Path], object]) -> None:
    file.unlink()
    make(file)


def replace_by_link(file: Path, target: str) -> None:
    replace(file, lambda file: file.symlink_to(target))


def replace_by_link_to_a_folder(folder: Path) -> None:
    (folder / "rng").rename(folder / "tmmu/rng")
    (folder / "rng").symlink_to("tmmu/rng")


def add_a_name_that_is_no_text(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch()


NEW = "tensors/rank=0/shard=9.bin"

DAMAGES: dict[str, tuple[Callable[[Path], object], tuple[str, str]]] = {
    "flipped": (lambda folder: flip(folder / SHARD), ("SHARD_MISMATCH", SHARD)),
    "truncated": (lambda folder: os.truncate(folder / SHARD, 99), ("SHARD_MISMATCH", SHARD)),
    "emptied": (lambda folder: os.truncate(folder / SHARD, 0), ("SHARD_MISMATCH", SHARD)),
    "longer": (lambda folder: os.truncate(folder / SHARD, 101), ("SHARD_MISMATCH", SHARD)),
    "missing": (lambda folder: (folder / SHARD).unlink(), ("MISSING_SHARD", SHARD)),
    "extra": (lambda folder: (folder / NEW).touch(), ("EXTRA_SHARD", NEW)),
    "foreign": (lambda folder: (folder / "notes.txt").touch(), ("EXTRA_SHARD", "notes.txt")),
    "swapped": (swap, ("SHARD_MISMATCH", SHARD)),
    "renamed": (lambda folder: (folder / SHARD).rename(folder / NEW), ("MISSING_SHARD", SHARD)),
    "link-flipped": (lambda folder: flip(folder / "trace/link.cbor", 12), ("SHARD_MISMATCH", "trace/link.cbor")),
    "header-missing": (lambda folder: (folder / HEADER).unlink(), ("MISSING_SHARD", HEADER)),
    "manifest-missing": (lambda folder: (folder / MANIFEST).unlink(), ("MISSING_SHARD", MANIFEST)),
    "header-truncated": (lambda folder: os.truncate(folder / HEADER, 500), ("NON_CANONICAL", HEADER)),
    "manifest-truncated": (lambda folder: os.truncate(folder / MANIFEST, 100), ("NON_CANONICAL", MANIFEST)),
    "header-changed": (lambda folder: rewrite(folder / HEADER, t=8), ("HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash")),
    "header-null": (lambda folder: (folder / HEADER).write_bytes(b"\xf6"), ("WRONG_TYPE", "")),
    "manifest-null": (lambda folder: (folder / MANIFEST).write_bytes(b"\xf6"), ("WRONG_TYPE", MANIFEST)),
    "shard-a-link": (lambda folder: replace_by_link(folder / SHARD, "shard=2.bin"), ("BAD_PATH", SHARD)),
    "shard-a-pipe": (lambda folder: replace(folder / SHARD, os.mkfifo), ("BAD_PATH", SHARD)),
    "header-a-link": (lambda folder: replace_by_link(folder / HEADER, "/etc/passwd"), ("BAD_PATH", HEADER)),
    "folder-a-link": (replace_by_link_to_a_folder, ("BAD_PATH", "rng")),
    "shard-a-folder": (lambda folder: replace(folder / SHARD, Path.mkdir), ("MISSING_SHARD", SHARD)),
    "name-not-text": (add_a_name_that_is_no_text, ("EXTRA_SHARD", "\ufffd")),
    "manifest-too-long": (lambda folder: os.truncate(folder / MANIFEST, 2**24 + 1), ("LIMIT_EXCEEDED", MANIFEST)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("stage", ["train", "eval"])
def test_every_damage_is_found_whatever_the_stage(folder: Path, damage: str, stage: str) -> None:
    harm, expected = DAMAGES[damage]
    harm(folder)
    assert found(folder, stage) == expected


def test_every_byte_of_every_file_is_bound_by_the_full_hash(folder: Path) -> None:
    full_checkpoint_hash = sha256((folder / MANIFEST).read_bytes()).digest()
    params = reading(folder.parent, expected={"full_checkpoint_hash": full_checkpoint_hash})
    for path, content in tree(folder).items():
        for offset in range(0, len(content), max(1, len(content) // 50)):
            flip(folder / path, offset)
            assert refusal("ReadContainer", **params)["failure_code"] == "CONTRACT_VIOLATION"
            (folder / path).write_bytes(content)
    assert call("ReadContainer", **params)["report"]["status"] == "success"


def test_an_unfinished_container_cannot_be_read_by_any_name(folder: Path) -> None:
    folder.rename(folder.with_name(".c.tmp"))
    assert reason("ReadContainer", **reading(folder.parent, ".c.tmp")) == ("BAD_PATH", "name")
    assert reason("ReadContainer", **reading(folder.parent, "c")) == ("MISSING_SHARD", MANIFEST)
