"""JSON Schema violations of a parsed YAML file: each at its position, as a sentence with the fix to type.

No regular expression is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import jsonschema
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry, Resource

from conformance.contract.suggest import close_to, fitting, look_alike, typed
from conformance.contract.yaml.source import Problem, Source, ValuePath


def _one_of(validator: Any, branches: Sequence[Any], instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`oneOf` as in jsonschema, but a branch that requires keys is tried only if the value has them.

    Most values of a contract are steps, which have eleven branches; this saves a fifth of the time of loading.
    """
    keys = instance.keys() if isinstance(instance, dict) else None
    tried = [one for one in branches if keys is None or one is True or keys >= set(one.get("required", ()))]
    if sum(validator.evolve(schema=one).is_valid(instance) for one in tried) != 1:
        yield from jsonschema.Draft202012Validator.VALIDATORS["oneOf"](validator, branches, instance, schema)


_extend: Any = jsonschema.validators.extend
_Validator = _extend(jsonschema.Draft202012Validator, {"oneOf": _one_of})


def violations(source: Source, schema: Path) -> Iterator[Problem]:
    """The violations of a schema file in `source`; for each place, the one that explains most."""
    texts = tuple(one.read_text(encoding="utf-8") for one in sorted(schema.parent.glob("*.schema.json")))
    errors = _validator(schema.read_text(encoding="utf-8"), texts).iter_errors(source.value)
    yield from _problems_of(source, [_telling(error) for error in errors])


@lru_cache(32)
def _validator(text: str, texts: tuple[str, ...]) -> Any:
    """The validator of a schema by its text, not by its path: a schema may be edited while the process runs."""
    schemas = map(json.loads, texts)
    known = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
    return _Validator(json.loads(text), registry=known)


def _telling(error: ValidationError) -> ValidationError:
    # Inside a oneOf the real mistake is in the branch that matches best.
    while error.context:
        error = best_match([error]) or error
        if not error.context:
            break
        deeper = max(error.context, key=lambda e: len(e.absolute_path))
        if len(deeper.absolute_path) <= len(error.absolute_path):
            break
        error = deeper
    return error


_PAGE: Final = "docs/language.md explains the keys"
_KINDS: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
}


_FORMS: Final = ("oneOf", "anyOf")


def _problems_of(source: Source, errors: list[ValidationError]) -> Iterator[Problem]:
    """The problems for some violations, each once; a misspelt key is not also reported as missing."""
    unknown = _unknown_of(errors)
    misspelt = {(path, meant) for (path, _), meant in unknown.items() if meant}
    told: set[str] = set()
    telling = {tuple(error.absolute_path) for error in errors if error.validator not in _FORMS}
    for error in errors:
        if error.validator in _FORMS and tuple(error.absolute_path) in telling:
            continue  # another violation explains the mistake at this place
        for problem in _problems_from(source, error, misspelt, unknown):
            if str(problem) not in told:
                told.add(str(problem))
                yield problem


def _unknown_of(errors: Sequence[ValidationError]) -> dict[tuple[ValuePath, str], str]:
    """Every unknown key with the key that it means: a similar one, or the only missing key for the only unknown one."""
    found = {(path, key): meant for error in errors for path, key, meant in _unknown_keys(error)}
    for error in errors:
        path: ValuePath = tuple(map(_step, error.absolute_path))
        alone = [place for place in found if place[0] == path]
        if error.validator == "required" and isinstance(error.instance, dict) and len(alone) == 1:
            wanted: Any = error.validator_value
            missing = [key for key in wanted if key not in error.instance]
            if len(missing) == 1 and not found[alone[0]]:
                found[alone[0]] = missing[0]
    return found


def _problems_from(
    source: Source,
    error: ValidationError,
    misspelt: set[tuple[ValuePath, str]],
    meanings: Mapping[tuple[ValuePath, str], str],
) -> Iterator[Problem]:
    path: ValuePath = tuple(map(_step, error.absolute_path))
    where = ".".join(map(str, path)) or "the file"
    if error.validator == "required" and isinstance(error.instance, dict):
        wanted: Any = error.validator_value
        missing = [key for key in wanted if key not in error.instance and (path, key) not in misspelt]
        if missing:
            message = f"{where} lacks {', '.join(map(repr, missing))}"
            yield Problem(source.at(path), "C002", message, _to_paste(source, path, error.schema, missing))
        return
    unknown = list(_unknown_keys(error))
    for _, key, _ in unknown:
        meant = meanings[path, key]
        hint = f"did you mean {meant}?" if meant else _elsewhere(source, key, path, error)
        yield Problem(source.key_at((*path, key)), "C002", f"unknown key {key!r} in {where}", hint)
    if not unknown:
        of_key = "propertyNames" in error.absolute_schema_path
        place = source.key_at((*path, str(error.instance))) if of_key else source.at(path)
        message, hint = _sentence(where, error)
        message = f"{error.instance!r:.60} cannot be a name in {where}" if of_key else message
        yield Problem(place, "C002", message, hint)


def _step(step: Any) -> str | int:
    return step if isinstance(step, int) else str(step)


def _unknown_keys(error: ValidationError) -> Iterator[tuple[ValuePath, str, str]]:
    """The keys that a violation is about: the path of their map, the key, and the key that it probably means."""
    if error.validator != "additionalProperties" or not isinstance(error.instance, dict):
        return
    known = properties_of(error.schema)
    for key in error.instance:
        if key not in known:
            free = [name for name in known if name not in error.instance]
            path: ValuePath = tuple(map(_step, error.absolute_path))
            yield path, key, next(iter(_close_keys(key, free)), "")


def _close_keys(key: str, known: list[str]) -> list[str]:
    # A short key contains many others or is part of them, so only almost equal spelling counts.
    from difflib import get_close_matches

    low = {name.lower(): name for name in known}
    if beginning := [name for name in known if len(key) > 2 and name.lower().startswith(key.lower())]:
        return beginning
    return [low[one] for one in get_close_matches(key.lower(), list(low), 1, 0.7)]


def properties_of(schema: Any) -> Mapping[str, Any]:
    """The properties that a schema lists."""
    found: Mapping[str, Any] = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return found


def _elsewhere(source: Source, key: str, path: ValuePath, error: ValidationError) -> str:
    """The hint for a key that is similar to none here: the place above that may have it, or the allowed keys."""
    known = properties_of(error.schema)
    allowed = ", ".join(sorted({*known, *(("gives", "fails") if "pin" in known else ())}))
    if key in ("gives", "fails") and "cases" in known:
        return f"{key} is the answer of `cases`: name each case, - {{id: NAME, set: {{PATH: VALUE}}, {key}: ...}}"
    if key in ("of", "item", "items") and "type" in known:
        return "the type of an item is part of the type: list<string>, map<string, uint64>"
    top = source.value.keys() if path and isinstance(source.value, dict) else ()
    if path and (key in _TOP or key in top):
        return f"{key} is a key of the file: begin its line at the left margin. Allowed here: {allowed}"
    return f"allowed here: {allowed}"


_TOP: Final = frozenset(
    {"inputs", "outputs", "requires", "ensures", "refuses", "vectors", "bases", "laws", "edge_cases", "ordering",
     "let", "domain", "workloads", "operations", "invariants"}
)  # fmt: skip


def _to_paste(source: Source, path: ValuePath, schema: Any, missing: list[str]) -> str:
    """The lines to add for keys that are missing, indented like the map that lacks them."""
    lines = [f"{key}: {_example(properties_of(schema).get(key, {}))}" for key in missing]
    place = source.at(path)
    rows = source.text.splitlines() if source.text else []
    row = rows[place.line - 1] if 0 < place.line <= len(rows) else ""
    if row[place.column - 1 : place.column] == "{":
        return f"add {', '.join(lines)} inside the braces"
    margin = " " * (place.column - 1)
    return "\n".join(["add these lines, with your own values:" if len(lines) > 1 else "add this line:",
                      *(margin + line for line in lines)])  # fmt: skip


def _example(schema: Any) -> str:
    """A value that fits a schema, in YAML: its first example, its constant or first choice, else one of its type."""
    if not isinstance(schema, dict):
        return "..."
    if "examples" in schema:
        return _yaml(schema["examples"][0])
    if "const" in schema:
        return _yaml(schema["const"])
    if "enum" in schema:
        return _yaml(schema["enum"][0])
    return {"array": "[]", "object": "{}", "integer": "1", "boolean": "true"}.get(str(schema.get("type")), "...")


def _yaml(value: Any) -> str:
    """A value as one line of this YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    plain = isinstance(value, str) and value and not set(value) & set(":#{}[],\"'&*!|>%@`<=")
    return value if (plain and not value[0].isdigit()) or value == "1.0.0" else json.dumps(value, ensure_ascii=False)


def _kind_and_text(value: Any) -> str:
    kind = next((name for name, type_ in _PYTHON if isinstance(value, type_)), "a value")
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{kind} {text}" if len(text) <= 60 else kind


_PYTHON: Final[tuple[tuple[str, Any], ...]] = (
    ("the truth value", bool),
    ("the number", int | float),
    ("the text", str),
    ("a list", list),
    ("a map", dict),
)


def _sentence(where: str, error: ValidationError) -> tuple[str, str]:
    """The message and the fix, by the kind of the violation."""
    value, schema, wanted = error.instance, error.schema, error.validator_value
    if isinstance(value, str) and (said := look_alike(value)):
        return f"{where} is {value!r:.60}, and {said}", f"write {typed(value)}"
    title = schema.get("title", "") if isinstance(schema, dict) else ""
    example = f"for example: {_example(schema)}" if isinstance(schema, dict) and "examples" in schema else ""
    match error.validator:
        case "type":
            kinds = [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
            told = (error.absolute_path and title) or " or ".join(_KINDS.get(one, one) for one in kinds)
            return f"{where} is {_kind_and_text(value)}, but {told} is expected", _retyped(
                value, kinds[0], schema
            ) or example
        case "pattern":
            fixed = fitting(value, str(wanted))
            message = f"{where} is {value!r:.60}, but {title or 'a text of another form'} is expected"
            return message, f"write {fixed}" if fixed and fixed != value else example or _PAGE
        case "propertyNames":
            return f"{value!r:.60} cannot be a name in {where}", "begin it with a letter; letters, digits and _ follow"
        case "enum" if isinstance(wanted, list):
            near = _close_keys(str(value), [str(one) for one in wanted])
            choices = ", ".join(_yaml(one) for one in wanted)
            hint = f"did you mean {near[0]}?" if near else f"write one of {choices}"
            return f"{where} is {_kind_and_text(value)}, but one of {choices} is expected", hint
        case "const":
            return f"{where} is {_kind_and_text(value)}, but only {_yaml(wanted)} is allowed", f"write {_yaml(wanted)}"
        case "minItems" | "minProperties" | "minLength":
            if isinstance(value, str | list | dict) and value:
                unit = "letters" if isinstance(value, str) else "entries"
                message = f"{where} is too short: it needs at least {wanted} {unit}, and has {len(value)}"
                return message, example or f"write at least {wanted} {unit}"
            wanted = "a text" if isinstance(value, str) else "at least one entry"
            hint = "write it" if isinstance(value, str) else "add an entry, or remove the key"
            return f"{where} is empty, but {wanted} is needed", example or hint
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            side, way = ("least", "more") if "inimum" in str(error.validator) else ("most", "less")
            return f"{where} is {value}, but at {side} {wanted} is expected", f"write {wanted} or {way}"
        case "maxItems" | "maxProperties":
            return f"{where} has too many entries: {wanted} at most", "remove the others"
        case "uniqueItems":
            return f"{where} has an entry twice", "remove one"
        case "oneOf" | "anyOf":
            return _forms(where, value, wanted)
        case "not":
            if isinstance(value, dict):
                return f"{where} has keys that cannot be together", _PAGE
            return f"{where} is {_kind_and_text(value)}, which says nothing", "write what is meant"
    return f"{where}: {error.message[:160]}", _PAGE


def _retyped(value: Any, kind: str, schema: Any) -> str:
    """The hint that shows how to write a value of the wrong type."""
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        fixed = fitting(value, schema["pattern"]) if "pattern" in schema else ""
        if fixed and fixed != str(value):
            return f"write {fixed}"
        return f'put it in quotes: "{value}"' if fixed or "pattern" not in schema else ""
    if kind == "string" and isinstance(value, bool):
        return f'put it in quotes: "{str(value).lower()}"'
    if kind == "array":
        if isinstance(value, dict):
            return "begin each entry of the list with `- `"
        return f"write it as a list: [{_yaml(value)}]"
    if kind == "object":
        required: list[str] = list(schema.get("required", ())) if isinstance(schema, dict) else []
        if isinstance(value, list):
            return "write `name: value` lines, without the `- ` of a list"
        if len(required) == 1 and isinstance(value, str):
            return f"write {{{required[0]}: {_yaml(value)}}}"
        return "write it as a map: {key: value}"
    if kind == "boolean" and isinstance(value, str):
        return f"write {'true' if value.lower() in ('yes', 'on', 'y', 'true') else 'false'}"
    if kind in ("integer", "number") and isinstance(value, str):
        return "write the number without quotes"
    return ""


def _forms(where: str, value: Any, branches: Any) -> tuple[str, str]:
    """The message and hint for a value with none of several forms, or several: the keys that decide between them."""
    asked: list[list[str]] = [list(one.get("required", ())) for one in branches if isinstance(one, dict)]
    needs = [keys for keys in asked if keys]
    ways = ", ".join(" with ".join(keys) for keys in needs)
    if isinstance(value, dict) and needs:
        there = [keys for keys in needs if value.keys() >= set(keys)]
        if len(there) > 1:
            return f"{where} has more than one of {ways}", "keep one of them"
        begun = [key for keys in needs if keys[0] in value for key in keys if key not in value]
        near = begun or [one for key in value for one in close_to(key, [keys[0] for keys in needs], 0.75, 1)]
        hint = f"did you mean {near[0]}?" if near and not there else f"add one of {ways}"
        hint = f"add {begun[0]}" if begun else hint
        return f"{where} has none of {ways}", hint
    titles = [str(one["title"]) for one in branches if isinstance(one, dict) and "title" in one]
    kinds = [_KINDS[one["type"]] for one in branches if isinstance(one, dict) and one.get("type") in _KINDS]
    told = " or ".join(titles or dict.fromkeys(kinds)) or "another form"
    alone = _KINDS["array"] in kinds and not isinstance(value, list | dict)
    hint = _retyped(value, "array", {}) if alone else _PAGE
    return f"{where} is {_kind_and_text(value)}, but {told} is expected", hint
