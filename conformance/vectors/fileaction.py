"""The harness steps that change files: done in the roots of one conversation, the same for every backend."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.contract.file_format import FileFormat
from conformance.vectors.case import FileStep
from conformance.vectors.damage import damage
from conformance.vectors.filecodec import CODECS, encode_file
from conformance.vectors.room import Rooms
from conformance.vectors.room_path import StepRefused, place, regular

Body = Mapping[str, Any]


def perform(step: FileStep, rooms: Rooms, formats: Mapping[str, FileFormat]) -> None:
    """Do one step; raises StepRefused where the files do not allow it."""
    root = rooms.path(step.body["root"])
    try:
        if step.action == "damage":
            damage(root, step.body["path"], formats[step.body["format"]], step.body["edit"])
            return
        _ACTIONS[step.action](root, step.body, rooms)
    except OSError as error:
        raise StepRefused(f"{step.subject!r}: {error.strerror or 'the system refuses'}") from None


def codec_of(body: Body) -> str:
    """The codec that a `put` writes with."""
    return next(codec for codec in CODECS if codec in body)


def _put(root: Path, body: Body, _: Rooms) -> None:
    codec = codec_of(body)
    found = place(root, body["path"])
    found.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(found, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encode_file(codec, body[codec]))


def _flip(root: Path, body: Body, _: Rooms) -> None:
    with regular(root, body["path"]).open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        offset = _from_end(body["offset"], size)
        if not 0 <= offset < size:
            raise StepRefused(f"{body['path']!r} has {size} bytes, none at {body['offset']}")
        file.seek(offset)
        (old,) = file.read(1)
        file.seek(offset)
        file.write(bytes([old ^ body["mask"]]))


def _truncate(root: Path, body: Body, _: Rooms) -> None:
    found = regular(root, body["path"])
    size = found.stat().st_size
    wanted = _from_end(body["size"], size)
    if not 0 <= wanted <= size:
        raise StepRefused(f"{body['path']!r} has {size} bytes and cannot be cut to {body['size']}")
    os.truncate(found, wanted)


def _from_end(number: int, size: int) -> int:
    return size + number if number < 0 else number


def _delete(root: Path, body: Body, _: Rooms) -> None:
    found = place(root, body["path"])
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found)
    else:
        found.unlink()


def _rename(root: Path, body: Body, _: Rooms) -> None:
    source, target = place(root, body["from"]), place(root, body["to"])
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def _link(root: Path, body: Body, rooms: Rooms) -> None:
    found = place(root, body["path"])
    found.parent.mkdir(parents=True, exist_ok=True)
    other = rooms.path(body.get("target_root", body["root"]))
    target = place(other, body["target"])
    if not body["symbolic"]:
        os.link(target, found, follow_symlinks=False)
    elif other == root:
        found.symlink_to(os.path.relpath(target, found.parent))
    else:
        found.symlink_to(target)


def _chmod(root: Path, body: Body, _: Rooms) -> None:
    found = place(root, body["path"])
    if found.is_symlink():
        raise StepRefused(f"{body['path']!r} is a symbolic link")
    found.chmod(int(body["mode"], 8))


_ACTIONS: Final[Mapping[str, Callable[[Path, Body, Rooms], None]]] = {
    "put": _put,
    "flip": _flip,
    "truncate": _truncate,
    "delete": _delete,
    "rename": _rename,
    "link": _link,
    "chmod": _chmod,
}
ACTIONS: Final = (*_ACTIONS, "damage")
