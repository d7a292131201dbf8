"""The JSON Schemas of the specification's files as people write them, for editors; each needs no other file.

`spec/schema/` describes files whose short forms are written out, as the harness reads them. These schemas also
allow the short forms, and have the same `$id`s.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

Schema = dict[str, Any]
_BASE: Final = "https://tallystick.dev/schema/"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final = ("coverage", "errors", "formats", "laws", "sequences", "rulings", "types")
_FORMS: Final = ("repeat", "series", "join", "cbor", "edit", "like", "given")
_FORM: Final[Schema] = {
    "title": "a short form of a longer value",
    "description": "docs/language.md, Long values.",
    "type": "object",
    "anyOf": [{"required": [name]} for name in _FORMS],
}
_SHORT: Final[Schema] = {
    "gives": {"type": "object", "description": "The outputs that the source itself gives, by path."},
    "fails": {"type": "string", "description": "The failure code that the source itself gives."},
}
_NAMED: Final[Schema] = {"type": "object", "description": "Named values, for {like: NAME}."}


def published_schemas(folder: Path) -> dict[str, Schema]:
    """The schema of each kind of file by its name, made of those in `spec/schema/`."""
    read = {file.name.split(".")[0]: json.loads(file.read_text("utf-8")) for file in folder.glob("*.schema.json")}
    contract, machine = _contract(read["contract"]), _contract(read["machine"])
    both = {"contract": contract, "machine": machine}
    found = {name: read[name] for name in _PLAIN}
    found["requirements"] = _requirements(read["requirements"])
    found["mutants"] = _mutants(read["mutants"])
    found["contract"] = _whole(
        "contract",
        "A Tallystick contract: an operator, or a machine",
        {"if": {"required": ["machine"]}, "then": _inner("machine"), "else": _inner("contract")},
        both,
    )
    either = [_inner("contract", "$defs/group"), _inner("machine", "$defs/group")]
    groups = {"type": "array", "items": {"anyOf": either}}
    members = {
        "values": _NAMED,
        "bases": contract["properties"]["bases"],
        "vectors": {**groups, "description": contract["properties"]["vectors"]["description"]},
        "workloads": _inner("contract", "properties/workloads"),
    }
    cases: Schema = {"type": "object", "additionalProperties": False, "properties": members}
    found["cases"] = _whole("cases", "The cases of a Tallystick contract", cases, both)
    shared = {"type": "object", "additionalProperties": False, "required": ["values"], "properties": {"values": _NAMED}}
    found["values"] = _whole("values", "Values that the contracts of a family share", shared, {})
    return dict(sorted(found.items()))


def _whole(name: str, title: str, schema: Schema, parts: Mapping[str, Schema]) -> Schema:
    """A schema with its `$id` that contains the other schemas; all references lead inside it."""
    definitions: Schema = {key: relocated(part, partial(_place_of, key)) for key, part in parts.items()}
    if definitions:
        definitions["form"] = _FORM
    return {
        "$schema": _DIALECT,
        "$id": f"{_BASE}{name}.schema.json",
        "title": title,
        **relocated(schema, partial(_place_of, "")),
        **({"$defs": definitions} if definitions else {}),
    }


def _inner(part: str, place: str = "") -> Schema:
    return {"$ref": f"#/$defs/{part}/{place}".rstrip("/")}


def relocated(schema: Any, place_of: Callable[[str], str]) -> Any:
    """A whole schema as a part of another: without `$id`, which code generators cannot follow, and with references
    to the new places of their targets."""
    if isinstance(schema, list):
        return [relocated(one, place_of) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: relocated(one, place_of) for key, one in schema.items() if key not in ("$id", "$schema")}
    if isinstance(target := schema.get("$ref"), str):
        found["$ref"] = place_of(target)
    return found


def _place_of(part: str, target: str) -> str:
    """Where a target of a reference is now: the schema of contracts and the part itself have moved."""
    if target.startswith("contract.schema.json#/"):
        return target.replace("contract.schema.json#/", "#/$defs/contract/")
    if part and target.startswith("#/") and target != "#/$defs/form":
        return f"#/$defs/{part}/{target.removeprefix('#/')}"
    return target


def _contract(schema: Schema) -> Schema:
    """The schema of a contract or machine with the short forms, and without what may be in a file beside it."""
    made: Schema = copy.deepcopy(schema)
    made["required"] = [key for key in made["required"] if key != "vectors"]
    definitions = made["$defs"]
    for name in ("group", "case"):
        if name in definitions:
            definitions[name]["properties"] |= _SHORT
    if "group" in definitions:
        # These are the expectation of the cases that name none.
        definitions["group"]["dependentRequired"] = {key: ["cases"] for key in _SHORT}
    if "case" in definitions:
        # A case may have the parts of a pattern, under its name, and the id from it.
        definitions["case"]["additionalProperties"] = {"type": "object"}
        del definitions["case"]["required"]
    if "step" in definitions:
        # A step may begin with the name of its call, or of a pattern.
        definitions["step"]["properties"] |= _SHORT
        definitions["step"]["additionalProperties"] = True
        del definitions["step"]["oneOf"]
    if "axis" in definitions:
        definitions["axis"] = {"anyOf": [definitions["axis"], {"type": "object"}]}
    made["properties"] = {name: _allowing(one) for name, one in made["properties"].items()}
    made["$defs"] = {name: _below(one) for name, one in definitions.items()}
    return made


def _allowing(schema: Any) -> Any:
    """A schema that also allows a short form wherever it allows a long value."""
    if not isinstance(schema, dict) or schema.keys() & {"const", "enum"}:
        return schema
    inner = _below(schema)
    kinds = schema.get("type")
    if kinds in ("boolean", "integer", "number") or not ({"type", "$ref", "oneOf", "anyOf"} & schema.keys()):
        return inner
    told = {key: inner.pop(key) for key in ("description", "examples", "title") if key in inner}
    return {**told, "anyOf": [inner, {"$ref": "#/$defs/form"}]}


def _below(schema: Any) -> Any:
    """The same schema, whose parts allow short forms."""
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: _allowing(one) for name, one in schema["properties"].items()}
    elif "type" not in schema and "$ref" not in schema and not schema.keys() & {"oneOf", "anyOf", "required"}:
        found = {name: _below(one) for name, one in schema.items()}  # a map of definitions
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = _allowing(schema[key])
    for key in ("oneOf", "anyOf"):
        if isinstance(schema.get(key), list):
            # With short forms in them, more than one branch may fit.
            branches = [_below(one) for one in schema[key]]
            found.pop(key)
            found["anyOf"] = branches
    return found


def _requirements(schema: Schema) -> Schema:
    made: Schema = copy.deepcopy(schema)
    row = made["properties"]["requirements"]["items"]["properties"]
    told = row["checks"].pop("description")
    row["checks"] = {"description": told, "anyOf": [row["checks"], {"type": "object"}]}
    return made


def _mutants(schema: Schema) -> Schema:
    """Mutants also in groups of one file, with their patch beside the id."""
    made: Schema = copy.deepcopy(schema)
    entries = made["properties"]["mutants"]
    one = entries["items"]
    one["properties"] |= {
        "file": {"type": "string", "description": "The file that the patch is for."},
        "find": {"type": "string", "description": "The text to replace; it is in the file exactly once."},
        "replace": {"type": "string", "description": "The text in its place."},
    }
    for patches in (one["properties"].get("patches", {}), one["properties"].get("patch", {})):
        part = patches.get("items", patches)
        if "required" in part:
            part["required"] = [key for key in part["required"] if key != "file"]
    for key in ("oneOf", "anyOf", "allOf", "if", "then", "else", "dependentRequired"):
        one.pop(key, None)
    group = {
        "type": "object",
        "required": ["file", "mutants"],
        "additionalProperties": False,
        "properties": {
            "file": {"type": "string", "description": "The file that all of these mutants change."},
            "mutants": {"type": "array", "description": "The mutants.", "items": {"$ref": "#/$defs/mutant"}},
        },
    }
    made.setdefault("$defs", {})["mutant"] = one
    entries["items"] = {"if": {"required": ["mutants"]}, "then": group, "else": {"$ref": "#/$defs/mutant"}}
    return made
