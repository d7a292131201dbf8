"""A machine by YAML alone, a bounded counter, and backends for it: an honest one, and some named for a sin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.contract.library import Library, load_library
from conformance.contract.suite import Suite
from conformance.tests.processes import script_backend
from conformance.tests.small_spec import ERRORS, SHIPPED, TYPES

NAME = "Counter"
COUNTER = """\
machine: Counter
version: 1.0.0
purpose: Count up and down between zero and a limit.
source: {seed: counter, section: "1"}
equivalence: E0
purity: stateful
confirmed_by: []
handle: {else: CONTRACT_VIOLATION, requirement: K01}
state:
  count: {type: uint64, doc: How far it has counted.}
  limit: {type: uint64}
invariants:
  - {id: within-limit, that: "state.count <= state.limit", requirement: K05}
operations:
  Open:
    opens: handle
    inputs:  {limit: {type: uint64}}
    outputs: {handle: {type: handle}}
    requires:
      - {id: room-to-count, that: "limit > 0u", else: CONTRACT_VIOLATION, requirement: K02}
    becomes: {count: 0u, limit: limit}
    examples: {limit: [3, 1, 0]}
  Increment:
    inputs:
      handle: {type: handle}
      by:     {type: uint64, default: 1}
    outputs: {count: {type: uint64}}
    requires:
      - {id: no-overflow, that: "by <= state.limit - state.count", else: COUNTER_OVERFLOW, requirement: K03}
    ensures:
      - {id: tells-count, that: "result.count == next.count", requirement: K03}
    becomes: {count: state.count + by}
    keeps: [limit]
    examples: {by: [1, 2, 4]}
  Decrement:
    inputs:  {handle: {type: handle}}
    outputs: {count: {type: uint64}}
    requires:
      - {id: no-underflow, that: "state.count > 0u", else: COUNTER_OVERFLOW, requirement: K04}
    ensures:
      - {id: tells-count, that: "result.count == next.count", requirement: K04}
    becomes: {count: state.count - 1u}
    keeps: [limit]
  Read:
    inputs:  {handle: {type: handle}}
    outputs: {count: {type: uint64}}
    ensures:
      - {id: tells-count, that: "result.count == state.count", requirement: K05}
    keeps: [count, limit]
  Close:
    closes: true
    inputs:  {handle: {type: handle}}
    outputs: {}
axes:
  representation: A counter of a test takes small numbers.
vectors:
  - group: up-and-down
    why: What goes up comes down again, step by step.
    requirement: K05
    trace:
      - {step: open, call: Open, set: {limit: 2}}
      - {step: up, call: Increment, pin: {result: {count: 1}}}
      - {step: too-far, call: Increment, set: {by: 2}, pin: {failure: COUNTER_OVERFLOW}}
      - {step: read, call: Read, pin: {result: {count: 1}}}
      - {step: close, call: Close, pin: {result: {}}}
  - group: derived
    why: Every operation, and every guard from both sides, in states that can be reached.
    requirement: [K01, K02, K03, K04]
    derive: {depth: 4}
"""

REQUIREMENTS = """\
seed: counter
requirements:
  - {id: K01, kind: S, section: "1", text: A handle that nobody holds is refused., checks: ["guard:Counter#open-handle", "group:Counter::derived"]}
  - {id: K02, kind: S, section: "1", text: A counter has room to count., checks: ["guard:Counter.Open#room-to-count", "state:Counter#limit", "group:Counter::derived"]}
  - {id: K03, kind: S, section: "1", text: Up to the limit., checks: ["guard:Counter.Increment#no-overflow", "ensures:Counter.Increment#tells-count", "group:Counter::derived"]}
  - {id: K04, kind: S, section: "1", text: Down to zero., checks: ["guard:Counter.Decrement#no-underflow", "ensures:Counter.Decrement#tells-count", "group:Counter::derived"]}
  - {id: K05, kind: S, section: "1", text: Reading changes nothing., checks: ["ensures:Counter.Read#tells-count", "invariant:Counter#within-limit", "state:Counter#count", "group:Counter::up-and-down"]}
"""  # noqa: E501

COVERAGE = """\
document: counter.md
lines: 1
sha256: "486389633205c85063373f7628f289161f83ccff037a68f03988e2e3669e74f1"
passages:
  - {lines: [1, 1], begins: Counting, digest: "ce3d843ea3eba387", requirements: [K01, K02, K03, K04, K05]}
"""

OVERFLOW = """\
  - {code: COUNTER_OVERFLOW, number: 1804, subsystem: runtime, severity: FATAL, message: A counter leaves its range.}
"""

# The end of a script that has a `call` and `sins`: it reads JSON lines.
SERVED = '''

for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "tally.hello":
        answer = {"result": {"protocol": 1, "name": "counter", "operators": ["Counter"], "max_in_flight": 8}}
    elif method == "tally.bye":
        break
    elif "lacks" in sins and method == "Counter.Decrement":
        answer = {"error": {"code": -32601, "message": "no such method"}}
    else:
        try:
            answer = {"result": call(method.split(".")[1], message["params"])}
        except Refused as refused:
            code = str(refused)
            number = {"CONTRACT_VIOLATION": 1801, "COUNTER_OVERFLOW": 1804}[code]
            data = {"failure_code": code, "failure_operator": method}
            answer = {"error": {"code": number, "message": code, "data": data}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
'''

# Its arguments name its sins.
BACKEND = '''\
"""Counts honestly, or sins as its arguments say."""
import json, os, sys

sins = set(sys.argv[1:])
counters, opened = {}, []


class Refused(Exception):
    pass


def held(method, params):
    if "trims" in sins:
        params["handle"] = params["handle"].strip()
    if "guesses" in sins and params["handle"]:
        params["handle"] = next((one for one in counters if one.startswith(params["handle"])), params["handle"])
    if params["handle"] not in counters or params["handle"] == "shared":
        raise Refused("CONTRACT_VIOLATION")
    return counters["shared" if "shares" in sins else params["handle"]]


def call(method, params):
    if method == "Open":
        if params["limit"] == "0" and "generous" not in sins:
            raise Refused("CONTRACT_VIOLATION")
        opened.append(params["limit"])
        handle = f"{os.getpid()}-{len(opened)}"
        counters[handle] = counters["shared"] = [0, int(params["limit"])]
        return {"handle": handle}
    counter = held(method, params)
    if method == "Close":
        if "clings" not in sins and ("lingers" not in sins or len(counters) > 2):
            del counters[params["handle"]]
        return {}
    if method == "Increment":
        by = int(params.get("by", "1"))
        if by > counter[1] - counter[0]:
            if "spoils" in sins:
                counter[0] = counter[1]
            raise Refused("COUNTER_OVERFLOW")
        counter[0] += by
    if "ages" in sins and method == "Read" and len(opened) > 6:
        return {"count": "7"}
    if "slips" in sins and method == "Read" and len(opened) > 6 and "slipped" not in sins:
        sins.add("slipped")
        return {"count": "7"}
    if "dies" in sins and counter[0] == 2:
        os._exit(7)
    if method == "Decrement":
        if counter[0] == 0 and "wraps" not in sins:
            raise Refused("COUNTER_OVERFLOW")
        counter[0] = (counter[0] - 1) % 2**64
        if "forgets" in sins and counter[0] == 2:
            counter[0] = 1
    return {"count": str(counter[0])}
'''


def backend(root: Path, *sins: str) -> str:
    """The backend string of a counter with these sins."""
    return script_backend(root / "counter.py", BACKEND + SERVED, *sins)


def write(root: Path, text: str = COUNTER) -> Suite:
    """Write the specification of the counter below `root`."""
    spec = root / "spec"
    files = {
        "types.yaml": TYPES,
        "errors.yaml": ERRORS + OVERFLOW,
        "count/Counter.yaml": text,
        "count/requirements.yaml": REQUIREMENTS,
        "count/coverage.yaml": COVERAGE,
    }
    for schema in (SHIPPED.spec / "schema").glob("*.json"):
        files[f"schema/{schema.name}"] = schema.read_text(encoding="utf-8")
    for name, content in files.items():
        (spec / name).parent.mkdir(parents=True, exist_ok=True)
        (spec / name).write_text(content, encoding="utf-8")
    return replace(SHIPPED, root=root)


def load(root: Path, text: str = COUNTER) -> Library:
    """Write and load it."""
    return load_library(write(root, text))
