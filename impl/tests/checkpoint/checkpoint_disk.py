"""A disk that is watched: every step is noted, and any one of them can be the last or can fail."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.reference.checkpoint import disk

STEPS = ("write", "sync", "sync_folder", "rename", "link_if_absent", "remove", "make_folder")


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the operator runs after it."""


class WatchedDisk:
    """Note the steps of the writer, and stop before the step `last`, if one is named."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int | None = None) -> None:
        self.steps: list[str] = []
        self._last = last
        self._paths: dict[int, str] = {}
        for name in STEPS:
            monkeypatch.setattr(disk, name, self._watched(name, getattr(disk, name)))

    def _watched(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            if self._last is not None and len(self.steps) >= self._last:
                raise Killed
            self.steps.append(" ".join([name, *(_shown(argument) for argument in arguments)]))
            return step(*arguments)

        return watched


def _shown(argument: object) -> str:
    if isinstance(argument, Path):
        return argument.name
    if isinstance(argument, int):
        return Path(f"/proc/self/fd/{argument}").readlink().name
    return f"[{len(argument)}]" if isinstance(argument, bytes) else "?"


class FailingSync:
    """Let the k-th fsync fail with EIO, and note every descriptor that was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, k: int) -> None:
        self.calls = 0
        self.failed: str | None = None
        self.asked_after: list[str] = []
        real = os.fsync

        def fsync(descriptor: int) -> None:
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            if self.failed is not None:
                self.asked_after.append(path)
            self.calls += 1
            if self.calls == k:
                self.failed = path
                raise OSError(errno.EIO, "input/output error")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
