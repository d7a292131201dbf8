"""The checkpoint as a directory, in the JavaScript backend: what is written, what is read, what is refused."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest

from impl.tests.javascript_checkpoint import (
    IDENTITY,
    READ,
    THREE_SHARDS,
    THREE_SHARDS_ROOT,
    WRITE,
    Files,
    Header,
    assert_refused,
    canonical,
    canonical_order,
    cbor_digest,
    digest,
    header_for,
    merkle_root,
    names,
    pinned_header,
    triples,
)
from impl.tests.javascript_process import Backend, Json, Native, Value, evaluate

MANIFEST = "checkpoint_manifest.cbor"
HEADER = "checkpoint_header.cbor"
LINK = "trace/link.cbor"
GIVEN = {"dataset_snapshot_id": "snap", "artifact_index_hash": digest(b"artifact_index_hash")}
PATHS = [
    "tensors/rank=0/shard=0.bin",
    "tensors/rank=0/shard=10.bin",
    "tensors/rank=0/shard=2.bin",
    "tensors/rank=1/shard=0.bin",
    "optimizer/rank=0/state.bin",
    "dp/accountant_state.cbor",
    "data/cursors.cbor",
    "tmmu/plan.cbor",
    "artifacts/artifact_index.cbor",
    "rng/state.cbor",
]
CBOR = {
    "dp/accountant_state.cbor": canonical({"steps": 7}),
    "data/cursors.cbor": canonical({"d": {"epoch": 0, "global_index": 4}}),
    "tmmu/plan.cbor": canonical(["plan"]),
    "artifacts/artifact_index.cbor": canonical({}),
    "rng/state.cbor": canonical(["rng_state", 0, 1, 2, 3, 4, 2**32 - 1]),
}
SHARD = PATHS[0]
COMPONENTS = {
    "model_params": "tensors/",
    "optimizer_state": "optimizer/",
    "rng_states": "rng/",
    "dp_accountant_state": "dp/",
    "data_cursors": "data/",
    "tmmu_plan": "tmmu/",
}


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


@pytest.fixture(scope="module")
def json_backend(tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend("json")
    yield started
    assert started.finish() == 0


def link_of(header: Header) -> bytes:
    names = ["run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev"]
    return canonical({name: header[name] for name in names if name in header})


def all_files(**changes: Native) -> dict[str, bytes]:
    """Return one file of every kind that the layout has; the link fits any header made by `pinned_header`."""
    files = {path: path.encode() * 3 for path in PATHS} | CBOR
    return files | {LINK: link_of(pinned_header(**changes))}


def without(files: Files, folder: str) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if not path.startswith(folder)}


def writing(root: Path, files: Files, header: Header | None = None, name: str = "ck", **given: Any) -> Native:
    """Return the inputs of WriteContainer."""
    held = header_for(files) if header is None else header
    return {"root": str(root), "name": name, "header": Value(held), "files": dict(files), "manifest": GIVEN | given}


def written(backend: Backend, root: Path, files: Files, header: Header | None = None, **given: Any) -> Header:
    """Write a container named ck and return its header."""
    header = header_for(files) if header is None else header
    backend.call(WRITE, writing(root, files, header, **given))
    return header


def reading(root: Path, stage: str = "train", **changes: Native) -> dict[str, Native]:
    """Return the inputs of ReadContainer."""
    return {"root": str(root), "name": "ck", "stage": stage, "expected": Value({})} | changes


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def manifest_of(files: Files, header: Header, **given: Native) -> dict[str, Native]:
    shards = [{"path": path, "sha256": hashed, "size_bytes": size} for path, hashed, size in triples(files)]
    computed = {"manifest_version": "1.0.0", "checkpoint_hash": cbor_digest(header), "shards": shards}
    return GIVEN | computed | {"checkpoint_merkle_root": merkle_root(files)} | given


def put(root: Path, files: Files, header: Header, **given: Native) -> None:
    """Make a container by hand; a manifest field given as None is left out."""
    fields = manifest_of(files, header, **given)
    manifest = canonical({name: held for name, held in fields.items() if held is not None})
    for path, content in {**files, HEADER: canonical(header), MANIFEST: manifest}.items():
        (root / "ck" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "ck" / path).write_bytes(content)


# Roots


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (0, "65dd5dace7e49fcbcc256bccab337b01efa618aadcd7ffd1becc23ffd577e48e"),
        (1, "f52721a9a05c4b93297670d763459889e9563698fe4e7c597d87322830d8bf30"),
        (2, "8b889c99f82dcbad0e731a4752e12a9d50beb4d949296af0e3e7c8367b221428"),
        (3, THREE_SHARDS_ROOT.hex()),
        (4, "681f9c2f32803f8446c74f820d8428afaa89f4b02db67ec1148e106ccd794b79"),
        (5, "7bad295d01f034c34725f4e20cbad51351b9fe6fddb3aa80dd6c81a7d97cb18c"),
        (8, "f6ad9ef4427630ed43eeb04641cba07604b87db3667e3a00b7050cc13f5bac66"),
        (12, "38f8ebb4e4543ab4a16f52ab0e761f69d8fb5e3e8a2ef9411fa2cf4bb30997bf"),
    ],
)
def test_the_pinned_merkle_roots(backend: Backend, tmp_path: Path, count: int, root: str) -> None:
    files = {f"tensors/rank=0/shard={k}.bin": bytes([k]) for k in range(count)}
    header = header_for(files, checkpoint_merkle_root=bytes.fromhex(root))
    result = backend.call(WRITE, writing(tmp_path, files, header))
    assert result["checkpoint_merkle_root"] == backend.form(bytes.fromhex(root))


def test_the_pinned_roots_of_the_parts(backend: Backend, tmp_path: Path) -> None:
    tensors = bytes.fromhex("06aeea92de39465774db942a09d2f67a2295b4e27c31bad422a572db1adc9502")
    empty_optimizer = bytes.fromhex("9a11274be2ab06ec11bd012e0e13c2d50bfa8064caf87247cb7acaee74159266")
    empty_tensors = bytes.fromhex("544e9b5088716fecc05ebc610610a68ec405999a30ac79aa538ba78a1ff25468")
    header = header_for(THREE_SHARDS, tensors_root_hash=tensors, optimizer_state_root_hash=empty_optimizer)
    written(backend, tmp_path, THREE_SHARDS, header)
    header = header_for({}, tensors_root_hash=empty_tensors)
    backend.call(WRITE, writing(tmp_path, {}, header, "empty"))


def test_the_pinned_manifest(tool: Callable[[str], str]) -> None:
    tool("node")
    manifest = canonical(manifest_of(THREE_SHARDS, pinned_header()))
    full = "3c74ba3cfdd4ecdc458282af2735a9ab913235a1071241ba200c307d71e4af00"
    assert (len(manifest), digest(manifest).hex()) == (479, full)
    script = """
        import { encodeManifest } from "./checkpoint/manifest.js";
        import { merkleRoot } from "./checkpoint/merkle.js";
        import { sha256 } from "./digest.js";
        const shards = [0, 1, 2].map((k) => ({
          path: `tensors/rank=0/shard=${k}.bin`, sha256: sha256(Buffer.from([k])), size_bytes: 1n }));
        const given = { dataset_snapshot_id: "snap", artifact_index_hash: sha256("artifact_index_hash") };
        const hash = Buffer.from("ba9897de3b6ebe8bb7127840ce3b3d58053b7af9ce3a8c6d55791c769166c2bd", "hex");
        const manifest = encodeManifest(given, hash, merkleRoot(shards), shards);
        console.log(JSON.stringify([manifest.length, sha256(manifest).toString("hex")]));"""
    assert evaluate(script) == [479, full]


def test_paths_are_sorted_as_whole_bytes(tool: Callable[[str], str]) -> None:
    tool("node")
    paths = ["a-b/x", "a.b/x", "a/B", "a/b", "a/x", "b/shard=10", "b/shard=2", "b/\uffff", "b/\U0001f600"]
    script = f"""import {{ sortedShards }} from "./checkpoint/merkle.js";
        const shards = {list(reversed(paths))}.map((path) => ({{ path }}));
        console.log(JSON.stringify(sortedShards(shards).map(({{ path }}) => path)));"""
    assert evaluate(script) == paths


# Writing


def test_a_container_holds_exactly_its_files(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    header = header_for(files, dp=True)
    result = backend.call(WRITE, writing(tmp_path, files, header))
    manifest = canonical(manifest_of(files, header))
    hashes = {"checkpoint_hash": cbor_digest(header), "full_checkpoint_hash": digest(manifest)}
    assert result == backend.form(hashes | {"checkpoint_merkle_root": merkle_root(files)})
    assert tree(tmp_path) == {f"ck/{p}": c for p, c in {**files, HEADER: canonical(header), MANIFEST: manifest}.items()}
    assert names(tmp_path) == ["ck"]


def test_the_manifest_holds_exactly_the_given_options(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    part = {name: cbor_digest([t for t in triples(files) if t[0].startswith(f)]) for name, f in PARTS.items()}
    given: dict[str, Any] = {"dp_enabled": False, "partial_restore": [SHARD], **part}
    header = written(backend, tmp_path, files, **given)
    assert cbor2.loads((tmp_path / "ck" / MANIFEST).read_bytes()) == manifest_of(files, header, **given)


PARTS = {
    "weights_manifest_hash": "tensors/",
    "optimizer_manifest_hash": "optimizer/",
    "dp_accountant_manifest_hash": "dp/",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_wrong_digest_of_a_part_is_refused(backend: Backend, tmp_path: Path, name: str) -> None:
    files = all_files()
    header = header_for(files)
    given: dict[str, Any] = {name: bytes(32)}
    params = writing(tmp_path, files, header, **given)
    assert_refused(backend, WRITE, params, "ROOT_MISMATCH", f"{MANIFEST}.{name}", header)
    assert names(tmp_path) == []
    put(tmp_path, files, header, **given)
    assert_refused(backend, READ, reading(tmp_path), "ROOT_MISMATCH", f"{MANIFEST}.{name}", header)


@pytest.mark.parametrize(
    "name",
    ["checkpoint_merkle_root", "tensors_root_hash", "optimizer_state_root_hash", "dp_accountant_state_root_hash"],
)
def test_a_wrong_root_in_the_header_is_refused(backend: Backend, tmp_path: Path, name: str) -> None:
    files = all_files()
    header = header_for(files, dp=True, **{name: bytes(32)})
    assert_refused(backend, WRITE, writing(tmp_path, files, header), "ROOT_MISMATCH", name, header)
    put(tmp_path, files, header)
    assert_refused(backend, READ, reading(tmp_path), "ROOT_MISMATCH", name, header)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/tensors/rank=0/shard=0.bin",
        "../tensors/rank=0/shard=0.bin",
        "tensors/../../x",
        "tensors//rank=0/shard=0.bin",
        "./data/cursors.cbor",
        "tensors/rank=0/shard=00.bin",
        "tensors/rank=-1/shard=0.bin",
        "tensors/rank=0/shard=0.bin\n",
        "tensors/rank=0/shard=0.bin/x",
        "data/cursors.cbor\x00",
        "data",
        "extra.bin",
        MANIFEST,
        HEADER,
    ],
)
def test_a_path_outside_the_layout_is_refused(backend: Backend, tmp_path: Path, path: str) -> None:
    files = {SHARD: b"", path: b"x"}
    header = header_for(files)
    assert_refused(backend, WRITE, writing(tmp_path, files, header), "BAD_PATH", path, header)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/ck", "../ck", ".hidden", ".ck.tmp", "a\x00b"])
def test_a_name_is_one_visible_entry_of_the_root(backend: Backend, tmp_path: Path, name: str) -> None:
    header = header_for(THREE_SHARDS)
    assert_refused(backend, WRITE, writing(tmp_path, THREE_SHARDS, header, name), "BAD_PATH", "name", header)
    assert_refused(backend, READ, reading(tmp_path, name=name), "BAD_PATH", "name")


def test_a_name_too_long_is_refused(backend: Backend, tmp_path: Path) -> None:
    header = header_for(THREE_SHARDS)
    backend.call(WRITE, writing(tmp_path, THREE_SHARDS, header, "c" * 200))
    assert_refused(backend, WRITE, writing(tmp_path, THREE_SHARDS, header, "c" * 201), "BAD_PATH", "name", header)
    path = f"tensors/rank={'1' * 20}/shard=0.bin"
    header = header_for({path: b""})
    assert_refused(backend, WRITE, writing(tmp_path, {path: b""}, header), "BAD_PATH", path, header)


def test_a_root_that_is_no_folder_is_refused(backend: Backend, tmp_path: Path) -> None:
    header = header_for(THREE_SHARDS)
    for root in (tmp_path / "missing", Path("relative")):
        assert_refused(backend, WRITE, writing(root, THREE_SHARDS, header), "BAD_PATH", "root", header)
        assert_refused(backend, READ, reading(root), "BAD_PATH", "root")


def test_a_target_that_exists_is_left_alone(backend: Backend, tmp_path: Path) -> None:
    header = header_for(THREE_SHARDS)
    params = writing(tmp_path, THREE_SHARDS, header)
    (tmp_path / "ck").mkdir()
    assert_refused(backend, WRITE, params, "TARGET_EXISTS", "name", header)
    (tmp_path / "ck").rmdir()
    (tmp_path / "ck").symlink_to(tmp_path / "nowhere")
    assert_refused(backend, WRITE, params, "TARGET_EXISTS", "name", header)
    assert names(tmp_path) == ["ck"]


def test_what_a_crash_left_is_replaced_without_leaving_the_root(backend: Backend, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / ".ck.tmp" / "tensors" / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    (root / ".ck.tmp" / "tensors" / "old.bin").write_bytes(b"old")
    (root / ".ck.tmp" / "link").symlink_to(outside)
    written(backend, root, THREE_SHARDS)
    assert names(root) == ["ck"]
    assert set(tree(root)) == {f"ck/{path}" for path in [*THREE_SHARDS, HEADER, MANIFEST]}
    assert tree(outside) == {"kept": b"kept"}
    shutil.rmtree(root / "ck")
    (root / ".ck.tmp").symlink_to(outside)
    written(backend, root, THREE_SHARDS)
    assert tree(outside) == {"kept": b"kept"}


def test_an_invalid_header_is_not_written(backend: Backend, tmp_path: Path) -> None:
    header = header_for(THREE_SHARDS, run_id=7)
    assert_refused(backend, WRITE, writing(tmp_path, THREE_SHARDS, header), "WRONG_TYPE", "run_id", header)


# Reading


def test_a_container_is_read_back_whole(backend: Backend, tmp_path: Path) -> None:
    files = all_files(checkpoint_hash_prev=bytes(32))
    header = header_for(files, dp=True, checkpoint_hash_prev=bytes(32))
    written(backend, tmp_path, files, header)
    result = backend.call(READ, reading(tmp_path, expected=Value({name: header[name] for name in IDENTITY})))
    assert result["header"] == backend.form(Value(canonical_order(header)))
    assert result["files"] == backend.form(files)
    report = result["report"]
    assert int(report.pop("restore_time_ms")) < 60_000
    size = sum(map(len, tree(tmp_path).values()))
    source = cbor_digest(["source_run", "t", "r", header["manifest_hash"]])
    trace = {"schema_version": "1.0.0", "source_hash": source, "step": "restore", "status": "success"}
    trace |= {"checkpoint_hash": cbor_digest(header), "restore_status": "success"}
    expected = {"status": "success", "restore_profile_id": "539da104189fede3", "compatibility_level": "migrated"}
    assert report == backend.form(expected | {"checkpoint_size_bytes": size, "trace_record": trace})


def profile(backend: Backend, root: Path, stage: str) -> Json:
    return backend.call(READ, reading(root, stage))["report"]["restore_profile_id"]


def test_the_pinned_restore_profiles(backend: Backend, tmp_path: Path) -> None:
    written(backend, tmp_path, without(all_files(), "dp/"))
    assert profile(backend, tmp_path, "train") == "130bf224590df6f1"
    assert profile(backend, tmp_path, "eval") == "76c29662ee06b4c1"
    assert profile(backend, tmp_path, "infer") == "afd7f5c2650bd164"


@pytest.mark.parametrize("component", COMPONENTS)
def test_train_needs_every_component(backend: Backend, tmp_path: Path, component: str) -> None:
    files = without(all_files(), COMPONENTS[component])
    header = written(backend, tmp_path, files, header_for(files, dp=True), dp_enabled=True)
    assert_refused(backend, READ, reading(tmp_path), "MISSING_COMPONENT", component, header)
    if component != "model_params":
        assert profile(backend, tmp_path, "eval") == "76c29662ee06b4c1"


def test_privacy_is_needed_where_it_is_enabled(backend: Backend, tmp_path: Path) -> None:
    files = without(all_files(), "dp/")
    written(backend, tmp_path, files, header_for(files, dp=True), dp_enabled=False)
    assert profile(backend, tmp_path, "train") == "130bf224590df6f1"
    shutil.rmtree(tmp_path / "ck")
    header = written(backend, tmp_path, files, header_for(files, dp=True))
    assert_refused(backend, READ, reading(tmp_path), "MISSING_COMPONENT", "dp_accountant_state", header)


def test_model_parameters_suffice_for_eval(backend: Backend, tmp_path: Path) -> None:
    written(backend, tmp_path, THREE_SHARDS)
    assert backend.call(READ, reading(tmp_path, "infer"))["files"] == backend.form(dict(THREE_SHARDS))


def test_declared_shards_are_restored_alone(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    written(backend, tmp_path, files, partial_restore=PATHS[:2])
    result = backend.call(READ, reading(tmp_path, "eval", shards=[PATHS[1]]))
    assert result["files"] == backend.form({PATHS[1]: files[PATHS[1]]})
    assert result["report"]["restore_profile_id"] == "76c29662ee06b4c1"


@pytest.mark.parametrize(
    ("stage", "shards", "reason", "path"),
    [
        ("eval", [PATHS[2]], "PARTIAL_NOT_DECLARED", PATHS[2]),
        ("eval", [SHARD, "tensors/rank=9/shard=0.bin"], "MISSING_SHARD", "tensors/rank=9/shard=0.bin"),
        ("eval", [SHARD, "../x"], "BAD_PATH", "../x"),
        ("eval", [SHARD, SHARD], "DUPLICATE_PATH", SHARD),
        ("eval", [], "MISSING_COMPONENT", "model_params"),
        ("eval", ["data/cursors.cbor"], "MISSING_COMPONENT", "model_params"),
        ("train", [SHARD], "MISSING_COMPONENT", "data_cursors"),
    ],
)
def test_a_choice_of_shards_is_held_to_the_policy(
    backend: Backend, tmp_path: Path, stage: str, shards: list[str], reason: str, path: str
) -> None:
    header = written(backend, tmp_path, all_files(), partial_restore=[SHARD, "data/cursors.cbor"])
    assert_refused(backend, READ, reading(tmp_path, stage, shards=shards), reason, path, header)


def test_without_a_policy_no_subset_is_restored(backend: Backend, tmp_path: Path) -> None:
    header = written(backend, tmp_path, all_files())
    params = reading(tmp_path, "eval", shards=[SHARD])
    assert_refused(backend, READ, params, "PARTIAL_NOT_DECLARED", f"{MANIFEST}.partial_restore", header)


# Damage


def flip(root: Path) -> None:
    content = bytearray((root / SHARD).read_bytes())
    content[0] ^= 1
    (root / SHARD).write_bytes(content)


def swap(root: Path) -> None:
    (root / SHARD).rename(root / "swap")
    (root / PATHS[2]).rename(root / SHARD)
    (root / "swap").rename(root / PATHS[2])


def link_outside(root: Path) -> None:
    (root / SHARD).rename(root.parent / "elsewhere")
    (root / SHARD).symlink_to(root.parent / "elsewhere")


def link_folder_outside(root: Path) -> None:
    (root / "data").rename(root.parent / "elsewhere")
    (root / "data").symlink_to(root.parent / "elsewhere")


def pipe(root: Path) -> None:
    (root / SHARD).unlink()
    os.mkfifo(root / SHARD)


def put_deep(root: Path) -> None:
    (root / "a/b/c/d").mkdir(parents=True)
    (root / "a/b/c/d/e").touch()


DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "flipped": (flip, "SHARD_MISMATCH", SHARD),
    "truncated": (lambda root: os.truncate(root / SHARD, 5), "SHARD_MISMATCH", SHARD),
    "longer": (lambda root: os.truncate(root / SHARD, 2**40), "SHARD_MISMATCH", SHARD),
    "missing": (lambda root: (root / SHARD).unlink(), "MISSING_SHARD", SHARD),
    "renamed": (lambda root: (root / SHARD).rename(root / "tensors/rank=0/shard=7.bin"), "MISSING_SHARD", SHARD),
    "swapped": (swap, "SHARD_MISMATCH", SHARD),
    "extra": (lambda root: (root / "tensors/rank=1/shard=1.bin").touch(), "EXTRA_SHARD", "tensors/rank=1/shard=1.bin"),
    "junk": (lambda root: (root / "junk").touch(), "EXTRA_SHARD", "junk"),
    "link": (link_outside, "BAD_PATH", SHARD),
    "linked folder": (link_folder_outside, "BAD_PATH", "data"),
    "pipe": (pipe, "BAD_PATH", SHARD),
    "deep": (put_deep, "EXTRA_SHARD", "a/b/c/d/e"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_container_is_refused(backend: Backend, tmp_path: Path, kind: str) -> None:
    damage, reason, path = DAMAGE[kind]
    header = written(backend, tmp_path, all_files())
    damage(tmp_path / "ck")
    # Nothing is opened beside a link or a pipe, the header neither.
    assert_refused(backend, READ, reading(tmp_path), reason, path, None if reason == "BAD_PATH" else header)


def free_offsets(manifest: bytes) -> set[int]:
    """Return where the manifest holds the two values that nothing else in the container binds."""
    values = [canonical("snap"), canonical(GIVEN["artifact_index_hash"])]
    return {at for value in values for at in range(manifest.index(value) + 1, manifest.index(value) + len(value))}


def test_every_changed_byte_of_every_file_is_detected(json_backend: Backend, tmp_path: Path) -> None:
    written(json_backend, tmp_path, without(all_files(), "tensors/rank=1"))
    for path, content in tree(tmp_path).items():
        free = free_offsets(content) if path.endswith(MANIFEST) else set()
        for offset in set(range(len(content))) - free:
            (tmp_path / path).write_bytes(content[:offset] + bytes([content[offset] ^ 0x20]) + content[offset + 1 :])
            assert json_backend.refuse(READ, reading(tmp_path))["code"] == 1801, (path, offset)
        (tmp_path / path).write_bytes(content)
    assert json_backend.call(READ, reading(tmp_path))["report"]["status"] == "success"


@pytest.mark.parametrize("path", [HEADER, MANIFEST])
def test_header_and_manifest_are_needed_and_canonical(backend: Backend, tmp_path: Path, path: str) -> None:
    header = written(backend, tmp_path, all_files())
    target = tmp_path / "ck" / path
    state = header if path == MANIFEST else None
    content = target.read_bytes()
    for damaged in (b"", content + b"\x00", b"\x9b\x10" + bytes(18), b"\xbf" + content[1:] + b"\xff"):
        target.write_bytes(damaged)
        assert_refused(backend, READ, reading(tmp_path), "NON_CANONICAL", path, state)
    target.unlink()
    assert_refused(backend, READ, reading(tmp_path), "MISSING_SHARD", path, state)
    target.symlink_to(SHARD)
    assert_refused(backend, READ, reading(tmp_path), "BAD_PATH", path)


def test_an_unfinished_container_is_never_read(backend: Backend, tmp_path: Path) -> None:
    assert_refused(backend, READ, reading(tmp_path), "MISSING_SHARD", MANIFEST)
    header = written(backend, tmp_path, all_files())
    (tmp_path / "ck").rename(tmp_path / ".ck.tmp")
    assert_refused(backend, READ, reading(tmp_path, name=".ck.tmp"), "BAD_PATH", "name")
    (tmp_path / "ck").symlink_to(".ck.tmp")
    assert_refused(backend, READ, reading(tmp_path), "BAD_PATH", "name")
    assert header["t"] == 7


def shards_of(files: Files) -> list[dict[str, Native]]:
    shards: list[dict[str, Native]] = manifest_of(files, {})["shards"]
    return shards


SHARDS = shards_of(all_files())


@pytest.mark.parametrize(
    ("given", "reason", "path"),
    [
        ({"checkpoint_hash": None}, "MISSING_FIELD", f"{MANIFEST}.checkpoint_hash"),
        ({"dataset_snapshot_id": None}, "MISSING_FIELD", f"{MANIFEST}.dataset_snapshot_id"),
        ({"artifact_index_hash": None}, "MISSING_FIELD", f"{MANIFEST}.artifact_index_hash"),
        ({"extra": 1}, "UNKNOWN_FIELD", f"{MANIFEST}.extra"),
        ({"dp_enabled": 1}, "WRONG_TYPE", f"{MANIFEST}.dp_enabled"),
        ({"partial_restore": [1]}, "WRONG_TYPE", f"{MANIFEST}.partial_restore"),
        ({"manifest_version": "1"}, "BAD_VERSION", f"{MANIFEST}.manifest_version"),
        ({"manifest_version": "1.0.1"}, "INCOMPATIBLE_VERSION", f"{MANIFEST}.manifest_version"),
        ({"checkpoint_hash": bytes(32)}, "HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash"),
        ({"checkpoint_merkle_root": bytes(32)}, "ROOT_MISMATCH", f"{MANIFEST}.checkpoint_merkle_root"),
        ({"shards": [7]}, "WRONG_TYPE", f"{MANIFEST}.shards"),
        ({"shards": [SHARDS[0] | {"size_bytes": -1}]}, "WRONG_TYPE", f"{MANIFEST}.shards.0.size_bytes"),
        ({"shards": [SHARDS[0] | {"mode": 1}]}, "UNKNOWN_FIELD", f"{MANIFEST}.shards.0.mode"),
        ({"shards": SHARDS[::-1]}, "NON_CANONICAL", f"{MANIFEST}.shards"),
        ({"shards": [*SHARDS, SHARDS[-1]]}, "DUPLICATE_PATH", str(SHARDS[-1]["path"])),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, dict) else part,
)
def test_the_manifest_has_exactly_its_form(
    backend: Backend, tmp_path: Path, given: dict[str, Native], reason: str, path: str
) -> None:
    files = all_files()
    header = header_for(files)
    put(tmp_path, files, header, **given)
    assert_refused(backend, READ, reading(tmp_path), reason, path, header)


def test_a_null_in_the_manifest_is_refused(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    header = written(backend, tmp_path, files)
    manifest = canonical(manifest_of(files, header) | {"dp_enabled": None})
    (tmp_path / "ck" / MANIFEST).write_bytes(manifest)
    assert_refused(backend, READ, reading(tmp_path), "NULL_FIELD", f"{MANIFEST}.dp_enabled", header)


def test_four_shards_with_the_root_of_three_are_refused(backend: Backend, tmp_path: Path) -> None:
    header = header_for(THREE_SHARDS)
    shards = shards_of(THREE_SHARDS)
    put(tmp_path, THREE_SHARDS, header, shards=[*shards, shards[-1]], checkpoint_merkle_root=THREE_SHARDS_ROOT)
    params = reading(tmp_path, "eval")
    assert_refused(backend, READ, params, "DUPLICATE_PATH", "tensors/rank=0/shard=2.bin", header)


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "tensors/../../secret", "tensors/rank=0/./shard=0.bin"])
def test_a_manifest_leads_nowhere_else(backend: Backend, tmp_path: Path, path: str) -> None:
    files = {**THREE_SHARDS, path: b"secret"}
    header = header_for(files)
    put(tmp_path, THREE_SHARDS, header, shards=shards_of(files), checkpoint_merkle_root=merkle_root(files))
    (tmp_path / "secret").write_bytes(b"secret")
    assert_refused(backend, READ, reading(tmp_path, "eval"), "BAD_PATH", path, header)


def test_a_size_beyond_everything_allocates_nothing(backend: Backend, tmp_path: Path) -> None:
    triple = [SHARD, digest(b""), 2**60]
    leaf = cbor_digest(["ckpt_shard", triple])
    header = header_for({}, checkpoint_merkle_root=leaf, tensors_root_hash=cbor_digest(["tensors_root", [leaf]]))
    shard = dict(zip(["path", "sha256", "size_bytes"], triple, strict=True))
    put(tmp_path, {SHARD: b""}, header, shards=[shard], checkpoint_merkle_root=leaf)
    assert_refused(backend, READ, reading(tmp_path, "eval"), "LIMIT_EXCEEDED", SHARD, header)


# The link, the chain and the identity


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "other"},
        {"t": 8},
        {"trace_root_hash": bytes(32)},
        {"trace_tail_hash_at_checkpoint": bytes(32)},
        {"checkpoint_hash_prev": bytes(32)},
        {"checkpoint_hash": bytes(32)},
        {"t": None},
    ],
    ids=lambda change: "-".join(change),
)
def test_a_link_to_another_trace_is_refused(backend: Backend, tmp_path: Path, change: dict[str, Native]) -> None:
    fields = cbor2.loads(link_of(pinned_header())) | change
    link = canonical({name: held for name, held in fields.items() if held is not None})
    files = all_files() | {LINK: link}
    header = header_for(files)
    assert_refused(
        backend, WRITE, writing(tmp_path, files, header), "LINK_MISMATCH", f"{LINK}.{next(iter(change))}", header
    )
    put(tmp_path, files, header)
    assert_refused(backend, READ, reading(tmp_path), "LINK_MISMATCH", f"{LINK}.{next(iter(change))}", header)


def test_a_link_lacks_nothing_that_the_header_has(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    header = header_for(files, checkpoint_hash_prev=bytes(32))
    assert_refused(
        backend, WRITE, writing(tmp_path, files, header), "LINK_MISMATCH", f"{LINK}.checkpoint_hash_prev", header
    )


def test_a_link_that_is_not_canonical_is_refused(backend: Backend, tmp_path: Path) -> None:
    files = all_files() | {LINK: b"\x18\x00"}
    header = header_for(files)
    assert_refused(backend, WRITE, writing(tmp_path, files, header), "NON_CANONICAL", LINK, header)


def test_a_chain_of_containers_is_followed(backend: Backend, tmp_path: Path) -> None:
    header = written(backend, tmp_path, THREE_SHARDS, header_for(THREE_SHARDS, checkpoint_hash_prev=digest(b"first")))
    link = Value({"checkpoint_hash_prev": digest(b"first")})
    assert backend.call(READ, reading(tmp_path, "eval", expected=link))["report"]["status"] == "success"
    params = reading(tmp_path, "eval", expected=Value({"checkpoint_hash_prev": digest(b"other")}))
    assert_refused(backend, READ, params, "CHAIN_MISMATCH", "checkpoint_hash_prev", header)


def test_a_container_of_another_identity_is_refused(backend: Backend, tmp_path: Path) -> None:
    header = written(backend, tmp_path, THREE_SHARDS)
    expected = {"manifest_hash": bytes(32), "run_id": "other"}
    params = reading(tmp_path, "eval", expected=Value(expected))
    assert_refused(backend, READ, params, "IDENTITY_MISMATCH", "run_id", header)


def test_the_two_hashes_swapped_are_refused(backend: Backend, tmp_path: Path) -> None:
    files = all_files()
    header = header_for(files)
    full = cbor_digest(manifest_of(files, header))
    put(tmp_path, files, header, checkpoint_hash=full)
    assert_refused(backend, READ, reading(tmp_path), "HASH_MISMATCH", f"{MANIFEST}.checkpoint_hash", header)
