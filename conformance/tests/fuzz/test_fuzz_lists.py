"""A machine whose state is a list: each mistake shows only on a handle with room, with long lists, or half way."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backend.driver import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import load_library
from conformance.tests.counter_spec import NAME, SERVED, write
from conformance.tests.fuzz.tasks import task_of
from conformance.tests.processes import script_backend
from conformance.tests.small_spec import SHIPPED
from conformance.trial.check import Result, Verdict
from conformance.trial.client import Client
from conformance.trial.fuzz import fuzz_operator

# The smallest example of a limit is zero, and such a handle refuses every list that is not empty.
BAG = """\
machine: Counter
version: 1.0.0
purpose: Keep numbers up to a limit.
source: {seed: counter, section: "1"}
equivalence: E0
purity: stateful
confirmed_by: []
handle: {else: CONTRACT_VIOLATION, requirement: K01}
state:
  kept:  {type: list<float64>}
  limit: {type: uint64}
operations:
  Open:
    opens: handle
    inputs:  {limit: {type: uint64}}
    outputs: {handle: {type: handle}}
    becomes: {kept: "[]", limit: limit}
    examples: {limit: [3, 2, 0]}
  Add:
    inputs:
      handle: {type: handle}
      some:   {type: list<float64>}
    outputs: {count: {type: uint64}}
    requires:
      - {id: room, that: "uint(size(state.kept) + size(some)) <= state.limit", else: COUNTER_OVERFLOW, requirement: K03}
    becomes: {kept: state.kept + some}
    keeps: [limit]
    ordering: {some: as they are added}
    examples: {some: [[0.1], [0.2, 0.3], []]}
  Read:
    inputs:  {handle: {type: handle}}
    outputs: {kept: {type: list<float64>}}
    ordering: {kept: as they were added}
    keeps: [kept, limit]
  Close: {closes: true, inputs: {handle: {type: handle}}, outputs: {}}
vectors:
  - group: derived
    why: Every operation, and every guard from both sides, in states that can be reached.
    requirement: [K01, K03]
    derive: {depth: 2}
"""

BACKEND = '''\
import json, os, sys

sins = sys.argv[1:]
sin = sins[0]
bags = {}
calls = {}


class Refused(Exception):
    pass


def call(method, params):
    if method == "Open":
        handle = f"{os.getpid()}-{len(calls)}"
        bags[handle], calls[handle] = ([], int(params["limit"])), 0
        return {"handle": handle}
    if params["handle"] not in bags:
        raise Refused("CONTRACT_VIOLATION")
    kept, limit = bags[params["handle"]]
    if method == "Close":
        del bags[params["handle"]]
        return {}
    if method == "Read":
        return {"kept": kept[:300] if sin == "cuts" else kept}
    some = params["some"]
    if len(kept) + len(some) > limit:
        if sin == "adds-a-part":
            kept.extend(some[:limit - len(kept)])
        raise Refused("COUNTER_OVERFLOW")
    if sin == "no-minus-zero":
        some = ["0" * 16 if one == "8" + "0" * 15 else one for one in some]
    if sin == "one-nan":
        some = ["7ff8" + "0" * 12 if one[:4] in ("7ff8", "fff8") else one for one in some]
    kept.extend(some)
    calls[params["handle"]] += 1
    return {"count": str(len(kept) + (sin == "tires" and calls[params["handle"]] == 10))}
'''


def fuzzed(root: Path, sin: str, shrunk: bool = False) -> Result:
    """The result of fuzzing a bag with a sin, without frozen traces; to make an example small takes seconds."""
    library = load_library(write(root, BAG))
    codebook = codebook_of(library)

    def client(sin: str) -> Client:
        command = script_backend(root / "bag.py", BACKEND + SERVED, sin)
        return Client(Driver(resolve(command, SHIPPED), DIALECTS["json"], codebook, 10.0, 10.0))

    with client(sin) as asked, client("none") as right:
        task = task_of(library.contracts[NAME], (), asked, right, codebook, examples=20, trusted=shrunk)
        return fuzz_operator(task)[0]


def test_an_honest_bag_passes(tmp_path: Path) -> None:
    result = fuzzed(tmp_path, "none", shrunk=True)
    assert (result.verdict, result.message) == (Verdict.PASS, "")


@pytest.mark.parametrize("sin", ["no-minus-zero", "one-nan"])
def test_degenerate_values_are_asked_on_a_handle_that_lets_them_through(sin: str, tmp_path: Path) -> None:
    assert fuzzed(tmp_path, sin).verdict is Verdict.FAIL


def test_a_long_list_is_asked_on_a_handle_with_room(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, "cuts", shrunk=True).verdict is Verdict.FAIL


def test_a_call_that_is_refused_does_not_do_a_part_of_it(tmp_path: Path) -> None:
    result = fuzzed(tmp_path, "adds-a-part", shrunk=True)
    assert (result.verdict, result.details["trace"][-1].split(",")[0]) == (Verdict.FAIL, f"- {{step: {result.step}")
    assert len(result.details["trace"]) == 3


def test_the_same_call_is_asked_again_and_again(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, "tires").verdict is Verdict.FAIL
