"""The trace link, which ties a checkpoint to the hash chain of its trace (seed 002 §II.I)."""

from collections.abc import Iterator, Mapping
from typing import Final

from impl.reference.checkpoint.fields import NOTHING
from impl.reference.checkpoint.path import LINK_PATH
from impl.reference.checkpoint.reason import Fault

LINKED_FIELDS: Final = ("run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev")


def link_faults(link: object, header: Mapping[str, object]) -> Iterator[Fault]:
    """Yield a fault for each field of the link that is not the header's; never is checkpoint_hash one of them, because
    the link is a shard that the header's root binds (requirement C32; ruling CA16).
    """
    if not isinstance(link, dict):
        yield Fault(LINK_PATH, "LINK_MISMATCH")
        return
    for name in LINKED_FIELDS:
        if not _same(link.get(name, NOTHING), header.get(name, NOTHING)):
            yield Fault(f"{LINK_PATH}.{name}", "LINK_MISMATCH")
    for name in link.keys() - set(LINKED_FIELDS):
        yield Fault(f"{LINK_PATH}.{name}", "LINK_MISMATCH")


def _same(left: object, right: object) -> bool:
    # True equals 1 and 1.0 in Python, not in the bytes.
    return type(left) is type(right) and left == right
