"""Long input values as recipes: what stands in a vector file instead of 65,537 items, and the value that it makes.

A recipe stands where the wire value would stand: `{"generated": {generator, count, sha256, ...}}`. The digest is that
of the value as canonical CBOR; a case's own digest runs over the recipe.

| generator | value |
|---|---|
| text | `of`, a text or the hex of bytes, `count` times, between `first` and `last` |
| noise | hex of `count` bytes: SHA-256 of the lines seed and block number, block after block |
| numbers | the list start, start + step, ...; decimal strings where `start` is one |
| tensor | `count` numbers start, start + step, ..., modulo `modulo` where given, as `dtype` in the shape `shape`; |
| | with `equals`, 1 where a number is that and else 0 |
| list | `of`, `count` times, behind what stands in `first`; `{k}` in a text of it is the number of the item |
| nested | the items of an array of a `value` that holds an array, and so on, `count` levels down to `of` |
| map, pairs | the same under the keys `key` with its `{k}`, and what stands in `with`; pairs inside a `value` |

`{k*2-1}` is the number doubled, less one, `{k+1%8}` what is left of the next one divided by eight. What `first` of a
list holds may be recipes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

import numpy as np

from conformance.vectors.digest import digest_of

MARK: Final = "generated"
_NUMBER: Final = re.compile(r"\{k(?:\*(\d+))?([+-]\d+)?(?:%(\d+))?\}")
_KEPT: Final = 8  # expanded values in memory; the largest takes some megabytes


class BadRecipe(ValueError):
    """A recipe does not make the value whose digest it names."""


def is_recipe(value: Any) -> bool:
    """Whether a wire value stands for a longer one."""
    return isinstance(value, Mapping) and value.keys() == {MARK} and "generator" in value[MARK]


def holds_recipe(value: Any) -> bool:
    """Whether a recipe stands anywhere in a wire value."""
    if isinstance(value, Mapping):
        return is_recipe(value) or any(map(holds_recipe, value.values()))
    return isinstance(value, list) and not isinstance(next(iter(value), 0), str | int) and any(map(holds_recipe, value))


def recipe(generator: str, count: int, **parameters: Any) -> dict[str, Any]:
    """The recipe of a value, with its digest."""
    body = {"generator": generator, "count": count, **parameters}
    return {MARK: {**body, "sha256": digest_of(made(body))}}


def expanded(value: Any) -> Any:
    """A wire value with every recipe in it replaced by what it makes; raises BadRecipe where the digest differs."""
    if isinstance(value, Mapping):
        if is_recipe(value):
            return _checked(_frozen(value[MARK]))
        return {key: expanded(part) for key, part in value.items()}
    if isinstance(value, list) and value and not isinstance(value[0], str | int):
        return [expanded(part) for part in value]
    return value


def made(body: Mapping[str, Any]) -> Any:
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
            return [*map(_whole, body.get("first", ())), *_items(body["of"], count)]
        case "nested":
            nested = body["of"]
            for _ in range(count):
                nested = [{"array": nested}]
            return nested
        case "tensor":
            return _tensor(body, count)
        case "map":
            items = dict(zip(_keys(body["key"], count), _items(body["of"], count), strict=True))
            return {**items, **body.get("with", {})}
        case "pairs":
            keys = _keys(body["key"], count)
            pairs = [[{"text": key}, item] for key, item in zip(keys, _items(body["of"], count), strict=True)]
            return [*pairs, *body.get("with", [])]
    raise BadRecipe(f"unknown generator {body['generator']!r}")


def _whole(value: Any) -> Any:
    """A part of a recipe with the recipes in it made."""
    if isinstance(value, Mapping):
        return made(value[MARK]) if value.keys() == {MARK} else {key: _whole(part) for key, part in value.items()}
    return list(map(_whole, value)) if isinstance(value, list) else value


def _tensor(body: Mapping[str, Any], count: int) -> dict[str, Any]:
    numbers = int(body.get("start", 0)) + int(body.get("step", 1)) * np.arange(count, dtype=np.int64)
    left = numbers % int(body["modulo"]) if "modulo" in body else numbers
    left = left == int(body["equals"]) if "equals" in body else left
    data = left.astype(np.dtype(body["dtype"]).newbyteorder("<")).tobytes()
    return {"dtype": body["dtype"], "shape": list(body["shape"]), "data": base64.b64encode(data).decode()}


def _keys(key: str, count: int) -> Iterator[str]:
    return (key.replace("{k}", str(k)) for k in range(count))


def _items(value: Any, count: int) -> Iterator[Any]:
    """Items that are one value in memory where no text of it holds its number: 65,537 records take 150 MB."""
    if _NUMBER.search(json.dumps(value)):
        return (_numbered(value, k) for k in range(count))
    return repeat(value, count)


def _numbered(value: Any, k: int) -> Any:
    if isinstance(value, str):
        return _NUMBER.sub(lambda match: str(_number(match, k)), value)
    if isinstance(value, Mapping):
        return {key: _numbered(part, k) for key, part in value.items()}
    if isinstance(value, list):
        return [_numbered(part, k) for part in value]
    return value


def _number(match: re.Match[str], k: int) -> int:
    factor, more, modulus = match.groups()
    number = k * int(factor or 1) + int(more or 0)
    return number % int(modulus) if modulus else number


def _frozen(body: Any) -> Any:
    """A hashable form of a recipe."""
    if isinstance(body, Mapping):
        return ("map", *((key, _frozen(part)) for key, part in body.items()))
    if isinstance(body, list):
        return ("list", *map(_frozen, body))
    return body


def _thawed(body: Any) -> Any:
    if isinstance(body, tuple):
        kind, *parts = body
        return {key: _thawed(part) for key, part in parts} if kind == "map" else list(map(_thawed, parts))
    return body


@lru_cache(_KEPT)
def _checked(body: Any) -> Any:
    thawed = _thawed(body)
    value = made(thawed)
    if digest_of(value) != thawed["sha256"]:
        raise BadRecipe(f"a recipe of {thawed['generator']}, {thawed['count']} makes a value of another digest")
    return value
