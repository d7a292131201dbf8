"""Contract failures: their numbers and the types of their records."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Self

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
        "QUARANTINE_FULL": 1207,
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
    """A refusal that the contract declares.

    `code` is the code of the registry, `data` the whole failure record. `sentence` is for people and never on a wire:
    the field, what is allowed, the value given and what to do; empty where the caller is no person. A failure of a
    wrong type is a TypeError too, one of a wrong value a ValueError, one of a queue that stays empty a TimeoutError. It
    can be pickled. Source: `spec/errors.yaml`.

    >>> import tallystick
    >>> try:
    ...     tallystick.Sampler(cardinality=8, global_batch_size=4, seed_token=bytes(32), rank=3, world_size=2)
    ... except tallystick.ContractFailure as failure:
    ...     print(failure)
    ...     print(failure.code, failure.number, failure.data["failure_operator"])
    rank must be below world_size: got 3 of 2 (CONTRACT_VIOLATION)
    CONTRACT_VIOLATION 1801 UML_OS.Data.NextBatch_v2
    """

    def __init__(self, code: str, data: Mapping[str, object], sentence: str = "") -> None:
        super().__init__(f"{sentence} ({code})" if sentence else code)
        self.code = code
        self.data = dict(data)
        self.sentence = sentence

    @property
    def number(self) -> int:
        """The number of the code in the error registry."""
        return NUMBERS[self.code]

    def saying(self, sentence: str) -> Self:
        """Return this failure with a sentence, where it has none yet."""
        if not self.sentence:
            self.sentence = sentence
            self.args = (f"{sentence} ({self.code})",)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # The worker of a DataLoader or of a process pool sends its failure to the process that waits.
        return _bare, (type(self), self.args), dict(self.__dict__)


def _bare(kind: type[ContractFailure], args: tuple[object, ...]) -> ContractFailure:
    failure = kind.__new__(kind)
    failure.args = args
    return failure


class WrongType(ContractFailure, TypeError):
    """A refusal of a value that is of no allowed type."""


class WrongValue(ContractFailure, ValueError):
    """A refusal of a value that is too small, too long or otherwise not allowed."""


def default_failure(code: str, operator: str, sentence: str = "") -> ContractFailure:
    """Return a failure with the default record {failure_code, failure_operator}."""
    return ContractFailure(code, {"failure_code": code, "failure_operator": operator}, sentence)
