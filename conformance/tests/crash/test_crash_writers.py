"""The crash harness on trial: writers with one deliberate mistake each must come out at exactly their level."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.crash_store import tried, writer
from conformance.tests.page_blocks import compared_by, matches
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.recording import BrokenWorkload
from conformance.trial.crash.report import CrashReport, Damage, listing
from conformance.trial.crash.states import CrashModel

pytestmark = pytest.mark.usefixtures("strace")

ALL = 5000  # states: more than there are; but not every class of recoveries, which a full trial interrupts
SINGLE_FILE = {
    "control": "posix",
    "link-and-unlink": "posix",
    "many-calls": "posix",
    "no-fsync-of-the-file": "kill",
    "no-fsync-of-the-folder": "kill",
    "no-fsync": "kill",
    "fsync-after-rename": "kill",
    "answer-before-fsync": "kill",
    "unlink-then-rename": "none",
    "overwrite-in-place": "none",
    "truncate-and-write": "none",
}
WHOLE_FOLDER = {
    "control": "posix",
    "shards-not-fsynced": "kill",
    "renamed-before-fsync": "kill",
    "parent-not-fsynced": "kill",
    "subfolder-not-fsynced": "ext4",
    "folder-not-fsynced": "ext4",
}
COMMITTED_RUN = {
    "control": "posix",
    "recovery-believes-the-pointer": "posix",
    "objects-not-fsynced": "kill",
    "objects-folder-not-fsynced": "ext4",
    "pointer-before-objects": "none",
    "pointer-written-in-place": "none",
    "recovery-leaves-a-mark": "none",
    "recovery-moves-the-pointer": "none",
    "recovery-syncs-nothing": "kill",
}


@pytest.fixture(scope="module")
def strace(tool: Callable[[str], str]) -> str:
    return tool("strace")


def whole(workload: str, program: str, style: str) -> CrashReport:
    """The report on every state, and on the order of the calls."""
    return tried(workload, writer(program, style), states=ALL, sweeps=("order",))


def reached(workload: str, program: str, style: str) -> str:
    """The strongest model without a bad state, when every state is tried."""
    report = whole(workload, program, style)
    assert all(tally.tried == tally.total for tally in report.states.values())
    return report.reached


@pytest.mark.parametrize("style", SINGLE_FILE)
def test_a_writer_of_one_file_reaches_its_level(style: str) -> None:
    assert reached("three-saves", "single_file", style) == SINGLE_FILE[style]


@pytest.mark.parametrize("style", WHOLE_FOLDER)
def test_a_writer_of_whole_folders_reaches_its_level(style: str) -> None:
    assert reached("two-folders", "whole_folder", style) == WHOLE_FOLDER[style]


@pytest.mark.parametrize("style", COMMITTED_RUN)
def test_a_writer_of_runs_reaches_its_level(style: str) -> None:
    assert reached("one-run", "committed_run", style) == COMMITTED_RUN[style]


def test_every_state_of_the_control_is_tried_once() -> None:
    report = tried("three-saves", writer("single_file", "control"))
    assert {model: (tally.bad_count, tally.total) for model, tally in report.states.items()} == {
        CrashModel.KILL: (0, 16),  # 5 calls in each of 3 saves, and the beginning
        CrashModel.EXT4: (0, 46),
        CrashModel.POSIX: (0, 46),
    }


def test_each_way_to_be_wrong_has_its_word() -> None:
    seen = set()
    for workload, program, style in (
        ("three-saves", "single_file", "no-fsync-of-the-folder"),
        ("three-saves", "single_file", "overwrite-in-place"),
        ("one-run", "committed_run", "recovery-leaves-a-mark"),
    ):
        seen |= set(whole(workload, program, style).states[CrashModel.POSIX].bad)
    assert seen == {Damage.LOST, Damage.STALE, Damage.TORN, Damage.MIXED, Damage.NOT_IDEMPOTENT}


def test_a_crash_inside_recovery_is_found_where_recovery_alone_is_fine() -> None:
    report = whole("one-run", "committed_run", "recovery-moves-the-pointer")
    assert all(not tally.bad_count for tally in report.states.values())
    assert report.recovery_states[CrashModel.KILL].bad_count
    assert report.first_bad is not None
    lines = "\n".join(listing(report.first_bad, report.answers))
    assert "and while it recovered from that, another crash:" in lines
    assert "rename run/COMMITTED -> run/.COMMITTED.tmp" in lines


def test_a_power_loss_behind_a_recovery_takes_what_neither_it_nor_the_killed_run_made_durable() -> None:
    report = tried("one-run", writer("committed_run", "recovery-syncs-nothing"), states=ALL)
    assert all(not tally.bad_count for tally in report.states.values())
    assert report.first_bad is not None
    lines = "\n".join(listing(report.first_bad, report.answers))
    assert "LOST       link run/.COMMITTED.tmp as run/COMMITTED" in lines


def test_a_write_through_o_dsync_makes_no_other_write_of_its_file_durable() -> None:
    assert reached("three-saves", "single_file", "one-byte-made-durable") == "kill"


def test_what_stands_there_before_the_recording_must_survive_as_well() -> None:
    assert tried("replaced", writer("single_file", "control")).level == "posix"
    assert tried("replaced", writer("single_file", "no-fsync-of-the-file")).level == "kill"


def test_a_part_of_the_states_states_no_level() -> None:
    report = tried("three-saves", writer("single_file", "no-fsync"), states=60)
    tally = report.states[CrashModel.POSIX]
    assert (report.level, tally.tried) == ("", 60)
    assert tally.total > 60
    assert tally.bad_count > 0
    assert not report.satisfied


def test_a_weaker_model_alone_states_no_level() -> None:
    report = tried("three-saves", writer("single_file", "no-fsync"), models=(CrashModel.KILL,))
    assert (report.level, report.reached) == ("", "kill")


def test_the_first_bad_state_is_listed_with_what_was_lost() -> None:
    report = tried("three-saves", writer("single_file", "no-fsync-of-the-folder"))
    assert report.first_bad is not None
    lines = list(listing(report.first_bad, report.answers))
    assert lines == [
        "crash at operation 6 of 18, after first was answered (model ext4)",
        "     1  durable    create store/kept.tmp",
        "     2  durable    write store/kept.tmp [0, 20)",
        "     3  durable    write store/kept.tmp [20, 40)",
        "     4             fsync store/kept.tmp",
        "     5  LOST       rename store/kept.tmp -> store/kept",
        "     6             answer to first",
        "  LOST: load is answered by nothing there; right is a result {'content': '" + "11" * 40 + "'}"
        " or a result {'content': '" + "22" * 60 + "'}",
    ]
    (shown,) = compared_by(Path(__file__).name, "docs/crash-testing.md")
    assert matches(shown.text, "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("style", "said"),
    [
        ("shared-mapping", "a shared writable mapping of store/kept.tmp"),
        ("copied-in-the-kernel", "copy_file_range on store/kept.one"),
        ("unlinked-by-descriptor", "unlink by way of /proc/self/fd/"),
        ("symbolic-link", "store/kept is neither a file nor a folder"),
        ("pipe-beside", "store/control is neither a file nor a folder"),
    ],
)
def test_what_cannot_be_seen_is_untraceable_and_no_pass(style: str, said: str) -> None:
    with pytest.raises(Untraceable, match=said):
        tried("three-saves", writer("single_file", style))


def test_a_workload_that_fails_without_a_crash_is_told_so() -> None:
    with pytest.raises(BrokenWorkload, match="the step first is answered by an ill-typed answer"):
        tried("three-saves", writer("single_file", "wrong-answers"))


def test_a_reader_that_goes_by_the_times_of_files_is_told_that_they_do_not_survive_the_rebuilding() -> None:
    with pytest.raises(BrokenWorkload, match="load is answered otherwise from a copy of the files"):
        tried("three-saves", writer("single_file", "newest-by-time"))


@pytest.mark.parametrize(("style", "bad"), [("control", 0), ("unlink-then-rename", 2)])
def test_real_kills_leave_only_trees_that_the_model_knows_and_find_what_it_finds(style: str, bad: int) -> None:
    report = tried("three-saves", writer("single_file", style), models=(CrashModel.KILL,), sweeps=("kill",))
    (sweep,) = report.sweeps
    assert sweep.reached == sweep.runs >= 18
    assert not [one for one in sweep.findings if "model does not know" in one]
    assert len(sweep.findings) == bad == report.states[CrashModel.KILL].bad_count


def test_an_fsync_that_fails_must_not_be_acknowledged() -> None:
    fine, swallowed = (
        tried("replaced", writer("single_file", style), models=(CrashModel.KILL,), sweeps=("error",))
        for style in ("control", "swallowed-error")
    )
    assert fine.satisfied
    assert fine.sweeps[0].reached == fine.sweeps[0].runs == 4
    assert not swallowed.satisfied
    assert swallowed.sweeps[0].findings == (
        "error=EIO at operation 4, fsync store/kept.tmp: again is acknowledged although this failed",
    )


# -- the order of calls alone shows most mistakes: what was named or answered before it was durable


CLEAN = [
    ("three-saves", "single_file", "control"),
    ("three-saves", "single_file", "link-and-unlink"),
    ("two-folders", "whole_folder", "control"),
    ("one-run", "committed_run", "control"),
]
WRONG = [
    ("single_file", "no-fsync-of-the-file", "rename store/kept.tmp -> store/kept: write store/kept.tmp [0, 20) is not"),
    ("single_file", "no-fsync-of-the-folder", "rename store/kept.tmp -> store/kept: it is not durable when first is"),
    ("single_file", "fsync-after-rename", "rename store/kept.tmp -> store/kept: write store/kept.tmp [0, 20) is not"),
    ("single_file", "answer-before-fsync", "it is not durable when first is answered"),
    ("single_file", "overwrite-in-place", ""),  # durable, but never whole: only a crash state shows it
    ("whole_folder", "shards-not-fsynced", "is not durable then"),
    ("whole_folder", "subfolder-not-fsynced", "is not durable then"),
    ("whole_folder", "folder-not-fsynced", "is not durable then"),
    ("whole_folder", "parent-not-fsynced", "it is not durable when first is answered"),
]


def findings(workload: str, program: str, style: str) -> tuple[str, ...]:
    (sweep,) = whole(workload, program, style).sweeps
    assert sweep.reached == sweep.runs >= 3
    return sweep.findings


@pytest.mark.parametrize(("workload", "program", "style"), CLEAN)
def test_a_writer_in_the_right_order_is_clean(workload: str, program: str, style: str) -> None:
    assert findings(workload, program, style) == ()


@pytest.mark.parametrize(("program", "style", "said"), WRONG, ids=[style for _, style, _ in WRONG])
def test_the_first_mistake_of_a_writer_is_named(program: str, style: str, said: str) -> None:
    found = findings("three-saves" if program == "single_file" else "two-folders", program, style)
    assert any(said in finding for finding in found) if said else not found
