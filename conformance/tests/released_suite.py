"""A suite that `tally init` made and whose first release is v1.0.0, and edits that call for other versions."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from conformance.cli.main import status_of

OPERATOR, SUCCESSOR = "Bounds.Clamp_v1", "Bounds.Clamp_v2"
CONTRACT = f"spec/bounds/{OPERATOR}.yaml"
LOCK = "spec/contracts.lock"
CHANGELOG = "vectors/CHANGELOG.md"
LARGEST = ", 18446744073709551615]"  # no number is one more
SECOND = '''def clamp_and_add(params):
    """Bounds.Clamp_v2."""
    try:
        return {"clamped": clamp(params)["clamped"] + 1}
    except Refused as refused:
        raise Refused(refused.code, "Bounds.Clamp_v2") from None


OPERATORS = {
    "Bounds.Clamp_v2": clamp_and_add,
'''


def git(folder: Path, *arguments: str) -> None:
    """A command of git, whatever the user has configured."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    names = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, "-C", str(folder), *arguments], check=True, capture_output=True, env=environment)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new), "utf-8")


def built(suite: Path) -> None:
    assert status_of(["vectors", "build", "--suite", str(suite)]) == 0


def version(suite: Path, text: str) -> None:
    """Give the operator a version, and build the vectors."""
    file = suite / CONTRACT
    file.write_text(re.sub(r"(?m)^version: .*$", f"version: {text}", file.read_text("utf-8")), "utf-8")
    built(suite)


def patched(suite: Path) -> None:
    """The contract says the same with other symbols."""
    edit(suite / CONTRACT, 'when: "low == high"', 'when: "high == low"')


def extended(suite: Path) -> None:
    """One more case."""
    edit(suite / CONTRACT, "{low: [20, 21, 30]}", "{low: [20, 21, 30, 31]}")


def broken(suite: Path) -> None:
    """Every answer is another one."""
    edit(suite / "reference" / "operators.py", "min(max(value, low), high)}", "min(max(value, low), high) + 1}")
    edit(suite / CONTRACT, 'min(value, high))"', 'min(value, high)) + 1u"')
    edit(suite / CONTRACT, LARGEST, "]")


def succeeded(suite: Path) -> None:
    """The same, as an operator with the next number beside the old one."""
    edit(suite / "reference" / "operators.py", "OPERATORS = {\n", SECOND)
    text = (suite / CONTRACT).read_text("utf-8").replace(OPERATOR, SUCCESSOR)
    text = text.replace("version: 1.0.0", "version: 2.0.0").replace('min(value, high))"', 'min(value, high)) + 1u"')
    text = text.replace(LARGEST, "]")
    text = re.sub(r"(?ms)^laws:\n.*?\n\n", "", text)
    (suite / CONTRACT.replace(OPERATOR, SUCCESSOR)).write_text(text, "utf-8")
    page = suite / "spec" / "bounds" / "requirements.yaml"
    checks = re.compile(rf"(?m)^(  - (?!law)\w+:){re.escape(OPERATOR)}(.*)$")
    page.write_text(checks.sub(rf"\g<0>\n\1{SUCCESSOR}\2", page.read_text("utf-8")), "utf-8")


def files(suite: Path) -> dict[str, bytes]:
    """Everything that a command could change."""
    found = {file.relative_to(suite).as_posix(): file for file in suite.rglob("*") if file.is_file()}
    kept = {name: file for name, file in found.items() if "__pycache__" not in name and not name.startswith(".git/")}
    return {name: file.read_bytes() for name, file in kept.items()}
