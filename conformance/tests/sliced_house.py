"""Two operators cut out of the bundled suite, one of the samplers and one of the streams: a suite that lint passes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.contract.library import load_library
from conformance.contract.suite_file import read_suite
from conformance.tests.small_spec import SHIPPED, copy_settings
from conformance.vectors.frozen.build import build

OPERATORS: Final = {"data": "UML_OS.Data.SeededBlockPermute_v1", "stream": "Stream.FiringCounts"}
# Groups that cost seconds in every run.
LONG: Final = {"representation", "size", "long-orders", "every-size-to-256", "order-at-hundred-billion",
               "many-levels", "far-levels-refused"}  # fmt: skip


def cut_out(root: Path) -> None:
    """The contracts, what they name of requirements and rulings, no mutants, and the vectors."""
    copy_settings(SHIPPED.root, root)
    shutil.copytree(SHIPPED.spec / "schema", root / "spec" / "schema")
    for name in ("errors.yaml", "types.yaml"):
        shutil.copy(SHIPPED.spec / name, root / "spec" / name)
    for family, operator in OPERATORS.items():
        (root / "spec" / family).mkdir()
        for name, page in _pages(family, operator):
            text = yaml.safe_dump(page, sort_keys=False, width=2**16)
            (root / "spec" / family / f"{name}.yaml").write_text(text, "utf-8")
    made, _ = build(load_library(read_suite(root)))
    assert made.problems == ()


def _pages(family: str, operator: str) -> Iterator[tuple[str, Any]]:
    """The files of a family and what is in them."""
    contract = _read(family, operator)
    left = {group["axis"] for group in contract["vectors"] if group["group"] in LONG and "axis" in group}
    contract["axes"] = dict.fromkeys(sorted(left), "The groups that cost seconds are left out.")
    contract["vectors"] = [group for group in contract["vectors"] if group["group"] not in LONG]
    yield operator, contract
    applied = {use["law"] for use in contract.get("laws", ())}
    yield "laws", {"laws": [law for law in _read(family, "laws")["laws"] if law["law"] in applied]}
    named = set(re.findall(r"\b[A-Z]+\d+\b", yaml.safe_dump(contract)))
    found = _read(family, "requirements")
    rows = [{**row, "checks": {operator: _kept(row["checks"][operator])}} for row in found["requirements"]
            if row["id"] in named and operator in row.get("checks", {})]  # fmt: skip
    names = {row["id"] for row in rows}
    yield "requirements", {"seed": found["seed"], "requirements": rows}
    rulings = [row for row in _read(family, "rulings")["rulings"] if row["id"] in named]
    yield "rulings", {"rulings": [{**row, "requirement": _among(names, row["requirement"])} for row in rulings]}
    line = {"lines": [1, 1], "digest": "0" * 16, "begins": "A source of one line.", "requirements": sorted(names)}
    yield "coverage", {"document": f"{found['seed']}.md", "lines": 1, "sha256": "0" * 64, "passages": [line]}


def _read(family: str, name: str) -> Any:
    return yaml.safe_load((SHIPPED.spec / family / f"{name}.yaml").read_text("utf-8"))


def _kept(checks: dict[str, list[str]]) -> dict[str, list[str]]:
    return {kind: [name for name in some if name not in LONG] for kind, some in checks.items()}


def _among(names: set[str], given: str | list[str]) -> list[str]:
    return sorted(names & {given} if isinstance(given, str) else names & set(given))
