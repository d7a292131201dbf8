"""The trace link, which ties a checkpoint to the hash chain of its trace (seed 002 §II.I)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NoReturn, TypeGuard, get_args

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import NotCanonical, encode_strictly

FieldType = Literal["string", "uint64", "bytes32", "bool", "array<string>", "array<map>"]

MAX_UINT64: Final = 2**64 - 1


def is_string(item: object) -> TypeGuard[str]:
    """Tell whether an item is a Unicode text; a lone surrogate is none."""
    if not isinstance(item, str):
        return False
    try:
        item.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_uint64(item: object) -> TypeGuard[int]:
    """Tell whether an item is an integer from 0 to 2^64 - 1."""
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MAX_UINT64


def is_bytes32(item: object) -> TypeGuard[bytes]:
    """Tell whether an item is a byte string of exactly 32 bytes (requirement C02)."""
    return isinstance(item, bytes) and len(item) == 32


def is_bool(item: object) -> TypeGuard[bool]:
    """Tell whether an item is true or false."""
    return isinstance(item, bool)


def is_string_array(item: object) -> TypeGuard[list[str]]:
    """Tell whether an item is an array of Unicode texts."""
    return isinstance(item, list) and all(is_string(element) for element in item)


def is_named_map(item: object) -> TypeGuard[dict[str, object]]:
    """Tell whether an item is a map whose keys are distinct Unicode texts."""
    return isinstance(item, dict) and all(is_string(key) for key in item)


def is_map_array(item: object) -> TypeGuard[list[dict[str, object]]]:
    """Tell whether an item is an array of maps with text keys."""
    return isinstance(item, list) and all(is_named_map(element) for element in item)


CHECKS: Final[Mapping[FieldType, Callable[[object], bool]]] = MappingProxyType(
    {
        "string": is_string,
        "uint64": is_uint64,
        "bytes32": is_bytes32,
        "bool": is_bool,
        "array<string>": is_string_array,
        "array<map>": is_map_array,
    }
)


Reason = Literal[
    "MISSING_FIELD",
    "UNKNOWN_FIELD",
    "WRONG_TYPE",
    "NULL_FIELD",
    "BAD_VERSION",
    "INCOMPATIBLE_VERSION",
    "NON_CANONICAL",
    "HASH_MISMATCH",
    "ROOT_MISMATCH",
    "MISSING_SHARD",
    "EXTRA_SHARD",
    "SHARD_MISMATCH",
    "DUPLICATE_PATH",
    "BAD_PATH",
    "LINK_MISMATCH",
    "CHAIN_MISMATCH",
    "MISSING_COMPONENT",
    "PARTIAL_NOT_DECLARED",
    "SIGNATURE_INVALID",
    "TARGET_EXISTS",
    "LIMIT_EXCEEDED",
    "IDENTITY_MISMATCH",
    "WAL_RECORD_INVALID",
]

REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

NO_TOKEN: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Fault:
    """Name a field or a path, and what is wrong with it."""

    field_path: str
    reason: Reason


def sorted_faults(faults: Iterable[Fault]) -> list[Fault]:
    """Return each fault once, by the bytes of the field path, then by the order of the reasons."""
    return sorted(set(faults), key=lambda fault: (fault.field_path.encode(), REASONS.index(fault.reason)))


def first_fault(faults: Iterable[Fault]) -> Fault:
    """Return the fault that decides: the first reason of the list, then the first field path by its bytes."""
    return min(faults, key=lambda fault: (REASONS.index(fault.reason), fault.field_path.encode()))


def code_of(reason: Reason) -> str:
    """Return the error code of a reason (ruling CA12)."""
    match reason:
        case "IDENTITY_MISMATCH":
            return "REPLAY_DIVERGENCE"
        case "WAL_RECORD_INVALID":
            return "WAL_CORRUPTION"
        case _:
            return "CONTRACT_VIOLATION"


def refuse(operator: str, faults: Iterable[Fault], header: object = None) -> NoReturn:
    """Raise the failure that the first fault decides; t and the replay token come from the header where it has them."""
    fault = first_fault(faults)
    named = header if isinstance(header, dict) else {}
    t, replay_token = named.get("t"), named.get("replay_token")
    raise ContractFailure(
        code_of(fault.reason),
        {
            "t": t if is_uint64(t) else 0,
            "failure_code": code_of(fault.reason),
            "failure_operator": operator,
            "replay_token": replay_token if is_bytes32(replay_token) else NO_TOKEN,
            "reason": fault.reason,
            "field_path": fault.field_path,
        },
    )


def refuse_any(operator: str, faults: Iterable[Fault], header: object = None) -> None:
    """Raise the failure that the first fault decides, if there is a fault."""
    found = list(faults)
    if found:
        refuse(operator, found, header)


NOTHING = object()


@dataclass(frozen=True, slots=True)
class Fields:
    """Declare the required and the optional fields of a map, with their types."""

    required: Mapping[str, FieldType]
    optional: Mapping[str, FieldType]


def field_faults(
    item: Mapping[str, object], fields: Fields, *, prefix: str = "", unknown_allowed: bool = False
) -> Iterator[Fault]:
    """Yield at most one fault per field: absent, unknown, null, of another type, or without canonical bytes.

    An absent optional field has no key; a null is no absence (requirements C01-C04; rulings CA10, CA13).
    """
    for name, field_type in fields.required.items():
        if name not in item:
            yield Fault(prefix + name, "MISSING_FIELD")
        else:
            yield from _typed(prefix + name, item[name], field_type)
    for name, field_type in fields.optional.items():
        if name in item:
            yield from _typed(prefix + name, item[name], field_type)
    for name in item:
        if name not in fields.required and name not in fields.optional:
            yield from _unknown(prefix + name, item[name], unknown_allowed)


def _typed(field_path: str, content: object, field_type: FieldType) -> Iterator[Fault]:
    if content is None:
        yield Fault(field_path, "NULL_FIELD")
    elif not CHECKS[field_type](content):
        yield Fault(field_path, "WRONG_TYPE")


def _unknown(field_path: str, content: object, allowed: bool) -> Iterator[Fault]:
    if not allowed:
        yield Fault(field_path, "UNKNOWN_FIELD")
    elif content is None:
        yield Fault(field_path, "NULL_FIELD")
    elif not _is_canonical(content):
        yield Fault(field_path, "NON_CANONICAL")


def _is_canonical(content: object) -> bool:
    try:
        # One level for the map around it, one for the array around that in a blob (ruling CA23).
        encode_strictly([[content]])
    except NotCanonical:
        return False
    return True


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
