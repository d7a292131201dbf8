"""What the crash models promise, on operations written by hand."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.trial.crash.operation import (
    TOP,
    Acknowledge,
    Create,
    DiskImage,
    Link,
    Operation,
    Rename,
    StrangeFile,
    SyncAll,
    SyncFile,
    SyncFolder,
    TracedOperation,
    Truncate,
    Unlink,
    Write,
    materialise,
    snapshot,
)
from conformance.trial.crash.recording import Recording
from conformance.trial.crash.recovery import inherited, is_kill
from conformance.trial.crash.report import BadState, Damage, ExplainedDamage, TreeAnswers, judge, listing
from conformance.trial.crash.states import (
    CrashModel,
    CrashState,
    CrashTrees,
    StatePriority,
    crash_points,
    crash_states,
    first_states,
)
from conformance.trial.crash.workload import Answer, AnswerKind

EMPTY = DiskImage({TOP: {}}, {})


def pending(operations: Sequence[Operation], model: CrashModel) -> tuple[int, ...]:
    """What is pending at the end."""
    *_, last = crash_points(operations, model)
    return last.pending


def trees(operations: Sequence[Operation], model: CrashModel, initial: DiskImage = EMPTY) -> list[dict[str, bytes]]:
    """Every tree that a crash can leave, path to content."""
    replay = CrashTrees(initial, operations)
    models = [one for one in CrashModel if one <= model]
    volumes = [state.volume(replay) for state in crash_states(replay, models)]
    return [{path: v.files.get(inode, b"/") for path, inode in v.paths()} for v in volumes]


SAVE: tuple[Operation, ...] = (Create(TOP, "tmp", 1), Write(1, 0, b"new"), Rename(TOP, "tmp", TOP, "kept", 1))


def test_a_kill_takes_nothing_back() -> None:
    assert pending(SAVE, CrashModel.KILL) == ()
    assert trees(SAVE, CrashModel.KILL) == [{}, {"tmp": b""}, {"tmp": b"new"}, {"kept": b"new"}]


def test_in_ext4_entries_survive_in_order_and_content_may_be_missing() -> None:
    found = trees(SAVE, CrashModel.EXT4)
    assert {"kept": b""} in found
    assert {"kept": b"n"} in found
    assert {"kept": b"new", "tmp": b"new"} not in found


def test_in_posix_an_entry_may_survive_without_the_ones_before_it() -> None:
    made = (Create(TOP, "first", 1), Create(TOP, "second", 2))
    assert {"second": b""} not in trees(made, CrashModel.EXT4)
    assert {"second": b""} in trees(made, CrashModel.POSIX)


def test_a_rename_that_survives_its_creation_still_leads_to_the_file() -> None:
    assert {"kept": b"new"} in trees(SAVE, CrashModel.POSIX)


def test_fsync_of_a_file_keeps_its_content_and_in_posix_nothing_else() -> None:
    synced = (*SAVE, SyncFile(1))
    assert pending(synced, CrashModel.EXT4) == ()
    assert pending(synced, CrashModel.POSIX) == (0, 2)


def test_fsync_of_a_folder_keeps_its_entries_and_in_ext4_all_entries() -> None:
    made = (Create(TOP, "sub", 1, is_folder=True), Create(1, "inner", 2), Write(2, 0, b"x"), SyncFolder(TOP))
    assert pending(made, CrashModel.EXT4) == (2,)
    assert pending(made, CrashModel.POSIX) == (1, 2)


def test_a_rename_is_durable_once_either_folder_is() -> None:
    base = DiskImage({TOP: {"a": 1, "b": 2}, 1: {"x": 3}, 2: {}}, {3: b"x"})
    moved = Rename(1, "x", 2, "x", 3)
    for folder in (1, 2):
        assert pending((moved, SyncFolder(folder)), CrashModel.POSIX) == ()
    assert pending((moved, SyncFolder(TOP)), CrashModel.POSIX) == (0,)
    assert all(("a/x" in tree) != ("b/x" in tree) for tree in trees((moved,), CrashModel.POSIX, base))


def test_sync_keeps_everything() -> None:
    for model in CrashModel:
        assert pending((*SAVE, SyncAll()), model) == ()


def test_fsync_of_another_file_keeps_no_content() -> None:
    both = (Create(TOP, "a", 1), Write(1, 0, b"a"), Create(TOP, "b", 2), Write(2, 0, b"b"), SyncFile(2))
    assert pending(both, CrashModel.EXT4) == (1,)
    assert pending(both, CrashModel.POSIX) == (0, 1, 2)


def test_the_last_surviving_write_is_torn_at_one_byte_half_a_sector_and_all_but_one() -> None:
    long = Write(1, 0, bytes(range(256)) * 6)
    found = trees((Create(TOP, "f", 1), long), CrashModel.POSIX)
    assert sorted(len(tree["f"]) for tree in found if "f" in tree) == [0, 1, 768, 1535, 1536]
    unaligned = trees((Create(TOP, "f", 1), Write(1, 0, bytes(1300))), CrashModel.POSIX)
    assert sorted(len(tree["f"]) for tree in unaligned if "f" in tree) == [0, 1, 650, 1024, 1299, 1300]


def test_up_to_ten_pending_operations_every_subset_is_tried() -> None:
    files = tuple(Create(TOP, f"{k}", k + 1) for k in range(10))
    assert len(trees(files, CrashModel.POSIX)) == 1024


def test_beyond_ten_the_subsets_are_bounded_and_always_the_same() -> None:
    files = tuple(Create(TOP, f"{k:02}", k + 1) for k in range(14))
    found = trees(files, CrashModel.POSIX)
    assert found == trees(files, CrashModel.POSIX)
    whole = {f"{k:02}": b"" for k in range(14)}
    for k in range(14):
        assert {name: b"" for name in whole if name != f"{k:02}"} in found
        assert {f"{k:02}": b""} in found
        assert dict(list(whole.items())[:k]) in found
    assert 1024 < len(found) < 1024 + 4 * (3 * 14 + 64)


def test_prefixes_come_first_then_all_but_one() -> None:
    operations = (*SAVE, Create(TOP, "other", 2), Acknowledge(1))
    states = crash_states(CrashTrees(EMPTY, operations), list(CrashModel))
    tiers = [state.tier for state in first_states(states, None)]
    assert tiers == sorted(tiers)
    assert tiers[0] is StatePriority.PREFIX
    assert tiers[-1] is StatePriority.OTHER
    assert first_states(states, 3) == first_states(states, None)[:3]


def test_the_same_tree_before_and_after_an_answer_is_two_states() -> None:
    before = crash_states(CrashTrees(EMPTY, SAVE), [CrashModel.KILL])
    answered = (*SAVE, Acknowledge(1))
    after = crash_states(CrashTrees(EMPTY, answered), [CrashModel.KILL])
    assert [state.answers for state in after] == [*(state.answers for state in before), 1]


def test_a_state_belongs_to_the_weakest_model_that_has_it() -> None:
    operations = (*SAVE, Create(TOP, "other", 2))
    states = crash_states(CrashTrees(EMPTY, operations), list(CrashModel))
    assert sum(state.model is CrashModel.KILL for state in states) == 5
    assert {state.model for state in states} == set(CrashModel)
    assert len({state.digest for state in states}) == len(states)


def test_links_swaps_and_truncations_are_replayed() -> None:
    base = DiskImage({TOP: {"a": 1, "b": 2}}, {1: b"aaa", 2: b"bbb"})
    operations = (
        Link(TOP, "c", 1),
        Rename(TOP, "a", TOP, "b", 1, swapped=2),
        Write(1, 1, b"XYZ"),
        Truncate(2, 1),
        Truncate(2, 4),
        Unlink(TOP, "b", 1),
        Write(2, 6, b"!"),
    )
    whole = CrashTrees(base, operations).without_loss(len(operations))
    assert {path: whole.files[inode] for path, inode in whole.paths()} == {"a": b"b\0\0\0\0\0!", "c": b"aXYZ"}


def test_a_renamed_folder_takes_its_files_along() -> None:
    operations = (
        Create(TOP, "tmp", 1, is_folder=True),
        Create(1, "in", 2),
        Rename(TOP, "tmp", TOP, "final", 1),
        Create(1, "late", 3),
    )
    whole = CrashTrees(EMPTY, operations).without_loss(4)
    assert [path for path, _ in whole.paths()] == ["final/", "final/in", "final/late"]
    without = CrashTrees(EMPTY, operations).volume(4, frozenset({2}), None)
    assert [path for path, _ in without.paths()] == ["tmp/", "tmp/in", "tmp/late"]


def test_a_tree_is_written_and_read_back_with_its_links(tmp_path: Path) -> None:
    volume = DiskImage({TOP: {"a": 1, "sub": 2}, 2: {"b": 1, "empty": 3}, 3: {}}, {1: b"content"})
    materialise(volume, tmp_path / "tree")
    assert (tmp_path / "tree/a").samefile(tmp_path / "tree/sub/b")
    again = snapshot(tmp_path / "tree")
    assert again.digests() == volume.digests()
    assert len(again.files) == 1
    (tmp_path / "tree/link").symlink_to("a")
    with pytest.raises(StrangeFile, match="link is neither"):
        snapshot(tmp_path / "tree")


@pytest.mark.parametrize("times", [1, 100])
def test_a_file_that_vanishes_while_a_tree_is_read_is_looked_at_again(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [FileNotFoundError()] * times
    (tmp_path / "kept").write_bytes(b"1")
    read = Path.read_bytes

    def vanishing(path: Path) -> bytes:
        if left:
            raise left.pop()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", vanishing)
    if times == 1:
        assert list(snapshot(tmp_path).digests()) == ["kept"]
        return
    with pytest.raises(StrangeFile, match="files vanish while they are read"):
        snapshot(tmp_path)


def test_a_file_that_cannot_be_read_is_strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").write_bytes(b"1")

    def refused(path: Path) -> bytes:  # root may read every file
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(StrangeFile, match="kept cannot be read: Permission denied"):
        snapshot(tmp_path)


def text(content: str, **more: str) -> Answer:
    """A result."""
    return Answer(AnswerKind.RESULT, {"content": content, **more})


ABSENT = Answer(AnswerKind.ABSENT)
VERSIONS = ((ABSENT,), (text("1111"),), (text("2222"),), (text("3333"),))


@pytest.mark.parametrize(
    ("answer", "floor", "ceiling", "damage"),
    [
        (ABSENT, 0, 1, Damage.NONE),
        (text("1111"), 0, 1, Damage.NONE),
        (text("2222"), 1, 2, Damage.NONE),
        (ABSENT, 1, 2, Damage.LOST),
        (text("1111"), 2, 3, Damage.STALE),
        (text("1122"), 1, 2, Damage.MIXED),
        (text("11"), 1, 2, Damage.TORN),
        (text("1155"), 1, 2, Damage.TORN),
        (Answer(AnswerKind.FAILURE, {"code": "X"}), 1, 2, Damage.TORN),
        (Answer(AnswerKind.BAD, "a crash"), 0, 1, Damage.TORN),
        (Answer(AnswerKind.UNASKED), 0, 1, Damage.TORN),
    ],
)
def test_an_answer_is_held_to_the_versions_between_what_was_acknowledged_and_what_was_begun(
    answer: Answer, floor: int, ceiling: int, damage: Damage
) -> None:
    reading = TreeAnswers((), (answer,), stable=True, changed=False)
    assert judge(reading, ["load"], VERSIONS, floor, ceiling).damage is damage


def test_parts_of_two_versions_are_mixed_even_where_each_is_right_alone() -> None:
    versions = [(text("1"), text("a")), (text("2"), text("b"))]
    reading = TreeAnswers((), (text("1"), text("b")), stable=True, changed=False)
    assert judge(reading, ["one", "two"], versions, 0, 1).damage is Damage.MIXED


def test_a_part_that_is_missing_is_torn_not_mixed() -> None:
    versions = [(text("1", extra="x"),), (text("2", extra="y"),)]
    reading = TreeAnswers((), (text("1"),), stable=True, changed=False)
    assert judge(reading, ["one"], versions, 0, 1).damage is Damage.TORN


def test_of_two_results_the_first_difference_to_the_likest_is_told() -> None:
    versions = [(text("1" * 100, extra="x"),), (text("2" * 100, extra="y"),)]
    reading = TreeAnswers((), (text("1" * 99 + "3", extra="x"),), stable=True, changed=False)
    assert judge(reading, ["load"], versions, 0, 1).reason == (
        f"load is answered by a result in which content is ...{'1' * 40}3'; right is ...{'1' * 41}'"
    )
    missing = TreeAnswers((), (text("1" * 100),), stable=True, changed=False)
    assert judge(missing, ["load"], versions, 0, 1).reason.endswith("in which extra is missing; right is 'x'")


def test_a_second_recovery_that_differs_is_not_idempotent() -> None:
    reading = TreeAnswers((), (ABSENT,), stable=False, changed=True)
    assert judge(reading, ["load"], VERSIONS, 0, 1).damage is Damage.NOT_IDEMPOTENT


def test_a_recovery_that_refuses_is_torn() -> None:
    corrupt = Answer(AnswerKind.FAILURE, {"code": "WAL_CORRUPTION"})
    reading = TreeAnswers((corrupt,), (ABSENT,), stable=True, changed=False)
    assert judge(reading, ["load"], VERSIONS, 0, 1).damage is Damage.TORN


def test_a_long_list_keeps_what_was_lost_and_counts_the_rest() -> None:
    operations: list[Operation] = [Create(TOP, f"{k:02}", k + 1) for k in range(60)]
    traced = [TracedOperation(one, f"create {k:02}", "openat", k + 1) for k, one in enumerate(operations)]
    state = CrashState(CrashModel.POSIX, StatePriority.OTHER, 50, (3, 7), tuple(range(50)), None, 0, b"")
    lines = list(listing(BadState(CrashModel.POSIX, state, ExplainedDamage(Damage.TORN), traced), ("save",)))
    assert lines[:6] == [
        "crash at operation 50 of 60, before any answer (model posix)",
        "        ... 3 operations",
        "     4  LOST       create 03",
        "        ... 3 operations",
        "     8  LOST       create 07",
        "        ... 22 operations",
    ]
    assert lines[6:] == [f"  {k + 1:>4}  survived   create {k:02}" for k in range(30, 50)]


def recorded(initial: DiskImage, *operations: Operation) -> Recording:
    return Recording(initial, tuple(TracedOperation(one, "", "", 0) for one in operations), (initial,))


def test_a_recovery_after_a_kill_inherits_what_was_not_durable() -> None:
    outer = recorded(EMPTY, *SAVE)
    (killed,) = (one for one in crash_states(outer.replay, [CrashModel.KILL]) if one.at == len(SAVE))
    assert is_kill(killed)
    # The tree was written anew for the recovery: the same file has another inode.
    recovery = recorded(DiskImage({TOP: {"kept": 7}}, {7: b"new"}), Create(TOP, "mark", 8), SyncFile(8), Acknowledge(1))
    run = inherited(outer, killed, recovery)
    lost = [state.volume(run.replay).digests().keys() for state in run.states([CrashModel.POSIX]) if state.answers == 1]
    assert {"mark"} in lost
    assert all(state.at > len(SAVE) for state in run.states([CrashModel.POSIX]))
    synced = inherited(outer, killed, recorded(recovery.initial, SyncFile(7), SyncFolder(TOP), Acknowledge(1)))
    assert [state for state in synced.states([CrashModel.POSIX]) if state.answers == 1] == []
