"""The expressions that docs/language.md gives for the next value of a list and of a store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.counter_spec import load

PAGE = Path(__file__).parents[3] / "docs/language.md"
TABLE = PAGE.read_text(encoding="utf-8").partition("| the new value | its expression |\n")[2].partition("\n\n")[0]
MORE, LESS, WITHOUT, KEYS, VALUES, UNDER = re.findall(r"`([^`]*[.+][^`]*)` \|$", TABLE, re.MULTILINE)
STORE = f"""\
machine: Store
version: 1.0.0
purpose: Keep numbers under texts.
source: {{seed: counter, section: "1"}}
equivalence: E0
purity: stateful
handle: {{else: CONTRACT_VIOLATION, requirement: K01}}
state:
  items: {{type: list<string>}}
  more: {{type: list<string>}}
  without: {{type: list<string>}}
  keys: {{type: list<string>}}
  values: {{type: list<uint64>}}
  under: {{type: uint64}}
operations:
  Put:
    inputs: {{handle: {{type: handle}}, item: {{type: string}}, key: {{type: string}}, value: {{type: uint64}}}}
    outputs: {{}}
    becomes:
      items: {LESS!r}
      more: {MORE!r}
      without: {WITHOUT!r}
      keys: {KEYS!r}
      values: {VALUES!r}
      under: {UNDER!r}
vectors:
- group: derived
  why: Every operation in every state.
  requirement: K01
  derive: {{depth: 2}}
"""


@pytest.mark.parametrize(
    ("key", "store"),
    [
        ("y", {"keys": ["x", "y"], "values": [1, 9], "under": 2}),
        ("z", {"keys": ["x", "y", "z"], "values": [1, 2, 9]}),  # a missing key has no value
    ],
)
def test_the_documented_expressions_change_a_collection(key: str, store: dict[str, Any], tmp_path: Path) -> None:
    put = load(tmp_path, STORE).contracts["Store.Put"]
    state = {"items": ["a", "b", "a"], "more": [], "without": [], "keys": ["x", "y"], "values": [1, 2], "under": 0}
    following = put.next_state({"state": state, "item": "a", "key": key, "value": 9}, {})
    lists = {"items": ["b", "a"], "more": ["a", "b", "a", "a"], "without": ["b"]}
    assert following == {**lists, **store}
