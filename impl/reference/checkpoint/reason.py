"""Why a checkpoint is refused: the closed list of reasons, in the order that decides."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, get_args

from impl.failure import ContractFailure
from impl.reference.checkpoint.field_type import is_bytes32, is_uint64

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
