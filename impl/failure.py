"""Contract failures: their numbers and the types of their records."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from impl.types import bytes32, uint64

NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "BATCH_SIZE_INCONSISTENT": 1101,
        "INVALID_DATASET_KEY": 1102,
        "CARDINALITY_MISMATCH": 1103,
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY": 1104,
        "QUEUE_TIMEOUT": 1201,
        "META_MISSING": 1202,
        "META_INVALID": 1203,
        "SCHEMA_MISMATCH": 1204,
        "CONFIG_INVALID": 1205,
        "LEGACY_INVALID": 1206,
        "CHUNK_TOO_SMALL": 1301,
        "STEP_OPEN": 1302,
        "CHECKPOINT_MID_STEP": 1303,
        "STREAM_MODEL_MISMATCH": 1304,
        "POSITION_OUT_OF_BOUNDS": 1305,
        "CONFIG_MISMATCH": 1306,
        "CONTENT_MISMATCH": 1307,
        "CURSOR_MISSING": 1308,
        "DATASET_MISMATCH": 1309,
        "RNG_CONSUMPTION_VIOLATION": 1407,
        "WAL_CORRUPTION": 1502,
        "CONTRACT_VIOLATION": 1801,
        "INVALID_STAGE_TYPE": 1802,
        "COUNTER_OVERFLOW": 1804,
        "REPLAY_DIVERGENCE": 1901,
        "UNKNOWN_TABLE": 2001,
        "DANGLING_KEY": 2002,
        "NON_FINITE": 2003,
        "COMPOSITE_KEY": 2004,
        "ROW_NOT_FOUND": 2005,
        "LIMIT_EXCEEDED": 2006,
        "TARGET_TRUNCATED": 2007,
        "MIXED_TASKS": 2008,
    }
)

# A field has the same type in every failure record that has it.
RECORD_FIELDS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "failure_code": str,
        "failure_operator": str,
        "t": uint64,
        "dataset_key": str,
        "data_replay_t": bytes32,
        "replay_token": bytes32,
        "reason": str,
        "field_path": str,
        "stream_pulse": uint64,
        "model_pulse": uint64,
        "message": str,
    }
)


class ContractFailure(Exception):
    """A refusal that the contract declares: `code` from the registry, `data` the whole failure record."""

    def __init__(self, code: str, data: Mapping[str, object]) -> None:
        super().__init__(code)
        self.code = code
        self.data = dict(data)

    @property
    def number(self) -> int:
        """The number of the code in the error registry."""
        return NUMBERS[self.code]


def default_failure(code: str, operator: str) -> ContractFailure:
    """Return a failure with the default record {failure_code, failure_operator}."""
    return ContractFailure(code, {"failure_code": code, "failure_operator": operator})
