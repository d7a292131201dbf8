"""Saves one file again and again; how, the style says."""
# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH109, PTH110, PTH119, PTH208, PTH211
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
    """Right as well: the first name comes by a link."""
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


def one_byte_made_durable(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content, durable=False)
    descriptor = os.open(f"{path}.tmp", os.O_WRONLY | os.O_DSYNC)
    os.pwrite(descriptor, content[:1], 0)
    os.close(descriptor)
    os.rename(f"{path}.tmp", path)
    sync(root)


def unlinked_by_descriptor(root: str, path: str, content: bytes) -> None:
    write(f"{path}.tmp", content)
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    if os.path.exists(path):
        os.unlink(f"/proc/self/fd/{here}/{os.path.basename(path)}")
    os.rename(f"{path}.tmp", path)
    os.fsync(here)
    os.close(here)


def newest_by_time(root: str, path: str, content: bytes) -> None:
    """Each save has its own name, a later one comes earlier in the order of names; the times tell which is which."""
    saves = len(os.listdir(root))
    write(f"{path}.{9 - saves}", content)
    os.utime(f"{path}.{9 - saves}", (saves, saves))
    sync(root)


def many_calls(root: str, path: str, content: bytes) -> None:
    """The control, by every detour that the model knows: if it misread one, the tree would not be what it expects."""
    import subprocess

    folder = f"{root}/.folder"
    os.mkdir(folder)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    there = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    name = os.path.basename(path)
    first = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=here)
    second = os.dup(first)
    os.writev(first, [content[:3], content[3:5]])
    os.write(second, content[5:7])
    os.pwrite(first, content[:2], 0)
    os.ftruncate(first, len(content) + 9)
    os.ftruncate(first, 7)
    os.lseek(first, 0, os.SEEK_END)
    os.write(second, content[7:9])
    os.close(first)
    os.close(second)
    appended = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_APPEND | os.O_SYNC)
    os.write(appended, content[9:11])
    before = os.getcwd()
    os.chdir(folder)
    os.link(name, f"{name}.two")
    rest = "".join(f"\\{byte:03o}" for byte in content[11:13])
    subprocess.run(["sh", "-c", f"printf '{rest}' >> ../.folder/{name}.two; echo said"], stdout=-3, check=True)
    os.chdir(before)
    if (child := os.fork()) == 0:
        os.write(appended, content[13:])
        os._exit(0)
    os.waitpid(child, 0)
    os.fdatasync(appended)
    os.close(appended)
    os.unlink(f"{name}.two", dir_fd=here)
    os.rename(folder, f"{folder}.moved")
    os.fsync(here)
    os.rename(name, name, src_dir_fd=here, dst_dir_fd=there)
    os.fsync(here)
    os.fsync(there)
    os.close(here)
    os.close(there)
    os.rmdir(f"{folder}.moved")


def symbolic_link(root: str, path: str, content: bytes) -> None:
    version = f"{path}.{len(os.listdir(root))}"
    write(version, content)
    os.symlink(os.path.basename(version), f"{path}.tmp")
    os.rename(f"{path}.tmp", path)
    sync(root)


def pipe_beside(root: str, path: str, content: bytes) -> None:
    control(root, path, content)
    if not os.path.exists(f"{root}/control"):
        os.mkfifo(f"{root}/control")


def wrong_answers(root: str, path: str, content: bytes) -> None:
    raise Refused("NO_SUCH_CODE")


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
    "many-calls": many_calls,
    "shared-mapping": shared_mapping,
    "copied-in-the-kernel": copied_in_the_kernel,
    "one-byte-made-durable": one_byte_made_durable,
    "unlinked-by-descriptor": unlinked_by_descriptor,
    "symbolic-link": symbolic_link,
    "pipe-beside": pipe_beside,
    "newest-by-time": newest_by_time,
    "swallowed-error": swallowed_error,
    "wrong-answers": wrong_answers,
}


def main() -> None:
    """Serve in one style."""
    chosen = STYLES[style(STYLES)]

    def save(root: str, name: str, content: str) -> dict[str, Any]:
        chosen(root, f"{root}/{name}", bytes.fromhex(content))
        return {"size": str(len(content) // 2)}

    def load(root: str, name: str) -> dict[str, Any]:
        if chosen is newest_by_time and (saves := list(os.scandir(root))):
            name = max(saves, key=lambda save: (save.stat().st_mtime, save.name)).name
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
