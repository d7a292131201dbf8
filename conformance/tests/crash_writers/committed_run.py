"""Commits files as objects and one pointer to them, and recovers; what goes wrong, the style says."""
# ruff: noqa: PTH103, PTH104, PTH108, PTH110, PTH112, PTH208
# Each line is one system call, and shows which.

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from conformance.tests.crash_writers.files import read, remove, sync, write
from conformance.tests.crash_writers.wire import Refused, serve, style

STYLES = {
    "control": "objects, folder, pointer linked if absent, root; recovery removes what no pointer needs",
    "objects-not-fsynced": "the objects are never made durable",
    "objects-folder-not-fsynced": "the names of the objects are never made durable",
    "pointer-before-objects": "the pointer stands before what it points to, and recovery believes it",
    "pointer-written-in-place": "the pointer is no rename or link, and recovery believes it",
    "recovery-leaves-a-mark": "every recovery adds a file",
    "recovery-moves-the-pointer": "recovery moves the pointer away while it looks",
    "recovery-syncs-nothing": "recovery answers by a pointer that a killed commit may not have made durable",
    "recovery-believes-the-pointer": "recovery never looks at the objects, which the order of the commit allows",
}
CREDULOUS = ("pointer-before-objects", "pointer-written-in-place", "recovery-believes-the-pointer")


def main() -> None:
    """Serve in one style."""
    chosen = style(STYLES)

    def put_objects(root: str, files: dict[str, str]) -> dict[str, str]:
        objects = f"{root}/objects"
        os.makedirs(objects, exist_ok=True)
        sync(root)
        pointed = {}
        for name, content in sorted(files.items()):
            digest = hashlib.sha256(bytes.fromhex(content)).hexdigest()
            write(f"{objects}/.{digest}.tmp", bytes.fromhex(content), durable=chosen != "objects-not-fsynced")
            os.rename(f"{objects}/.{digest}.tmp", f"{objects}/{digest}")
            pointed[name] = digest
        if chosen != "objects-folder-not-fsynced":
            sync(objects)
        return pointed

    def put_pointer(root: str, pointed: dict[str, str]) -> None:
        text = json.dumps(pointed).encode()
        if chosen == "pointer-written-in-place":
            write(f"{root}/COMMITTED", text)
        else:
            write(f"{root}/.COMMITTED.tmp", text)
            os.link(f"{root}/.COMMITTED.tmp", f"{root}/COMMITTED")
            sync(root)
            os.unlink(f"{root}/.COMMITTED.tmp")
        sync(root)

    def commit(root: str, files: dict[str, str]) -> dict[str, Any]:
        if chosen == "pointer-before-objects":
            put_pointer(root, {n: hashlib.sha256(bytes.fromhex(c)).hexdigest() for n, c in sorted(files.items())})
            put_objects(root, files)
        else:
            put_pointer(root, put_objects(root, files))
        return {"count": str(len(files))}

    def complete(root: str, pointer: bytes) -> bool:
        if chosen in CREDULOUS:
            return True
        try:
            pointed = json.loads(pointer)
        except ValueError:
            return False
        found = {digest: read(f"{root}/objects/{digest}") for digest in pointed.values()}
        return all(one is not None and hashlib.sha256(one).hexdigest() == digest for digest, one in found.items())

    def recover(root: str) -> dict[str, Any]:
        if chosen == "recovery-leaves-a-mark":
            write(f"{root}/mark-{len(os.listdir(root))}", b"x")
        remove(f"{root}/.COMMITTED.tmp")
        if chosen == "recovery-moves-the-pointer" and os.path.exists(f"{root}/COMMITTED"):
            os.rename(f"{root}/COMMITTED", f"{root}/.COMMITTED.tmp")
            os.rename(f"{root}/.COMMITTED.tmp", f"{root}/COMMITTED")
        pointer = read(f"{root}/COMMITTED")
        objects = f"{root}/objects"
        if pointer is not None and complete(root, pointer):
            # What a killed writer left may be seen before it is durable.
            if chosen != "recovery-syncs-nothing":
                sync(root)
            return {"state": "committed"}
        if pointer is not None:
            os.unlink(f"{root}/COMMITTED")
            sync(root)
        for name in sorted(os.listdir(objects)) if os.path.isdir(objects) else ():
            os.unlink(f"{objects}/{name}")
        return {"state": "empty" if pointer is None else "rolled_back"}

    def current(root: str) -> dict[str, Any]:
        pointer = read(f"{root}/COMMITTED")
        if pointer is None:
            raise Refused("META_MISSING")
        return {"files": {n: (read(f"{root}/objects/{d}") or b"").hex() for n, d in json.loads(pointer).items()}}

    serve({"Store.Commit_v1": commit, "Store.Recover_v1": recover, "Store.Current_v1": current})


if __name__ == "__main__":
    main()
