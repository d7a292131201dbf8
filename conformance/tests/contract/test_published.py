"""The JSON Schemas for editors fit what people write; the pages name every key, every rule and every code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.cli.main import status_of
from conformance.contract.yaml.parser import parse, read
from conformance.contract.yaml.published import published_schemas
from conformance.lint.catalogue import RULES
from conformance.tests.language_keys import FILES, PAGE, keys_in, schema_of, tables
from conformance.tests.processes import ROOT
from conformance.tests.sources import modules, text_of

SPEC = ROOT / "spec"
SCHEMAS = sorted((SPEC / "schema").glob("*.schema.json"))
WRITTEN = [*sorted(SPEC.glob("*/*.yaml")), *sorted(SPEC.glob("*.yaml"))]


@cache
def published() -> dict[str, Any]:
    return published_schemas(SPEC / "schema")


def kind_of(file: Path) -> str:
    if file.name.endswith(".cases.yaml"):
        return "cases"
    return file.stem if file.stem in published() else "contract"


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name.split(".")[0])
def test_a_schema_has_an_id_and_a_sentence_for_every_key(file: Path) -> None:
    schema = json.loads(file.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://tallystick.dev/schema/{file.name}"
    bare = [(".".join(place), key) for place, key, one in keys_in(schema) if not one.get("description", "").strip()]
    assert bare == []


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.relative_to(SPEC).as_posix())
def test_a_file_as_it_is_written_fits_its_published_schema(file: Path) -> None:
    # Without a registry: a schema that led to another file would fail here.
    validator = jsonschema.Draft202012Validator(published()[kind_of(file)])
    assert [error.message[:200] for error in validator.iter_errors(read(file).value)] == []


CONTRACT = (SPEC / "data" / "UML_OS.Data.SeededBlockPermute_v1.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ensures:", "ensure:"),
        ("purity: pure", "purity: Pure"),
        ("version: 1.0.0", "version: 1.0"),
        ("id: blocks-positive", "id: blocks positive"),
        ("state: none\n", ""),
        ("type: bytes16}", "type: bytes16, optional: yes}"),
        ("- group: sizes", "- grup: sizes"),
        ("- group: sizes", "- group: sizes\n  fails: CONTRACT_VIOLATION"),
    ],
)
def test_a_mistake_does_not_fit_the_published_schema(old: str, new: str) -> None:
    validator = jsonschema.Draft202012Validator(published()["contract"])
    assert validator.is_valid(parse(CONTRACT, "right").value)
    assert old in CONTRACT
    assert not validator.is_valid(parse(CONTRACT.replace(old, new, 1), "wrong").value)


def test_the_command_writes_schemas_that_need_no_other_file(tmp_path: Path) -> None:
    assert status_of(["schema", "--files", str(tmp_path / "schemas")]) == 0
    files = {file.name.split(".")[0]: json.loads(file.read_text("utf-8")) for file in (tmp_path / "schemas").iterdir()}
    assert files == published()
    assert {target for schema in files.values() for target in targets(schema) if not target.startswith("#")} == set()


def targets(schema: Any) -> Iterator[str]:
    """Every `$ref` of a schema."""
    parts = schema if isinstance(schema, list) else schema.values() if isinstance(schema, dict) else ()
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for part in parts:
        yield from targets(part)


def test_the_reference_lists_every_key_with_its_sentence() -> None:
    page = PAGE.read_text("utf-8")
    assert page.endswith(tables()), "python -m conformance.tests.language_keys writes the tables"
    assert sum(1 for name in FILES for _ in keys_in(schema_of(name))) > 300


def test_the_settings_of_the_editor_name_schemas_that_are_written() -> None:
    settings = json.loads(PAGE.read_text("utf-8").split("```json\n")[1].split("```")[0])
    named = {Path(name).name.split(".")[0] for name in settings["yaml.schemas"]}
    assert named <= published().keys()
    assert {"contract", "cases", "requirements"} <= named


def test_the_page_of_the_rules_has_a_paragraph_for_each() -> None:
    page = (ROOT / "docs" / "lint-rules.md").read_text("utf-8")
    named = re.findall(r"^\*\*(L\d{3}) ([\w-]+)\*\*", page, re.MULTILINE)
    assert named == [(rule.code, rule.name) for rule in RULES]


def test_the_page_of_the_language_has_every_code_of_a_file_that_cannot_be_read() -> None:
    code = re.compile(r"\"(C\d{3})\"")
    used = {name for file in modules("conformance") for name in code.findall(text_of(file))}
    told = set(re.findall(r"C\d{3}", PAGE.read_text("utf-8").split("## Reading a contract")[0]))
    assert used == told


def test_the_first_look_shows_the_contract_as_it_is() -> None:
    page = (SPEC / "README.md").read_text("utf-8")
    shown = [line for block in page.split("```yaml\n")[1:] for line in block.split("```")[0].splitlines()]
    assert len(shown) > 20
    assert [line for line in shown if line not in CONTRACT.splitlines()] == []
