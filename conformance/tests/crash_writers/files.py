"""The few things that the writers do to files, each one system call or two."""
# ruff: noqa: PTH108
# Each line is one system call, and shows which.

from __future__ import annotations

import os


def write(path: str, content: bytes, durable: bool = True, flags: int = os.O_TRUNC, whole: bool = False) -> None:
    """Write a file in two pieces, or in one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    middle = 0 if whole else len(content) // 2
    for piece in (content[:middle], content[middle:]):
        if piece:
            os.write(descriptor, piece)
    if durable:
        os.fsync(descriptor)
    os.close(descriptor)


def sync(path: str) -> None:
    """Make a file or a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def read(path: str) -> bytes | None:
    """The content of a file, if it is there."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.read(descriptor, 1 << 20)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a name, if it is there."""
    if os.path.lexists(path):
        os.unlink(path)
