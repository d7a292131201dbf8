"""A backend that replays the answers of earlier runs, and one that records the answers of another backend.

A call is looked up by everything that it can depend on: its inputs, the files in its root, and all calls on its handle
before. What a call leaves in its root is written down as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from conformance.tests.fakes.honest import requests, say

Tree = dict[str, str | None]  # the content of every file in hex; None for a folder
HANDLE: Final = "handle"


def tree_of(root: Path) -> Tree:
    """Everything below a root."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes().hex() if path.is_file() else None
    return found


def plant(root: Path, tree: Tree) -> None:
    """Make a root what it was after the call that is replayed."""
    now = tree_of(root)
    for name in sorted(now.keys() - tree.keys(), reverse=True):
        path = root / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, content in sorted(tree.items()):
        path = root / name
        if content is None:
            path.mkdir(exist_ok=True)
        elif now.get(name) != content and not content.startswith("->"):
            path.write_bytes(bytes.fromhex(content))


class Calls:
    """What every call depends on, as a text."""

    def __init__(self) -> None:
        self.history: dict[str, str] = {}

    def key(self, request: dict[str, Any]) -> tuple[str, list[Path]]:
        """The text of a call, and its roots."""
        roots, told = [], {}
        for name, value in sorted(request["params"].items()):
            if isinstance(value, str) and value.startswith("/") and Path(value).is_dir():
                roots.append(Path(value))
                told[name] = str(tree_of(Path(value)))
            else:
                told[name] = self.history.get(value, "stranger") if name == HANDLE else value
        text = json.dumps([request["method"], told], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest(), roots

    def note(self, request: dict[str, Any], key: str, answer: dict[str, Any]) -> None:
        """Remember a call for those on the same handle after it."""
        given = request["params"].get(HANDLE)
        if given in self.history:
            self.history[given] = hashlib.sha256(f"{self.history[given]} {key}".encode()).hexdigest()
        result = answer.get("result")
        if isinstance(result, dict) and isinstance(result.get(HANDLE), str):
            self.history[result[HANDLE]] = key


def recording(file: Path, command: Sequence[str]) -> None:
    """Pass every call on to another backend, and write down what it answers and leaves behind."""
    calls = Calls()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other, file.open("a") as book:
        assert other.stdin is not None
        assert other.stdout is not None
        for request in requests():
            hello = request["method"] == "tally.hello"
            key, roots = ("", []) if hello else calls.key(request)
            other.stdin.write(json.dumps(request).encode() + b"\n")
            other.stdin.flush()
            answer = json.loads(other.stdout.readline())
            if hello:
                answer["result"] |= {"max_in_flight": 1, "wires": ["json"]}
                book.write(json.dumps(["", "", answer, []]) + "\n")
            else:
                calls.note(request, key, answer)
                trees = [tree_of(root) for root in roots]
                book.write(json.dumps([request["method"], key, answer, trees]) + "\n")
            book.flush()
            say(answer)
        other.kill()


def replaying(file: Path) -> None:
    """Answer from the book; a call that is not in it gets the answer of another call of the same operator."""
    calls, known, last, opened = Calls(), {}, {}, 0
    for line in file.read_text().splitlines():
        method, key, answer, trees = json.loads(line)
        known[key] = last[method] = (answer, trees)
    for request in requests():
        key, roots = ("", []) if request["method"] == "tally.hello" else calls.key(request)
        answer, trees = known.get(key) or last[request["method"]]
        answer = json.loads(json.dumps(answer))
        if isinstance(answer.get("result"), dict) and HANDLE in answer["result"]:
            opened += 1
            answer["result"][HANDLE] = f"handle-{opened}"
        if key:
            calls.note(request, key, answer)
            for root, tree in zip(roots, trees, strict=False):
                plant(root, tree)
        say({**answer, "id": request["id"]})


def main(file: str, *command: str) -> None:
    """Record where a command is given, else replay."""
    if command:
        recording(Path(file), command)
        os._exit(0)
    replaying(Path(file))


if __name__ == "__main__":
    main(*sys.argv[1:])
