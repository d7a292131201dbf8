"""The error registry, and the record that Emit makes of a code."""

from typing import Any

import pytest

from impl.failure import NUMBERS
from impl.reference import backend
from impl.reference.canonical_cbor import decode_canonical
from impl.reference.error.registry import REGISTRY
from impl.tests.batch_calls import failure_of

METHOD = "UML_OS.Error.Emit_v1"
TOKEN = bytes(range(32))
SAMPLES = {"uint64": 2**64 - 1, "string": "q"}


def params(code_id: str, diagnostics: object) -> dict[str, Any]:
    context = {"t": 7, "rank": 3, "failure_operator": "acme", "replay_token": TOKEN, "diagnostics": diagnostics}
    return {"code_id": code_id, "context": context}


def test_the_registry_and_the_numbers_hold_the_same_codes() -> None:
    assert set(REGISTRY) == set(NUMBERS)
    assert len(set(NUMBERS.values())) == len(NUMBERS)


def test_every_message_is_one_constant_sentence_of_its_own() -> None:
    messages = [code.message for code in REGISTRY.values()]
    assert len(set(messages)) == len(messages)
    assert all(message.endswith(".") and message.count(". ") == 0 and "{" not in message for message in messages)


@pytest.mark.parametrize("code_id", sorted(REGISTRY))
def test_every_code_is_emitted_with_its_own_diagnostics(code_id: str) -> None:
    diagnostics = {name: SAMPLES[kind] for name, kind in REGISTRY[code_id].diagnostics.items()}
    answer = backend.call(METHOD, params(code_id, diagnostics))
    assert answer["record"] == {
        "code_id": code_id,
        "numeric_code": NUMBERS[code_id],
        "severity": REGISTRY[code_id].severity,
        "subsystem": REGISTRY[code_id].subsystem,
        "t": 7,
        "rank": 3,
        "failure_operator": "acme",
        "replay_token": TOKEN,
        "message": REGISTRY[code_id].message,
        "retryable": False,
        "privacy_class": "PUBLIC",
        "diagnostics": diagnostics,
    }
    assert decode_canonical(answer["record_cbor"]) == answer["record"]


@pytest.mark.parametrize(
    ("code_id", "diagnostics"),
    [
        ("NO_SUCH_CODE", {}),
        ("", {}),
        ("invalid_stage_type", {"stage_type": "x"}),
        ("CONTRACT_VIOLATION", {"reason": "x"}),
        ("CONTRACT_VIOLATION", None),
        ("CONTRACT_VIOLATION", []),
        ("CONTRACT_VIOLATION", (("a", 1), ("a", 1))),
        ("INVALID_STAGE_TYPE", {}),
        ("INVALID_STAGE_TYPE", {"stage_type": 1}),
        ("INVALID_STAGE_TYPE", {"stage_type": b"x"}),
        ("INVALID_STAGE_TYPE", {"stage_type": None}),
        ("INVALID_STAGE_TYPE", {"stage_type": "x", "more": 1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": True}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": -1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": 2**64}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": 1.0}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": "1"}),
    ],
)
def test_refuses_an_unknown_code_and_diagnostics_that_are_not_the_registered_ones(
    code_id: str, diagnostics: object
) -> None:
    assert failure_of(METHOD, params(code_id, diagnostics)) == {
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": METHOD,
    }
