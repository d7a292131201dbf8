"""A specification of one small contract in a temporary folder, for tests that spoil it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TypeVar

import pytest

from conformance.codec.codebook import Codebook
from conformance.contract.library import Library, load_library
from conformance.contract.suite import Suite
from conformance.contract.suite_file import read_suite
from conformance.contract.yaml.source import MalformedContract, Problem

SHIPPED = read_suite(Path(__file__).resolve().parents[2])
T = TypeVar("T", Library, Codebook)


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="tally-tests-")


def new_folder() -> Path:
    """A new folder that is removed when the process ends, for what several tests share."""
    return Path(mkdtemp(dir=_folder().name))


def copy_settings(suite: Path, to: Path) -> None:
    """The `tally.toml` of a suite for a copy of it, which has no folder of the reference for mutants to name."""
    name, folder = SHIPPED.file.name, f'folder = "{SHIPPED.mutants.folder}"\n'
    (to / name).write_text((suite / name).read_text("utf-8").replace(folder, ""), "utf-8")


def suite_at(root: Path) -> Suite:
    """The suite in a folder; one without a file of its own is like the shipped one."""
    return read_suite(root) if (root / SHIPPED.file.name).exists() else replace(SHIPPED, root=root)


TYPES = """\
types:
  default_failure:
    type: struct
    fields:
      failure_code:     {type: string}
      failure_operator: {type: string}
"""

ERRORS = """\
errors:
  - {code: CONTRACT_VIOLATION, number: 1801, subsystem: runtime, severity: FATAL, message: It does not hold.}
"""

CONTRACT = """\
contract: UML_OS.Data.Halve_v1
version: 1.0.0
purpose: Halve an even number.
source: {seed: data-next-batch, section: "5"}
equivalence: E0
purity: pure
confirmed_by: [javascript]
inputs:
  whole: {type: uint64}
  label: {type: string, optional: true}
  salt:  {type: bytes16}
outputs:
  half:  {type: uint64}
let:
  rest: whole % 2u
requires:
  - {id: even, that: "rest == 0u", else: CONTRACT_VIOLATION, requirement: N01}
ensures:
  - {id: doubles, that: "result.half + result.half == whole", requirement: N01}
ordering: {}
state: none
edge_cases:
  - {id: nothing, when: "whole == 0u"}
bases:
  four: {whole: 4, salt: "00000000000000000000000000000000"}
vectors:
  - group: small-numbers
    why: Small numbers show the rule at a glance.
    requirement: N01
    base: four
    matrix: {whole: [0, 1, 2]}
"""

NAME = "UML_OS.Data.Halve_v1.yaml"


def write_spec(root: Path, contract: str | bytes = CONTRACT, others: Mapping[str, str] | None = None) -> Suite:
    """Write the small specification below `root`, with other files (path below spec -> text) beside it."""
    spec = root / "spec"
    (spec / "data").mkdir(parents=True)
    shutil.copytree(SHIPPED.spec / "schema", spec / "schema")
    files = {"types.yaml": TYPES, "errors.yaml": ERRORS, **(others or {})}
    for name, text in files.items():
        (spec / name).parent.mkdir(parents=True, exist_ok=True)
        (spec / name).write_text(text, encoding="utf-8")
    body = contract if isinstance(contract, bytes) else contract.encode()
    (spec / "data" / NAME).write_bytes(body)
    return replace(SHIPPED, root=root)


def load(root: Path, contract: str | bytes = CONTRACT, others: Mapping[str, str] | None = None) -> Library:
    """Write and load the small specification."""
    return load_library(write_spec(root, contract, others))


def derived_by(reference: str, some: T) -> T:
    """A library or a codebook whose suite has this reference."""
    return replace(some, suite=replace(some.suite, reference=reference))


def problems(root: Path, contract: str | bytes, others: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What is wrong with a spoilt specification; fails the test where nothing is."""
    with pytest.raises(MalformedContract) as caught:
        load(root, contract, others)
    return caught.value.problems


def spoilt(old: str, new: str) -> str:
    """The contract with the one occurrence of `old` replaced."""
    assert CONTRACT.count(old) == 1, old
    return CONTRACT.replace(old, new)


def place_of(text: str, found: str) -> tuple[int, int]:
    """Line and column, from 1, of the first occurrence of `found`."""
    index = text.index(found)
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1
