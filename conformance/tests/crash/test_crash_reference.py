"""The bundled reference with one mistake in how it makes things durable comes out at exactly the level that is left.

TALLY_CRASH_FULL=1 tries every mistake, as the nox session `crash` does; without it one of them.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cli.crash import report_lines
from conformance.codec.codebook import codebook_of
from conformance.tests.crash_store import WRITERS
from conformance.tests.page_blocks import compared_by, matches
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.trial.crash.report import CrashReport
from conformance.trial.crash.states import CrashModel
from conformance.trial.crash.trial import CrashOptions, try_workload
from conformance.trial.crash.workload import crash_workloads

FULL = os.environ.get("TALLY_CRASH_FULL") == "1"
MISTAKES: dict[str, dict[str, Any]] = {
    mutant["id"]: mutant for mutant in yaml.safe_load((WRITERS / "reference.yaml").read_text("utf-8"))["mutants"]
}
ALL = 6000  # states: more than there are; but not every class of recoveries, which take ten minutes for one mistake
SHOWN = "renamed-before-fsync"  # in docs/crash-testing.md
TRIED = list(MISTAKES) if FULL else [SHOWN]


def tried(identity: str, folder: Path) -> CrashReport:
    """A trial of the reference with one mistake."""
    page = {"mutants": [{key: item for key, item in MISTAKES[identity].items() if key not in ("level", "workload")}]}
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "mutants.yaml").write_text(yaml.safe_dump(page), "utf-8")
    serve = [sys.executable, "-P", "-m", "impl.serve", f"mutant:{identity}"]
    command = shlex.join(["env", f"TALLY_SPEC_DIR={folder}", f"PYTHONPATH={ROOT}", *serve])
    library = shipped_library()
    codebook = codebook_of(library)
    known = crash_workloads(library, codebook)
    (workload,) = [one for one in known if one.id.endswith(f"%{MISTAKES[identity]['workload']}")]
    return try_workload(workload, codebook, CrashOptions(command, states=ALL, sweeps=("order",)))


def test_every_mistake_can_be_made() -> None:
    for identity, mistake in MISTAKES.items():
        for patch in mistake.get("patches") or [mistake["patch"]]:
            source = (ROOT / "impl" / "reference" / patch["file"]).read_text("utf-8")
            assert source.count(patch["find"]) == 1, identity


@pytest.mark.parametrize("identity", TRIED)
def test_a_mistake_of_the_reference_leaves_its_level(identity: str, tool: Callable[[str], str], tmp_path: Path) -> None:
    tool("strace")
    report = tried(identity, tmp_path)
    tallies = {model: f"{tally.bad_count}/{tally.total}" for model, tally in report.states.items()}
    inner = {model: f"{tally.bad_count}/{tally.total}" for model, tally in report.recovery_states.items()}
    print(f"{identity}: {tallies}, {report.recoveries} recoveries interrupted: {inner[CrashModel.POSIX]}")
    assert all(tally.tried == tally.total for tally in report.states.values())
    assert report.reached == MISTAKES[identity]["level"]
    if identity == SHOWN:
        (shown,) = compared_by(Path(__file__).name, "docs/crash-testing.md")
        assert matches(shown.text, "".join(f"{line}\n" for line in report_lines(report, 1)))
