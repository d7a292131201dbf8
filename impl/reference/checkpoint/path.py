"""The paths of a container: exactly the listed ones (seed 002 §II.G)."""

import re
from typing import Final

from impl.reference.checkpoint.field_type import is_string

MANIFEST_PATH: Final = "checkpoint_manifest.cbor"
HEADER_PATH: Final = "checkpoint_header.cbor"
ACCOUNTANT_PATH: Final = "dp/accountant_state.cbor"
CURSORS_PATH: Final = "data/cursors.cbor"
PLAN_PATH: Final = "tmmu/plan.cbor"
LINK_PATH: Final = "trace/link.cbor"
ARTIFACTS_PATH: Final = "artifacts/artifact_index.cbor"
RNG_PATH: Final = "rng/state.cbor"

TENSORS: Final = "tensors/"
OPTIMIZER: Final = "optimizer/"
ACCOUNTANT: Final = "dp/"

NUMBER: Final = "(?:0|[1-9][0-9]{0,18})"
TENSOR_SHARD: Final = re.compile(rf"tensors/rank={NUMBER}/shard={NUMBER}\.bin")
OPTIMIZER_SHARD: Final = re.compile(rf"optimizer/rank={NUMBER}/state\.bin")
SINGLE_SHARDS: Final = frozenset({ACCOUNTANT_PATH, CURSORS_PATH, PLAN_PATH, LINK_PATH, ARTIFACTS_PATH, RNG_PATH})

# A file name may have 255 bytes; the temporary name takes five of them.
MAX_NAME_BYTES: Final = 200


def is_shard_path(path: str) -> bool:
    """Tell whether a path is one of a shard: every listed file but manifest and header (ruling CA16).

    Nothing absolute, nothing with `..` and nothing with a NUL matches (requirement C14; rulings CA06, CA17).
    """
    if path in SINGLE_SHARDS:
        return True
    if TENSOR_SHARD.fullmatch(path):
        return True
    return OPTIMIZER_SHARD.fullmatch(path) is not None


def is_container_name(name: str) -> bool:
    """Tell whether a name is one visible entry of the root: no separator, no leading dot, at most 200 bytes."""
    if not is_string(name) or not 1 <= len(name.encode()) <= MAX_NAME_BYTES:
        return False
    if name.startswith("."):
        return False
    return "/" not in name and "\x00" not in name


def shown(path: str) -> str:
    """Return a path as a text that every wire can carry; what is no Unicode is replaced."""
    return path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
