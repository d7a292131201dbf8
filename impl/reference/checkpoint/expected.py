"""What a caller expects of the checkpoint that it restores."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from impl.reference.checkpoint.field_type import FieldType, is_named_map
from impl.reference.checkpoint.fields import Fields, field_faults
from impl.reference.checkpoint.header import Header
from impl.reference.checkpoint.reason import Fault

# In the order of seed 002 §II.I, which decides the mismatch that is reported.
IDENTITY: Final[Mapping[str, FieldType]] = MappingProxyType(
    {
        "tenant_id": "string",
        "run_id": "string",
        "replay_token": "bytes32",
        "trace_root_hash": "bytes32",
        "checkpoint_merkle_root": "bytes32",
        "manifest_hash": "bytes32",
        "sampler_config_hash": "bytes32",
        "tmmu_plan_hash": "bytes32",
        "backend_binary_hash": "bytes32",
        "determinism_profile_hash": "bytes32",
    }
)

BLOB_DIGESTS: Final[Mapping[str, FieldType]] = MappingProxyType({"checkpoint_hash": "bytes32"})
CONTAINER_DIGESTS: Final[Mapping[str, FieldType]] = MappingProxyType(
    {"checkpoint_hash": "bytes32", "full_checkpoint_hash": "bytes32"}
)
CHAIN: Final[Mapping[str, FieldType]] = MappingProxyType({"checkpoint_hash_prev": "bytes32"})


def expectation_faults(expected: object, digests: Mapping[str, FieldType]) -> Iterator[Fault]:
    """Yield a fault for whatever in the context map could not be compared, so that no typing error passes silently."""
    if not is_named_map(expected):
        yield Fault("expected", "WRONG_TYPE")
        return
    comparable = Fields(required={}, optional={**IDENTITY, **digests, **CHAIN})
    yield from field_faults(expected, comparable, prefix="expected.")


def digest_faults(expected: Header, digests: Mapping[str, bytes]) -> Iterator[Fault]:
    """Yield a fault for each expected digest that the checkpoint does not have (ruling CA01)."""
    for name, digest in digests.items():
        if expected.get(name, digest) != digest:
            yield Fault(name, "HASH_MISMATCH")


def chain_faults(expected: Header, header: Header) -> Iterator[Fault]:
    """Yield a fault where the checkpoint does not follow the expected one (seed 002 §II.I; requirement C34)."""
    if "checkpoint_hash_prev" not in expected:
        return
    if header.get("checkpoint_hash_prev") != expected["checkpoint_hash_prev"]:
        yield Fault("checkpoint_hash_prev", "CHAIN_MISMATCH")


def identity_faults(expected: Header, header: Header) -> Iterator[Fault]:
    """Yield the first of the ten identity fields that differs (seed 002 §II.I; requirement C12; ruling CA11)."""
    for name in IDENTITY:
        if name in expected and expected[name] != header[name]:
            yield Fault(name, "IDENTITY_MISMATCH")
            return
