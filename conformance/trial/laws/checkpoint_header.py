"""Checkpoint headers that laws make up: every field of seed 002 §II.F, derived from a number."""

from __future__ import annotations

from typing import Any, Final

from conformance.trial.laws.derived import derived_bytes, derived_choice, derived_number

IDENTITY: Final = (
    "tenant_id",
    "run_id",
    "replay_token",
    "trace_root_hash",
    "checkpoint_merkle_root",
    "manifest_hash",
    "sampler_config_hash",
    "tmmu_plan_hash",
    "backend_binary_hash",
    "determinism_profile_hash",
)
HASHES: Final = (
    *IDENTITY[2:],
    "policy_hash",
    "dependencies_lock_hash",
    "operator_contracts_root_hash",
    "runtime_env_hash",
    "code_commit_hash",
    "lineage_root_hash",
    "tensors_root_hash",
    "optimizer_state_root_hash",
    "trace_tail_hash_at_checkpoint",
)
OPTIONAL: Final = ("dp_accountant_state_root_hash", "checkpoint_hash_prev")
_NAMES: Final = ("", "t", "tenant", "é界", "n" * 24)
_VERSIONS: Final = ("1.0.0", "1.1.0", "1.0.7", "1.2.0", "1.10.0")
_STEPS: Final = (0, 23, 24, 2**32, 2**53 + 1, 2**64 - 1)


def derived_header(number: int) -> dict[str, Any]:
    """The header behind a number; those of a newer MINOR hold a field that no reader knows."""
    name = f"header {number}"
    version = _VERSIONS[number % len(_VERSIONS)]
    header: dict[str, Any] = {
        "tenant_id": derived_choice(f"{name} tenant", _NAMES),
        "run_id": derived_choice(f"{name} run", _NAMES),
        "spec_version": "1.0.0",
        "checkpoint_schema_version": version,
        "t": derived_choice(f"{name} t", _STEPS),
    }
    header |= {field: derived_bytes(f"{name} {field}", 32) for field in HASHES}
    for field in OPTIONAL:
        if derived_number(f"{name} has {field}", 2):
            header[field] = derived_bytes(f"{name} {field}", 32)
    if version in ("1.2.0", "1.10.0"):
        header["later"] = {"b": [1.0, None, -1], "aa": derived_bytes(f"{name} later", 5)}
    return header


def other(held: Any) -> Any:
    """A value of the same type that is not the same."""
    return f"{held}x" if isinstance(held, str) else bytes([held[0] ^ 1]) + held[1:]
