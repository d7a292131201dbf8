"""The parts of a SARIF 2.1.0 log, for the findings of lint and for the failures of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from conformance import __version__
from conformance.vectors.jsontext import document_text

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
HOME: Final = "https://tallystick.dev/"  # the `$id`s of spec/schema begin with it
Part = Mapping[str, Any]
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>[1-9][0-9]{0,8}):(?P<column>[1-9][0-9]{0,8})")


def log_of(runs: Iterable[Part]) -> str:
    """The text of a log."""
    return document_text({"$schema": SCHEMA, "version": "2.1.0", "runs": list(runs)})


def run_of(tool: str, rules: Iterable[Part], results: Iterable[Part], invocation: Part | None = None) -> dict[str, Any]:
    """One run of a tool; `invocation` says how it went."""
    driver = {
        "name": tool,
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": list(rules),
    }
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True} if invocation is None else invocation],
        "results": list(results),
    }


def rule_of(id_: str, name: str, sentence: str, level: str = "error") -> dict[str, Any]:
    """A rule that results refer to."""
    return {
        "id": id_,
        "name": name,
        "shortDescription": {"text": sentence},
        "defaultConfiguration": {"level": level},
    }


def result_of(rule: str, index: int, text: str, locations: Iterable[Part], level: str = "error") -> dict[str, Any]:
    """A result of the rule at this index of the run's rules."""
    return {
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": text},
        "locations": list(locations),
    }


def location_of(place: str, name: str) -> dict[str, Any]:
    """The location of a result: `place` is file:line:column, `name` is the subject.

    A place of another form is left out, and so is a path with `..`, which viewers would open.
    """
    location: dict[str, Any] = {}
    found = _PLACE.fullmatch(place)
    if found is not None and not {"", ".", ".."} & set(found["file"].removeprefix("/").split("/")):
        path = quote(found["file"], errors="backslashreplace")
        region = {"startLine": int(found["line"]), "startColumn": int(found["column"])}
        artifact = {"uri": f"file://{path}" if path.startswith("/") else path}
        location["physicalLocation"] = {"artifactLocation": artifact, "region": region}
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    return location
