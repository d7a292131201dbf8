"""The tables of docs/language.md, made of the JSON Schemas: `python -m conformance.tests.language_keys` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.tests.processes import ROOT

PAGE: Final = ROOT / "docs" / "language.md"
HEADING: Final = "## Every key\n"
# The kinds of files that people write, and the words for the parts of a contract.
FILES: Final = (
    "contract", "machine", "types", "errors", "requirements", "rulings", "coverage", "mutants", "laws", "formats",
    "sequences", "expected-failures",
)  # fmt: skip
_KEYWORDS: Final = ("items", "additionalProperties", "oneOf", "anyOf", "allOf", "file_steps", "workload_steps")


def schema_of(name: str) -> Any:
    return json.loads((ROOT / "spec" / "schema" / f"{name}.schema.json").read_text("utf-8"))


def keys_in(schema: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, Mapping[str, Any]]]:
    """Every property of a schema: the place of its map, its name, and its schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from keys_in(one, place)
    if not isinstance(schema, dict):
        return
    for name, one in schema.get("properties", {}).items():
        if isinstance(one, dict):
            yield place, name, one
            yield from keys_in(one, (*place, name))
    for word, one in schema.get("$defs", {}).items():
        yield from keys_in(one, (word,))
    for key in _KEYWORDS:
        if key in schema:
            steps = isinstance(schema[key], dict) and key.endswith("_steps")
            parts = schema[key].items() if steps else [("", schema[key])]
            for word, one in parts:
                yield from keys_in(one, (word,) if word else place)
    if "type" not in schema and "properties" not in schema and "oneOf" not in schema:
        for word in ("put", "flip", "truncate", "delete", "rename", "link", "tree", "damage", "step", "read"):
            if isinstance(schema.get(word), dict):
                yield from keys_in(schema[word], (word,))


def tables() -> str:
    """One table for each kind of file, a row for each key."""
    lines: list[str] = []
    for name in FILES:
        schema = schema_of(name)
        head = ["| in | key | what it is |", "|---|---|---|"]
        lines += ["", f"### {name}.schema.json", "", f"{schema['title']}.", "", *head]
        told: set[str] = set()
        for place, key, one in keys_in(schema):
            where = ".".join(place) or "the file"
            row = f"| {where} | `{key}` | {one.get('description', '').replace('|', '/')} |"
            if row not in told:
                told.add(row)
                lines.append(row)
    return "\n".join(lines).lstrip("\n") + "\n"


if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    before, _, after = page.partition(HEADING)
    intro = after.split("\n### ", 1)[0]
    PAGE.write_text(f"{before}{HEADING}{intro.rstrip()}\n\n{tables()}", encoding="utf-8")
