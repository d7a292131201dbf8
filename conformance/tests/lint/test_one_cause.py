"""One cause is one finding: what only follows from it is left out, and the exit status stays."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.tests.late_mistakes import L, M
from conformance.tests.lint_mistakes import C, R

EXTRA = "clamped: {type: uint64}\n  extra: {type: uint64}"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (C, "law: clamping-twice", "law: clamping-twce", ["C:28 L103"]),  # without L502
        (L, "law: clamping-twice", "law: clamping-twce", ["C:28 L103"]),  # nor the requirement that names the law
        (M, "requirement: B01", "requirement: B09", ["M:6 L104"]),  # no L411: B01 has a mutant
        (M, "requirement: B02", "requirement: B09", ["M:11 L104"]),
        (C, "clamped: {type: uint64}", EXTRA, ["C:1 L502"]),  # no case has the output, so L306 finds no result
        (C, "  low:   {type: uint64}", "  low:   {type: uint32}", ["C:1 L502"]),
        (C, "id: ordered, that", "id: ordred, that", ["C:1 L502", "R:9 L106"]),  # the mutant names it too
        (R, "id: B01", "id: B03", ["C:16 L104"]),
        (R, "#ordered", "#ordred", ["R:9 L106"]),
        (M, "#ordered", "#ordred", ["M:6 L106"]),
    ],
)
def test_one_cause_is_one_finding(
    file: str,
    old: str,
    new: str,
    said: list[str],
    new_suite: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "edited"
    shutil.copytree(new_suite, folder)
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), "utf-8")
    capsys.readouterr()
    assert status_of(["lint", "--suite", str(folder)]) == 1
    found = re.findall(r"^(\S+):(\d+):\d+: (\w+) ", capsys.readouterr().out, re.MULTILINE)
    short = {C: "C", R: "R", M: "M"}
    assert [f"{short[name]}:{line} {code}" for name, line, code in found] == said
