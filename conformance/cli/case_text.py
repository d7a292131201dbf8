"""Cases as the text of a contract: YAML that can be pasted below `vectors:`, no line longer than 120 letters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.contract.types import Struct
from conformance.trial.fuzz.program import natural

WIDTH: Final = 120
_PIECE: Final = 80  # letters of a piece of a long text, as YAML
_LONG: Final = 60  # letters or items that are written in a short form if they repeat
_PLAIN: Final = re.compile(r"(?!(true|false)\Z)[A-Za-z_][\w.-]*\Z", re.ASCII)
_ODD: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def yaml_text(value: str) -> str:
    """A text in double quotes, with every letter that YAML does not print escaped."""
    plain = json.dumps(value, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)


def yaml_lines(key: str, value: Any, indent: str) -> list[str]:
    """`key: value` on as many lines as it needs, the value in flow style."""
    lines, line = [], f"{indent}{key}:"
    for word in _words(value):
        joined = word.startswith((",", "}", "]")) or line.endswith(("{", "["))
        piece = word if joined else f" {word}"
        if len(line) + len(piece) > WIDTH and line.strip():
            lines.append(line)
            line, piece = f"{indent}  ", word.lstrip()
        line += piece
    return [*lines, line]


def _words(value: Any) -> Iterator[str]:
    """The pieces of a value; a line may end between two of them."""
    short = _shortened(value)
    match short:
        case dict():
            yield "{"
            for k, (key, part) in enumerate(short.items()):
                first, *rest = _words(part)
                name = key if _PLAIN.match(key) else yaml_text(key)
                yield from [","] if k else []
                yield f"{name}: {first}"
                yield from rest
            yield "}"
        case list():
            yield "["
            for k, part in enumerate(short):
                yield from [","] if k else []
                yield from _words(part)
            yield "]"
        case str():
            yield yaml_text(short)
        case _:
            yield json.dumps(short)


def _shortened(value: Any) -> Any:
    """A long text or list in a short form: `repeat` for an end that repeats, `join` for pieces."""
    if not isinstance(value, str | list) or len(value) <= _LONG:
        return value
    unit = 2 if isinstance(value, str) and len(value) % 2 == 0 and value[-2:-1] != value[-1:] else 1
    last, count = value[-unit:], 1
    while value[-unit * (count + 1) : len(value) - unit * count] == last:
        count += 1
    repeated = {"repeat": [last, count]}
    if unit * count == len(value):
        return repeated
    if unit * count > _LONG:
        return {"join": [value[: len(value) - unit * count], repeated]}
    if isinstance(value, str) and len(yaml_text(value)) - 2 > _PIECE:
        return {"join": list(_pieces(value))}
    return value


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that are short in YAML."""
    start, length = 0, 0
    for k, letter in enumerate(text):
        length += len(yaml_text(letter)) - 2
        if length > _PIECE:
            yield text[start:k]
            start, length = k, len(yaml_text(letter)) - 2
    yield text[start:]


def natural_inputs(type_: Struct, wire: Mapping[str, Any], roots: Sequence[str]) -> dict[str, Any]:
    """The inputs of a call as a contract has them: numbers as numbers, a root by its name."""
    types = {field.name: field.type for field in type_.fields}
    return {
        name: value["root"] if name in roots and isinstance(value, Mapping) else natural(types[name], value)
        for name, value in wire.items()
    }


def difference_from(
    base: Mapping[str, Any], inputs: Mapping[str, Any], type_: Struct, path: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """The paths to set and to unset to turn a base into some inputs; a list or map is set as a whole."""
    found: dict[str, Any] = {}
    gone = [f"{path}{name}" for name in base if name not in inputs]
    types = {field.name: field.type for field in type_.fields}
    for name, value in inputs.items():
        if name in base and base[name] == value and type(base[name]) is type(value):
            continue
        inner = types.get(name)
        if isinstance(inner, Struct) and isinstance(base.get(name), Mapping) and isinstance(value, Mapping):
            more, less = difference_from(base[name], value, inner, f"{path}{name}.")
            found |= more
            gone += less
        else:
            found[f"{path}{name}"] = value
    return found, gone
