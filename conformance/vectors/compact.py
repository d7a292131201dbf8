"""Long values as markers in expectations and as recipes in inputs."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, Final

from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.lazy import np
from conformance.contract.types import INTEGER_RANGES, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.vectors.case import HEAD_AND_TAIL, LONGEST_LIST
from conformance.vectors.jsontext import digest_of

LONGEST_TEXT: Final = 32_768  # letters; a longer text is frozen as a marker in an answer, as a recipe in inputs
LONGEST_MAP: Final = 4096  # entries
SHOWN_LETTERS: Final = 32
_MARKERS: Final = (
    {"count", "sha256", "head", "tail"},
    {"letters", "sha256", "head", "tail"},
    {"entries", "sha256", "first"},
    {"dtype", "shape", "sha256"},
)


def compact(value: Any, type_: Type) -> Any:
    """A wire value of `type_` with every long list and tensor in it as its marker."""
    match type_:
        case ListOf(item):
            if len(value) > LONGEST_LIST:
                return compact_list(value, item)
            return value if isinstance(item, Scalar) else [compact(element, item) for element in value]
        case MapOf(item):
            if len(value) > LONGEST_MAP:
                # A marker: the entries, the SHA-256 of the canonical CBOR, and the first keys.
                return {"entries": len(value), "sha256": digest_of(value), "first": sorted(value)[:HEAD_AND_TAIL]}
            return {key: compact(element, item) for key, element in value.items()}
        case Struct():
            types = {member.name: member.type for member in type_.fields}
            return {key: compact(element, types[key]) for key, element in value.items()}
        case Value():
            return _compact_value(value)
        case Scalar("string" | "bytes"):
            return compact_text(value) if len(value) > LONGEST_TEXT else value
        case Tensor():
            return compact_tensor(value) if math.prod(value["shape"]) > LONGEST_LIST else value
    return value


def compact_text(value: str) -> dict[str, Any]:
    """The marker of a text or of the hex of bytes: its letters, their SHA-256 as UTF-8, its beginning and end."""
    sha256 = hashlib.sha256(value.encode()).hexdigest()
    return {"letters": len(value), "sha256": sha256, "head": value[:SHOWN_LETTERS], "tail": value[-SHOWN_LETTERS:]}


def is_marker(value: Any) -> bool:
    """Whether a frozen value of a list, map, text or tensor is known by its digest alone."""
    return isinstance(value, dict) and value.keys() in _MARKERS


def _compact_value(value: Any) -> Any:
    """A self-describing value with its long texts and byte strings as markers."""
    match value:
        case {"text": str(part)} | {"bytes": str(part)} if len(part) > LONGEST_TEXT:
            return dict.fromkeys(value, compact_text(part))
        case {"array": list(items)}:
            return {"array": _compact_parts([_compact_value(item) for item in items])}
        case {"map": list(pairs)}:
            return {"map": _compact_parts([[_compact_value(part) for part in pair] for pair in pairs])}
    return value


def _compact_parts(parts: list[Any]) -> Any:
    return compact_list(parts, Value()) if len(parts) > LONGEST_MAP else parts


def compact_list(values: list[Any], item: Type) -> dict[str, Any]:
    """The marker of a list, however short."""
    if isinstance(item, Scalar) and item.name in INTEGER_RANGES:
        little = np.dtype(item.name).newbyteorder("<")
        sha256 = hashlib.sha256(np.array(values, dtype=little).tobytes()).hexdigest()
    else:
        sha256 = digest_of(values)
    return {
        "count": len(values),
        "sha256": sha256,
        "head": [compact(element, item) for element in values[:HEAD_AND_TAIL]],
        "tail": [compact(element, item) for element in values[-HEAD_AND_TAIL:]],
    }


def compact_tensor(value: Mapping[str, Any]) -> dict[str, Any]:
    """The marker of a tensor, however small."""
    data = hashlib.sha256(base64.b64decode(value["data"])).hexdigest()
    return {"dtype": value["dtype"], "shape": value["shape"], "sha256": data}


MARK: Final = "generated"
PLAIN: Final = (str, int)  # types of values without parts
_WITH_PARTS: Final = frozenset({dict, list})
_NUMBER: Final = re.compile(r"\{k(?:\*(\d+))?([+-]\d+)?(?:%(\d+))?\}")
_RUN: Final = re.compile(rf"(..??)\1{{{LONGEST_TEXT // 4},}}", re.DOTALL)  # of a letter or a byte in hex
_KEPT: Final = 16  # expanded values in memory; the largest takes some megabytes
_DIGESTS: Final = 4096  # of expanded values


class BadRecipe(ValueError):
    """A recipe does not make the value whose digest it names."""


def is_recipe(value: Any) -> bool:
    """Whether a wire value is the recipe of a longer one."""
    return isinstance(value, dict) and len(value) == 1 and MARK in value and "generator" in value[MARK]


def holds_recipe(value: Any) -> bool:
    """Whether a wire value is a recipe or contains one."""
    if isinstance(value, dict):
        return is_recipe(value) or any(holds_recipe(part) for part in value.values() if not isinstance(part, PLAIN))
    return isinstance(value, list) and has_parts(value) and any(map(holds_recipe, value))


def has_parts(items: list[Any]) -> bool:
    """Whether a list has lists or maps in it; one of numbers and texts can be long, and needs no closer look."""
    return not _WITH_PARTS.isdisjoint(map(type, items))


def recipe(generator: str, count: int, **parameters: Any) -> dict[str, Any]:
    """The recipe of a value, with its digest."""
    body = {"generator": generator, "count": count, **parameters}
    return {MARK: {**body, "sha256": _digest_of_made(json.dumps(body))}}


def with_recipes(value: Any) -> Any:
    """A wire value of inputs with a recipe for every long text in which one letter or byte is repeated 8,192 times."""
    match value:
        case str() if len(value) > LONGEST_TEXT and (run := _RUN.search(value)) is not None:
            ends = {"first": value[: run.start()], "last": value[run.end() :]}
            count = len(run[0]) // len(run[1])
            return recipe("text", count, of=run[1], **{name: end for name, end in ends.items() if end})
        case dict() if not is_recipe(value):
            return {key: with_recipes(part) for key, part in value.items()}
        case list() if value and not isinstance(value[0], int):
            return list(map(with_recipes, value))
    return value


def expanded(value: Any, only: str = "") -> Any:
    """A wire value with every recipe replaced by the value that it makes; raises BadRecipe if a digest differs.

    `only` names a generator, whose recipes alone are replaced.
    """
    if isinstance(value, dict):
        if is_recipe(value):
            return value if only and value[MARK]["generator"] != only else _checked(value[MARK])
        # Most parts are texts or numbers: not to call the function for them halves its time.
        return {key: part if isinstance(part, PLAIN) else expanded(part, only) for key, part in value.items()}
    if isinstance(value, list) and has_parts(value):
        return [expanded(part, only) for part in value]
    return value


def recipe_value(body: Mapping[str, Any]) -> Any:
    """The value that a recipe makes; raises BadRecipe for an unknown generator."""
    count = int(body["count"])
    match body["generator"]:
        case "text":
            return f"{body.get('first', '')}{body['of'] * count}{body.get('last', '')}"
        case "noise":
            blocks = range(-(-count // 32))
            raw = b"".join(hashlib.sha256(f"{body['seed']}\n{k}".encode()).digest() for k in blocks)
            return raw[:count].hex()
        case "numbers":
            start, step = body["start"], int(body.get("step", 1))
            numbers = range(int(start), int(start) + step * count, step) if step else [int(start)] * count
            return list(map(str, numbers)) if isinstance(start, str) else list(numbers)
        case "list":
            return [*map(_expanded_part, body.get("first", ())), *_items(body["of"], count)]
        case "nested":
            nested = body["of"]
            for _ in range(count):
                nested = [{"array": nested}]
            return nested
        case "tensor":
            return _tensor(body, count)
        case "map":
            items = dict(zip(_items(body["key"], count), _items(body["of"], count), strict=True))
            return {**items, **body.get("with", {})}
        case "pairs":
            keys = _items(body["key"], count)
            pairs = [[{"text": key}, item] for key, item in zip(keys, _items(body["of"], count), strict=True)]
            return [*pairs, *body.get("with", [])]
    raise BadRecipe(f"unknown generator {body['generator']!r}")


def _expanded_part(value: Any) -> Any:
    """A part of a recipe, with every recipe in it replaced by its value."""
    if isinstance(value, dict):
        return (
            recipe_value(value[MARK])
            if value.keys() == {MARK}
            else {key: _expanded_part(part) for key, part in value.items()}
        )
    return list(map(_expanded_part, value)) if isinstance(value, list) else value


def _tensor(body: Mapping[str, Any], count: int) -> dict[str, Any]:
    numbers = int(body.get("start", 0)) + int(body.get("step", 1)) * np.arange(count, dtype=np.int64)
    left = numbers % int(body["modulo"]) if "modulo" in body else numbers
    left = left == int(body["equals"]) if "equals" in body else left
    data = left.astype(np.dtype(body["dtype"]).newbyteorder("<")).tobytes()
    return {"dtype": body["dtype"], "shape": list(body["shape"]), "data": base64.b64encode(data).decode()}


def _items(value: Any, count: int) -> Iterable[Any]:
    """The items; one shared object if no text contains the item's number: 65,537 records would take 150 MB.

    The numbers are put into the JSON text, which is parsed once.
    """
    text = json.dumps(value)
    columns = [_numbers(count, *mark.groups()) for mark in _NUMBER.finditer(text)]
    if not columns:
        return repeat(value, count)
    form = "%d".join(part.replace("%", "%%") for part in _NUMBER.split(text)[:: _NUMBER.groups + 1])
    found: list[Any] = json.loads(f"[{','.join(map(form.__mod__, zip(*columns, strict=True)))}]")
    return found


def _numbers(count: int, factor: str | None, more: str | None, modulus: str | None) -> Iterator[int]:
    by, plus = int(factor or 1), int(more or 0)
    numbers = (k * by + plus for k in range(count))
    return (number % int(modulus) for number in numbers) if modulus else numbers


def _checked(body: Mapping[str, Any]) -> Any:
    if "sha256" not in body:
        raise BadRecipe(f"a recipe of {body['generator']} has no digest")
    text = json.dumps({key: part for key, part in body.items() if key != "sha256"})
    if _known_digest(text) != body["sha256"] and _digest_of_made(text) != body["sha256"]:
        raise BadRecipe(f"a recipe of {body['generator']}, {body['count']} makes a value of another digest")
    return _made_once(text)


@lru_cache(_KEPT)
def _made_once(text: str) -> Any:
    """The value of a recipe without digest, whose JSON text is the key of the memo."""
    return recipe_value(json.loads(text))


@lru_cache(_DIGESTS)
def _known_digest(text: str) -> Any:
    """The digest of that value; an earlier command with the same code may have stored it."""
    return open_cache("vectors").get_or_make("recipes", digest_of_texts([text]), partial(_digest_of_made, text))


@lru_cache(_DIGESTS)
def _digest_of_made(text: str) -> str:
    """The digest of that value; it is the same each time the value is made."""
    return digest_of(_made_once(text))
