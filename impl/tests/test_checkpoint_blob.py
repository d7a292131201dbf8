"""A checkpoint in one piece: identical bytes, every damage found, every identity compared."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.failure import ContractFailure
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.container import IDENTITY
from impl.reference.checkpoint.schema import MAX_HEADER_BYTES
from impl.tests.checkpoint_calls import ABSENT, REPLAY_TOKEN, call, changed, pinned_header, reason, refusal
from impl.tests.test_serialization import VALUES

BLOB: bytes = call("Serialize", header=pinned_header())["checkpoint_blob"]
CODES = {"CONTRACT_VIOLATION", "REPLAY_DIVERGENCE"}


def blob_of(**changes: Any) -> bytes:
    blob: bytes = call("Serialize", header=pinned_header(**changes))["checkpoint_blob"]
    return blob


def restored(blob: bytes = BLOB, **expected: Any) -> dict[str, Any]:
    return call("Restore", checkpoint_blob=blob, expected=expected)


def refused(blob: bytes = BLOB, **expected: Any) -> tuple[str, str]:
    return reason("Restore", checkpoint_blob=blob, expected=expected)


def is_refused(blob: bytes) -> bool:
    try:
        call("Restore", checkpoint_blob=blob, expected={})
    except ContractFailure as failure:
        return failure.code in CODES and set(failure.data) >= {"reason", "field_path"}
    return False


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"checkpoint_hash_prev": bytes(32), "dp_accountant_state_root_hash": bytes(32)},
        {"tenant_id": "\u00fc\x00", "t": 2**64 - 1},
        {"checkpoint_schema_version": "1.7.0", "added": {"b": [1.5, None, b""], "aa": -0.0}},
    ],
)
def test_serialize_restore_serialize_is_the_identity_on_bytes(changes: dict[str, Any]) -> None:
    blob = blob_of(**changes)
    assert call("Serialize", header=restored(blob)["header"])["checkpoint_blob"] == blob


def test_the_order_of_insertion_is_irrelevant() -> None:
    header = pinned_header(checkpoint_schema_version="1.2.0", added={"x": 1, "a": 2})
    reordered = dict(reversed({**header, "added": {"a": 2, "x": 1}}.items()))
    assert call("Serialize", header=reordered) == call("Serialize", header=header)


def test_fields_of_a_newer_minor_are_kept() -> None:
    header = restored(blob_of(checkpoint_schema_version="1.2.0", added=[1]))["header"]
    assert header == pinned_header(checkpoint_schema_version="1.2.0", added=[1])


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ("1.0.0", "migrated"),
        ("1.0.7", "migrated"),
        ("1.1.0", "exact"),
        ("1.2.0", "minor_newer"),
        ("1.10.0", "minor_newer"),
    ],
)
def test_the_report_says_how_the_version_stands_to_the_registry(version: str, level: str) -> None:
    report = restored(blob_of(checkpoint_schema_version=version))["report"]
    assert report["compatibility_level"] == level


def test_the_report_names_the_source_and_the_size() -> None:
    report = restored()["report"]
    assert type(report.pop("restore_time_ms")) is int
    assert report == {
        "status": "success",
        "compatibility_level": "migrated",
        "checkpoint_size_bytes": 1_051,
        "trace_record": {
            "schema_version": "1.0.0",
            "source_hash": sha256(encode_canonical(["source_run", "t", "r", bytes(range(32, 64))])).digest(),
            "step": "restore",
            "status": "success",
            "checkpoint_hash": sha256(encode_canonical(pinned_header())).digest(),
            "restore_status": "success",
        },
    }


@pytest.mark.parametrize("name", IDENTITY)
def test_each_of_the_ten_identity_fields_aborts_when_it_differs(name: str) -> None:
    header = pinned_header()
    other = header[name] + "x" if isinstance(header[name], str) else bytes(reversed(header[name]))
    assert restored(**{name: header[name]})["header"] == header
    record = refusal("Restore", checkpoint_blob=BLOB, expected={name: other})
    assert record == {
        "t": 7,
        "failure_code": "REPLAY_DIVERGENCE",
        "failure_operator": "UML_OS.Checkpoint.Restore_v1",
        "replay_token": REPLAY_TOKEN,
        "reason": "IDENTITY_MISMATCH",
        "field_path": name,
    }


def test_of_two_identity_fields_that_differ_the_first_of_the_seed_is_named() -> None:
    both = {"manifest_hash": bytes(32), "checkpoint_merkle_root": bytes(32)}
    assert refused(**both) == ("IDENTITY_MISMATCH", "checkpoint_merkle_root")
    assert refused(**both, run_id="x", tenant_id="t") == ("IDENTITY_MISMATCH", "run_id")


def test_there_are_ten_identity_fields_in_the_order_of_the_seed() -> None:
    assert list(IDENTITY) == [
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
    ]


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (None, ("WRONG_TYPE", "expected")),
        ([], ("WRONG_TYPE", "expected")),
        (((1, 2),), ("WRONG_TYPE", "expected")),
        ({"run_idd": "r"}, ("UNKNOWN_FIELD", "expected.run_idd")),
        ({"t": 7}, ("UNKNOWN_FIELD", "expected.t")),
        ({"full_checkpoint_hash": bytes(32)}, ("UNKNOWN_FIELD", "expected.full_checkpoint_hash")),
        ({"run_id": None}, ("NULL_FIELD", "expected.run_id")),
        ({"run_id": b"r"}, ("WRONG_TYPE", "expected.run_id")),
        ({"replay_token": bytes(31)}, ("WRONG_TYPE", "expected.replay_token")),
    ],
)
def test_an_expectation_that_cannot_be_compared_is_refused(expected: object, found: tuple[str, str]) -> None:
    assert reason("Restore", checkpoint_blob=BLOB, expected=expected) == found


def test_an_expected_hash_is_compared() -> None:
    checkpoint_hash = sha256(encode_canonical(pinned_header())).digest()
    assert restored(checkpoint_hash=checkpoint_hash)["header"] == pinned_header()
    assert refused(checkpoint_hash=bytes(32)) == ("HASH_MISMATCH", "checkpoint_hash")


def test_the_chain_is_compared() -> None:
    blob = blob_of(checkpoint_hash_prev=bytes([1] * 32))
    assert restored(blob, checkpoint_hash_prev=bytes([1] * 32))["report"]["status"] == "success"
    assert refused(blob, checkpoint_hash_prev=bytes([2] * 32)) == ("CHAIN_MISMATCH", "checkpoint_hash_prev")
    assert refused(BLOB, checkpoint_hash_prev=bytes([2] * 32)) == ("CHAIN_MISMATCH", "checkpoint_hash_prev")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, ("WRONG_TYPE", "")),
        ([], ("WRONG_TYPE", "")),
        (pinned_header(t=ABSENT), ("MISSING_FIELD", "t")),
        (pinned_header(added=1), ("UNKNOWN_FIELD", "added")),
        (pinned_header(t="7"), ("WRONG_TYPE", "t")),
        (pinned_header(checkpoint_hash_prev=None), ("NULL_FIELD", "checkpoint_hash_prev")),
        (pinned_header(checkpoint_schema_version="1.0"), ("BAD_VERSION", "checkpoint_schema_version")),
        (pinned_header(checkpoint_schema_version="2.0.0"), ("INCOMPATIBLE_VERSION", "checkpoint_schema_version")),
        (
            pinned_header(checkpoint_schema_version="1.2.0", added=float("nan")),
            ("NON_CANONICAL", "added"),
        ),
        (pinned_header(tenant_id="x" * MAX_HEADER_BYTES), ("LIMIT_EXCEEDED", "")),
    ],
)
def test_a_header_that_its_schema_refuses_is_not_serialized(header: object, found: tuple[str, str]) -> None:
    assert reason("Serialize", header=header) == found


@pytest.mark.parametrize(
    ("header", "t", "replay_token"),
    [
        (pinned_header(run_id=ABSENT), 7, REPLAY_TOKEN),
        (pinned_header(t=-1), 0, REPLAY_TOKEN),
        (pinned_header(replay_token=bytes(31)), 7, bytes(32)),
        (pinned_header(t=True), 0, REPLAY_TOKEN),
        (["t", 7], 0, bytes(32)),
    ],
)
def test_a_failure_says_t_and_token_where_the_header_has_them(header: object, t: int, replay_token: bytes) -> None:
    record = refusal("Serialize", header=header)
    assert (record["t"], record["replay_token"]) == (t, replay_token)


def test_the_largest_header_is_serialized_and_restored() -> None:
    room = MAX_HEADER_BYTES - len(encode_canonical(pinned_header(tenant_id="x" * 1_000)))
    header = pinned_header(tenant_id="x" * (1_000 + room))
    assert len(encode_canonical(header)) == MAX_HEADER_BYTES
    blob = call("Serialize", header=header)["checkpoint_blob"]
    assert restored(blob)["header"] == header
    assert reason("Serialize", header=changed(header, {"run_id": "rr"})) == ("LIMIT_EXCEEDED", "")


CHECKPOINT_HASH = sha256(encode_canonical(pinned_header())).digest()


@pytest.mark.parametrize(
    ("blob", "found"),
    [
        (b"", ("NON_CANONICAL", "checkpoint_blob")),
        (BLOB + b"\x00", ("NON_CANONICAL", "checkpoint_blob")),
        (BLOB[:-1], ("NON_CANONICAL", "checkpoint_blob")),
        (bytes.fromhex("9b1000000000000000"), ("NON_CANONICAL", "checkpoint_blob")),
        (b"\x5b\x10" + bytes(18), ("NON_CANONICAL", "checkpoint_blob")),
        (b"\x81" * 60_000, ("NON_CANONICAL", "checkpoint_blob")),
        (bytes(70_000), ("LIMIT_EXCEEDED", "checkpoint_blob")),
        (encode_canonical(pinned_header()), ("WRONG_TYPE", "checkpoint_blob")),
        (encode_canonical([]), ("WRONG_TYPE", "checkpoint_blob")),
        (encode_canonical(["uml_os_checkpoint_v2", pinned_header(), CHECKPOINT_HASH]),
         ("WRONG_TYPE", "checkpoint_blob")),
        (encode_canonical(["uml_os_checkpoint_v1", pinned_header()]), ("WRONG_TYPE", "checkpoint_blob")),
        (encode_canonical(["uml_os_checkpoint_v1", pinned_header(), bytes(31)]), ("WRONG_TYPE", "checkpoint_hash")),
        (encode_canonical(["uml_os_checkpoint_v1", pinned_header(t=ABSENT), bytes(31)]), ("MISSING_FIELD", "t")),
        (encode_canonical(["uml_os_checkpoint_v1", None, CHECKPOINT_HASH]), ("WRONG_TYPE", "")),
        (encode_canonical(["uml_os_checkpoint_v1", pinned_header(), bytes(32)]), ("HASH_MISMATCH", "checkpoint_hash")),
        (encode_canonical(["uml_os_checkpoint_v1", pinned_header(t=8), CHECKPOINT_HASH]),
         ("HASH_MISMATCH", "checkpoint_hash")),
    ],
    ids=lambda item: item[0] if isinstance(item, tuple) else "",
)  # fmt: skip
def test_a_blob_that_is_not_one_is_refused(blob: bytes, found: tuple[str, str]) -> None:
    assert refused(blob) == found


def test_every_bit_of_every_byte_is_bound() -> None:
    for offset in range(len(BLOB)):
        for bit in range(8):
            flipped = bytearray(BLOB)
            flipped[offset] ^= 1 << bit
            assert is_refused(bytes(flipped)), (offset, bit)


def test_every_byte_changed_at_random_taken_away_or_doubled_is_found() -> None:
    for offset in range(len(BLOB)):
        other = (BLOB[offset] + 1 + sha256(offset.to_bytes(4)).digest()[0] % 255) % 256
        assert is_refused(BLOB[:offset] + bytes([other]) + BLOB[offset + 1 :])
        assert is_refused(BLOB[:offset] + BLOB[offset + 1 :])
        assert is_refused(BLOB[:offset] + BLOB[offset : offset + 1] * 2 + BLOB[offset + 1 :])
        assert is_refused(BLOB[:offset])


def _spliced(start: int, length: int, middle: bytes) -> bytes:
    return BLOB[:start] + middle + BLOB[start + length :]


SPLICES: st.SearchStrategy[bytes] = st.builds(
    _spliced, st.integers(0, len(BLOB)), st.integers(0, 80), st.binary(max_size=80)
)


@settings(deadline=None, max_examples=200)
@given(SPLICES)
def test_any_splice_is_refused_with_a_contract_code(blob: bytes) -> None:
    assert blob == BLOB or is_refused(blob)


@settings(deadline=None, max_examples=60)
@given(VALUES, VALUES)
def test_any_three_parts_around_any_header_are_refused(header: object, checkpoint_hash: object) -> None:
    assert is_refused(encode_canonical(["uml_os_checkpoint_v1", header, checkpoint_hash]))


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_any_expectation_is_met_or_refused(expected: object) -> None:
    try:
        call("Restore", checkpoint_blob=BLOB, expected=expected)
    except ContractFailure as failure:
        assert failure.code in CODES  # noqa: PT017
    else:
        assert expected == {}


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
def test_any_header_is_serialized_or_refused(changes: dict[str, Any]) -> None:
    header = {**pinned_header(checkpoint_schema_version="1.5.0"), **changes}
    try:
        blob = call("Serialize", header=header)["checkpoint_blob"]
    except ContractFailure as failure:
        assert failure.code in CODES  # noqa: PT017
    else:
        assert restored(blob)["header"] == header
