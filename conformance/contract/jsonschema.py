"""The JSON Schema of one operator's requests and responses on the JSON wire, for people who generate code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from conformance.contract.family import ErrorCode
from conformance.contract.model import Contract
from conformance.contract.types import (
    FIXED_BYTES,
    FLOAT_BYTES,
    INTEGER_RANGES,
    PLACES,
    TENSOR_DTYPES,
    Enum,
    Field,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
)
from conformance.contract.yaml.published import relocated

Schema = dict[str, Any]
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WIDE: Final = frozenset({"uint64", "int64"})  # written as decimal strings: JSON numbers are inexact above 2^53
_VALUE: Final = "value"


def schema_of(contract: Contract, errors: Mapping[str, ErrorCode]) -> Schema:
    """The schema whose `request` and `response` are whole messages; their parts are in `$defs`.

    `$defs` has `params`, `result`, `failure` and every named struct. Source: DESIGN 6.
    """
    structs: dict[str, Schema] = {}
    definitions = {
        "params": _struct(contract.inputs, structs),
        "result": _struct(contract.outputs, structs),
        "failure": _struct(contract.failure, structs),
    }
    codes = {code: errors[code].number for code in contract.codes if code in errors}
    return {
        "$schema": _DIALECT,
        "$id": _id(contract),
        "title": contract.operator,
        "description": contract.purpose,
        "type": "object",
        "properties": {"request": {"$ref": "#/$defs/request"}, "response": {"$ref": "#/$defs/response"}},
        "$defs": {
            "request": _message(
                {"method": {"const": contract.operator}, "params": {"$ref": "#/$defs/params"}}, "id", "method", "params"
            ),
            "response": {"oneOf": [_message({"result": {"$ref": "#/$defs/result"}}, "id", "result"), _refusal(codes)]},
            **definitions,
            **{name: structs[name] for name in sorted(structs)},
        },
    }


def machine_schema(machine: Contract, methods: Sequence[Contract], errors: Mapping[str, ErrorCode]) -> Schema:
    """The schema of a machine: a message fits one of the methods' whole schemas, which are in `$defs` by name."""
    whole = {method.operator: schema_of(method, errors) for method in methods}
    return {
        "$schema": _DIALECT,
        "$id": _id(machine),
        "title": machine.operator,
        "description": machine.purpose,
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in whole],
        "$defs": {name: relocated(schema, partial(_place_of, name)) for name, schema in whole.items()},
    }


def _place_of(method: str, target: str) -> str:
    return f"#/$defs/{method}/{target.removeprefix('#/')}"


def _id(contract: Contract) -> str:
    return f"urn:tallystick:{contract.operator}:{contract.version}"


def _message(members: Schema, *required: str) -> Schema:
    properties = {"jsonrpc": {"const": "2.0"}, "id": {"type": "integer", "minimum": 0}, **members}
    return _object(properties, ["jsonrpc", *required])


def _refusal(codes: Mapping[str, int]) -> Schema:
    """The error message: each declared code with its number."""
    pairs = [
        {"properties": {"message": {"const": code}, "code": {"const": number}}}
        for code, number in sorted(codes.items(), key=lambda item: item[1])
    ]
    properties = {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {"$ref": "#/$defs/failure"}}
    error = _object(properties, ["code", "message", "data"])
    return _message({"error": {**error, "oneOf": pairs} if pairs else error}, "id", "error")


def _object(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _type(type_: Type, structs: dict[str, Schema]) -> Schema:
    match type_:
        case Scalar(name):
            return _scalar(name)
        case Enum(values):
            return {"enum": list(values)}
        case ListOf(item):
            return {"type": "array", "items": _type(item, structs)}
        case MapOf(item):
            return {"type": "object", "additionalProperties": _type(item, structs)}
        case Struct(name=""):
            return _struct(type_, structs)
        case Struct(name=name):
            if name not in structs:
                structs[name] = {}  # a struct that contains itself refers to this name
                structs[name] = _struct(type_, structs)
            return {"$ref": f"#/$defs/{name}"}
        case Tensor(dtype):
            return _tensor(dtype)
        case Value():
            structs.setdefault(_VALUE, _value())
            return {"$ref": f"#/$defs/{_VALUE}"}


def _struct(struct: Struct, structs: dict[str, Schema]) -> Schema:
    properties = {field.name: _field(field, structs) for field in struct.fields}
    return _object(properties, [field.name for field in struct.fields if not field.optional])


def _field(field: Field, structs: dict[str, Schema]) -> Schema:
    schema = _type(field.type, structs)
    if field.doc:
        schema = {**schema, "description": field.doc}
    if field.default is not None:
        wide = isinstance(field.type, Scalar) and field.type.name in _WIDE
        schema = {**schema, "default": str(field.default) if wide else field.default}
    if field.volatile:
        schema = {**schema, "$comment": "volatile: held to its type, never compared"}
    return schema


def _scalar(name: str) -> Schema:
    if name == "bool":
        return {"type": "boolean"}
    if name == "string":
        return {"type": "string"}
    if name in PLACES:
        return {"type": "string", "format": name}
    if name in _WIDE:
        low, high = INTEGER_RANGES[name]
        negative = f"|-({decimals(1, -low)})" if low < 0 else ""
        return {"type": "string", "pattern": f"^({decimals(0, high)}{negative})$", "format": name}
    if name in INTEGER_RANGES:
        low, high = INTEGER_RANGES[name]
        return {"type": "integer", "minimum": low, "maximum": high}
    if name in FLOAT_BYTES:
        return {"type": "string", "pattern": f"^[0-9a-f]{{{2 * FLOAT_BYTES[name]}}}$", "format": name}
    count = f"{{{FIXED_BYTES[name]}}}" if name in FIXED_BYTES else "*"
    return {"type": "string", "pattern": f"^([0-9a-f]{{2}}){count}$", "format": name}


def decimals(low: int, high: int) -> str:
    """The pattern of the decimal numbers from `low` (0 or 1) to `high` without leading zeros."""
    digits = str(high)
    choices = ["0"] if low == 0 else []
    if len(digits) > 1:
        choices.append(f"[1-9][0-9]{{0,{len(digits) - 2}}}")
    for place, digit in enumerate(digits):
        least = 1 if place == 0 else 0
        if int(digit) > least:
            rest = len(digits) - place - 1
            choices.append(f"{digits[:place]}[{least}-{int(digit) - 1}]" + (f"[0-9]{{{rest}}}" if rest else ""))
    return "|".join([*choices, digits])


def _tensor(dtype: str | None) -> Schema:
    names = [dtype] if dtype else sorted(TENSOR_DTYPES)
    properties = {
        "dtype": {"enum": names},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "data": {"type": "string", "contentEncoding": "base64"},
    }
    return _object(properties, ["dtype", "shape", "data"])


def _value() -> Schema:
    this = {"$ref": f"#/$defs/{_VALUE}"}
    pair = {"type": "array", "prefixItems": [this, this], "minItems": 2, "maxItems": 2}
    members: dict[str, Schema] = {
        "text": {"type": "string"},
        "int": {"type": "string", "pattern": f"^({decimals(0, 2**64 - 1)}|-({decimals(1, 2**64)}))$"},
        "float": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "bytes": {"type": "string", "pattern": "^([0-9a-f]{2})*$"},
        "array": {"type": "array", "items": this},
        "map": {"type": "array", "items": pair},
    }
    shapes = [_object({name: schema}, [name]) for name, schema in members.items()]
    return {"oneOf": [{"type": "null"}, {"type": "boolean"}, *shapes]}
