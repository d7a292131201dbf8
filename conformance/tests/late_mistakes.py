"""The rows of the measured table for mistakes that would else show only in `build`, `run` or `mutants`."""

from __future__ import annotations

from conformance.tests.lint_mistakes import C

L = "spec/bounds/laws.yaml"
M = "spec/bounds/mutants.yaml"
UNUSED = "- {law: never-used, sentence: Nothing uses this law., calls: [Bounds.Clamp_v1], parameters: [value]}\n"
WORKLOAD = """\
workloads:
- name: once
  why: The value is read after a crash.
  requirement: B01
  steps: [{step: first, base: tens}]
  verify:
  - {step: seen, base: tens, call: CALL, absent: [CODE]}

"""


def workload(call: str, code: str) -> str:
    return WORKLOAD.replace("CALL", call).replace("CODE", code)


NEW = (
    "C:34:3: L107 workload 'once' names B01, whose row does not name it\n"
    "    hint: add 'workload:Bounds.Clamp_v1#once' to the checks of B01\n"
)

LATE = [
    (
        "operator-of-a-workload", C, "vectors:\n", workload("Bounds.Clmp_v1", "CONTRACT_VIOLATION") + "vectors:\n",
        NEW + "C:39:36: L101 no contract for Bounds.Clmp_v1\n"
        "    hint: did you mean Bounds.Clamp_v1?",
    ),
    (
        "code-of-a-workload", C, "vectors:\n", workload("Bounds.Clamp_v1", "CONTRACT_VIOLATON") + "vectors:\n",
        NEW + "C:39:62: L102 nothing in Bounds.Clamp_v1 fails with CONTRACT_VIOLATON\n"
        "    hint: did you mean CONTRACT_VIOLATION?",
    ),
    (
        "where-keeps-nothing", C, "matrix: {low: [20, 21, 30]}", "matrix: {low: [20, 21, 30]}\n  where: \"low < 3u\"",
        "C:39:3: C012 the group wrong-bounds has no case\n"
        "    hint: `where` keeps no combination",
    ),
    (
        "leaf-of-no-input", C, "axis: representation", "axis: representation\n  leaves: [nothing]",
        "C:44:3: C012 the group representation has no case\n"
        "    hint: no leaf is like those of `leaves`",
    ),
    (
        "entry-of-no-tree", C, "matrix: {low: [20, 21, 30]}",
        "trace:\n  - {tree: {pin: {a.txt: {sha: \"00\", size: 1}}}}",
        "C:44:27: C002 unknown key 'sha' in vectors.1.trace.0.tree.pin.a.txt\n"
        "    hint: did you mean sha256?",
    ),
    (
        "kind-of-no-entry", C, "matrix: {low: [20, 21, 30]}", "trace:\n  - {tree: {pin: {a: folder}}}",
        "C:44:22: C002 vectors.1.trace.0.tree.pin.a is 'folder', but dir, absent or special is expected\n"
        "    hint: docs/language.md explains the keys",
    ),
    (
        "parameter-that-is-a-map", C, "law: clamping-twice,", "law: clamping-twice, over: {value: {from: 1}},",
        "C:28:39: C002 laws.0.over.value is a map {\"from\": 1}, but a list or a text or true or false or a n"
        "umber is expected\n"
        "    hint: begin each entry of the list with `- `",
    ),
    (
        "parameter-without-values", C, "law: clamping-twice,", "law: clamping-twice, over: {value: []},",
        "C:28:39: C002 laws.0.over.value is empty, but at least one entry is needed\n"
        "    hint: add an entry, or remove the key",
    ),
    (
        "law-that-nothing-uses", L, "laws:\n", f"laws:\n{UNUSED}",
        f"{L}:3:3: L109 no contract has the law 'never-used', so it is never tried\n"
        "    hint: add it to the `laws` of a contract, - {law: never-used, requirement: ID}, or remove it",
    ),
    (
        "patch-of-text-that-is-gone", M, "find: \"if not low <= high:\"", "find: \"if not low < high:\"",
        f"{M}:6:3: L414 the mutant bounds-not-compared cannot be made: operators.py: the text to replace is th"
        "ere 0 times, not once: 'if not low < high:'\n"
        "    hint: `file` is below the folder of the reference; write `find` as it is there now, long enough to be the"
        "re once, and another text in `replace`",
    ),
    (
        "patch-without-a-mistake", M, 'replace: "if False:"', 'replace: "if not low <= high:"',
        f"{M}:6:3: L414 the mutant bounds-not-compared cannot be made: operators.py: `replace` is the same text as `fi"
        "nd`: 'if not low <= high:'\n"
        "    hint: `file` is below the folder of the reference; write `find` as it is there now, long enough to be the"
        "re once, and another text in `replace`",
    ),
    (
        "patch-of-no-file", M, "file: operators.py", "file: operator.py",
        f"{M}:6:3: L414 the mutant bounds-not-compared cannot be made: operator.py: there is no such file in the folde"
        "r of the reference; did you mean operators.py?\n"
        "    hint: `file` is below the folder of the reference; write `find` as it is there now, long enough to be the"
        "re once, and another text in `replace`",
    ),
    (
        "guard-that-is-gone", M, "Bounds.Clamp_v1#ordered\"]", "Bounds.Clamp_v1#order\"]",
        f"{M}:6:3: L106 bounds-not-compared must break 'guard:Bounds.Clamp_v1#order': the contract has no such guard\n"
        "    hint: did you mean guard:Bounds.Clamp_v1#ordered?",
    ),
    (
        "name-for-a-check", M, "[\"guard:Bounds.Clamp_v1#ordered\"]", "[ordered]",
        f"{M}:9:12: C002 mutants.1.breaks.0 is 'ordered', but a check such as guard:OPERATOR#name is expected\n"
        "    hint: for example: \"guard:Bounds.Clamp_v1#ordered\"",
    ),
    (
        "number-for-a-list-of-them", C, "matrix: {low: [20, 21, 30]}", "matrix: {low: 20}",
        "C:43:17: C002 vectors.1.matrix.low is the number 20, but a list or a map is expected\n"
        "    hint: write it as a list: [20]",
    ),
    (
        "default-in-quotes", C, "  low:   {type: uint64}", "  low:   {type: uint64, default: \"10\"}",
        "C:9:34: C009 the default '10' is no value of uint64\n"
        "    hint: write it without quotes",
    ),
    (
        "brackets-for-a-type", C, "  low:   {type: uint64}", "  low:   {type: list[uint64]}",
        "C:9:17: C001 bad YAML: '[' inside list[uint64]\n"
        "    hint: write list<uint64>",
    ),
    (
        "record-of-failures", "spec/types.yaml", "  default_failure:", "  failure:",
        "C:1:1: C003 unknown record 'default_failure'\n"
        "    hint: add a struct default_failure to types.yaml, or write `failure: NAME`",
    ),
    (
        "answer-of-a-matrix", C, "matrix: {low: [20, 21, 30]}",
        "matrix: {low: [21, 30]}\n  fails: CONTRACT_VIOLATION",
        "C:44:3: C002 unknown key 'fails' in vectors.1\n"
        "    hint: fails is the answer of `cases`: name each case, - {id: NAME, set: {PATH: VALUE}, fails: ...}",
    ),
    (
        "division-by-zero", C, "\"low <= high\"", "\"low / 0u <= high\"",
        "C:16:3: L301 guard 'ordered' has no value in any call: it divides by zero\n"
        "    hint: test the divisor first: `b == 0u || a / b < 9u`",
    ),
    (
        "index-beyond-a-list", C, "\"low <= high\"", "\"low <= high && [1u, 2u][5] == low\"",
        "C:16:3: L301 guard 'ordered' has no value in 97 of 103 calls, and is never true: index 5 is not in a list of"
        " size 2\n"
        "    hint: the first index is 0; test size(list) first",
    ),
    (
        "let-without-a-value", C, "requires:\n- {id: ordered, that: \"low <= high\"",
        "let: {rest: \"low % (low - low)\"}\nrequires:\n- {id: ordered, that: \"rest == low\"",
        "C:15:13: L301 let 'rest' has no value in any call: it divides by zero\n"
        "    hint: test the divisor first: `b == 0u || a % b == 1u`",
    ),
    (
        "postcondition-without-a-value", C, "result.clamped == (value", "result.clamped - value - 1u == (value",
        "C:19:3: L305 postcondition 'nearest' has no value in 88 of 97 calls, and is never true: a result is below 0 or"
        " above 18446744073709551615\n"
        "    hint: compare before you subtract",
    ),
    (
        "edge-case-without-a-value", C, "\"low == high\"", "\"{'a': low}['b'] == high\"",
        "C:25:3: L302 edge case 'one-value' has no value in any call: the map has no key \"b\"\n"
        "    hint: test `key in map` first",
    ),
]
