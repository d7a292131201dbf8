"""Laws of runs: a commit that was cut off anywhere is finished or taken back, and a damaged one is never finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from conformance.trial.law import (
    Asking,
    Law,
    LawTalk,
    Split,
    Tools,
    derived_bytes,
    derived_number,
    law_root,
    must,
    must_equal,
)

COMMIT: Final = "UML_OS.Checkpoint.CommitRun_v1"
RECOVER: Final = "UML_OS.Checkpoint.RecoverRun_v1"
POINTER: Final = "COMMITTED"
_OBJECTS: Final = ("trace", "checkpoint", "lineage")
_SIZES: Final = 3  # of objects, by the number of the run
_EVERY: Final = 3  # bytes of which one is changed; which one depends on the run
_MOST: Final = 200  # bytes of a long file that are changed
Tree = Mapping[str, bytes]  # contents by path


def _run(number: int) -> dict[str, Any]:
    """The inputs of a commit; one object is empty where the number is a multiple of _SIZES."""
    objects = {
        name: derived_bytes(f"{name} of run {number}", 32) * (number % _SIZES) * (1 + 40 * k) + b"\0" * k
        for k, name in enumerate(_OBJECTS)
    }
    t = derived_number(f"step of run {number}", 2**64)
    names = {"tenant_id": f"tenant {number}", "run_id": f"run é {number}", "t": t}
    keys = {"replay_token": derived_bytes(f"token {number}", 32), "signing_key": derived_bytes(f"key {number}", 32)}
    return {**names, **keys, **objects}


def _public_key(signing_key: bytes) -> bytes:
    # Imported where it is needed: it costs every run 40 ms.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(signing_key).public_key().public_bytes_raw()


def _committed(tools: Tools, root: Path, run: Mapping[str, Any]) -> Asking[Tree]:
    """Commit a run; its files in the order in which the contract has them written."""
    yield from tools.ask_one(COMMIT, {"root": str(root), **run})
    found = _tree(root)
    log = [path for path in found if path.startswith("wal/")]
    named = [f"objects/{sha256(run[name]).hexdigest()}" for name in _OBJECTS]
    certificate = [path for path in found if path.startswith("objects/") and path not in named]
    must(len(log) == 4 and len(certificate) == 1, f"a commit writes four records and a certificate: {sorted(found)}")
    order = [log[0], *named, log[1], *certificate, log[2], POINTER, log[3]]
    return {path: found[path] for path in order}


def _tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def _cut_off(tools: Tools, run_no: int) -> LawTalk:
    """Every number of the files that a commit writes one after the other, recovered three times."""
    run = _run(run_no)
    failures: list[Any] = []
    with law_root() as root:
        whole = yield from _committed(tools, root, run)
        recover = tools.call(RECOVER, {"root": str(root), "public_key": _public_key(run["signing_key"])})
        for count in range(len(whole), -1, -1):
            for path in _tree(root):
                (root / path).unlink()
            kept = dict(list(whole.items())[:count])
            for path, content in kept.items():
                (root / path).write_bytes(content)
            where = f"a recovery after {count} of {len(whole)} files"
            state = "committed" if POINTER in kept else "rolled_back" if kept else "empty"
            after: Tree = {}
            for again in range(3):
                (answer,) = yield from tools.ask([recover])
                must_equal(state, answer["state"], f"{where}: the state", recover)
                if again:
                    must_equal(after, _tree(root), f"{where}: the files after one more", recover)
                after = _tree(root)
            failures += [answer["failure"]] if state == "rolled_back" else []
            if state == "rolled_back":
                must(POINTER not in after, f"{where}: the pointer is there", recover)
                must_equal(failures[0], answer["failure"], f"{where}: the failure, compared with another", recover)
            else:
                must_equal(dict(whole) if kept else {}, after, f"{where}: the files", recover)


def _damage(tools: Tools, run_no: int, mask: int) -> LawTalk:
    """Every third byte of every file changed, fewer of a long one; each file cut, emptied, lengthened, removed."""
    run = _run(run_no)
    with law_root() as root:
        whole = yield from _committed(tools, root, run)
        last = list(whole)[-1]
        recover = tools.call(RECOVER, {"root": str(root), "public_key": _public_key(run["signing_key"])})
        yield from tools.ask([recover])
        for path, content in whole.items():
            for what, damaged in _damages(content, mask, run_no % _EVERY):
                (root / path).write_bytes(damaged)
                yield from tools.ask_refused([recover], f"a recovery of a run whose file {path} is {what}")
                must_equal(damaged, (root / path).read_bytes(), f"{path}, which is {what}, after the refusal", recover)
            (root / path).unlink()
            if path != last:  # without its last record the commit is one that was cut off
                yield from tools.ask_refused([recover], f"a recovery of a run without {path}")
                must(not (root / path).exists(), f"{path}, which was gone, is there after the refusal", recover)
            (root / path).write_bytes(content)
        (answer,) = yield from tools.ask([recover])
        must_equal("committed", answer["state"], "the state when all damage is mended", recover)
        must_equal(dict(whole), _tree(root), "the files when all damage is mended", recover)


def _damages(content: bytes, mask: int, first: int) -> Iterator[tuple[str, bytes]]:
    for at in range(first, len(content), max(_EVERY, len(content) // _MOST)):
        yield f"changed in byte {at}", content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :]
    if content:
        yield "cut", content[:-1]
        yield "empty", b""
    yield "lengthened", content + b"\0"


LAWS: Final = (
    Law("run-cut-off", _cut_off, {"runs": 3}, Split(counts={"runs": "run_no"})),
    Law("run-damage", _damage, {"runs": 1, "mask": [1]}, Split(counts={"runs": "run_no"})),
)
