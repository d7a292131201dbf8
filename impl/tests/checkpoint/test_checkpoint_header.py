"""The report on a header: every field, every version, sorted."""

import math
from pathlib import Path

import pytest
import yaml

from impl.reference.checkpoint.schema import ADDED, NEWEST, OPTIONAL, REQUIRED, SCHEMAS, fields_known, parse_version
from impl.tests.checkpoint.checkpoint_calls import ABSENT, call, pinned_header

REGISTRY = Path(__file__).parents[3] / "spec" / "checkpoint" / "schemas" / "registry.yaml"


def errors(header: object, schema_version: str = "1.1.0") -> list[tuple[str, str]]:
    report = call("ValidateSchema", header=header, schema_version=schema_version)
    assert report["valid"] == (report["errors"] == [])
    return [(error["field_path"], error["reason"]) for error in report["errors"]]


@pytest.mark.parametrize("name", REQUIRED)
def test_each_required_field_is_missed(name: str) -> None:
    assert errors(pinned_header()) == []
    assert errors(pinned_header(**{name: ABSENT})) == [(name, "MISSING_FIELD")]


@pytest.mark.parametrize("name", OPTIONAL)
def test_each_optional_field_may_be_absent_but_never_null(name: str) -> None:
    assert errors(pinned_header(**{name: bytes(32)})) == []
    assert errors(pinned_header(**{name: None})) == [(name, "NULL_FIELD")]


OTHERS = [
    ("tenant_id", b"t"), ("run_id", 1), ("spec_version", ["1.0.0"]), ("tenant_id", "\ud800"),
    ("checkpoint_schema_version", 1.0), ("t", -1), ("t", 2**64), ("t", 7.0), ("t", True), ("t", "7"),
    ("replay_token", bytes(31)), ("replay_token", bytes(33)), ("manifest_hash", "00" * 32),
    ("checkpoint_hash_prev", b""), ("dp_accountant_state_root_hash", [0] * 32),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content"), OTHERS)
def test_a_field_of_another_type_is_named(name: str, content: object) -> None:
    assert errors(pinned_header(**{name: content})) == [(name, "WRONG_TYPE")]


def test_the_report_is_full_and_sorted_by_the_bytes_of_the_path() -> None:
    broken = {"t": None, "tenant_id": 1, "zz": 0, "Z": 0, "\u00fc": 0}
    found = errors(pinned_header(**broken, run_id=ABSENT, spec_version=b""))
    assert found == [
        ("Z", "UNKNOWN_FIELD"),
        ("run_id", "MISSING_FIELD"),
        ("spec_version", "WRONG_TYPE"),
        ("t", "NULL_FIELD"),
        ("tenant_id", "WRONG_TYPE"),
        ("zz", "UNKNOWN_FIELD"),
        ("\u00fc", "UNKNOWN_FIELD"),
    ]


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0", "10.0.0"])
def test_another_major_is_incompatible(version: str) -> None:
    header = pinned_header(checkpoint_schema_version=version, added=1)
    assert errors(header) == [("added", "UNKNOWN_FIELD"), ("checkpoint_schema_version", "INCOMPATIBLE_VERSION")]


@pytest.mark.parametrize(
    ("version", "accepted"), [("1.0.0", False), ("1.0.9", False), ("1.1.0", False), ("1.2.0", True)]
)
def test_unknown_fields_are_accepted_from_a_newer_minor_only(version: str, accepted: bool) -> None:
    found = errors(pinned_header(checkpoint_schema_version=version, added={"x": [1]}))
    assert found == ([] if accepted else [("added", "UNKNOWN_FIELD")])


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "NULL_FIELD"), (-math.nan, "NON_CANONICAL"), ([[-math.nan]], "NON_CANONICAL"), (2**64, "NON_CANONICAL"),
     ({"x": ((1, 2),)}, "NON_CANONICAL")],
)  # fmt: skip
def test_an_accepted_unknown_field_must_have_canonical_bytes(content: object, reason: str) -> None:
    assert errors(pinned_header(checkpoint_schema_version="1.2.0", added=content)) == [("added", reason)]


def test_a_minor_adds_an_optional_field() -> None:
    added = {"source_run_hash": bytes(32)}
    assert errors(pinned_header(checkpoint_schema_version="1.1.0", **added)) == []
    assert errors(pinned_header(checkpoint_schema_version="1.2.0", **added)) == []
    assert errors(pinned_header(**added)) == [("source_run_hash", "UNKNOWN_FIELD")]
    wrong = {"source_run_hash": bytes(31)}
    assert errors(pinned_header(checkpoint_schema_version="1.1.0", **wrong)) == [("source_run_hash", "WRONG_TYPE")]
    assert errors(pinned_header(checkpoint_schema_version="1.1.0", **wrong), "1.0.0") == []


@pytest.mark.parametrize("content", [math.inf, -math.inf, math.nan, [math.inf, {"x": math.nan}]])
def test_an_unknown_field_may_hold_infinities_and_the_one_nan(content: object) -> None:
    assert errors(pinned_header(checkpoint_schema_version="1.2.0", added=content)) == []


def test_the_registry_is_the_published_one() -> None:
    published = yaml.safe_load(REGISTRY.read_text("utf-8"))
    fields = published["fields"]
    newest = parse_version(NEWEST)
    known = fields_known(newest, newest)
    assert {name: field["type"] for name, field in fields.items()} == {**known.required, **known.optional}
    assert {name for name, field in fields.items() if field.get("optional")} == set(known.optional)
    since = {name: field["since"] for name, field in fields.items() if "since" in field}
    assert since == {name: version for version, added in ADDED.items() for name in added}
    assert published["newest"] == NEWEST
    assert [schema["version"] for schema in published["schemas"]] == list(SCHEMAS)
    for schema in published["schemas"]:
        registered = SCHEMAS[schema["version"]]
        assert parse_version(schema["version"]) == registered.version
        assert tuple(schema["migration_supported_from"]) == registered.migration_supported_from
        assert schema["migration_operator"] == registered.migration_operator
        assert tuple(schema["migration_invariants"]) == registered.migration_invariants


def test_the_migration_controls_are_present_and_typed() -> None:
    for schema in yaml.safe_load(REGISTRY.read_text("utf-8"))["schemas"]:
        assert all(isinstance(version, str) for version in schema["migration_supported_from"])
        assert isinstance(schema["migration_operator"], str)
        assert all(isinstance(invariant, str) for invariant in schema["migration_invariants"])


def test_the_renamed_fields_are_those_of_the_seed() -> None:
    renamed = yaml.safe_load(REGISTRY.read_text("utf-8"))["renamed_later"]
    assert renamed == {"trace_root_hash": "trace_snapshot_hash", "policy_hash": "policy_bundle_hash"}
    assert set(renamed) <= set(REQUIRED)
