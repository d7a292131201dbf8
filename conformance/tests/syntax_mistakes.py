"""The rows of the measured table for ordinary mistakes in YAML and in expressions, as in `lint_mistakes`."""

from __future__ import annotations

from conformance.tests.lint_mistakes import C, R

SYNTAX = [
    (
        "uint-missing", C, "\"low <= high\"", "\"size(\\\"abc\\\") <= high\"",
        "C:16:36: C004 <= cannot be applied to int and uint in 'size(\"abc\") <= high'\n"
        "    hint: convert it: uint(size(\"abc\"))",
    ),
    (
        "single-eq", C, "\"low <= high\"", "\"low = high\"",
        "C:16:28: C004 `=` is no operator in 'low = high'\n"
        "    hint: write == to compare",
    ),
    (
        "tab", C, "  low:   {", "\tlow:   {",
        "C:9:1: C001 bad YAML: a tab, and YAML is indented with spaces\n"
        "    hint: replace the tab by spaces",
    ),
    (
        "colon", C, "purity: pure", "purity pure",
        "C:6:1: C001 bad YAML: no ': ' after 'purity'\n"
        "    hint: write `purity: pure`",
    ),
    (
        "function-of-other-types", C, "\"low <= high\"", "\"unique([low]) == [low]\"",
        "C:16:30: C004 unique() cannot take list(uint) in 'unique([low]) == [low]'\n"
        "    hint: unique() takes list(int)",
    ),
    (
        "function-of-an-unsigned-number", C, "\"low <= high\"", "\"size(prefix(sha256(bytes('')), 2)) == 2\"",
        "C:16:35: C004 prefix() cannot take bytes and int in \"size(prefix(sha256(bytes('')), 2)) == 2\"\n"
        "    hint: prefix() takes bytes and uint; an unsigned literal is 3u",
    ),
    (
        "function-of-bytes", C, "\"low <= high\"", "\"hex('x') == 'y'\"",
        "C:16:27: C004 hex() cannot take string in \"hex('x') == 'y'\"\n"
        "    hint: hex() takes bytes; bytes(text) makes bytes of a text",
    ),
    (
        "merge-conflict", C, "purity: pure", "<<<<<<< HEAD\npurity: pure\n=======\npurity: io\n>>>>>>> other",
        "C:6:1: C001 bad YAML: a merge conflict begins here\n"
        "    hint: keep one side, and remove the lines <<<<<<<, ======= and >>>>>>>",
    ),
    (
        "nospace", C, "purity: pure", "purity:pure",
        "C:6:1: C001 bad YAML: no space after the ':'\n"
        "    hint: write `purity: pure`",
    ),
    (
        "indent", C, "  high:  {type: uint64}", "   high:  {type: uint64}",
        "C:10:4: C001 bad YAML: this line begins in column 4, and its map at line 9 in column 3\n"
        "    hint: indent it with 2 spaces, like the lines that it belongs to",
    ),
    (
        "duplicate-key", C, "purity: pure", "purity: pure\nversion: 1.0.0",
        "C:7:1: C001 duplicate key 'version'\n"
        "    hint: it is at C:2:1 already; remove one",
    ),
    (
        "function-misspelt", C, "min(value, high)", "minimum(value, high)",
        "C:19:63: C004 undeclared function 'minimum' in 'result.clamped == (value < low ? low : minimum("
        "value, high))'\n"
        "    hint: did you mean min?",
    ),
    (
        "unknown-variable", C, "\"low <= high\"", "\"lo <= high\"",
        "C:16:24: C004 undeclared name 'lo' in 'lo <= high'\n"
        "    hint: did you mean low?",
    ),
    (
        "result-missing", C, "result.clamped ==", "clamped ==",
        "C:19:24: C004 undeclared name 'clamped' in 'clamped == (value < low ? low : min(value, high))'\n"
        "    hint: did you mean result.clamped?",
    ),
    (
        "literal", C, "\"low <= high\"", "\"low <= high && low < 100\"",
        "C:16:43: C004 < cannot be applied to uint and int in 'low <= high && low < 100'\n"
        "    hint: unsigned inputs need unsigned literals: write 100u, not 100",
    ),
    (
        "and-for-signs", C, "\"low <= high\"", "\"low <= high and low < 5u\"",
        "C:16:36: C004 'and' is no operator in 'low <= high and low < 5u'\n"
        "    hint: write &&",
    ),
    (
        "colon-in-text", C, "purpose: Bring a number", "purpose: Bring: a number",
        "C:3:15: C001 bad YAML: a second ': ' in one line\n"
        "    hint: put the text in quotes: \"...\"",
    ),
    (
        "brace", C, "matrix: {low: [20, 21, 30]}", "matrix: {low: [20, 21, 30}",
        "C:43:28: C001 bad YAML: expected ',' or ']' in what begins at line 43, column 17\n"
        "    hint: close the bracket or the quote, or put text with ': ', '#', ',', '{' or '[' in it in "
        "quotes",
    ),
    (
        "unquoted-not", C, "\"low <= high\"", "!(low > high)",
        "C:16:23: C001 bad YAML: text cannot begin with '!' here\n"
        "    hint: put the text in quotes: \"...\"",
    ),
    (
        "entry-among-keys", C, "  high:  {type", "  - high:  {type",
        "C:10:3: C001 bad YAML: an entry of a list among the keys of the map at line 9\n"
        "    hint: every entry of a list begins with `- `, and no key of a map",
    ),
    (
        "key-among-entries", C, "  low:   {type", "  - low:   {type",
        "C:10:3: C001 bad YAML: a key among the entries of the list at line 9\n"
        "    hint: every entry of a list begins with `- `, and no key of a map",
    ),
    (
        "quote-open-lines-above", C, "purpose: Bring", "purpose: \"Bring",
        "C:3:10: C001 bad YAML: this quote is never closed\n"
        "    hint: add \" after the text",
    ),
    (
        "function-with-an-argument-less", C, "min(value, high)", "min(value)",
        "C:19:63: C004 min() takes another number of arguments in 'result.clamped == (value < low ? low "
        ": min(value))'\n"
        "    hint: docs/language.md, Expressions, says what each function takes",
    ),
    (
        "arrow", C, "\"low <= high\"", "\"[low].all(x => x <= high)\"",
        "C:16:36: C004 `=>` is no operator in '[low].all(x => x <= high)'\n"
        "    hint: write a comma: list.all(x, x > 3u)",
    ),
    (
        "unsigned-index", C, "\"low <= high\"", "\"[low][0u] <= high\"",
        "C:16:29: C004 [] cannot be applied to list(uint) and uint in '[low][0u] <= high'\n"
        "    hint: write 0, not 0u",
    ),
    (
        "literal-too-large", C, "\"low <= high\"", "\"low <= 18446744073709551616u\"",
        "C:16:31: C004 invalid uint literal in 'low <= 18446744073709551616u'\n"
        "    hint: the largest are 18446744073709551615u and 9223372036854775807",
    ),
    (
        "text-without-quotes", C, "\"low <= high\"", "\"low == nothing\"",
        "C:16:31: C004 undeclared name 'nothing' in 'low == nothing'\n"
        "    hint: use a declared input by its dotted path, an earlier let, or result.<output> in a post"
        "condition; text is in quotes: 'nothing'",
    ),
    (
        "pattern", C, "\"low <= high\"", "\"string(low).matches('[0-')\"",
        "C:16:44: C004 '[0-' is no regular expression in \"string(low).matches('[0-')\"\n"
        "    hint: https://github.com/google/re2/wiki/Syntax says what one is made of",
    ),
    (
        "presence-of-what-is-there", C, "result.clamped ==", "result.has_clamped && result.clamped ==",
        "C:19:30: C004 undeclared name 'result.has_clamped' in 'result.has_clamped && result.clamped == "
        "(value < low ? low : min(value, high))'\n"
        "    hint: result.clamped is always there: it is required or has a default",
    ),
    (
        "leading-zero", C, "tens: {low: 10", "tens: {low: 010",
        "C:31:15: C009 ill-typed input low: expected uint64, found '010'\n"
        "    hint: it is declared as uint64, a whole number from 0 to 18446744073709551615: write 10",
    ),
    (
        "not-for-a-sign", C, "\"low <= high\"", "\"not(low > high)\"",
        "C:16:24: C004 undeclared function 'not' in 'not(low > high)'\n"
        "    hint: write !",
    ),
    (
        "sign-of-print", C, "\"low <= high\"", "\"low \u2264 high\"",
        "C:16:28: C004 `≤` is no operator in 'low ≤ high'\n"
        "    hint: write <=",
    ),
    (
        "part-of-a-text", C, "\"low <= high\"", "\"'a' in string(low)\"",
        "C:16:28: C004 in cannot be applied to string and string in \"'a' in string(low)\"\n"
        "    hint: write text.contains(part)",
    ),
    (
        "escape", C, "section: \"1\"}\nequivalence", "section: \"\\d\"}\nequivalence",
        "C:4:34: C001 bad YAML: an escape that YAML does not know\n"
        "    hint: write \\\\ for a backslash, or put the text in single quotes",
    ),
    (
        "text-that-goes-on", C, "purpose: Bring a number between two bounds.",
        "purpose: Bring a number\nbetween two bounds that are given.",
        "C:4:1: C001 bad YAML: no ': ' after 'between'\n"
        "    hint: indent the line if it continues the text of the line above",
    ),
    (
        "condition-that-is-empty", C, "\"low <= high\"", "\"\"",
        "C:16:23: C002 requires.0.that is empty, but a text is needed\n"
        "    hint: for example: \"low <= high\"",
    ),
    (
        "dash-of-a-word-processor", C, "- group: wrong-bounds", "\u2013 group: wrong-bounds",
        "C:39:1: C001 bad YAML: '\u2013' (U+2013) only looks like -\n"
        "    hint: write `- group: wrong-bounds`",
    ),
    (
        "dash-below-its-key", C, "- {id: ordered,", "\u2014 {id: ordered,",
        "C:16:1: C001 bad YAML: '\u2014' (U+2014) only looks like -\n"
        "    hint: write `- {id: ordered, that: \"low <= high\", else: CONTRACT_VIOLATIO`",
    ),
    (
        "quotes-of-a-word-processor", C, "\"low <= high\"", "\u201clow <= high\u201d",
        "C:16:23: C004 '\u201c' (U+201C) only looks like \" in '\u201clow <= high\u201d'\n"
        "    hint: write \"",
    ),
    (
        "quotes-around-a-colon", C, "why: Bounds that are", "why: \u2018Bounds: that\u2019 are",
        "C:40:15: C001 bad YAML: a second ': ' in one line\n"
        "    hint: put the text in quotes: \"...\"",
    ),
    (
        "quotes-around-a-name", C, "contract: Bounds.Clamp_v1", "contract: \u201cBounds.Clamp_v1\u201d",
        "C:1:11: C002 contract is '\u201cBounds.Clamp_v1\u201d', and '\u201c' (U+201C) only looks like \"\n"
        "    hint: write \"Bounds.Clamp_v1\"",
    ),
    (
        "minus-of-a-web-page", C, "matrix: {low: [20, 21, 30]}", "matrix: {low: [20, 21, \u221230]}",
        "C:43:26: C009 ill-typed input low: expected uint64, found '\u221230'\n"
        "    hint: '\u2212' (U+2212) only looks like -: write -30",
    ),
    (
        "long-sum", C, "\"low <= high\"", f"\"low{' + 0u' * 35} <= high\"",
        f"C:16:24: C004 the expression has more than 32 levels in 'low{' + 0u' * 35} <= high'\n"
        "    hint: name parts of it under `let`; a long sum is nested too, and total([a, b, c]) is not",
    ),
    (
        "many-brackets", C, "\"low <= high\"", f"\"{'(' * 40}low <= high{')' * 40}\"",
        f"C:16:24: C004 the expression has more than 32 levels in '{'(' * 40}low <= high{')' * 40}'\n"
        "    hint: name parts of it under `let`; a long sum is nested too, and total([a, b, c]) is not",
    ),
    (
        "endless-choice", C, "\"low <= high\"", f"\"{'low == 12345u || ' * 9_000}low <= high\"",
        "C:16:24: C004 the expression has 153011 characters, and at most 100000 are read in "
        f"'{('low == 12345u || ' * 12)[:197]}...'\n"
        "    hint: write `x in [1u, 2u]` for many comparisons of one value, or several guards",
    ),
    (
        "cyrillic-letter-in-a-key", C, "purity: pure", "purit\u0443: pure",
        "C:6:1: C002 unknown key 'purit\u0443' in the file\n"
        "    hint: did you mean purity? '\u0443' (U+0443) only looks like y",
    ),
    (
        "cyrillic-letter-in-a-declared-name", C, "edge_cases:\n- {id: one-value, when: \"low",
        "let: {lim\u0456t: \"low\"}\nedge_cases:\n- {id: one-value, when: \"limit",
        "C:26:26: C004 undeclared name 'limit' in 'limit == high'\n"
        "    hint: did you mean lim\u0456t? '\u0456' (U+0456) only looks like i",
    ),
    (
        "cyrillic-letter-in-an-expression", C, "\"low <= high\"", "\"l\u043ew <= high\"",
        "C:16:25: C004 '\u043e' (U+043E) only looks like o in 'l\u043ew <= high'\n"
        "    hint: write o",
    ),
    (
        "cyrillic-letter-in-a-code", C, "else: CONTRACT_VIOLATION", "else: C\u041eNTRACT_VIOLATION",
        "C:16:44: C002 requires.0.else is 'C\u041eNTRACT_VIOLATION', but a failure code in capitals is expected\n"
        "    hint: write CONTRACT_VIOLATION; '\u041e' (U+041E) only looks like O",
    ),
    (
        "cyrillic-letter-in-a-check", R, "guard:Bounds.Clamp_v1#ordered", "guard:Bounds.Clamp_v1#\u043erdered",
        "R:9:5: L106 B01 rests on 'guard:Bounds.Clamp_v1#\u043erdered': the contract has no such guard\n"
        "    hint: did you mean guard:Bounds.Clamp_v1#ordered? '\u043e' (U+043E) only looks like o",
    ),
    (
        "no-break-space-in-a-key", C, "purity: pure", "purity\u00a0: pure",
        "C:6:1: C002 unknown key 'purity\\xa0' in the file\n"
        "    hint: did you mean purity? '\\xa0' (U+00A0) only looks like a blank",
    ),
    (
        "no-width-in-a-name", C, "value: {type", "value\u200b: {type",
        "C:11:3: C002 'value\\u200b' cannot be a name in inputs\n"
        "    hint: write value; '\\u200b' (U+200B) cannot be seen",
    ),
    (
        "no-width-in-an-expression", C, "\"low <= high\"", "\"low\u200b <= high\"",
        "C:16:27: C004 '\\u200b' (U+200B) cannot be seen in 'low\\u200b <= high'\n"
        "    hint: remove it",
    ),
]
