"""The report on a header: every field, every version, sorted."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.reference.checkpoint.schema import HEADER, NEWEST, SCHEMAS, parse_version
from impl.tests.checkpoint_calls import ABSENT, call, pinned_header
from impl.tests.test_serialization import VALUES

REGISTRY = Path(__file__).parents[2] / "spec" / "checkpoint" / "schemas" / "registry.yaml"


def errors(header: object, schema_version: str = "1.1.0") -> list[tuple[str, str]]:
    report = call("ValidateSchema", header=header, schema_version=schema_version)
    assert report["valid"] == (report["errors"] == [])
    return [(error["field_path"], error["reason"]) for error in report["errors"]]


def test_the_pinned_header_is_valid() -> None:
    assert errors(pinned_header()) == []


@pytest.mark.parametrize("name", HEADER.required)
def test_each_required_field_is_missed(name: str) -> None:
    assert errors(pinned_header(**{name: ABSENT})) == [(name, "MISSING_FIELD")]


@pytest.mark.parametrize("name", HEADER.optional)
def test_each_optional_field_may_be_absent_but_never_null(name: str) -> None:
    assert errors(pinned_header(**{name: bytes(32)})) == []
    assert errors(pinned_header(**{name: None})) == [(name, "NULL_FIELD")]


@pytest.mark.parametrize("name", HEADER.required)
def test_no_required_field_may_be_null(name: str) -> None:
    assert errors(pinned_header(**{name: None})) == [(name, "NULL_FIELD")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tenant_id", b"t"),
        ("run_id", 1),
        ("spec_version", ["1.0.0"]),
        ("tenant_id", "\ud800"),
        ("checkpoint_schema_version", 1.0),
        ("t", -1),
        ("t", 2**64),
        ("t", 7.0),
        ("t", True),
        ("t", "7"),
        ("replay_token", bytes(31)),
        ("replay_token", bytes(33)),
        ("manifest_hash", "00" * 32),
        ("checkpoint_hash_prev", b""),
        ("dp_accountant_state_root_hash", [0] * 32),
    ],
)
def test_a_field_of_another_type_is_named(name: str, content: object) -> None:
    assert errors(pinned_header(**{name: content})) == [(name, "WRONG_TYPE")]


@pytest.mark.parametrize("t", [0, 2**64 - 1])
def test_t_reaches_from_zero_to_the_largest_uint64(t: int) -> None:
    assert errors(pinned_header(t=t)) == []


@pytest.mark.parametrize("header", [None, True, 1, 1.5, "t", b"t", [], ((1, 2),), (("t", 1), ("t", 2)), {"\ud800": 1}])
def test_what_is_no_map_with_text_keys_is_no_header(header: object) -> None:
    assert errors(header) == [("", "WRONG_TYPE")]


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


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.00.0", "1.0.00", "v1.0.0", "1.0.0 ", "1.0.-1", "1.0.\u0661", "1.0.0\n"],
)
def test_a_version_is_three_numbers_without_leading_zeros(text: str) -> None:
    assert errors(pinned_header(checkpoint_schema_version=text)) == [("checkpoint_schema_version", "BAD_VERSION")]
    assert ("schema_version", "BAD_VERSION") in errors(pinned_header(), text)


def test_versions_are_compared_as_numbers() -> None:
    older, newer = parse_version("1.9.0"), parse_version("1.10.0")
    assert older is not None
    assert newer is not None
    assert older < newer
    header = pinned_header(checkpoint_schema_version="1.10.0", added=1)
    assert errors(header, "1.9.0") == []
    assert errors(pinned_header(checkpoint_schema_version="1.9.0", added=1), "1.10.0") == [("added", "UNKNOWN_FIELD")]


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0", "10.0.0"])
def test_another_major_is_incompatible(version: str) -> None:
    header = pinned_header(checkpoint_schema_version=version, added=1)
    assert errors(header) == [("added", "UNKNOWN_FIELD"), ("checkpoint_schema_version", "INCOMPATIBLE_VERSION")]


def test_a_reader_of_an_unregistered_major_is_refused() -> None:
    assert errors(pinned_header(checkpoint_schema_version="2.0.0"), "2.0.0") == [
        ("schema_version", "INCOMPATIBLE_VERSION")
    ]


@pytest.mark.parametrize(
    ("version", "accepted"), [("1.0.0", False), ("1.0.9", False), ("1.1.0", False), ("1.2.0", True)]
)
def test_unknown_fields_are_accepted_from_a_newer_minor_only(version: str, accepted: bool) -> None:
    found = errors(pinned_header(checkpoint_schema_version=version, added={"x": [1]}))
    assert found == ([] if accepted else [("added", "UNKNOWN_FIELD")])


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "NULL_FIELD"), (math.nan, "NON_CANONICAL"), ([math.inf], "NON_CANONICAL"), (2**64, "NON_CANONICAL"),
     ({"x": ((1, 2),)}, "NON_CANONICAL")],
)  # fmt: skip
def test_an_accepted_unknown_field_must_have_canonical_bytes(content: object, reason: str) -> None:
    assert errors(pinned_header(checkpoint_schema_version="1.2.0", added=content)) == [("added", reason)]


@settings(deadline=None, max_examples=40)
@given(VALUES, st.text())
def test_any_value_gets_a_report(header: object, schema_version: str) -> None:
    errors(header, schema_version)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.sampled_from([*HEADER.required, *HEADER.optional, "x"]), VALUES))
def test_any_change_of_the_pinned_header_gets_a_report(changes: dict[str, Any]) -> None:
    errors({**pinned_header(), **changes})


def test_the_registry_is_the_published_one() -> None:
    published = yaml.safe_load(REGISTRY.read_text("utf-8"))
    fields = published["fields"]
    assert {name: field["type"] for name, field in fields.items()} == {**HEADER.required, **HEADER.optional}
    assert {name for name, field in fields.items() if field.get("optional")} == set(HEADER.optional)
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
    assert set(renamed) <= set(HEADER.required)
