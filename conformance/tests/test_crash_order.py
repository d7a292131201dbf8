"""The order of calls alone shows most mistakes: what was named or answered before it was durable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.tests.crash_store import tried, writer
from conformance.trial.crash.states import Model

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
    report = tried(workload, writer(program, style), states=1, models=(Model.KILL,), sweeps=("order",))
    (sweep,) = report.sweeps
    assert sweep.reached == sweep.runs >= 3
    return sweep.findings


@pytest.mark.parametrize(("workload", "program", "style"), CLEAN)
def test_a_writer_in_the_right_order_is_clean(
    workload: str, program: str, style: str, tool: Callable[[str], str]
) -> None:
    tool("strace")
    assert findings(workload, program, style) == ()


@pytest.mark.parametrize(("program", "style", "said"), WRONG, ids=[style for _, style, _ in WRONG])
def test_the_first_mistake_of_a_writer_is_named(
    program: str, style: str, said: str, tool: Callable[[str], str]
) -> None:
    tool("strace")
    found = findings("three-saves" if program == "single_file" else "two-folders", program, style)
    assert any(said in finding for finding in found) if said else not found
