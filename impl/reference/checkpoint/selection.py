"""The shards that a caller asks for, and whether the container's policy lets them be restored alone."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from impl.reference.checkpoint.field_type import is_string_array
from impl.reference.checkpoint.manifest import PREFIX, Manifest
from impl.reference.checkpoint.path import is_shard_path, shown
from impl.reference.checkpoint.reason import Fault


def selection_faults(asked: Sequence[str], manifest: Manifest, paths: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each path that no shard has, that stands twice or that the policy does not declare.

    The policy is the manifest's list of paths that may be restored without the others (requirement C27).
    """
    for path, times in Counter(asked).items():
        if not is_shard_path(path):
            yield Fault(shown(path), "BAD_PATH")
        elif path not in paths:
            yield Fault(path, "MISSING_SHARD")
        if times > 1:
            yield Fault(shown(path), "DUPLICATE_PATH")
    if "partial_restore" not in manifest:
        yield Fault(f"{PREFIX}partial_restore", "PARTIAL_NOT_DECLARED")
        return
    declared = manifest["partial_restore"]
    assert is_string_array(declared)
    for path in set(asked) - set(declared):
        yield Fault(shown(path), "PARTIAL_NOT_DECLARED")
