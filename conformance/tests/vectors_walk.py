"""A small specification with its own backends, for tests of expansion and freezing: walk along a line of numbers."""

from __future__ import annotations

from pathlib import Path

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library, load_library
from conformance.contract.suite import Suite
from conformance.tests.processes import script_backend
from conformance.tests.small_spec import TYPES, write_spec
from conformance.vectors.case import Question
from conformance.vectors.questions.expand import expand

OPERATOR = "UML_OS.Data.Walk_v1"

WALK_TYPES = (
    TYPES
    + """\
  place:
    type: struct
    fields:
      lap: {type: uint64}
      at:  {type: uint64}
  settings:
    type: struct
    fields:
      backwards: {type: bool, default: false}
      limit:     {type: uint64, optional: true}
"""
)

HEAD = """\
contract: UML_OS.Data.Walk_v1
version: 1.0.0
purpose: Walk along a line.
source: {seed: data-next-batch, section: "5"}
equivalence: E0
purity: pure
confirmed_by: [CONFIRMER]
inputs:
  place:    {type: place}
  width:    {type: uint32}
  settings: {type: settings, optional: true}
  names:    {type: "map<string, uint64>", optional: true}
  salt:     {type: bytes16, optional: true}
outputs:
  visited: {type: list<uint64>}
  after:   {type: place}
domain: ["width <= 4096u"]
requires:
  - {id: some-width, that: "width > 0u", else: CONTRACT_VIOLATION, requirement: N01}
ensures:
  - {id: whole-width, that: "size(result.visited) == int(width)", requirement: N01}
ordering: {visited: as walked}
state: none
bases:
  start: {place: {lap: 0, at: 5}, width: 3}
"""

SMALL = """\
vectors:
  - group: small
    why: Small widths.
    requirement: N01
    base: start
    matrix: {width: [0, 1, 100]}
  - group: twice
    why: Two steps.
    requirement: N02
    base: start
    trace:
      - {step: a}
      - {restart: true}
      - {step: b, use: {place: a.after}}
  - group: far
    why: Many steps.
    requirement: N01
    base: start
    accumulate: {output: visited, generator: chain, count: 9, feed: {place: after}}
"""

# Reads JSON lines; its arguments name its sins. As the reference of these tests it has none.
BACKEND = '''\
"""Walks honestly, or sins as its arguments say."""
import json, sys, time

sins = set(sys.argv[1:])


def walk(inputs):
    at, lap, width = int(inputs["place"]["at"]), inputs["place"]["lap"], inputs["width"]
    if "crashes" in sins:
        sys.exit(f"no width {width} today" if "talks" in sins else 3)
    if width == 0 and "takes-zero" not in sins or "refuses" in sins:
        failure = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": "UML_OS.Data.Walk_v1"}
        return {"error": {"code": 1801, "message": "CONTRACT_VIOLATION", "data": failure}}
    step = 2 if "strides" in sins and at >= 14 else 1
    count = width + ("overshoots" in sins)
    visited = [str(at + step * k) for k in range(count)]
    result = {"visited": visited, "after": {"lap": lap, "at": str(at + width)}}
    if "timed" in sins:
        result["took"] = str(time.monotonic_ns())
    if "mistypes" in sins:
        result["after"]["at"] = at + width
    if "invents" in sins:
        return {"error": {"code": 0, "message": "WALL", "data": {}}}
    return {"result": result}


for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tally.hello":
        operators = [] if "idle" in sins else ["UML_OS.Data.Walk_v1"]
        answer = {"result": {"protocol": 1, "name": "walk", "operators": operators, "max_in_flight": 8}}
    elif message["method"] == "tally.bye":
        break
    else:
        answer = walk(message["params"])
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
'''


def backend(root: Path, *sins: str) -> str:
    """The backend string of a walker with these sins."""
    return script_backend(root / "walk.py", BACKEND, *sins)


def write(root: Path, vectors: str = SMALL, *sins: str, head: str = HEAD) -> Suite:
    """Write the specification below `root`; its values are confirmed by a walker with these sins, or an honest one."""
    text = head.replace("CONFIRMER", f'"{backend(root, *(sins or ("honest",)))}"') + vectors
    return write_spec(root, text, {"types.yaml": WALK_TYPES})


def load(root: Path, vectors: str = SMALL, *sins: str, head: str = HEAD) -> Library:
    """Write and load the specification."""
    return load_library(write(root, vectors, *sins, head=head))


def expanded(root: Path, vectors: str) -> tuple[Question, ...]:
    """The questions of the specification with these groups."""
    codebook: Codebook = codebook_of(load(root, vectors))
    return expand(codebook[OPERATOR].contract, codebook)
