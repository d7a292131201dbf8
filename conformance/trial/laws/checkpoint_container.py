"""Laws of the container on disk: whatever is done to its files, nothing of it is restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from conformance.codec.cbor import encode_canonical
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.checkpoint import derived_header
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Tools, axes, grid, law_roots, must_equal, slug

WRITE: Final = "UML_OS.Checkpoint.WriteContainer_v1"
READ: Final = "UML_OS.Checkpoint.ReadContainer_v1"
FILES: Final = {
    "tensors/rank=0/shard=0.bin": b"zero",
    "tensors/rank=0/shard=1.bin": b"one!",
    "optimizer/rank=0/state.bin": b"state",
    "data/cursors.cbor": encode_canonical({"d": {"epoch": 0, "global_index": 4}}),
}
GIVEN: Final = {"dataset_snapshot_id": "snapshot", "artifact_index_hash": bytes(32)}


def damages(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {mask: the bit that is flipped, kind: bytes (every one flipped) or names (files moved about)}`."""
    for point in grid(axes(use, {"mask": [1], "kind": ["bytes", "names"]})):
        flips = point["kind"] == "bytes"
        talk = partial(_every_byte, tools, point["mask"]) if flips else partial(_every_name, tools)
        yield Instance(slug(point), talk)


def container_header() -> dict[str, Any]:
    """A header whose roots are those of FILES."""
    leaves = {
        path: _hash(["ckpt_shard", [path, sha256(content).digest(), len(content)]])
        for path, content in sorted(FILES.items())
    }
    level = list(leaves.values())
    while len(level) > 1:
        level = [_hash(["ckpt_merkle_node", level[at : at + 2]]) for at in range(0, len(level), 2)]
    below = {folder: [leaf for path, leaf in leaves.items() if path.startswith(folder)] for folder in ("t", "o")}
    header = {name: held for name, held in derived_header(0).items() if name != "dp_accountant_state_root_hash"}
    return {
        **header,
        "checkpoint_merkle_root": level[0],
        "tensors_root_hash": _hash(["tensors_root", below["t"]]),
        "optimizer_state_root_hash": _hash(["optimizer_root", below["o"]]),
    }


def _hash(preimage: Any) -> bytes:
    return sha256(encode_canonical(preimage)).digest()


@contextmanager
def _room() -> Iterator[Path]:
    with law_roots() as rooms:
        yield rooms.path("a")


def _written(tools: Tools, root: Path) -> Asking[dict[str, Any]]:
    """Write the container, read it back, and return the inputs of a read that names its full hash."""
    header = container_header()
    place = {"root": str(root), "name": "c"}
    write = tools.call(WRITE, {**place, "header": header, "files": FILES, "manifest": GIVEN})
    (written,) = yield from tools.ask([write])
    expected = {"full_checkpoint_hash": written["full_checkpoint_hash"]}
    reading = {**place, "stage": "eval", "expected": expected}
    read = tools.call(READ, reading)
    (answer,) = yield from tools.ask([read])
    kept = {path: content for path, content in FILES.items() if path.startswith("tensors/")}
    must_equal(kept, answer["files"], "the files that were written", read)
    return reading


def _every_byte(tools: Tools, mask: int) -> LawTalk:
    with _room() as root:
        reading = yield from _written(tools, root)
        for path in _files(root / "c"):
            content = path.read_bytes()
            for at in range(len(content)):
                path.write_bytes(content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :])
                yield from tools.ask_refused([tools.call(READ, reading)])
            path.write_bytes(content)
        yield from tools.ask([tools.call(READ, reading)])


def _every_name(tools: Tools) -> LawTalk:
    with _room() as root:
        reading = yield from _written(tools, root)
        held = root / "held"
        for path in _files(root / "c"):
            content = path.read_bytes()
            for damage in (_cut, _lengthened, _taken_away, _renamed, _linked, _as_folder):
                path.rename(held)
                damage(path, held)
                yield from tools.ask_refused([tools.call(READ, reading)])
                _clear(path)
                held.rename(path)
            path.write_bytes(content)
        for extra in ("tensors/rank=0/shard=2.bin", "junk", ".hidden"):
            (root / "c" / extra).write_bytes(b"")
            yield from tools.ask_refused([tools.call(READ, reading)])
            (root / "c" / extra).unlink()
        one, other = (root / "c" / path for path in list(FILES)[:2])
        _swap(one, other, held)
        yield from tools.ask_refused([tools.call(READ, reading)])
        _swap(one, other, held)
        yield from tools.ask([tools.call(READ, reading)])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _cut(path: Path, held: Path) -> None:
    path.write_bytes(held.read_bytes()[:-1])


def _lengthened(path: Path, held: Path) -> None:
    path.write_bytes(held.read_bytes() + b"\0")


def _taken_away(path: Path, held: Path) -> None:
    pass


def _renamed(path: Path, held: Path) -> None:
    path.with_name("renamed").write_bytes(held.read_bytes())


def _linked(path: Path, held: Path) -> None:
    path.symlink_to(held)


def _as_folder(path: Path, held: Path) -> None:
    path.mkdir()


def _clear(path: Path) -> None:
    path.with_name("renamed").unlink(missing_ok=True)
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _swap(one: Path, other: Path, held: Path) -> None:
    one.rename(held)
    other.rename(one)
    held.rename(other)


LAWS: Final = (
    Law(
        "container-damage",
        "A container with any byte or name of its files changed is never restored.",
        (WRITE, READ),
        damages,
    ),
)
