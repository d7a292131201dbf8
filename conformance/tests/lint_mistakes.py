"""The measured table: ordinary mistakes in the contract that `tally init` writes, and what lint says of each."""

from __future__ import annotations

C = "spec/bounds/Bounds.Clamp_v1.yaml"
R = "spec/bounds/requirements.yaml"

# The mistake, the file, what is written right and wrong there, and all that lint says. `C:` and `R:` are the files.
TABLE = [
    (
        "key-misspelt", C, "ensures:", "ensure:",
        "C:18:1: C002 unknown key 'ensure' in the file\n"
        "    hint: did you mean ensures?",
    ),
    (
        "type-of-another-language", C, "value: {type: uint64}", "value: {type: str}",
        "C:11:17: C003 unknown type 'str'\n"
        "    hint: did you mean string?",
    ),
    (
        "type-without-a-width", C, "value: {type: uint64}", "value: {type: int}",
        "C:11:17: C003 unknown type 'int'\n"
        "    hint: did you mean int64 or uint64?",
    ),
    (
        "item-type-of-another-language", C, "value: {type: uint64}", "value: {type: \"list<str>\"}",
        "C:11:17: C003 unknown type 'str'\n"
        "    hint: did you mean string?",
    ),
    (
        "version", C, "version: 1.0.0", "version: 1.0",
        "C:2:10: C002 version is the number 1.0, but a version of three numbers is expected\n"
        "    hint: write 1.0.0",
    ),
    (
        "space-id", C, "id: ordered", "id: is ordered",
        "C:16:8: C002 requires.0.id is 'is ordered', but an id of lower-case words joined by - is expect"
        "ed\n"
        "    hint: write is-ordered",
    ),
    (
        "lower-code", C, "else: CONTRACT_VIOLATION", "else: contract_violation",
        "C:16:44: C002 requires.0.else is 'contract_violation', but a failure code in capitals is expect"
        "ed\n"
        "    hint: write CONTRACT_VIOLATION",
    ),
    (
        "base-misspelt", C, "  base: tens\n  matrix: {low: [20", "  base: ten\n  matrix: {low: [20",
        "C:42:9: C007 unknown base 'ten'\n"
        "    hint: did you mean tens?",
    ),
    (
        "set-unknown", C, "matrix: {low: [20, 21, 30]}", "cases:\n  - {id: a, set: {lo: 20}}",
        "C:44:19: C008 unknown path 'lo' among the inputs of Bounds.Clamp_v1\n"
        "    hint: did you mean low?",
    ),
    (
        "negative-unsigned", C, "matrix: {low: [20, 21, 30]}", "cases:\n  - {id: a, set: {low: -1}}",
        "C:44:24: C009 ill-typed input low: expected uint64, found '-1'\n"
        "    hint: it is declared as uint64, a whole number from 0 to 18446744073709551615",
    ),
    (
        "unknown-second-derivation", C, "purity: pure", "purity: pure\nconfirmed_by: [refrence]",
        "C:7:16: C019 'refrence' is no backend of this suite\n"
        "    hint: did you mean reference?",
    ),
    (
        "pin-of-no-output", C, "matrix: {low: [20, 21, 30]}",
        "cases:\n  - {id: a, set: {low: 5}, pin: {result: {clampd: 15}}}",
        "C:44:43: C008 unknown path 'clampd' among the outputs of Bounds.Clamp_v1\n"
        "    hint: did you mean clamped?",
    ),
    (
        "calls-text", C, "purity: pure", "purity: pure\ncalls: Bounds.Other",
        "C:7:8: C002 calls is the text \"Bounds.Other\", but a list is expected\n"
        "    hint: write it as a list: [Bounds.Other]",
    ),
    (
        "requirement-without-a-row", C, "requirement: B01, source", "requirement: B07, source",
        "C:16:77: L104 unknown requirement B07\n"
        "    hint: did you mean B01? Else add its row to bounds/requirements.yaml:\n"
        "- id: B07\n"
        "  kind: P\n"
        "  section: \"1\"\n"
        "  text: ...\n"
        "  checks:\n"
        "  - guard:Bounds.Clamp_v1#ordered",
    ),
    (
        "row-renamed", R, "id: B01", "id: B10",
        "C:16:77: L104 unknown requirement B01, named in 2 places\n"
        "    hint: did you mean B10? Else add its row to bounds/requirements.yaml:\n"
        "- id: B01\n"
        "  kind: P\n"
        "  section: \"1\"\n"
        "  text: ...\n"
        "  checks:\n"
        "  - guard:Bounds.Clamp_v1#ordered\n"
        "  - group:Bounds.Clamp_v1::wrong-bounds",
    ),
    (
        "guard-twice", C, "ensures:\n",
        "- {id: ordered, that: \"low <= 9u\", else: CONTRACT_VIOLATION, requirement: B01}\n\nensures:\n",
        "C:18:3: C005 requires has 'ordered' twice\n"
        "    hint: rename one; the first is at C:16:3",
    ),
    (
        "failure-code-misspelt", C, "else: CONTRACT_VIOLATION", "else: CONTRACT_VOILATION",
        "C:16:44: C003 unknown failure code 'CONTRACT_VOILATION'\n"
        "    hint: did you mean CONTRACT_VIOLATION?",
    ),
    (
        "unit", C, "else: CONTRACT_VIOLATION, ", "else: CONTRACT_VIOLATION, unit: chars, ",
        "C:16:70: C002 requires.0.unit is the text \"chars\", but one of bytes, characters, items is expec"
        "ted\n"
        "    hint: write one of bytes, characters, items",
    ),
    (
        "edge-case-with-then", C, "when: \"low == high\"", "then: \"low == high\"",
        "C:25:19: C002 unknown key 'then' in edge_cases.0\n"
        "    hint: did you mean when?",
    ),
    (
        "missing-keys", C, "ordering: {}\nstate: none\n", "",
        "C:1:1: C002 the file lacks 'ordering', 'state'\n"
        "    hint: add these lines, with your own values:\n"
        "ordering: {}\n"
        "state: none",
    ),
    (
        "missing-why", C, "  why: Bounds that are not in order are refused, and just barely too.\n", "",
        "C:39:3: C002 vectors.1 lacks 'why'\n"
        "    hint: add this line:\n"
        "  why: Say in one sentence why these cases are needed.",
    ),
    (
        "missing-guard-else", C, "else: CONTRACT_VIOLATION, ", "",
        "C:16:3: C002 requires.0 lacks 'else'\n"
        "    hint: add else: CONTRACT_VIOLATION inside the braces",
    ),
    (
        "purity", C, "purity: pure", "purity: Pure",
        "C:6:9: C002 purity is the text \"Pure\", but one of pure, stateful, io is expected\n"
        "    hint: did you mean pure?",
    ),
    (
        "map-without-quotes", C, "value: {type: uint64}", "value: {type: map<string, uint64>}",
        "C:11:36: C001 no colon and no value after `uint64>`\n"
        "    hint: put a type that has a comma in quotes, as in \"map<string, uint64>\"",
    ),
    (
        "struct-inside-a-list", C, "value: {type: uint64}", "value: {type: list<struct>}",
        "C:11:17: C003 fields and values are not written inside `type`\n"
        "    hint: write type: struct and `fields:`, type: enum and `values:`, or a name of types.yaml: list<NAME>",
    ),
    (
        "key-without-a-value", C, "ordering: {}", "ordering:",
        "C:21:10: C001 a key without a value\n"
        "    hint: write the value, or \"\" for empty text, [] for an empty list, {} for an empty map",
    ),
    (
        "case-id-twice", C, "matrix: {low: [20, 21, 30]}",
        "cases:\n  - {id: a, set: {low: 25}}\n  - {id: a, set: {low: 26}}",
        "C:45:5: C011 two cases have the id Bounds.Clamp_v1::wrong-bounds::a\n"
        "    hint: the other is at C:44:5; give the value or the case another name",
    ),
    (
        "missing-input", C, "bases:\n  tens: {low: 10, high: 20, value: 15}", "bases:\n  tens: {low: 10, high: 20}",
        "C:31:9: C009 ill-typed input value: expected this field, which is missing\n"
        "    hint: the contract's `inputs` declare it: give it a value in the base, or under `set`",
    ),
    (
        "requires-map", C,
        "- {id: ordered, that: \"low <= high\", else: CONTRACT_VIOLATION, requirement: B01, source: \"1\"}",
        "  {id: ordered, that: \"low <= high\", else: CONTRACT_VIOLATION, requirement: B01, source: \"1\"}",
        "C:16:3: C002 requires is a map, but a list is expected\n"
        "    hint: begin each entry of the list with `- `",
    ),
    (
        "type-short", C, "value: {type: uint64}", "value: uint64",
        "C:11:10: C002 inputs.value is the text \"uint64\", but a map is expected\n"
        "    hint: write {type: uint64}",
    ),
    (
        "law-misspelt", C, "law: clamping-twice", "law: clamping-twise",
        "C:28:9: L103 unknown law 'clamping-twise'\n"
        "    hint: did you mean clamping-twice?",
    ),
    (
        "check-misspelt", R, "guard:Bounds.Clamp_v1#ordered", "guard:Bounds.Clamp_v1#orderd",
        "R:9:5: L106 B01 rests on 'guard:Bounds.Clamp_v1#orderd': the contract has no such guard\n"
        "    hint: did you mean guard:Bounds.Clamp_v1#ordered?",
    ),
    (
        "optional", C, "value: {type: uint64}", "value: {type: uint64, optional: yes}",
        "C:11:35: C002 inputs.value.optional is the text \"yes\", but true or false is expected\n"
        "    hint: write true",
    ),
    (
        "pin-code", C, "matrix: {low: [20, 21, 30]}",
        "cases:\n  - {id: a, set: {low: 25}, fails: CONTRACT_VOILATION}",
        "C:44:36: C008 the operator never fails with 'CONTRACT_VOILATION'\n"
        "    hint: did you mean CONTRACT_VIOLATION?",
    ),
    (
        "nogroup", C, "- group: wrong-bounds", "- grup: wrong-bounds",
        "C:39:3: C002 unknown key 'grup' in vectors.1\n"
        "    hint: did you mean group?",
    ),
    (
        "reqid", C, "requirement: B01, source", "requirement: b-1, source",
        "C:16:77: C002 requires.0.requirement is 'b-1', but a requirement's id: capitals and a number is"
        " expected\n"
        "    hint: write B1",
    ),
    (
        "contractname", C, "contract: Bounds.Clamp_v1", "contract: bounds clamp",
        "C:1:11: C002 contract is 'bounds clamp', but an operator's name: words with capitals, joined by"
        " dots is expected\n"
        "    hint: write Bounds.Clamp",
    ),
    (
        "group-without-cases", C, "  base: tens\n  matrix: {low: [20, 21, 30]}\n", "  base: tens\n",
        "C:39:3: C002 vectors.1 has none of limit with grow, cases, trace, chain, accumulate, axis, matr"
        "ix\n"
        "    hint: add one of limit with grow, cases, trace, chain, accumulate, axis, matrix",
    ),
    (
        "value-left", C, "vectors:\n", "values:\n  left: [1, 2]\nvectors:\n",
        "C:34:3: L109 nothing uses the value 'left'\n"
        "    hint: use it or remove it",
    ),
    (
        "default-of-another-type", C, "value: {type: uint64}", "value: {type: uint64, default: -5}",
        "C:11:34: C009 the default -5 is no value of uint64\n"
        "    hint: write a whole number from 0 to 18446744073709551615",
    ),
    (
        "optional-with-a-default", C, "value: {type: uint64}", "value: {type: uint64, default: 5, optional: true}",
        "C:11:37: C002 an optional input and a default exclude each other\n"
        "    hint: remove it: an input with a default may be left out",
    ),
    (
        "enum-value-twice", C, "value: {type: uint64}", "value: {type: enum, values: [a, b, a]}",
        "C:11:38: C005 values has 'a' twice\n"
        "    hint: remove one",
    ),
    (
        "another-key-for-the-one-that-lacks", C, "law: clamping-twice", "id: clamping-twice",
        "C:28:4: C002 unknown key 'id' in laws.0\n"
        "    hint: did you mean law?",
    ),
    (
        "name-with-a-sign", C, "value: {type: uint64}", "value?: {type: uint64}",
        "C:11:3: C002 'value?' cannot be a name in inputs\n"
        "    hint: write Value",
    ),
    (
        "id-of-digits", C, "matrix: {low: [20, 21, 30]}", "cases:\n  - {id: 1, set: {low: 25}}",
        "C:44:10: C002 vectors.1.cases.0.id is the number 1, but an id of lower-case words is expected\n"
        "    hint: put it in quotes: \"1\"",
    ),
    (
        "answer-by-another-name", C, "matrix: {low: [20, 21, 30]}",
        "cases:\n  - {id: a, set: {low: 5}, expect: {clamped: 15}}",
        "C:44:28: C002 unknown key 'expect' in vectors.1.cases.0\n"
        "    hint: allowed here: base, fails, gives, id, pin, requirement, ruling, set, unset, why",
    ),
    (
        "limit-without-grow", C, "matrix: {low: [20, 21, 30]}", "limit: ordered",
        "C:39:3: C002 vectors.1 has none of limit with grow, cases, trace, chain, accumulate, axis, matr"
        "ix\n"
        "    hint: add grow",
    ),
    (
        "axis-of-no-input", C, "matrix: {low: [20, 21, 30]}", "matrix: {lo: [20, 21, 30]}",
        "C:43:12: C008 unknown path 'lo' among the inputs of Bounds.Clamp_v1\n"
        "    hint: did you mean low?",
    ),
    (
        "value-of-a-matrix-twice", C, "matrix: {low: [20, 21, 30]}", "matrix: {low: [20, 20, 30]}",
        "C:43:22: C011 two cases have the id low=20\n"
        "    hint: remove one, or name them: {name: slug, value: X}",
    ),
    (
        "check-with-another-sign", R, "guard:Bounds.Clamp_v1#ordered", "guard:Bounds.Clamp_v1::ordered",
        "R:9:5: L106 B01 rests on 'guard:Bounds.Clamp_v1::ordered': no such contract\n"
        "    hint: did you mean guard:Bounds.Clamp_v1#ordered?",
    ),
    (
        "check-of-an-operator-misspelt", R, "guard:Bounds.Clamp_v1#ordered", "guard:Bounds.Clmp_v1#ordered",
        "R:9:5: L106 B01 rests on 'guard:Bounds.Clmp_v1#ordered': no such contract\n"
        "    hint: did you mean guard:Bounds.Clamp_v1#ordered?",
    ),
    (
        "code-twice", "spec/errors.yaml", "errors:\n",
        "errors:\n- {code: CONTRACT_VIOLATION, number: 1802, subsystem: runtime, severity: FATAL, message: A code.}\n",
        "spec/errors.yaml:3:3: C005 the code CONTRACT_VIOLATION twice\n"
        "    hint: it is at spec/errors.yaml:2:3 already; give this one another code",
    ),
    (
        "number-too-large", "spec/errors.yaml", "number: 1801", "number: 3001",
        "spec/errors.yaml:2:38: C002 errors.0.number is 3001, but at most 2999 is expected\n"
        "    hint: write 2999 or less",
    ),
    (
        "number-twice", "spec/errors.yaml", "errors:\n",
        "errors:\n- {code: OTHER, number: 1801, subsystem: runtime, severity: FATAL, message: A code.}\n",
        "spec/errors.yaml:3:3: C005 the number 1801 twice\n"
        "    hint: it is at spec/errors.yaml:2:3 already; give this one another number",
    ),
    (
        "type-of-types-misspelt", "spec/types.yaml", "failure_code:     {type: string}",
        "failure_code:     {type: strng}",
        "spec/types.yaml:6:32: C003 unknown type 'strng'\n"
        "    hint: did you mean string?",
    ),
    (
        "type-named-like-a-scalar", "spec/types.yaml", "types:\n", "types:\n  string: {type: uint64}\n",
        "spec/types.yaml:2:3: C005 'string' is a type already\n"
        "    hint: rename it",
    ),
    (
        "type-below", "spec/types.yaml", "types:\n", "types:\n  early: {type: \"list<default_failure>\"}\n",
        "spec/types.yaml:2:17: C003 the type 'default_failure' is not yet known\n"
        "    hint: a type names only types above it",
    ),
    (
        "law-that-calls-nothing", "spec/bounds/laws.yaml", "calls: [Bounds.Clamp_v1]", "calls: [Bounds.Clamp]",
        "spec/bounds/laws.yaml:3:3: L101 the law clamping-twice calls Bounds.Clamp, which has no contrac"
        "t\n"
        "    hint: did you mean Bounds.Clamp_v1?",
    ),
    (
        "operator-in-a-file-of-another-name", C, "contract: Bounds.Clamp_v1", "contract: Bounds.Clmp_v1",
        "C:1:11: L110 Bounds.Clmp_v1 is in Bounds.Clamp_v1.yaml\n"
        "    hint: call the file Bounds.Clmp_v1.yaml",
    ),
    (
        "requirement-twice", R, "- id: B02", "- id: B01",
        "R:11:3: L401 B01 comes twice\n"
        "    hint: renumber one",
    ),
    (
        "guard-that-contradicts-itself", C, "\"low <= high\"", "\"low <= high && low > high\"",
        "C:16:3: L301 no case in which guard 'ordered' is true\n"
        "    hint: add a case inside it\n"
        "C:16:3: L304 the guard ordered predicts CONTRACT_VIOLATION, but a result is frozen in Bounds.Cl"
        "amp_v1::values::value=0,low=0,high=10\n"
        "    hint: correct the guard, its order or its code, or build the vectors again",
    ),
    (
        "postcondition-that-is-not-true", C, "(value < low ? low : min(value, high))", "value",
        "C:19:3: L305 postcondition 'nearest' is not true of the frozen result of Bounds.Clamp_v1::value"
        "s::value=0,low=10,high=10\n"
        "    hint: correct the postcondition, or the reference; the case is in C:34:3",
    ),
    (
        "source-misspelt", C, "seed: bounds", "seed: bouds",
        "C:4:16: L402 the source is bouds, but the requirements are those of bounds\n"
        "    hint: name the same source in both files",
    ),
    (
        "let-named-like-an-input", C, "requires:\n", "let:\n  low: value\n\nrequires:\n",
        "C:16:8: C004 low has a meaning already in 'value'\n"
        "    hint: give the let another name",
    ),
    (
        "let-named-like-a-type", C, "requires:\n", "let:\n  type: value\n\nrequires:\n",
        "C:16:9: C004 type has a meaning already in 'value'\n"
        "    hint: give the let another name",
    ),
    (
        "mutant-not-tried", "spec/bounds/mutants.yaml", "id: bounds-not-compared", "id: bounds-compared",
        "R:4:3: L411 no check that B01 names kills a mutant that breaks it\n"
        "    hint: run `tally mutants bounds-compared --write` to see whether they break it",
    ),
    (
        "clause-implied-by-none", C, "requirement: B02, source: \"1\"}\n\nordering",
        "requirement: B02, implied_by: [nope], source: \"1\"}\n\nordering",
        "C:19:3: L411 postcondition 'nearest' is implied by 'nope', which the contract does not have\n"
        "    hint: name another clause of this contract",
    ),
]  # fmt: skip
