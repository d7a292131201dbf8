"""Writers that we did not write: SQLite in its documented modes, and Node.

TALLY_CRASH_FULL=1 tries every state, as the nox session `crash` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from conformance.tests.crash_store import WRITERS, tried, writer
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.states import CrashModel

Tool = Callable[[str], str]
FULL = os.environ.get("TALLY_CRASH_FULL") == "1"
STATES = None if FULL else 120


def sqlite(tool: Tool, *settings: str) -> str:
    """The unmodified shell behind the wire."""
    tool("strace")
    tool("sqlite3")
    return writer("sqlite_shell", *settings)


def test_sqlite_in_its_safest_mode_comes_out_clean(tool: Tool) -> None:
    report = tried("three-saves", sqlite(tool, "DELETE", "EXTRA"), states=STATES)
    assert all(not tally.bad_count for tally in (*report.states.values(), *report.recovery_states.values()))
    assert report.recoveries > (3 if FULL else 0)
    assert report.level == ("posix" if FULL else "")


def test_sqlite_without_extra_has_exactly_its_documented_gap(tool: Tool) -> None:
    report = tried("three-saves", sqlite(tool, "DELETE", "FULL"), states=STATES)
    assert not report.states[CrashModel.KILL].bad_count
    bad = [one for one in report.bad if one.during is None]
    lost = {bad_state.operations[index].text for bad_state in bad for index in bad_state.state.lost}
    # The journal's unlink is never made durable, so that it may come back and roll the answered save back.
    assert lost == {"unlink store/store.db-journal"}
    assert len(bad) == 3


def test_sqlite_that_never_syncs_is_no_more_than_kill_safe(tool: Tool) -> None:
    report = tried("three-saves", sqlite(tool, "DELETE", "OFF"), states=STATES)
    assert not report.states[CrashModel.KILL].bad_count
    assert report.states[CrashModel.EXT4].bad_count > report.states[CrashModel.EXT4].tried // 3


def test_sqlite_with_a_shared_index_in_memory_is_untraceable(tool: Tool) -> None:
    with pytest.raises(Untraceable, match=r"a shared writable mapping of store/store\.db-shm"):
        tried("three-saves", sqlite(tool, "WAL", "FULL"), states=STATES)


@pytest.mark.parametrize(("style", "level"), [("control", "posix"), ("no-fsync", "kill")])
def test_a_writer_in_node_goes_through_the_same_trial(style: str, level: str, tool: Tool) -> None:
    tool("strace")
    report = tried("three-saves", f"{tool('node')} {WRITERS / 'single_file.js'} {style}")
    assert report.level == level
