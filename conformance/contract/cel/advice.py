"""Explains errors of the expression engine in the words of the contract language, with the fix to type."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from conformance.contract.cel.functions import FUNCTIONS
from conformance.contract.cel.syntax import Node, parse
from conformance.contract.suggest import close_to, sign_named, typed_name

_PLACE: Final = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD: Final = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_NUMBERS: Final = ("int", "uint", "double")
_BUILT_IN: Final = (
    "size", "int", "uint", "double", "string", "bytes", "bool", "matches", "startsWith", "endsWith", "contains", "all",
    "exists", "exists_one", "map", "filter", "type", "duration", "timestamp",
)  # fmt: skip
# Signs of other languages, and how the contract language writes them.
_FUNCTIONS: Final = {
    **dict.fromkeys(("len", "length", "count", "strlen", "sizeof"), "size"),
    **dict.fromkeys(("sum",), "total"),
    **dict.fromkeys(("str",), "string"),
    **dict.fromkeys(("float",), "double"),
    **dict.fromkeys(("maximum", "max"), "largest, of a list"),
    **dict.fromkeys(("minimum",), "min"),
    **dict.fromkeys(("any", "some"), "exists, as in list.exists(x, x > 3u)"),
    **dict.fromkeys(("every", "forall"), "all, as in list.all(x, x > 3u)"),
}
_WORDS: Final = {"and": "&&", "or": "||", "not": "!", "is": "==", "equals": "==", "xor": "!=", "mod": "%", "div": "/"}
_CONSTANTS: Final = {"True": "true", "False": "false", "TRUE": "true", "FALSE": "false"}
_ABSENT: Final = ("None", "nil", "undefined", "NULL", "null")
_NO_NULL: Final = "there is no null here: an optional input that is absent is `!has_NAME`"
_SIGNS: Final = {
    "≥": ">=", "≤": "<=", "≠": "!=",
    "===": "==", "!==": "!=", "<>": "!=", "=<": "<=", "=>": ">=", "**": "a product: x * x", "^": "a product: x * x",
}  # fmt: skip
_OPERANDS: Final = "use a declared input by its dotted path, an earlier let, or result.<output> in a postcondition"


class BadExpression(Exception):
    """CEL text does not compile; `line` and `column` count from 1 inside the text."""

    def __init__(self, message: str, line: int = 1, column: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def advice_on(text: str, error: str, names: Collection[str], functions: Collection[str]) -> BadExpression:
    """The explanation of the engine's error about `text`, which may use `names` and `functions`."""
    match = _PLACE.search(error)
    if not match:
        return _beyond(error)
    line, column, said = int(match[1]), int(match[2]), match[3]
    at = sum(len(row) + 1 for row in text.split("\n")[: line - 1]) + column - 1
    if found := _UNDECLARED.search(said):
        return _unknown(text, found[1], at, line, column, names, functions)
    if found := _OVERLOAD.search(said):
        message, hint = _mismatch(text, found[1], found[2], at)
        return BadExpression(message, line, column, hint)
    if said.startswith("Syntax error"):
        message, hint, shift = _syntax(text, said.removeprefix("Syntax error: "), at)
        return BadExpression(message, line, max(column - shift, 1), hint)
    if said.startswith("reserved identifier"):
        word = said.rpartition(" ")[2]
        return BadExpression(
            f"{word!r} is a reserved word", line, column, _CHOICE if word in ("if", "else") else "rename it"
        )
    if found := re.search(r"expression of type '([^']*)' cannot be the operand of a select", said):
        member = re.match(r"\.?\s*(\w+)", text[at:])
        near = _FUNCTIONS.get(member[1], "") if member else ""
        hint = f"write {near}(x)" if near else "only a struct has members; see docs/language.md, Expressions"
        return BadExpression(f"a {found[1]} has no member", line, column, hint)
    if said.startswith("invalid") and said.endswith("literal"):
        return BadExpression(said, line, column, "the largest are 18446744073709551615u and 9223372036854775807")
    return BadExpression(said, line, column)


_DEPTH: Final = re.compile(r"recursion (?:limit exceeded\. limit:|depth of) (\d+)")
_SIZE: Final = re.compile(r"input size: (\d+), limit: (\d+)")


def _beyond(error: str) -> BadExpression:
    """The explanation of an error without a place: the expression is beyond a limit of the engine."""
    if depth := _DEPTH.search(error):
        hint = "name parts of it under `let`; a long sum is nested too, and total([a, b, c]) is not"
        return BadExpression(f"the expression has more than {depth[1]} levels", hint=hint)
    if size := _SIZE.search(error):
        hint = "write `x in [1u, 2u]` for many comparisons of one value, or several guards"
        return BadExpression(f"the expression has {size[1]} characters, and at most {size[2]} are read", hint=hint)
    return BadExpression(error)


_INDEX: Final = "the first index is 0; test size(list) first"
_BULK: Final = "call a function that takes the whole list; docs/language.md, Expressions, has them"
_VALUELESS: Final = (
    (r"divide by zero", "it divides by zero", "test the divisor first: `b == 0u || a / b < 9u`"),
    (r"modulus by zero", "it divides by zero", "test the divisor first: `b == 0u || a % b == 1u`"),
    (r"index=(-?\d+) size=(\d+)", "index {0} is not in a list of size {1}", _INDEX),
    (r"list index out of range", "an index is not in a list", _INDEX),
    (r"Key not found in map : (.*)", "the map has no key {0}", "test `key in map` first"),
    (r"unsigned integer overflow", "a result is below 0 or above 18446744073709551615", "compare before you subtract"),
    (r"integer overflow", "a result is outside of int64", "compare before you add or subtract"),
    (r"Iteration budget exceeded", "its comprehensions take more than 10,000 steps", _BULK),
)


def without_value(error: str) -> tuple[str, str]:
    """The message and the fix for an expression whose evaluation gives this error of the engine."""
    for pattern, said, hint in _VALUELESS:
        if found := re.search(pattern, error):
            return said.format(*found.groups()), hint
    message = re.sub(r"\A[A-Z_]+: ", "", error) or "the engine gives no reason"
    return message, "exclude this case first, with `||` or `&&`, or correct the expression"


_CHOICE: Final = "write a choice as `condition ? value : other`"


def _unknown(
    text: str, name: str, at: int, line: int, column: int, names: Collection[str], functions: Collection[str]
) -> BadExpression:
    """A name that is not declared: a function if a bracket follows it, else a variable."""
    last = name.rsplit(".", 1)[-1]
    before = text[:at] if text[at : at + 1] == "(" else text[: at + len(last)]
    start = before.rfind(last)
    # The engine reports the place of a call's bracket, and of a path's last dot.
    if text[at : at + 1] in ("(", ".") and start >= 0:
        start = text.rfind(name, 0, at + len(last) + 1) if text.rfind(name, 0, at + len(last) + 1) >= 0 else start
        column = start - (text.rfind("\n", 0, start) + 1) + 1
    if text[at : at + 1] == "(":
        if last in functions or last in _BUILT_IN:
            hint = "docs/language.md, Expressions, says what each function takes"
            return BadExpression(f"{last}() takes another number of arguments", line, column, hint)
        return BadExpression(f"undeclared function {last!r}", line, column, _function_meant(last, functions))
    if name in _CONSTANTS:
        return BadExpression(f"undeclared name {name!r}", line, column, f"write {_CONSTANTS[name]}")
    if name in _ABSENT:
        return BadExpression(f"undeclared name {name!r}", line, column, _NO_NULL)
    if name.split(".")[0] in ("result", "next") and not any(known.startswith(name.split(".")[0]) for known in names):
        hint = "a condition before the call cannot use its result: make it a postcondition, under `ensures`"
        return BadExpression(f"undeclared name {name!r}", line, column, hint)
    return BadExpression(f"undeclared name {name!r}", line, column, _name_meant(name, names))


def _function_meant(name: str, functions: Collection[str]) -> str:
    if name in _WORDS:
        return f"write {_WORDS[name]}"
    if name in _FUNCTIONS:
        return f"did you mean {_FUNCTIONS[name]}?"
    close = close_to(name, [*functions, *_BUILT_IN], 0.6, 1)
    return f"did you mean {close[0]}?" if close else "the functions are in docs/language.md, Expressions"


def _name_meant(name: str, names: Collection[str]) -> str:
    parts = sorted(known for known in names if known.startswith(f"{name}."))
    if parts:
        return f"{name} is a struct: name one of its fields, {', '.join(parts[:4])}"
    *above, last = name.split(".")
    if last.startswith("has_") and (of := ".".join([*above, last[4:]])) in names:
        there = f"has_{of}"
        return f"did you mean {there}?" if there in names else f"{of} is always there: it is required or has a default"
    ending = [known for known in names if known.endswith(f".{name}")]
    close = ending or close_to(name, sorted(names), 0.6, 1)
    quoted = "" if above else f"; text is in quotes: '{name}'"
    return f"did you mean {close[0]}?" if close else _OPERANDS + quoted


def _mismatch(text: str, sign: str, types: str, at: int) -> tuple[str, str]:
    """The message and fix for operands of different types: a suffix on a literal, or a conversion."""
    kinds = _argument_types(types)
    operator = sign.strip("_").replace("@", "").replace("_", " ").strip()
    if sign == "_[_]":
        hint = "an index is a whole number" if kinds[0].startswith("list") else "only lists and maps have parts"
        hint = _literal_or_wrapped(_operands(text, at, ""), 1, "int") if kinds[-1] == "uint" else hint
        return f"[] cannot be applied to {' and '.join(kinds)}", hint
    if sign == "_?_:_":
        return f"the two values of a choice are {kinds[1]} and {kinds[2]}", _uint_hint(kinds[1:]) or _SAME
    if not sign.startswith(("_", "@", "!", "-")):
        return f"{sign}() cannot take {' and '.join(kinds)}", _argument_hint(sign, kinds)
    message = f"{operator} cannot be applied to {' and '.join(kinds)}"
    if "null_type" in kinds:
        return message, _NO_NULL
    if operator in ("&&", "||", "!"):
        return message, f"both sides of {operator} must be true or false: compare with ==, < or the like"
    if "bool" in kinds and operator in ("<", "<=", ">", ">="):
        return message, "write each comparison on its own: a <= b && b <= c"
    if operator == "in" and kinds == ["string", "string"]:
        return message, "write text.contains(part)"
    if operator == "in":
        return message, "write unsigned items: [1u, 2u]" if "list(int)" in kinds else _SAME
    if len(kinds) == 2 and set(kinds) <= set(_NUMBERS):
        return message, _numbers_hint(kinds, _operands(text, at, operator))
    if set(kinds) & set(_NUMBERS) and {"string", "bytes"} & set(kinds):
        return message, "a number is written without quotes, and `uint(text)` or `string(number)` converts"
    return message, _SAME


_SAME: Final = "both sides must be of one type"


def _argument_types(types: str) -> list[str]:
    """The types of an argument list; a comma inside brackets belongs to a type."""
    found, depth, last = [], 0, 0
    for k, letter in enumerate(types):
        depth += (letter in "(<") - (letter in ")>")
        if letter == "," and not depth:
            found.append(types[last:k].strip())
            last = k + 1
    return [*found, types[last:].strip()]


def _numbers_hint(kinds: list[str], sides: tuple[str, ...]) -> str:
    """The hint for two numbers of different types: which literal needs a suffix, or which side to convert."""
    if len(sides) != 2:
        return _uint_hint(kinds) or _SAME
    literals = [re.fullmatch(r"-?\d+", side) is not None for side in sides]
    for k, other in ((0, 1), (1, 0)):
        if kinds[k] == "int" and kinds[other] in ("uint", "double") and literals[k]:
            return _literal_or_wrapped(sides, k, kinds[other])
    for k, other in ((0, 1), (1, 0)):
        if kinds[k] == "double" and re.fullmatch(r"\d+\.0+", sides[k]) and kinds[other] in ("int", "uint"):
            return f"write {sides[k].split('.')[0]}{'u' if kinds[other] == 'uint' else ''}, not {sides[k]}"
    wanted = "double" if "double" in kinds else "uint"
    side = next(k for k, kind in enumerate(kinds) if kind != wanted)
    return _literal_or_wrapped(sides, side, wanted)


def _literal_or_wrapped(sides: tuple[str, ...], side: int, wanted: str) -> str:
    if side >= len(sides):
        return f"convert it: {wanted}(...)"
    one = sides[side]
    if re.fullmatch(r"\d+", one) and wanted == "uint":
        return f"unsigned inputs need unsigned literals: write {one}u, not {one}"
    if re.fullmatch(r"\d+u", one) and wanted == "int":
        return f"write {one[:-1]}, not {one}"
    if re.fullmatch(r"-?\d+", one) and wanted == "double":
        return f"write {one}.0, not {one}"
    if re.fullmatch(r"-\d+", one):
        return "an unsigned number is never below zero: compare with 0u, or declare a signed type"
    return f"convert it: {wanted}({one})"


def _uint_hint(kinds: list[str]) -> str:
    return "unsigned inputs need unsigned literals: write 3u, not 3" if {"int", "uint"} <= set(kinds) else ""


def _argument_hint(name: str, kinds: list[str]) -> str:
    if name == "size":
        return "size() counts the letters of a text, the bytes of bytes, the entries of a list or map"
    if taken := [function.parameters for function in FUNCTIONS if function.name == name]:
        ways = [" and ".join(map(_kind_of, parameters)) for parameters in taken[0]]
        said = f"{name}() takes {', or '.join(ways)}"
        if "string" in kinds and "bytes" in said:
            return f"{said}; bytes(text) makes bytes of a text"
        return f"{said}; an unsigned literal is 3u" if "uint" in said and "int" in kinds else said
    if hint := _uint_hint(kinds):
        return hint
    return f"docs/language.md, Expressions, says what {name}() takes"


def _kind_of(parameter: object) -> str:
    """A type of the engine as its errors write it."""
    return str(parameter).lower().replace("<", "(").replace(">", ")").replace("(dyn)", "")


def _operands(text: str, at: int, sign: str) -> tuple[str, ...]:
    """The texts of the operands of the operator at an offset; none if the text cannot be parsed."""
    try:
        nodes = list(_nodes(parse(text)))
    except (ValueError, IndexError, RecursionError):
        return ()
    for node in nodes:
        if len(node.parts) == 2 and node.parts[0].end <= at < node.parts[1].start + (not sign):
            return tuple(text[part.start : part.end].strip() for part in node.parts)
    return ()


def _nodes(node: Node) -> Iterator[Node]:
    for part in node.parts:
        yield from _nodes(part)
    yield node


def _syntax(text: str, error: str, at: int) -> tuple[str, str, int]:
    """For text that cannot be parsed: the message, the fix, and how far before the reported place the mistake is."""
    word = re.match(r"\w+", text[at:])
    before = re.search(r"(\w+)\s*\Z", text[:at])
    sign = re.search(r"[=!<>*^&|]*\Z", text[:at])
    signs = (sign[0] if sign else "") + "".join(re.findall(r"\A[=!<>*^&|]+", text[at:]))
    shift = len(sign[0]) if sign else 0
    if word and word[0] in _WORDS:
        return f"{word[0]!r} is no operator", f"write {_WORDS[word[0]]}", 0
    if before and before[1] in _WORDS:
        return f"{before[1]!r} is no operator", f"write {_WORDS[before[1]]}", at - before.start(1)
    if signs == "=":
        return "`=` is no operator", "write == to compare", shift
    if signs in ("&", "|"):
        return f"`{signs}` is no operator", f"write {signs * 2}", shift
    if signs == "=>" and re.search(r"\(\s*\w+\s*\Z", text[: at - shift]):
        return "`=>` is no operator", "write a comma: list.all(x, x > 3u)", shift
    if signs in _SIGNS:
        return f"`{signs}` is no operator", f"write {_SIGNS[signs]}", shift
    if said := sign_named(text[at : at + 1]) if text[at : at + 1] else "":
        plain = typed_name(text[at])
        return said, f"write {plain.strip() or 'a blank'}" if plain else "remove it", 0
    if text[at : at + 1] in _SIGNS:
        return f"`{text[at]}` is no operator", f"write {_SIGNS[text[at]]}", 0
    if text[at : at + 1] in ("'", '"'):
        return "the quote is never closed", f"add {text[at]} at the end of the text", 0
    if text.count("(") != text.count(")"):
        more = "(" if text.count("(") > text.count(")") else ")"
        return f"there is one {more} too many", "close every bracket once", 0
    if at >= len(text.rstrip()) or "at '<EOF>'" in error or "input '<EOF>'" in error:
        return "the expression ends too early", "add what is missing at its end", 0
    return f"{text[at : at + 12].strip()!r} cannot be read here", "docs/language.md, Expressions, has the operators", 0


def comment_in(text: str) -> int:
    """The offset of `//`, after which the engine reads nothing; -1 if there is none outside quotes."""
    bare = re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", lambda match: "_" * len(match[0]), text)
    return bare.find("//")
