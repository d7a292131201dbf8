"""What meta.pkl must say: keys, types, and which of them a training type needs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from impl.reference.pipeline.field_spec import FieldSpec, NotASchema, schema_of
from impl.reference.pipeline.plain_value import invalid, require_plain, shown

REQUIRED: Final = ("dataset_name", "training_type", "batch_size", "batch_schema", "split_info")
CONDITIONAL: Final = ("vocab_size", "block_size", "target_size")
SPLITS: Final = ("train", "val")
# The domain of the contracts: a batch is padded to this size in memory, whatever its file holds.
MAX_BATCH_SIZE: Final = 2**20

# Which sizes apply to which training type (ruling QA20).
APPLICABLE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "LM": ("vocab_size", "block_size", "target_size"),
        "MLM": ("vocab_size", "block_size", "target_size"),
        "CLASSIFICATION": (),
        "TOKEN_CLASSIFICATION": ("vocab_size", "block_size"),
        "SEQUENCE_SCORING": ("block_size",),
    }
)


def check_meta(meta: object) -> Mapping[str, Any]:
    """Return the metadata where every required key is there and well typed; META_INVALID (requirements Q16, Q20, Q21).

    A size that does not apply may stand there and must then be a size; other keys pass untouched.
    """
    require_plain(meta)
    if not isinstance(meta, dict):
        raise invalid("the metadata is no map")
    for key in REQUIRED:
        if key not in meta:
            raise invalid(f"the metadata has no {key}")
    if not isinstance(meta["dataset_name"], str) or not meta["dataset_name"]:
        raise invalid("dataset_name is no text")
    training_type = meta["training_type"]
    if not isinstance(training_type, str) or training_type not in APPLICABLE:
        raise invalid(f"training_type {shown(training_type)} is none of {', '.join(APPLICABLE)}")
    for key in APPLICABLE[training_type]:
        if key not in meta:
            raise invalid(f"the metadata of {training_type} has no {key}")
    for key in ("batch_size", *CONDITIONAL):
        if key in meta and not is_size(meta[key]):
            raise invalid(f"{key} is no size")
    if meta["batch_size"] > MAX_BATCH_SIZE:
        raise invalid(f"batch_size is larger than {MAX_BATCH_SIZE}")
    schema_in(meta)
    _check_split_info(meta["split_info"])
    return meta


def schema_in(meta: Mapping[str, Any]) -> tuple[FieldSpec, ...]:
    """Return the fields of the metadata's batch_schema; META_INVALID."""
    try:
        return schema_of(meta["batch_schema"])
    except NotASchema as reason:
        raise invalid(f"batch_schema: {reason}") from None


def is_size(number: object) -> bool:
    """Tell whether something is a positive 64-bit integer; a bool is none."""
    return type(number) is int and 0 < number < 2**64


def _check_split_info(split_info: object) -> None:
    if not isinstance(split_info, dict):
        raise invalid("split_info is no map")
    for split in SPLITS:
        if not isinstance(split_info.get(split), dict):
            raise invalid(f"split_info has no map for {split}")
