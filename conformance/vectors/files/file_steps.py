"""What the harness does to the files of a root between the calls of a trace."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.contract.family import FileFormat
from conformance.vectors.case import FileStep
from conformance.vectors.files.damage import damage
from conformance.vectors.files.filecodec import CODECS, encode_file
from conformance.vectors.files.temp_roots import Roots, StepRefused, place, regular, write_file

Body = Mapping[str, Any]


def perform(step: FileStep, roots: Roots, formats: Mapping[str, FileFormat]) -> None:
    """Do one step; raises StepRefused if the files do not allow it."""
    root = roots.path(step.body["root"])
    try:
        if step.action == "damage":
            damage(root, step.body["path"], formats[step.body["format"]], step.body["edit"])
            return
        _ACTIONS[step.action](root, step.body, roots)
    except OSError as error:
        raise StepRefused(f"{step.subject!r}: {error.strerror or 'the system refuses'}") from None


def codec_of(body: Body) -> str:
    """The codec that a `put` writes with."""
    return next(codec for codec in CODECS if codec in body)


def _put_file(root: Path, body: Body, _: Roots) -> None:
    codec = codec_of(body)
    found = place(root, body["path"])
    if "/" in body["path"]:
        found.parent.mkdir(parents=True, exist_ok=True)
    write_file(found, encode_file(codec, body[codec]))


def _flip(root: Path, body: Body, _: Roots) -> None:
    found = regular(root, body["path"])
    before = found.stat()
    offset = _from_end(body["offset"], before.st_size)
    if not 0 <= offset < before.st_size:
        raise StepRefused(f"{body['path']!r} has {before.st_size} bytes, none at {body['offset']}")
    with found.open("r+b") as file:
        file.seek(offset)
        (old,) = file.read(1)
        file.seek(offset)
        file.write(bytes([old ^ body["mask"]]))
    # A rotten byte does not change the file's time; a clock with long ticks would hide the change of this step.
    os.utime(found, ns=(before.st_atime_ns, before.st_mtime_ns))


def _truncate(root: Path, body: Body, _: Roots) -> None:
    found = regular(root, body["path"])
    size = found.stat().st_size
    wanted = _from_end(body["size"], size)
    if not 0 <= wanted <= size:
        raise StepRefused(f"{body['path']!r} has {size} bytes and cannot be cut to {body['size']}")
    os.truncate(found, wanted)


def _from_end(number: int, size: int) -> int:
    return size + number if number < 0 else number


def _delete(root: Path, body: Body, _: Roots) -> None:
    found = place(root, body["path"])
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found)
    else:
        found.unlink()


def _rename(root: Path, body: Body, _: Roots) -> None:
    source, target = place(root, body["from"]), place(root, body["to"])
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def _link(root: Path, body: Body, roots: Roots) -> None:
    found = place(root, body["path"])
    found.parent.mkdir(parents=True, exist_ok=True)
    other = roots.path(body.get("target_root", body["root"]))
    target = place(other, body["target"])
    if not body["symbolic"]:
        os.link(target, found, follow_symlinks=False)
    elif other == root:
        found.symlink_to(os.path.relpath(target, found.parent))
    else:
        found.symlink_to(target)


_ACTIONS: Final[Mapping[str, Callable[[Path, Body, Roots], None]]] = {
    "put": _put_file,
    "flip": _flip,
    "truncate": _truncate,
    "delete": _delete,
    "rename": _rename,
    "link": _link,
}
ACTIONS: Final = (*_ACTIONS, "damage")


class Later:
    """A file step that a thread does after some milliseconds, while the backend answers a call."""

    def __init__(self, milliseconds: int, act: Callable[[], None]) -> None:
        self._act = act
        self._refused: StepRefused | None = None
        self._timer = threading.Timer(milliseconds / 1000, self._do)
        self._timer.daemon = True
        self._timer.start()

    def _do(self) -> None:
        try:
            self._act()
        except StepRefused as refused:
            self._refused = refused

    def settle(self) -> None:
        """Wait until it is done; raises StepRefused."""
        self._timer.join()
        if self._refused is not None:
            raise self._refused
