"""Saves one file again and again; how, the style says."""
# ruff: noqa: PTH104, PTH108, PTH110
# Each line is one system call, and shows which.

from __future__ import annotations

import os
from typing import Any

from conformance.tests.crash_writers.files import read, sync, write
from conformance.tests.crash_writers.wire import Refused, serve, style

LATER: list[str] = []  # what is made durable once the answer is out


def control(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content)
    os.rename(f"{path}.tmp", path)
    sync(root)


def no_fsync_of_the_file(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    os.rename(f"{path}.tmp", path)
    sync(root)


def no_fsync_of_the_folder(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content)
    os.rename(f"{path}.tmp", path)


def no_fsync(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    os.rename(f"{path}.tmp", path)


def fsync_after_rename(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    os.rename(f"{path}.tmp", path)
    sync(path)
    sync(root)


def unlink_then_rename(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content)
    if os.path.exists(path):
        os.unlink(path)
    os.rename(f"{path}.tmp", path)
    sync(root)


def overwrite_in_place(root: str, path: str, content: bytes) -> None:
    write(path, content, flags=0)
    sync(root)


def truncate_and_write(root: str, path: str, content: bytes) -> None:
    write(path, content)
    sync(root)


def answer_before_fsync(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    os.rename(f"{path}.tmp", path)
    LATER.extend([path, root])


def link_and_unlink(root: str, path: str, content: bytes) -> None:
    """Right as well: the old name is taken over by exchanging, and every step is durable before the next."""
    write(f"{path}.tmp", content)
    if os.path.exists(path):
        os.rename(f"{path}.tmp", path)
    else:
        os.link(f"{path}.tmp", path)
        os.unlink(f"{path}.tmp")
    sync(root)


def shared_mapping(root: str, path: str, content: bytes) -> None:
    import mmap

    write(f"{path}.tmp", bytes(len(content)))
    descriptor = os.open(f"{path}.tmp", os.O_RDWR)
    with mmap.mmap(descriptor, len(content)) as memory:
        memory[:] = content
        memory.flush()
    os.close(descriptor)
    os.rename(f"{path}.tmp", path)
    sync(root)


def copied_in_the_kernel(root: str, path: str, content: bytes) -> None:
    write(f"{path}.one", content)
    source, target = os.open(f"{path}.one", os.O_RDONLY), os.open(f"{path}.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.copy_file_range(source, target, len(content))
    os.fsync(target)
    os.close(source)
    os.close(target)
    os.rename(f"{path}.tmp", path)
    sync(root)


def swallowed_error(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    try:
        sync(f"{path}.tmp")
        os.rename(f"{path}.tmp", path)
        sync(root)
    except OSError:
        os.rename(f"{path}.tmp", path)


STYLES = {
    "control": control,
    "no-fsync-of-the-file": no_fsync_of_the_file,
    "no-fsync-of-the-folder": no_fsync_of_the_folder,
    "no-fsync": no_fsync,
    "fsync-after-rename": fsync_after_rename,
    "unlink-then-rename": unlink_then_rename,
    "overwrite-in-place": overwrite_in_place,
    "truncate-and-write": truncate_and_write,
    "answer-before-fsync": answer_before_fsync,
    "link-and-unlink": link_and_unlink,
    "shared-mapping": shared_mapping,
    "copied-in-the-kernel": copied_in_the_kernel,
    "swallowed-error": swallowed_error,
}


def main() -> None:
    """Serve in one style."""
    chosen = STYLES[style(STYLES)]

    def save(root: str, name: str, content: str) -> dict[str, Any]:
        chosen(root, f"{root}/{name}", bytes.fromhex(content))
        return {"size": str(len(content) // 2)}

    def load(root: str, name: str) -> dict[str, Any]:
        content = read(f"{root}/{name}")
        if content is None:
            raise Refused("META_MISSING")
        return {"content": content.hex()}

    def make_durable() -> None:
        while LATER:
            sync(LATER.pop(0))

    serve({"Store.Save_v1": save, "Store.Load_v1": load}, make_durable)


if __name__ == "__main__":
    main()
