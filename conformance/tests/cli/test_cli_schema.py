"""The printed JSON Schema accepts what the codec accepts, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cli.main import status_of
from conformance.codec.form import form_of
from conformance.codec.scalar import IllTyped
from conformance.contract.jsonschema import decimals, schema_of
from conformance.contract.library import Library, load_library
from conformance.contract.suite_file import bundled_suite
from conformance.contract.types import FIXED_BYTES, FLOAT_BYTES, INTEGER_RANGES, Scalar

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
BATCH = "UML_OS.Data.NextBatch_v2"
EMIT = "UML_OS.Error.Emit_v1"


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(bundled_suite())


def validator(library: Library, operator: str, part: str) -> jsonschema.Draft202012Validator:
    schema = schema_of(library.contracts[operator], library.errors)
    return jsonschema.Draft202012Validator({**schema["$defs"][part], "$defs": schema["$defs"]})


PARAMS: dict[str, Any] = {
    "block_id": "3",
    "local_pos": "5",
    "block_size": "64",
    "epoch_seed": "000102030405060708090a0b0c0d0e0f",
    "cardinality": "1003",
}


def test_every_contract_has_a_valid_schema(library: Library) -> None:
    for contract in library.contracts.values():
        jsonschema.Draft202012Validator.check_schema(schema_of(contract, library.errors))


def test_the_schema_of_a_machine_holds_those_of_its_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["schema", "Pipeline.Consumer"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert next(iter(schema["$defs"])) == "Pipeline.Consumer.Open"
    assert len(schema["$defs"]) == len(schema["anyOf"]) == 8
    known = jsonschema.Draft202012Validator(schema)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "Pipeline.Consumer.Close", "params": {"handle": "1"}}
    assert known.is_valid({"request": asked})
    assert not known.is_valid({"request": {**asked, "method": "Pipeline.Consumer"}})
    assert not known.is_valid({"request": {**asked, "method": "Pipeline.Consumer.Stats", "params": {}}})


def test_whole_messages_are_described(library: Library) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": MAP, "params": PARAMS}
    assert validator(library, MAP, "request").is_valid(request)
    assert not validator(library, MAP, "request").is_valid({**request, "method": BATCH})
    result = {"jsonrpc": "2.0", "id": 1, "result": {"original_index": "243"}}
    data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": MAP}
    error = {"code": 1801, "message": "CONTRACT_VIOLATION", "data": data}
    assert validator(library, MAP, "response").is_valid(result)
    assert validator(library, MAP, "response").is_valid({"jsonrpc": "2.0", "id": 1, "error": error})
    assert not validator(library, MAP, "response").is_valid({"jsonrpc": "2.0", "id": 1, "error": {**error, "code": 1}})
    assert not validator(library, MAP, "response").is_valid({**result, "error": error})


@pytest.mark.parametrize(
    "changes",
    [
        {"block_id": 3},
        {"block_id": "03"},
        {"block_id": "18446744073709551616"},
        {"block_id": "-1"},
        {"epoch_seed": "000102030405060708090A0B0C0D0E0F"},
        {"epoch_seed": "0001"},
        {"extra": "1"},
    ],
)
def test_a_form_that_the_wire_refuses_is_refused(library: Library, changes: dict[str, Any]) -> None:
    assert validator(library, MAP, "params").is_valid(PARAMS)
    assert not validator(library, MAP, "params").is_valid({**PARAMS, **changes})


def test_absent_means_missing_and_never_null(library: Library) -> None:
    schema = schema_of(library.contracts[BATCH], library.errors)["$defs"]["params"]
    assert "dataset_registry" in schema["properties"]
    assert "dataset_registry" not in schema["required"]
    params = validator(library, BATCH, "params")
    assert any("None is not of type" in error.message for error in params.iter_errors({"dataset_registry": None}))


def test_a_self_describing_value_may_hold_itself(library: Library) -> None:
    value = {"map": [[{"text": "a"}, {"array": [{"int": "-5"}, None, True, {"bytes": "00ff"}]}]]}
    schema = schema_of(library.contracts[EMIT], library.errors)
    check = jsonschema.Draft202012Validator({**schema["$defs"]["value"], "$defs": schema["$defs"]})
    assert check.is_valid(value)
    assert not check.is_valid({"map": [[{"text": "a"}]]})
    assert not check.is_valid({"int": 5})


@given(st.integers(0, 2**70), st.integers(0, 2**70))
def test_the_decimal_pattern_ends_exactly_at_its_limit(number: int, limit: int) -> None:
    pattern = re.compile(f"({decimals(0, limit)})\\Z")
    assert (pattern.match(str(number)) is not None) == (number <= limit)
    assert pattern.match(str(limit))
    assert not pattern.match(str(limit + 1))
    assert not pattern.match("0" + str(number))


SCALARS = ["bool", "string", "bytes", *INTEGER_RANGES, *FLOAT_BYTES, *FIXED_BYTES]


@given(
    st.sampled_from(SCALARS),
    st.one_of(
        st.integers(-(2**65), 2**65),
        st.integers(-(2**65), 2**65).map(str),
        st.binary(max_size=33).map(bytes.hex),
        st.text("0123456789abcdefABCDEF+- ", max_size=20),
        st.booleans(),
    ),
)
def test_schema_and_codec_agree_on_every_scalar(name: str, wire: Any) -> None:
    from conformance.contract.jsonschema import _scalar

    try:
        form_of(Scalar(name)).check(wire)
        accepted = True
    except IllTyped:
        accepted = False
    assert jsonschema.Draft202012Validator(_scalar(name)).is_valid(wire) == accepted


def test_the_command_prints_the_schema_and_takes_the_end_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["schema", "SeededIntraBlockMap_v1"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == MAP


def test_an_unknown_operator_is_told_what_may_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["schema", "IntraBlock"]) == 2
    assert f"T003 no contract has this name\n    hint: did you mean {MAP}?" in capsys.readouterr().err


def test_without_an_operator_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["schema"]) == 0
    assert MAP in capsys.readouterr().out
