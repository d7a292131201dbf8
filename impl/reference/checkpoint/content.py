"""The contents that a reader of checkpoints must be able to use: every `.cbor` shard is canonical CBOR."""

from collections.abc import Iterator, Mapping
from typing import Final

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import NotCanonical, decode_canonical
from impl.reference.checkpoint.link import link_faults
from impl.reference.checkpoint.path import CURSORS_PATH, LINK_PATH, RNG_PATH
from impl.reference.checkpoint.reason import Fault
from impl.reference.data.decode_cursors import decode_cursors

RNG_STATE: Final = "rng_state"
RNG_WORDS: Final = 6
MAX_UINT32: Final = 2**32 - 1


def content_faults(files: Mapping[str, bytes], header: Mapping[str, object]) -> Iterator[Fault]:
    """Yield a fault for each `.cbor` shard that is not canonical or not what its path promises.

    No float that is not finite reaches a hash through them (seed 002 §0.Z; requirements C32, C49; ruling CA17).
    """
    for path, content in files.items():
        if path.endswith(".cbor"):
            yield from _shard_faults(path, content, header)


def _shard_faults(path: str, content: bytes, header: Mapping[str, object]) -> Iterator[Fault]:
    try:
        item = decode_canonical(content)
    except NotCanonical:
        yield Fault(path, "NON_CANONICAL")
        return
    if path == LINK_PATH:
        yield from link_faults(item, header)
    if path == RNG_PATH and not is_rng_state(item):
        yield Fault(path, "WRONG_TYPE")
    if path == CURSORS_PATH and not _is_cursors(content):
        yield Fault(path, "WRONG_TYPE")


def is_rng_state(item: object) -> bool:
    """Tell whether an item is ["rng_state", k0, k1, c0, c1, c2, c3] with words of 32 bits (ruling CA17)."""
    if not isinstance(item, list) or len(item) != 1 + RNG_WORDS or item[0] != RNG_STATE:
        return False
    return all(type(word) is int and 0 <= word <= MAX_UINT32 for word in item[1:])


def _is_cursors(content: bytes) -> bool:
    try:
        decode_cursors(cursors_cbor=content)
    except ContractFailure:
        return False
    return True
