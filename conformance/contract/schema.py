"""JSON Schema violations of a parsed YAML file, each at its exact position."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry, Resource

from conformance.contract.source import Problem, Source
from conformance.contract.violation import problems_of


def _one_of(validator: Any, branches: Sequence[Any], instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`oneOf` as in jsonschema; but where branches require keys, only those are tried whose keys are there.

    Most values of a contract are steps, which have eleven branches; this saves a fifth of the time of loading.
    """
    keys = instance.keys() if isinstance(instance, dict) else None
    tried = [one for one in branches if keys is None or one is True or keys >= set(one.get("required", ()))]
    if sum(validator.evolve(schema=one).is_valid(instance) for one in tried) != 1:
        yield from jsonschema.Draft202012Validator.VALIDATORS["oneOf"](validator, branches, instance, schema)


_extend: Any = jsonschema.validators.extend
_Validator = _extend(jsonschema.Draft202012Validator, {"oneOf": _one_of})


def violations(source: Source, schema: FilePath) -> Iterator[Problem]:
    """What in `source` does not fit the schema file, the most telling violation of each place."""
    texts = tuple(one.read_text(encoding="utf-8") for one in sorted(schema.parent.glob("*.schema.json")))
    errors = _validator(schema.read_text(encoding="utf-8"), texts).iter_errors(source.value)
    yield from problems_of(source, [_telling(error) for error in errors])


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
