"""The schemas of the checkpoint header, and the migrations between them.

`spec/checkpoint/schemas/registry.yaml` says the same as data; the header itself carries no migration controls, because
it would change whenever the support changes (seed 002 §II.F; requirement C44; rulings CA21, CA34).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from impl.reference.checkpoint.field_type import FieldType
from impl.reference.checkpoint.fields import Fields
from impl.reference.checkpoint.version import Version

MIGRATE: Final = "UML_OS.Checkpoint.Migrate_v1"

REQUIRED: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "tenant_id": "string",
        "run_id": "string",
        "spec_version": "string",
        "checkpoint_schema_version": "string",
        "replay_token": "bytes32",
        "t": "uint64",
        "manifest_hash": "bytes32",
        "trace_root_hash": "bytes32",
        "sampler_config_hash": "bytes32",
        "tmmu_plan_hash": "bytes32",
        "backend_binary_hash": "bytes32",
        "checkpoint_merkle_root": "bytes32",
        "policy_hash": "bytes32",
        "determinism_profile_hash": "bytes32",
        "dependencies_lock_hash": "bytes32",
        "operator_contracts_root_hash": "bytes32",
        "runtime_env_hash": "bytes32",
        "code_commit_hash": "bytes32",
        "lineage_root_hash": "bytes32",
        "tensors_root_hash": "bytes32",
        "optimizer_state_root_hash": "bytes32",
        "trace_tail_hash_at_checkpoint": "bytes32",
    }
)

OPTIONAL: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "dp_accountant_state_root_hash": "bytes32",
        "checkpoint_hash_prev": "bytes32",
    }
)

HEADER: Final = Fields(REQUIRED, OPTIONAL)


@dataclass(frozen=True, slots=True)
class Schema:
    """Hold a registered version and its migration controls (seed 002 §II.F)."""

    version: Version
    migration_supported_from: tuple[str, ...]
    migration_operator: str
    migration_invariants: tuple[str, ...]


SCHEMAS: Final[Mapping[str, Schema]] = MappingProxyType(
    {
        "1.0.0": Schema(Version(1, 0, 0), (), MIGRATE, ()),
        "1.1.0": Schema(Version(1, 1, 0), ("1.0.0",), MIGRATE, ("every-other-field-unchanged",)),
    }
)

NEWEST: Final = "1.1.0"
