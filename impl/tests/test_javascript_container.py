"""The checkpoint as a folder, in JavaScript: the same files as the reference writes, the same damage refused alike."""

import os
import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from impl.reference.canonical_cbor import encode_canonical
from impl.tests.checkpoint_calls import (
    ABSENT,
    PREFIX,
    changed,
    container,
    link_of,
    pinned_header,
    reading,
    rewrite,
    tree,
    whole_files,
    written,
)
from impl.tests.javascript_equality import Pair, reason_of
from impl.tests.javascript_process import evaluate

WRITE, READ = f"{PREFIX}WriteContainer_v1", f"{PREFIX}ReadContainer_v1"
SHARD, OTHER = "tensors/rank=0/shard=0.bin", "tensors/rank=0/shard=1.bin"
MANIFEST, HEADER = "checkpoint_manifest.cbor", "checkpoint_header.cbor"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"files": {}, "link": ABSENT},
    {"files": whole_files(**{path: ABSENT for path in whole_files() if not path.startswith("tensors/")})},
    {"files": {f"tensors/rank=0/shard={k}.bin": bytes([k]) for k in range(13)}, "link": ABSENT},
    {"header": {"checkpoint_hash_prev": bytes(32)}},
    {"header": {"checkpoint_schema_version": "1.2.0", "later": {"b": -0.0, "aa": [2**64 - 1, None, b""]}}},
    {"header": {"t": None}},
    {"header": {"tensors_root_hash": bytes(32)}},
    {"header": {"dp_accountant_state_root_hash": ABSENT}, "manifest": {"dp_enabled": True}},
    {"manifest": {"dp_enabled": False, "partial_restore": [OTHER, SHARD]}},
    {"manifest": {"partial_restore": ["tensors/rank=7/shard=7.bin"]}},
    {"manifest": {"weights_manifest_hash": bytes(32)}},
    {"files": whole_files(**{"tmmu/plan.cbor": b"\x18\x00"})},
    {"files": whole_files(**{"data/cursors.cbor": encode_canonical({"d": 1})})},
    {"files": whole_files(**{"rng/state.cbor": encode_canonical(["rng_state", 1, 2, 3, 4, 5, 2**32])})},
    {"files": whole_files(**{"tensors/rank=00/shard=0.bin": b""})},
    {"files": whole_files(**{f"tensors/rank={'1' * 20}/shard=0.bin": b""})},
    {"link": link_of(pinned_header(), t=8)},
    {"link": link_of(pinned_header(), run_id=ABSENT)},
    {"link": link_of(pinned_header(), checkpoint_hash=bytes(32))},
    {"link": encode_canonical([])},
]


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_a_container_is_written_or_refused_as_the_reference_does_it(
    pair: Pair, tmp_path: Path, options: dict[str, Any]
) -> None:
    roots = tmp_path / "reference", tmp_path / "javascript"
    answers = []
    for root, ask in zip(roots, (pair.reference, pair.other), strict=True):
        root.mkdir()
        answers.append(ask(WRITE, container(root, **options)))
    assert answers[0] == answers[1]
    assert tree(roots[0]) == tree(roots[1])
    for stage in ("train", "eval"):
        pair.agree(READ, reading(roots[1], stage=stage))


@pytest.mark.usefixtures("javascript")
def test_paths_are_sorted_as_whole_bytes() -> None:
    paths = ["a-b/x", "a.b/x", "a/B", "a/b", "a/x", "b/shard=10", "b/shard=2", "b/\uffff", "b/\U0001f600"]
    script = f"""import {{ sortedShards }} from "./checkpoint/manifest.js";
        const shards = {list(reversed(paths))}.map((path) => ({{ path }}));
        console.log(JSON.stringify(sortedShards(shards).map(({{ path }}) => path)));"""
    assert evaluate(script) == paths


def fill(root: Path, name: str = "c") -> Path:
    root.mkdir()
    written(root, name, manifest={"partial_restore": [SHARD]})
    return root / name


def swap(folder: Path) -> None:
    (folder / SHARD).rename(folder / "swap")
    (folder / OTHER).rename(folder / SHARD)
    (folder / "swap").rename(folder / OTHER)


def link_outside(path: Path, outside: Path) -> None:
    path.rename(outside)
    path.symlink_to(outside)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_deep(folder: Path) -> None:
    (folder / "a/b/c/d").mkdir(parents=True)
    (folder / "a/b/c/d/e").touch()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "longer": (lambda folder: os.truncate(folder / SHARD, 2**40), "SHARD_MISMATCH"),
    "swapped": (swap, "SHARD_MISMATCH"),
    "link": (lambda folder: link_outside(folder / SHARD, folder.parent.parent / "elsewhere"), "BAD_PATH"),
    "linked-folder": (lambda folder: link_outside(folder / "data", folder.parent.parent / "elsewhere"), "BAD_PATH"),
    "linked-header": (lambda folder: link_outside(folder / HEADER, folder / "elsewhere"), "BAD_PATH"),
    "pipe": (lambda folder: pipe(folder / SHARD), "BAD_PATH"),
    "pipe-as-manifest": (lambda folder: pipe(folder / MANIFEST), "BAD_PATH"),
    "deep": (make_deep, "EXTRA_SHARD"),
    "long-header": (lambda folder: os.truncate(folder / HEADER, 65_537), "LIMIT_EXCEEDED"),
    "long-manifest": (lambda folder: os.truncate(folder / MANIFEST, 2**24 + 1), "LIMIT_EXCEEDED"),
    "hostile-manifest": (lambda f: (f / MANIFEST).write_bytes(b"\x9b\x10" + bytes(18)), "NON_CANONICAL"),
    "hostile-header": (lambda f: (f / HEADER).write_bytes(b"\x5b\x10" + bytes(18)), "NON_CANONICAL"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_container_is_refused_alike(pair: Pair, tmp_path: Path, kind: str) -> None:
    damage, reason = DAMAGE[kind]
    folder = fill(tmp_path / "root")
    damage(folder)
    assert reason_of(pair.agree(READ, reading(folder.parent)))[0] == reason


def test_changed_bytes_of_any_file_are_refused_alike(pair: Pair, tmp_path: Path) -> None:
    folder = fill(tmp_path / "root")
    rng = random.Random(5)
    for path, content in tree(folder).items():
        for _ in range(12):
            offset = rng.randrange(len(content))
            flipped = bytes([content[offset] ^ 1 << rng.randrange(8)])
            (folder / path).write_bytes(content[:offset] + flipped + content[offset + 1 :])
            pair.agree(READ, reading(folder.parent))
        (folder / path).write_bytes(content[: rng.randrange(len(content))])
        assert "error" in pair.agree(READ, reading(folder.parent))
        (folder / path).write_bytes(content)
    assert "result" in pair.agree(READ, reading(folder.parent))


def test_a_size_beyond_everything_allocates_nothing(pair: Pair, tmp_path: Path) -> None:
    folder = fill(tmp_path / "root")
    for size in (2**60, 2**64 - 1, 2**31):
        shards = [{"path": SHARD, "sha256": bytes(32), "size_bytes": size}]
        rewrite(folder / MANIFEST, shards=shards)
        assert "error" in pair.agree(READ, reading(folder.parent))


CHANGES: list[dict[str, Any]] = [
    {"checkpoint_hash": ABSENT},
    {"extra": 1},
    {"dp_enabled": None},
    {"dp_enabled": 1},
    {"partial_restore": [1]},
    {"manifest_version": "1"},
    {"manifest_version": "1.0.1"},
    {"shards": [7]},
    {"shards": [{"path": "../../x", "sha256": bytes(32), "size_bytes": 0}]},
    {"shards": [{"path": SHARD, "sha256": bytes(32), "size_bytes": -1}]},
    {"shards": [{"path": SHARD, "sha256": bytes(32), "size_bytes": 0, "mode": 1}]},
    {"shards": [{"path": path, "sha256": bytes(32), "size_bytes": 0} for path in (OTHER, SHARD)]},
    {"shards": [{"path": path, "sha256": bytes(32), "size_bytes": 0} for path in (SHARD, SHARD)]},
]


@pytest.mark.parametrize("changes", CHANGES, ids=range(len(CHANGES)))
def test_a_manifest_of_another_form_is_refused_alike(pair: Pair, tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = fill(tmp_path / "root")
    rewrite(folder / MANIFEST, **changes)
    assert "error" in pair.agree(READ, reading(folder.parent))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/ck", "../ck", ".hidden", "a\x00b", "c" * 200, "c" * 201])
def test_a_name_is_judged_alike(pair: Pair, tmp_path: Path, name: str) -> None:
    pair.agree(READ, reading(tmp_path, name))
    answer = pair.other(WRITE, {**container(tmp_path), "name": name})
    assert ("result" in answer) == (len(name) == 200)


def test_roots_and_targets_that_cannot_be_used_are_left_alone(pair: Pair, tmp_path: Path) -> None:
    for root in (tmp_path / "missing", Path("relative"), Path("/dev/null")):
        assert reason_of(pair.agree(WRITE, container(root))) == ("BAD_PATH", "root")
        assert reason_of(pair.agree(READ, reading(root))) == ("BAD_PATH", "root")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "dangling"):
        assert reason_of(pair.agree(WRITE, container(tmp_path, name))) == ("TARGET_EXISTS", "name")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "folder"]


def test_what_a_crash_left_is_replaced_without_leaving_the_root(pair: Pair, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / ".c.tmp" / "tensors" / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    (root / ".c.tmp" / "tensors" / "old.bin").write_bytes(b"old")
    (root / ".c.tmp" / "link").symlink_to(outside)
    expected = set()
    for leftover in (".c.tmp is a folder", ".c.tmp is a link"):
        assert "result" in pair.other(WRITE, container(root)), leftover
        expected.add(frozenset(tree(root)))
        shutil.rmtree(root / "c")
        (root / ".c.tmp").symlink_to(outside)
    assert len(expected) == 1
    assert tree(outside) == {"kept": b"kept"}


def test_a_choice_of_shards_and_an_expectation_are_judged_alike(pair: Pair, tmp_path: Path) -> None:
    folder = fill(tmp_path / "root")
    choices: list[list[str]] = [[], [SHARD], [SHARD, SHARD], [SHARD, OTHER], [SHARD, "../x"], ["data/cursors.cbor"]]
    for shards in choices:
        for stage in ("train", "eval", "infer"):
            pair.agree(READ, reading(folder.parent, stage=stage, shards=shards))
    hashes = pair.agree(READ, reading(folder.parent))["result"]["report"]["trace_record"]
    right = {"checkpoint_hash": bytes.fromhex(hashes["checkpoint_hash"]), "run_id": "r", "manifest_hash": bytes(32)}
    for name, later in pairwise([*right, "checkpoint_hash_prev", "full_checkpoint_hash"]):
        expected = changed(right, {later: bytes(32)}) if later != "run_id" else {name: right[name]}
        pair.agree(READ, reading(folder.parent, expected=expected))
