"""The order in which a container reaches the disk, and what an interruption or an error leaves."""

from pathlib import Path

import pytest

from impl.tests.checkpoint.checkpoint_calls import ABSENT, call, reading, reason, tree, whole_files, written
from impl.tests.checkpoint.checkpoint_disk import FailingSync, Killed, WatchedDisk

MANIFEST = "checkpoint_manifest.cbor"


def small_files() -> dict[str, bytes]:
    paths = [path for path in whole_files() if not path.startswith(("tensors/rank=0/shard=0", "rng/"))]
    return whole_files(**dict.fromkeys(paths, ABSENT))


def test_files_then_folders_then_the_name_then_the_root_are_made_durable(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    watched = WatchedDisk(patch)
    written(tmp_path, files=small_files())
    patch.undo()
    sizes = {path.rpartition("/")[2]: len(content) for path, content in tree(tmp_path / "c").items()}
    files = ["checkpoint_header.cbor", MANIFEST, "state.cbor", "shard=0.bin", "link.cbor"]
    in_order = [step for file in files for step in (f"write {file} [{sizes[file]}]", f"sync {file}")]
    assert watched.steps[: len(in_order)] == in_order
    rest = watched.steps[len(in_order) :]
    folders = {"sync_folder rng", "sync_folder rank=0", "sync_folder tensors", "sync_folder trace"}
    assert set(rest[:4]) == folders
    assert rest.index("sync_folder rank=0") < rest.index("sync_folder tensors")
    assert rest[4:] == ["sync_folder .c.tmp", "rename .c.tmp c", f"sync_folder {tmp_path.name}"]


def test_at_every_step_the_container_is_whole_or_absent_and_can_be_written_again(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted").mkdir()
    watched = WatchedDisk(patch)
    written(tmp_path / "counted", files=small_files())
    patch.undo()
    states = set()
    for last in range(len(watched.steps)):
        root = tmp_path / str(last)
        root.mkdir()
        written(root, "previous")
        WatchedDisk(patch, last)
        with pytest.raises(Killed):
            written(root, files=small_files())
        patch.undo()
        assert call("ReadContainer", **reading(root, "previous"))["report"]["status"] == "success"
        if (root / "c").exists():
            states.add("whole")
        else:
            states.add("absent")
            assert reason("ReadContainer", **reading(root, stage="eval")) == ("MISSING_SHARD", MANIFEST)
            written(root, files=small_files())
        assert call("ReadContainer", **reading(root, stage="eval"))["report"]["status"] == "success"
        assert sorted(path.name for path in root.iterdir()) == ["c", "previous"]
    assert states == {"whole", "absent"}


def test_an_error_of_any_fsync_aborts_deletes_nothing_and_is_not_tried_again(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted").mkdir()
    counted = FailingSync(patch, k=0)
    written(tmp_path / "counted", files=small_files())
    patch.undo()
    assert counted.calls == 5 + 4 + 1 + 1
    for k in range(1, counted.calls + 1):
        root = tmp_path / str(k)
        root.mkdir()
        failing = FailingSync(patch, k)
        with pytest.raises(OSError, match="input/output error"):
            written(root, files=small_files())
        patch.undo()
        assert failing.asked_after == []
        # Only the last fsync, that of the root, comes after the rename.
        assert (root / "c").exists() == (k == counted.calls)
        left = root / ("c" if k == counted.calls else ".c.tmp")
        assert len(tree(left)) == min(k, 5)
        if k < counted.calls:
            written(root, files=small_files())
        assert call("ReadContainer", **reading(root, stage="eval"))["report"]["status"] == "success"
