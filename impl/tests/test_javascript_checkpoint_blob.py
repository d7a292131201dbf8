"""The checkpoint in one piece, in the JavaScript backend: schema, blob, restore, migration, and their refusals."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import cbor2
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from impl.tests.javascript_checkpoint import (
    IDENTITY,
    MIGRATE,
    OPTIONAL,
    REASONS,
    REQUIRED,
    RESTORE,
    SERIALIZE,
    TEXTS,
    Header,
    as_bytes,
    assert_refused,
    canonical,
    canonical_order,
    cbor_digest,
    digest,
    errors_of,
    pinned_header,
    serialized,
)
from impl.tests.javascript_process import Backend, Json, Native, Value, evaluate

REGISTRY = Path(__file__).parents[2] / "spec" / "checkpoint" / "schemas" / "registry.yaml"
PINNED_HASH = bytes.fromhex("ba9897de3b6ebe8bb7127840ce3b3d58053b7af9ce3a8c6d55791c769166c2bd")
KEY = bytes(range(100, 132))
POLICY = digest(b"policy")


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


@pytest.fixture(scope="module")
def json_backend(tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend("json")
    yield started
    assert started.finish() == 0


def restored(backend: Backend, blob: bytes, expected: Native = None) -> Json:
    return backend.call(RESTORE, {"checkpoint_blob": blob, "expected": Value(expected or {})})


def blob_of(header: Native) -> bytes:
    return canonical(["uml_os_checkpoint_v1", header, cbor_digest(header)])


# The closed list


def test_of_two_reasons_the_first_of_the_closed_list_decides(tool: Callable[[str], str]) -> None:
    tool("node")
    script = f"""import {{ Findings }} from "./checkpoint/reasons.js";
        const reasons = {REASONS};
        const decided = reasons.slice(1).map((reason, index) => {{
          const findings = new Findings();
          findings.add("a", reason);
          findings.add("b", reasons[index]);
          return findings.first().reason;
        }});
        console.log(JSON.stringify(decided));"""
    assert evaluate(script) == REASONS[:-1]


def test_the_schema_is_the_published_one(tool: Callable[[str], str]) -> None:
    tool("node")
    published = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    script = """import { HEADER_FIELDS, SCHEMAS, NEWEST, MIGRATION_OPERATOR } from "./checkpoint/schema.js";
        console.log(JSON.stringify([[...HEADER_FIELDS], [...SCHEMAS], Object.values(NEWEST), MIGRATION_OPERATOR]));"""
    fields, schemas, newest, operator = evaluate(script)
    declared = [[n, {"optional": False} | field] for n, field in published["fields"].items()]
    assert fields == declared
    assert schemas == [[schema["version"], schema["migration_supported_from"]] for schema in published["schemas"]]
    assert ".".join(newest) == published["newest"]
    assert {schema["migration_operator"] for schema in published["schemas"]} == {operator}


# ValidateSchema


def test_the_pinned_header_is_valid(backend: Backend) -> None:
    assert errors_of(backend, pinned_header()) == []
    assert errors_of(backend, pinned_header(**dict.fromkeys(OPTIONAL, bytes(32)))) == []


@pytest.mark.parametrize("name", REQUIRED)
def test_each_required_field_is_needed(backend: Backend, name: str) -> None:
    header = pinned_header(**{name: None})
    assert errors_of(backend, header) == [(name, "MISSING_FIELD")]
    assert_refused(backend, SERIALIZE, {"header": Value(header)}, "MISSING_FIELD", name, header)


@pytest.mark.parametrize("name", [*REQUIRED, *OPTIONAL])
def test_each_field_has_its_type_and_is_never_null(backend: Backend, name: str) -> None:
    wrong: list[Native] = [b"t", 7, ["t"]] if name in TEXTS else ["7", bytes(31), bytes(33)]
    for item in [*wrong, -1, 1.0, True, {}]:
        assert errors_of(backend, pinned_header() | {name: item}) == [(name, "WRONG_TYPE")]
    assert errors_of(backend, pinned_header() | {name: None}) == [(name, "NULL_FIELD")]


def test_a_step_may_be_any_uint64(backend: Backend) -> None:
    assert errors_of(backend, pinned_header(t=2**64 - 1)) == []
    assert errors_of(backend, pinned_header(t=0)) == []


@pytest.mark.parametrize("version", ["1", "1.0", "01.0.0", "1.0.0.0", "1.0.-1", " 1.0.0", "1.0.0\n", "v1.0.0", ""])
def test_a_version_is_three_plain_integers(backend: Backend, version: str) -> None:
    header = pinned_header(checkpoint_schema_version=version)
    assert errors_of(backend, header) == [("checkpoint_schema_version", "BAD_VERSION")]


@pytest.mark.parametrize(
    ("version", "reader", "accepted"),
    [
        ("1.0.0", "1.0.0", False),
        ("1.0.9", "1.0.0", False),
        ("1.1.0", "1.0.0", True),
        ("1.1.0", "1.1.0", False),
        ("1.2.0", "1.1.0", True),
        ("1.10.0", "1.1.0", True),
        ("1.9999999999999999999.0", "1.1.0", True),
    ],
)
def test_an_unknown_field_is_accepted_from_a_newer_minor_only(
    backend: Backend, version: str, reader: str, accepted: bool
) -> None:
    header = pinned_header(checkpoint_schema_version=version, extra={"a": [1.5, None]})
    assert errors_of(backend, header, reader) == ([] if accepted else [("extra", "UNKNOWN_FIELD")])


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0", "10.0.0"])
def test_another_major_is_incompatible(backend: Backend, version: str) -> None:
    header = pinned_header(checkpoint_schema_version=version)
    expected = ("checkpoint_schema_version", "INCOMPATIBLE_VERSION")
    assert errors_of(backend, header) == [expected]
    assert_refused(backend, SERIALIZE, {"header": Value(header)}, expected[1], expected[0], header)


def test_the_version_of_the_reader_is_reported_on(backend: Backend) -> None:
    assert errors_of(backend, pinned_header(), "1") == [("schema_version", "BAD_VERSION")]
    assert errors_of(backend, pinned_header(checkpoint_schema_version="0.1.0"), "0.1.0") == [
        ("schema_version", "INCOMPATIBLE_VERSION")
    ]


def test_a_header_that_is_no_map_is_reported(backend: Backend) -> None:
    no_maps: list[Native] = [None, 7, "header", [], b"\xa0"]
    for header in no_maps:
        assert errors_of(backend, header) == [("", "WRONG_TYPE")]


def test_the_report_is_full_and_sorted(backend: Backend) -> None:
    header = pinned_header(t=-1, run_id=None, tenant_id=b"t", b=1, aa=2) | {"policy_hash": None}
    assert errors_of(backend, header) == [
        ("aa", "UNKNOWN_FIELD"),
        ("b", "UNKNOWN_FIELD"),
        ("policy_hash", "NULL_FIELD"),
        ("run_id", "MISSING_FIELD"),
        ("t", "WRONG_TYPE"),
        ("tenant_id", "WRONG_TYPE"),
    ]


@pytest.mark.parametrize("item", [math.nan, [math.inf], {1: 2}])
def test_what_has_no_canonical_form_is_not_hashed(backend: Backend, item: Native) -> None:
    header = pinned_header(checkpoint_schema_version="1.2.0", extra=item)
    assert errors_of(backend, header, "1.1.0") == [("extra", "NON_CANONICAL")]
    assert_refused(backend, SERIALIZE, {"header": Value(header)}, "NON_CANONICAL", "extra", header)


def test_a_header_with_a_repeated_field_is_no_map(json_backend: Backend) -> None:
    header: Native = (*pinned_header().items(), ("run_id", "other"))
    assert errors_of(json_backend, header) == [("", "WRONG_TYPE")]


# Serialize and Restore


def test_the_pinned_header_has_the_pinned_bytes(backend: Backend) -> None:
    header = pinned_header()
    encoded = canonical(header)
    assert (len(encoded), digest(encoded)) == (995, PINNED_HASH)
    result = backend.call(SERIALIZE, {"header": Value(header)})
    blob = blob_of(header)
    assert len(blob) == 1051
    assert result == backend.form({"checkpoint_blob": blob, "checkpoint_hash": PINNED_HASH})


def test_the_order_of_insertion_is_irrelevant(backend: Backend) -> None:
    header = pinned_header()
    assert serialized(backend, dict(reversed(header.items()))) == serialized(backend, header)


@pytest.mark.parametrize(
    ("version", "level"), [("1.0.0", "migrated"), ("1.1.0", "exact"), ("1.1.4", "exact"), ("1.2.0", "minor_newer")]
)
def test_a_restore_returns_the_header_and_its_report(backend: Backend, version: str, level: str) -> None:
    header = pinned_header(checkpoint_schema_version=version, checkpoint_hash_prev=bytes(32))
    blob = serialized(backend, header)
    result = restored(backend, blob, {name: header[name] for name in IDENTITY})
    elapsed = result["report"].pop("restore_time_ms")
    assert int(elapsed) < 60_000
    source = cbor_digest(["source_run", "t", "r", header["manifest_hash"]])
    trace = {"schema_version": version, "source_hash": source, "step": "restore", "status": "success"}
    trace |= {"checkpoint_hash": cbor_digest(header), "restore_status": "success"}
    report = {"status": "success", "compatibility_level": level, "checkpoint_size_bytes": len(blob)}
    assert result["header"] == backend.form(Value(canonical_order(header)))
    assert result["report"] == backend.form(report | {"trace_record": trace})


def test_unknown_fields_survive_a_round_trip(backend: Backend) -> None:
    header = pinned_header(checkpoint_schema_version="1.2.0", later={"b": -0.0, "aa": [2**64 - 1, None, b""]})
    blob = serialized(backend, header)
    returned = restored(backend, blob)["header"]
    request = {"jsonrpc": "2.0", "id": "again", "method": SERIALIZE, "params": {"header": returned}}
    backend.send(backend.encode(request))
    assert as_bytes(backend.receive()["result"]["checkpoint_blob"]) == blob


def test_every_change_of_one_byte_is_detected(json_backend: Backend) -> None:
    blob = serialized(json_backend, pinned_header())
    for offset in range(len(blob)):
        for mask in (0x01, 0x80):
            damaged = blob[:offset] + bytes([blob[offset] ^ mask]) + blob[offset + 1 :]
            failure = json_backend.refuse(RESTORE, {"checkpoint_blob": damaged, "expected": Value({})})
            assert failure["code"] == 1801, offset


def test_every_truncation_is_detected(json_backend: Backend) -> None:
    blob = serialized(json_backend, pinned_header())
    for length in range(len(blob)):
        params = {"checkpoint_blob": blob[:length], "expected": Value({})}
        assert_refused(json_backend, RESTORE, params, "NON_CANONICAL", "checkpoint_blob")


@pytest.mark.parametrize(
    ("blob", "reason", "path"),
    [
        (b"", "NON_CANONICAL", "checkpoint_blob"),
        (blob_of(pinned_header()) + b"\x00", "NON_CANONICAL", "checkpoint_blob"),
        (b"\x9b\x10" + bytes(18), "NON_CANONICAL", "checkpoint_blob"),
        (b"\x5b\x10" + bytes(18), "NON_CANONICAL", "checkpoint_blob"),
        (b"\x81" * 300 + b"\x00", "NON_CANONICAL", "checkpoint_blob"),
        (b"\xa0", "WRONG_TYPE", "checkpoint_blob"),
        (canonical(["uml_os_checkpoint_v2", {}, bytes(32)]), "WRONG_TYPE", "checkpoint_blob"),
        (canonical(["uml_os_checkpoint_v1", {}]), "WRONG_TYPE", "checkpoint_blob"),
        (canonical(["uml_os_checkpoint_v1", [], bytes(32)]), "WRONG_TYPE", ""),
        (canonical(["uml_os_checkpoint_v1", pinned_header(), bytes(31)]), "WRONG_TYPE", "checkpoint_hash"),
        (canonical(["uml_os_checkpoint_v1", pinned_header(), bytes(32)]), "HASH_MISMATCH", "checkpoint_hash"),
    ],
    ids=lambda part: part if isinstance(part, str) else part[:12].hex(),
)
def test_a_blob_of_another_form_is_refused(backend: Backend, blob: bytes, reason: str, path: str) -> None:
    header = pinned_header() if path == "checkpoint_hash" else None
    params = {"checkpoint_blob": blob, "expected": Value({})}
    assert_refused(backend, RESTORE, params, reason, path, header)


@pytest.mark.parametrize("name", IDENTITY)
def test_each_field_of_the_identity_is_compared(backend: Backend, name: str) -> None:
    header = pinned_header()
    other = "other" if name in TEXTS else digest(b"other")
    expected = Value({field: header[field] for field in IDENTITY} | {name: other})
    params = {"checkpoint_blob": blob_of(header), "expected": expected}
    assert_refused(backend, RESTORE, params, "IDENTITY_MISMATCH", name, header)


def test_of_two_wrong_fields_the_first_of_the_rule_is_named(backend: Backend) -> None:
    header = pinned_header()
    expected = {"backend_binary_hash": bytes(32), "trace_root_hash": bytes(32)}
    params = {"checkpoint_blob": blob_of(header), "expected": Value(expected)}
    assert_refused(backend, RESTORE, params, "IDENTITY_MISMATCH", "trace_root_hash", header)


def test_what_could_never_be_compared_is_refused(backend: Backend) -> None:
    header = pinned_header()
    cases: list[tuple[str, object, str]] = [
        ("tenant_id", None, "NULL_FIELD"),
        ("tenant_id", b"t", "WRONG_TYPE"),
        ("manifest_hash", bytes(31), "WRONG_TYPE"),
        ("t", 7, "UNKNOWN_FIELD"),
        ("unheard_of", 1, "UNKNOWN_FIELD"),
    ]
    for name, wrong, reason in cases:
        params = {"checkpoint_blob": blob_of(header), "expected": Value({name: wrong})}
        assert_refused(backend, RESTORE, params, reason, f"expected.{name}", header)


def test_a_chain_of_checkpoints_is_followed(backend: Backend) -> None:
    first = pinned_header()
    second = pinned_header(t=8, checkpoint_hash_prev=cbor_digest(first))
    link = {"checkpoint_hash_prev": PINNED_HASH}
    assert restored(backend, blob_of(second), link)["report"]["status"] == "success"
    for header, expected in ((first, link), (second, {"checkpoint_hash_prev": bytes(32)})):
        params = {"checkpoint_blob": blob_of(header), "expected": Value(expected)}
        assert_refused(backend, RESTORE, params, "CHAIN_MISMATCH", "checkpoint_hash_prev", header)


def test_an_expectation_that_is_no_map_is_refused(backend: Backend) -> None:
    params = {"checkpoint_blob": blob_of(pinned_header()), "expected": Value([])}
    assert_refused(backend, RESTORE, params, "WRONG_TYPE", "expected", pinned_header())


def test_a_restored_header_is_held_to_the_schema(backend: Backend) -> None:
    cases: list[tuple[Header, str, str]] = [
        (pinned_header(t=None), "MISSING_FIELD", "t"),
        (pinned_header(extra=1), "UNKNOWN_FIELD", "extra"),
        (pinned_header(replay_token=b"short"), "WRONG_TYPE", "replay_token"),
        (pinned_header(checkpoint_schema_version="2.0.0"), "INCOMPATIBLE_VERSION", "checkpoint_schema_version"),
    ]
    for header, reason, path in cases:
        state = {name: held for name, held in header.items() if (name, reason) != ("replay_token", "WRONG_TYPE")}
        params = {"checkpoint_blob": blob_of(header), "expected": Value({})}
        assert_refused(backend, RESTORE, params, reason, path, state)


# Migrate


def migration(header: Header, source: str = "1.0.0", target: str = "1.1.0") -> dict[str, Native]:
    versions = {"from_version": source, "to_version": target}
    return {"header": Value(header), **versions, "signing_key": KEY, "migration_policy_hash": POLICY}


def test_a_migration_sets_the_version_and_signs_six_fields(backend: Backend) -> None:
    header = pinned_header(checkpoint_hash_prev=bytes(32))
    target = header | {"checkpoint_schema_version": "1.1.0"}
    payload = {
        "from_schema_version": "1.0.0",
        "to_schema_version": "1.1.0",
        "source_hash": cbor_digest(header),
        "target_hash": cbor_digest(target),
        "migration_operator": MIGRATE,
        "migration_policy_hash": POLICY,
    }
    result = backend.call(MIGRATE, migration(header))
    assert result["header"] == backend.form(Value(canonical_order(target)))
    certificate = as_bytes(result["certificate"])
    domain, signed, signature = cbor2.loads(certificate)
    assert (domain, signed) == ("migration_certificate_v1", payload)
    assert canonical([domain, signed, signature]) == certificate
    key = Ed25519PrivateKey.from_private_bytes(KEY)
    assert signature == key.sign(canonical(payload))


@pytest.mark.parametrize(
    ("stated", "source", "target", "reason", "path"),
    [
        ("1.0.0", "1.0", "1.1.0", "BAD_VERSION", "from_version"),
        ("1.0.0", "1.0.0", "x", "BAD_VERSION", "to_version"),
        ("1.0.0", "1.0.0", "2.0.0", "INCOMPATIBLE_VERSION", "to_version"),
        ("1.0.0", "1.0.0", "1.0.0", "INCOMPATIBLE_VERSION", "to_version"),
        ("1.1.0", "1.1.0", "1.0.0", "INCOMPATIBLE_VERSION", "to_version"),
        ("1.1.0", "1.0.0", "1.1.0", "INCOMPATIBLE_VERSION", "checkpoint_schema_version"),
    ],
)
def test_a_migration_outside_the_registry_is_refused(
    backend: Backend, stated: str, source: str, target: str, reason: str, path: str
) -> None:
    header = pinned_header(checkpoint_schema_version=stated)
    assert_refused(backend, MIGRATE, migration(header, source, target), reason, path, header)


def test_only_a_valid_header_is_migrated(backend: Backend) -> None:
    header = pinned_header(lineage_root_hash=None)
    assert_refused(backend, MIGRATE, migration(header), "MISSING_FIELD", "lineage_root_hash", header)
