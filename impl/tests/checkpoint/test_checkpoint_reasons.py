"""The closed list of reasons: each one is in a frozen answer, with its code."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from impl.failure import NUMBERS, RECORD_FIELDS
from impl.reference.checkpoint.fields import REASONS, Reason, code_of

VECTORS = Path(__file__).parents[3] / "vectors" / "checkpoint"
LIST = (
    "MISSING_FIELD UNKNOWN_FIELD WRONG_TYPE NULL_FIELD BAD_VERSION INCOMPATIBLE_VERSION NON_CANONICAL HASH_MISMATCH "
    "ROOT_MISMATCH MISSING_SHARD EXTRA_SHARD SHARD_MISMATCH DUPLICATE_PATH BAD_PATH LINK_MISMATCH CHAIN_MISMATCH "
    "MISSING_COMPONENT PARTIAL_NOT_DECLARED SIGNATURE_INVALID TARGET_EXISTS LIMIT_EXCEEDED IDENTITY_MISMATCH "
    "WAL_RECORD_INVALID"
)


def failures(item: Any) -> Iterator[dict[str, str]]:
    """The failure records with a reason in a JSON document."""
    if isinstance(item, dict):
        if {"reason", "failure_code"} <= set(item):
            yield item
        item = list(item.values())
    if isinstance(item, list):
        for part in item:
            yield from failures(part)


def test_the_list_is_closed_and_in_order() -> None:
    assert list(REASONS) == LIST.split() == list(get_args(Reason))


def test_each_reason_is_produced_with_its_code() -> None:
    """Every backend gives the frozen answers: `tally run`."""
    codes: dict[str, set[str]] = defaultdict(set)
    for file in VECTORS.glob("*.json"):
        for record in failures(json.loads(file.read_text("utf-8"))):
            codes[record["reason"]].add(record["failure_code"])
            assert set(record) <= set(RECORD_FIELDS)
    others = {"IDENTITY_MISMATCH": "REPLAY_DIVERGENCE", "WAL_RECORD_INVALID": "WAL_CORRUPTION"}
    assert codes == {reason: {others.get(reason, "CONTRACT_VIOLATION")} for reason in REASONS}
    assert codes == {reason: {code_of(reason)} for reason in REASONS}
    assert set().union(*codes.values()) <= set(NUMBERS)
