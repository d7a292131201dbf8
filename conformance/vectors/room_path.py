"""Paths inside a root: relative, plain, and unable to leave it."""

from __future__ import annotations

import os
from pathlib import Path


class StepRefused(Exception):
    """A harness step cannot be done where it stands; says why, without any path outside the root."""


def fault_of(path: str) -> str:
    """Why a text is no path below a root, empty where it is one."""
    if not path or "\0" in path:
        return "a path is text without NUL"
    if path.startswith("/"):
        return "it is absolute"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "a path below the root has no empty part, no `.` and no `..`"
    return ""


def place(root: Path, path: str) -> Path:
    """Where a path stands below a root; the last part may be missing or a link, the folders above it may not lead out.

    Raises StepRefused.
    """
    if fault := fault_of(path):
        raise StepRefused(f"{path!r}: {fault}")
    found = root / path
    folder = Path(os.path.realpath(found.parent))
    if folder != root and root not in folder.parents:
        raise StepRefused(f"{path!r} leads out of the root through a symbolic link")
    return folder / found.name


def regular(root: Path, path: str) -> Path:
    """Where a regular file stands below a root; raises StepRefused where there is none, or a link."""
    found = place(root, path)
    if found.is_symlink():
        raise StepRefused(f"{path!r} is a symbolic link")
    if not found.is_file():
        raise StepRefused(f"there is no file {path!r}")
    return found
