"""Publishes a folder of files under one name, the way a sharded container is; how, the style says."""
# ruff: noqa: PTH102, PTH104, PTH112, PTH120
# Each line is one system call, and shows which.

from __future__ import annotations

import os
import shutil
from typing import Any

from conformance.tests.crash_writers.files import read, sync, write
from conformance.tests.crash_writers.wire import Refused, serve, style

# What each style leaves out: shards (of the files), subfolder, folder (the temporary one itself), parent.
STYLES = {
    "control": set(),
    "shards-not-fsynced": {"shards"},
    "subfolder-not-fsynced": {"subfolder"},
    "folder-not-fsynced": {"folder"},
    "parent-not-fsynced": {"parent"},
    "renamed-before-fsync": {"shards", "subfolder", "folder", "late"},
}


def main() -> None:
    """Serve in one style."""
    without = STYLES[style(STYLES)]

    def publish(root: str, name: str, files: dict[str, str]) -> dict[str, Any]:
        temporary, final = f"{root}/.{name}.tmp", f"{root}/{name}"
        shutil.rmtree(temporary, ignore_errors=True)
        os.mkdir(temporary)
        folders = []
        for path, content in sorted(files.items()):
            folder = os.path.dirname(f"{temporary}/{path}")
            if folder != temporary and folder not in folders:
                os.mkdir(folder)
                folders.append(folder)
            write(f"{temporary}/{path}", bytes.fromhex(content), durable="shards" not in without, whole=True)
        if "subfolder" not in without:
            for folder in folders:
                sync(folder)
        if "folder" not in without:
            sync(temporary)
        os.rename(temporary, final)
        if "late" in without:
            for path in sorted(files):
                sync(f"{final}/{path}")
            for folder in folders:
                sync(folder.replace(temporary, final))
            sync(final)
        if "parent" not in without:
            sync(root)
        return {"count": str(len(files))}

    def content(root: str, name: str) -> dict[str, Any]:
        top = f"{root}/{name}"
        if not os.path.isdir(top):
            raise Refused("META_MISSING")
        found = {}
        for folder, _, names in os.walk(top):
            for one in names:
                path = f"{folder}/{one}"
                found[os.path.relpath(path, top)] = (read(path) or b"").hex()
        return {"files": found}

    serve({"Store.Publish_v1": publish, "Store.Content_v1": content})


if __name__ == "__main__":
    main()
