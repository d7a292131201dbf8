"""Measure writing a container against writing and hashing the same bytes plainly: `python benchmarks/checkpoint.py`.

Both write shards of 64 MiB and hash each one once, in the same folder and in turns; the yardstick leaves every file
durable (one fsync each), as the container does. The figure is the best speed of the container divided by the best plain
speed; against writing without any fsync it is printed too, because that is what the guarantee costs on the disk at
hand. `--gib 1` measures a whole GiB.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from impl.reference import backend
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.manifest import (
    checkpoint_merkle_root,
    optimizer_state_root_hash,
    shards_of,
    tensors_root_hash,
)
from impl.reference.checkpoint.schema import REQUIRED

SHARD = 64 * 2**20
LINKED = ("run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint")
ROUNDS = 3
LEAST_RATIO = 0.5


def checkpoint(shards: int) -> tuple[dict[str, object], dict[str, bytes]]:
    """Return a header and the files that it binds; the shards share their memory, not their place on the disk."""
    content = sha256(b"shard").digest() * (SHARD // 32)
    files = {f"tensors/rank=0/shard={k}.bin": content for k in range(shards)}
    header: dict[str, object] = {name: sha256(name.encode()).digest() for name in REQUIRED}
    header |= {"tenant_id": "t", "run_id": "r", "spec_version": "1.0.0", "checkpoint_schema_version": "1.0.0", "t": 7}
    files["trace/link.cbor"] = encode_canonical({name: header[name] for name in LINKED})
    listed = shards_of(files)
    header |= {
        "checkpoint_merkle_root": checkpoint_merkle_root(listed),
        "tensors_root_hash": tensors_root_hash(listed),
        "optimizer_state_root_hash": optimizer_state_root_hash(listed),
    }
    return header, files


def write_container(root: Path, header: dict[str, object], files: dict[str, bytes]) -> None:
    """Write the container."""
    manifest = {"dataset_snapshot_id": "benchmark", "artifact_index_hash": bytes(32)}
    params = {"root": str(root), "name": "c", "header": header, "files": files, "manifest": manifest}
    backend.call("UML_OS.Checkpoint.WriteContainer_v1", params)


def write_plainly(root: Path, files: dict[str, bytes], *, durable: bool) -> None:
    """Hash and write every file, without a protocol."""
    for position, content in enumerate(files.values()):
        sha256(content).digest()
        with (root / f"{position}.bin").open("wb", buffering=0) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
            if durable:
                os.fsync(file.fileno())


def seconds(action: Callable[[Path], None], folder: Path) -> float:
    """Return the seconds that an action takes in a new folder, which is removed afterwards."""
    root = Path(tempfile.mkdtemp(dir=folder))
    try:
        since = time.perf_counter()
        action(root)
        return time.perf_counter() - since
    finally:
        shutil.rmtree(root)


def main() -> int:
    """Measure and print the ratio; with --check 1 where it is not enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=0.25, help="size in GiB, rounded to shards of 64 MiB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to write")
    parser.add_argument("--check", action="store_true", help="exit with 1 where the target is missed")
    arguments = parser.parse_args()
    shards = max(1, round(arguments.gib * 2**30 / SHARD))
    header, files = checkpoint(shards)
    cached, plain, contained = [], [], []
    for _ in range(ROUNDS):
        cached.append(seconds(lambda root: write_plainly(root, files, durable=False), arguments.folder))
        plain.append(seconds(lambda root: write_plainly(root, files, durable=True), arguments.folder))
        contained.append(seconds(lambda root: write_container(root, header, files), arguments.folder))
    size = shards * SHARD / 2**20
    ratio = min(plain) / min(contained)
    print(f"{shards} shards of 64 MiB, {size:,.0f} MiB, best of {ROUNDS}")
    print(f"without any fsync     {size / min(cached):>10,.0f} MiB/s   container {min(cached) / min(contained):.2f} x")
    print(f"plain write and hash  {size / min(plain):>10,.0f} MiB/s   yardstick")
    met = "met" if ratio >= LEAST_RATIO else "MISSED"
    print(f"WriteContainer_v1     {size / min(contained):>10,.0f} MiB/s   {ratio:.2f} x plain   target 0.5 {met}")
    return 0 if ratio >= LEAST_RATIO or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
