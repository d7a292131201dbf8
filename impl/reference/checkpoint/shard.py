"""A shard: a file of the container that the Merkle root binds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Shard:
    """Name a file by its path, with the hash and the size in bytes of its content."""

    path: str
    sha256: bytes
    size_bytes: int


def shard_of(path: str, content: bytes) -> Shard:
    """Return the shard of a content."""
    return Shard(path=path, sha256=sha256(content).digest(), size_bytes=len(content))


def shards_of(files: Mapping[str, bytes]) -> list[Shard]:
    """Return the shards of a container's files, in the order of their paths."""
    return in_path_order(shard_of(path, content) for path, content in files.items())


def in_path_order(shards: Iterable[Shard]) -> list[Shard]:
    """Return shards sorted by the UTF-8 bytes of the whole path: `shard=10` before `shard=2` (ruling CA06)."""
    return sorted(shards, key=lambda shard: shard.path.encode("utf-8"))


def below(folder: str, shards: Iterable[Shard]) -> list[Shard]:
    """Return the shards below a folder, in the order of their paths."""
    return in_path_order(shard for shard in shards if shard.path.startswith(folder))
