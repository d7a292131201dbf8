"""The tree that a chosen part of the recorded operations makes: what a crash leaves when it takes back the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

from conformance.trial.crash.operation import Create, Link, Operation, Rename, Truncate, Unlink, Write
from conformance.trial.crash.volume import TOP, Volume

Torn: TypeAlias = tuple[int, int]  # an operation, and the bytes of it that survived
_Built: TypeAlias = tuple[dict[int, dict[str, int]], dict[int, tuple[bytes, bytes]]]


class Replay:
    """Makes the trees of one recorded run; contents are built once for each set of writes."""

    def __init__(self, initial: Volume, operations: Sequence[Operation]) -> None:
        self._initial, self._operations = initial, operations
        self._contents: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def whole(self, at: int) -> Volume:
        """The tree after the first `at` operations when nothing is lost."""
        return self.volume(at, frozenset(), None)

    def volume(self, at: int, lost: frozenset[int], torn: Torn | None) -> Volume:
        """The tree after the first `at` operations without the lost ones."""
        folders, files = self._built(at, lost, torn)
        return Volume(folders, {inode: content for inode, (content, _) in files.items()})

    def digest(self, at: int, lost: frozenset[int], torn: Torn | None, answers: int) -> bytes:
        """SHA-256 over the reachable tree and the number of answers."""
        folders, files = self._built(at, lost, torn)
        digest = hashlib.sha256(f"{answers}\n".encode())
        waiting = [("", TOP)]
        while waiting:
            prefix, folder = waiting.pop()
            for name, inode in sorted(folders[folder].items()):
                path = f"{prefix}/{name}"
                digest.update(path.encode("utf-8", "surrogateescape"))
                if inode in folders:
                    digest.update(b"\0/")
                    waiting.append((path, inode))
                else:
                    digest.update(b"\0=" + files[inode][1])
        return digest.digest()

    def _built(self, at: int, lost: frozenset[int], torn: Torn | None) -> _Built:
        folders = {inode: dict(entries) for inode, entries in self._initial.folders.items()}
        writes: dict[int, list[int]] = {inode: [] for inode in self._initial.files}
        for index in range(at):
            operation = self._operations[index]
            if isinstance(operation, Create):
                # The inode is there whether or not its first name survived: a later name may lead to it.
                if operation.is_folder:
                    folders[operation.inode] = {}
                else:
                    writes[operation.inode] = []
            if index in lost:
                continue
            match operation:
                case Write(inode) | Truncate(inode):
                    writes[inode].append(index)
                case Create(folder, name, inode) | Link(folder, name, inode):
                    folders[folder][name] = inode
                case Unlink(folder, name, inode):
                    if folders[folder].get(name) == inode:
                        del folders[folder][name]
                case Rename():
                    _rename(folders, operation)
        return folders, {inode: self._content(inode, indices, torn) for inode, indices in writes.items()}

    def _content(self, inode: int, indices: list[int], torn: Torn | None) -> tuple[bytes, bytes]:
        cut = torn if torn is not None and torn[0] in indices else None
        key = (inode, tuple(indices), cut)
        if key not in self._contents:
            content = bytearray(self._initial.files.get(inode, b""))
            for index in indices:
                operation = self._operations[index]
                if isinstance(operation, Write):
                    data = operation.data[: cut[1]] if cut is not None and cut[0] == index else operation.data
                    content.extend(bytes(max(0, operation.offset - len(content))))
                    content[operation.offset : operation.offset + len(data)] = data
                elif isinstance(operation, Truncate):
                    content.extend(bytes(max(0, operation.size - len(content))))
                    del content[operation.size :]
            self._contents[key] = (bytes(content), hashlib.sha256(content).digest())
        return self._contents[key]


def _rename(folders: dict[int, dict[str, int]], operation: Rename) -> None:
    source, target = folders[operation.folder], folders[operation.to_folder]
    if source.get(operation.name) == operation.inode:
        del source[operation.name]
    target[operation.to_name] = operation.inode
    if operation.swapped is not None:
        source[operation.name] = operation.swapped
