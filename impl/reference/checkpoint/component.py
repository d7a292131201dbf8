"""The components of a restore, and which of them each stage needs (seed 002 §II.H)."""

from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Final, Literal

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.path import (
    ACCOUNTANT_PATH,
    CURSORS_PATH,
    HEADER_PATH,
    OPTIMIZER,
    PLAN_PATH,
    RNG_PATH,
    TENSORS,
)
from impl.reference.checkpoint.reason import Fault

Stage = Literal["train", "eval", "infer"]

# Where each component lives; a path that ends in "/" is a folder. The header names the runtime that it was written in.
HOME: Final = {
    "data_cursors": CURSORS_PATH,
    "dp_accountant_state": ACCOUNTANT_PATH,
    "minimal_runtime_config": HEADER_PATH,
    "model_params": TENSORS,
    "optimizer_state": OPTIMIZER,
    "rng_states": RNG_PATH,
    "tmmu_plan": PLAN_PATH,
}


def required_components(stage: Stage, dp_enabled: bool) -> list[str]:
    """Return the sorted names of the components that a stage needs (requirements C28, C29; rulings CA18, CA32)."""
    if stage != "train":
        return ["minimal_runtime_config", "model_params"]
    needed = ["data_cursors", "model_params", "optimizer_state", "rng_states", "tmmu_plan"]
    if dp_enabled:
        needed.append("dp_accountant_state")
    return sorted(needed)


def restore_profile_id_of(stage: Stage, components: list[str]) -> str:
    """Return the 16 hex digits that name a stage with its components (requirement C30; ruling CA32)."""
    preimage = ["restore_profile", [stage, sorted(components)]]
    return sha256(encode_canonical(preimage)).hexdigest()[:16]


def component_faults(components: list[str], paths: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each component that none of the restored paths holds (requirement C28)."""
    for component in components:
        if not any(_lives_in(path, HOME[component]) for path in paths):
            yield Fault(component, "MISSING_COMPONENT")


def _lives_in(path: str, home: str) -> bool:
    return path.startswith(home) if home.endswith("/") else path == home


def restored_by_default(stage: Stage, paths: Collection[str]) -> list[str]:
    """Return the shards that a stage restores unless told otherwise: all to train, the parameters to eval and infer."""
    if stage == "train":
        return list(paths)
    return [path for path in paths if path.startswith(TENSORS)]
