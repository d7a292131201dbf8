"""A run recovered: rolled forward or back, whatever step the crash came before."""

import shutil
from pathlib import Path

import pytest

from impl.tests.checkpoint.checkpoint_calls import call, commit_params, rewrite, tree
from impl.tests.checkpoint.checkpoint_disk import Killed, WatchedDisk
from impl.tests.checkpoint.checkpoint_run import (
    COMMITTED,
    EMPTY,
    RECORDS,
    ROLLED_BACK,
    cbor,
    committed,
    object_of,
    record,
    recovered,
    steps_of_a_commit,
)


def test_recovery_of_a_finished_run_changes_nothing(run: Path) -> None:
    before = tree(run)
    assert recovered(run) == COMMITTED
    assert recovered(run) == COMMITTED
    assert tree(run) == before


def test_a_valid_pointer_without_its_last_record_is_rolled_forward_with_the_same_bytes(run: Path) -> None:
    before = tree(run)
    (run / RECORDS[3]).unlink()
    assert recovered(run) == COMMITTED
    assert tree(run) == before


@pytest.mark.parametrize("records", [1, 2, 3])
def test_without_a_pointer_a_run_is_rolled_back(run: Path, records: int) -> None:
    (run / "COMMITTED").unlink()
    for path in RECORDS[records:]:
        (run / path).unlink()
    assert recovered(run) == ROLLED_BACK
    assert set(tree(run)) == set(RECORDS[: records + 1])
    assert record(run, records)["record_type"] == "ROLLBACK"
    after = tree(run)
    assert recovered(run) == ROLLED_BACK
    assert tree(run) == after


def dangling(run: Path, harm: str) -> None:
    objects = cbor(run / "COMMITTED")
    if harm == "object-missing":
        (run / "objects" / objects["lineage"].hex()).unlink()
    elif harm == "certificate-missing":
        (run / "objects" / objects["certificate"].hex()).unlink()
    elif harm == "object-altered":
        (run / "objects" / objects["trace"].hex()).write_bytes(b"other")
    elif harm == "pointer-empty":
        (run / "COMMITTED").write_bytes(b"")
    elif harm == "object-a-link":
        file = run / "objects" / objects["trace"].hex()
        file.rename(run.parent / "outside")
        file.symlink_to(run.parent / "outside")
    else:
        rewrite(run / "COMMITTED", **{harm: "x" if harm == "run_id" else bytes(32)})


HARMS = {
    "object-missing": ("MISSING_COMPONENT", object_of(b"lineage")),
    "certificate-missing": ("MISSING_COMPONENT", None),
    "object-altered": ("HASH_MISMATCH", object_of(b"trace")),
    "object-a-link": ("MISSING_COMPONENT", object_of(b"trace")),
    "pointer-empty": ("MISSING_COMPONENT", "COMMITTED"),
    "run_id": ("HASH_MISMATCH", "COMMITTED.run_id"),
    "trace": ("HASH_MISMATCH", "COMMITTED.trace"),
    "checkpoint": ("HASH_MISMATCH", "COMMITTED.checkpoint"),
    "lineage": ("HASH_MISMATCH", "COMMITTED.lineage"),
    "certificate": ("HASH_MISMATCH", "COMMITTED.certificate"),
    "wal_terminal_hash": ("HASH_MISMATCH", "COMMITTED.wal_terminal_hash"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_dangling_pointer_is_rolled_back(run: Path, harm: str) -> None:
    dangling(run, harm)
    (run / RECORDS[3]).unlink()
    assert recovered(run) == ROLLED_BACK
    assert recovered(run) == ROLLED_BACK
    assert "COMMITTED" not in tree(run)
    assert record(run, 3)["record_type"] == "ROLLBACK"


def test_after_a_crash_before_any_step_recovery_decides_and_repeats_itself(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    steps = steps_of_a_commit(tmp_path / "whole", patch)
    whole = tree(tmp_path / "whole")
    linked = next(at for at, step in enumerate(steps) if step.startswith("link_if_absent"))
    prepared = next(at for at, step in enumerate(steps) if step.startswith("rename"))
    for last in range(len(steps)):
        root = tmp_path / str(last)
        root.mkdir()
        WatchedDisk(patch, last)
        with pytest.raises(Killed):
            call("CommitRun", **commit_params(root))
        patch.undo()
        answer = recovered(root)
        if last <= prepared:
            assert answer == EMPTY
            assert tree(root) == {}
            committed(root)
            assert tree(root) == whole
        elif last <= linked:
            assert answer == ROLLED_BACK
            assert not any(path.startswith("objects/") or path == "COMMITTED" for path in tree(root))
        else:
            assert answer == COMMITTED
            assert tree(root) == whole
        after = tree(root)
        assert recovered(root) == (COMMITTED if after == whole else answer)
        assert tree(root) == after


@pytest.mark.parametrize("state", ["forward", "back", "back-early", "dangling"])
def test_a_crash_inside_recovery_is_recovered_to_the_same_end(
    run: Path, tmp_path: Path, patch: pytest.MonkeyPatch, state: str
) -> None:
    (run / RECORDS[3]).unlink()
    (run / "objects" / f".{'a' * 64}.tmp").write_bytes(b"torn")
    if state == "dangling":
        dangling(run, "object-missing")
    elif state != "forward":
        (run / "COMMITTED").unlink()
    if state == "back-early":
        (run / RECORDS[2]).unlink()
    shutil.copytree(run, tmp_path / "uninterrupted")
    watched = WatchedDisk(patch)
    answer = recovered(tmp_path / "uninterrupted")
    patch.undo()
    assert answer == (COMMITTED if state == "forward" else ROLLED_BACK)
    for last in range(len(watched.steps)):
        root = tmp_path / str(last)
        shutil.copytree(run, root)
        WatchedDisk(patch, last)
        with pytest.raises(Killed):
            recovered(root)
        patch.undo()
        assert recovered(root) == answer
        assert tree(root) == tree(tmp_path / "uninterrupted")
