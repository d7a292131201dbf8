"""Spans of text in an expression: comparisons, conjuncts, equations, bounds of sizes, and calls that macros repeat.

The engine's checked tree (`variables_of`) cannot serve here: it has the offset of an operator and not the span of an
expression, and macros are expanded in it. Lint replaces spans, and compiles each side of a comparison on its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>0[xX][0-9a-fA-F]+u?|(?:\d+\.\d+|\d+)(?:[eE][-+]?\d+)?u?)
    | (?P<string>[bBrR]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign><=|>=|==|!=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    )""",
    re.VERBOSE | re.DOTALL,
)
_BINARY: Final = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_KEPT: Final = 1_024  # trees; lint of the bundled contracts reads about 600 texts
_MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})


@dataclass(frozen=True, slots=True)
class Node:
    """One expression: `sign` is its operator, `call`, `macro`, `name`, `group`, `literal` or another construct."""

    sign: str
    start: int
    end: int
    parts: tuple[Node, ...] = ()

    def text(self, whole: str) -> str:
        """The text of the expression inside the text that was parsed, without brackets around it."""
        bare = _bare(self)
        return whole[bare.start : bare.end]


@dataclass(frozen=True, slots=True)
class Relation:
    """`left sign right` in the expression `whole`, from `start` to `end`."""

    whole: str
    left: str
    sign: str
    right: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The comparison as it is written."""
        return self.whole[self.start : self.end]

    def replaced(self, by: str) -> str:
        """The whole expression with another text in place of the comparison."""
        return f"{self.whole[: self.start]}{by}{self.whole[self.end :]}"


@lru_cache(_KEPT)
def parse(text: str) -> Node:
    """The tree of an expression; raises ValueError on text that is no CEL."""
    try:
        return _Reader(text).whole()
    except RecursionError:  # a thousand times `!`, which the engine takes
        raise ValueError("the expression is nested too deeply") from None


def comparisons(text: str) -> tuple[Relation, ...]:
    """Every comparison outside macros, in the order of the text."""
    found = [
        Relation(text, node.parts[0].text(text), node.sign, node.parts[1].text(text), node.start, node.end)
        for node in _walk(parse(text), lambda node: node.parts[:1] if node.sign == "macro" else node.parts)
        if node.sign in _BINARY[2] and node.sign != "in"
    ]
    return tuple(found)


def conjuncts(text: str) -> tuple[str, ...]:
    """The expressions that && joins at the top."""
    return tuple(node.text(text) for node in _conjuncts(parse(text)))


def equation(text: str) -> tuple[str, str] | None:
    """The two sides if the whole expression is an equation; else None."""
    node = _bare(parse(text))
    return (node.parts[0].text(text), node.parts[1].text(text)) if node.sign == "==" else None


def dotted_names(text: str) -> frozenset[str]:
    """Every dotted name in the expression: variables, functions, and variables that macros bind."""
    return frozenset(_names(parse(text), text))


def _bare(node: Node) -> Node:
    while node.sign == "group":
        node = node.parts[0]
    return node


def _walk(node: Node, into: Callable[[Node], Sequence[Node]]) -> Iterator[Node]:
    """The nodes in the order of the text; `into` gives the parts of a node that are walked too.

    A thousand terms that || joins are a tree a thousand levels deep, so no function may call itself for each level.
    """
    waiting = [node]
    while waiting:
        yield (node := waiting.pop())
        waiting += reversed(into(node))


def _conjuncts(node: Node) -> Iterator[Node]:
    bare = map(_bare, _walk(node, lambda one: _bare(one).parts if _bare(one).sign == "&&" else ()))
    return (one for one in bare if one.sign != "&&")


def _names(node: Node, text: str) -> Iterator[str]:
    paths = (one for one in _walk(node, lambda one: () if _is_path(one) else one.parts) if _is_path(one))
    return ("".join(text[one.start : one.end].split()) for one in paths)


def _is_path(node: Node) -> bool:
    while node.sign == "member":
        node = node.parts[0]
    return node.sign == "name"


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int, int]] = []
        end = len(text.rstrip())
        place = 0
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise ValueError(f"no CEL at {text[place : place + 20]!r}")
            kind = match.lastgroup
            self.tokens.append((kind, match[kind], match.start(kind), match.end()))
            place = match.end()
        self.index = 0

    def whole(self) -> Node:
        node = self.conditional()
        if self.index != len(self.tokens):
            raise ValueError(f"no CEL from {self.text[self.tokens[self.index][2] :]!r}")
        return node

    def sees(self, *signs: str) -> bool:
        return self.index < len(self.tokens) and self.tokens[self.index][1] in signs and not self.is_string()

    def is_string(self) -> bool:
        return self.tokens[self.index][0] == "string"

    def take(self, sign: str | None = None) -> tuple[str, str, int, int]:
        if self.index >= len(self.tokens) or (sign is not None and not self.sees(sign)):
            raise ValueError(f"{sign or 'an expression'} is missing in {self.text!r}")
        self.index += 1
        return self.tokens[self.index - 1]

    def conditional(self) -> Node:
        condition = self.binary(0)
        if not self.sees("?"):
            return condition
        self.take()
        yes = self.conditional()
        self.take(":")
        no = self.conditional()
        return Node("?", condition.start, no.end, (condition, yes, no))

    def binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.sees(*_BINARY[level]):
            sign = self.take()[1]
            right = self.binary(level + 1)
            left = Node(sign, left.start, right.end, (left, right))
        return left

    def unary(self) -> Node:
        if self.sees("!", "-"):
            _, sign, start, _ = self.take()
            part = self.unary()
            return Node("not" if sign == "!" else "minus", start, part.end, (part,))
        return self.postfix(self.primary())

    def postfix(self, node: Node) -> Node:
        while self.sees(".", "[", "("):
            sign = self.take()[1]
            if sign == ".":
                _, name, _, end = self.take()
                if self.sees("("):
                    self.take()
                    arguments, end = self.until(")")
                    kind = "macro" if name in _MACROS and len(arguments) >= 2 else "call"
                    node = Node(kind, node.start, end, (node, *arguments))
                else:
                    node = Node("member", node.start, end, (node,))
            else:
                arguments, end = self.until("]" if sign == "[" else ")")
                # A function's name is no variable.
                holder = () if sign == "(" and node.sign in ("name", "member") else (node,)
                node = Node("index" if sign == "[" else "call", node.start, end, (*holder, *arguments))
        return node

    def primary(self) -> Node:
        kind, text, start, end = self.take()
        if kind in ("number", "string") or text in ("true", "false", "null"):
            return Node("literal", start, end)
        if kind == "name":
            return Node("name", start, end)
        if text == "(":
            inner = self.conditional()
            end = self.take(")")[3]
            return Node("group", start, end, (inner,))
        if text == "[":
            items, end = self.until("]")
            return Node("list", start, end, tuple(items))
        if text == "{":
            items, end = self.until("}")
            return Node("map", start, end, tuple(items))
        raise ValueError(f"{text!r} begins no expression in {self.text!r}")

    def until(self, closing: str) -> tuple[list[Node], int]:
        items: list[Node] = []
        while not self.sees(closing):
            items.append(self.conditional())
            if self.sees(",", ":"):
                self.take()
        return items, self.take(closing)[3]


BYTES, CHARACTERS, ITEMS = "bytes", "characters", "items"
_NUMBER: Final = re.compile(r"(\d+)u?\Z")
_LEAST: Final = 2  # a smaller bound only asks whether the value is empty


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The largest size that a guard allows: the measured expression, as text, and the limit."""

    measure: str
    subject: str
    most: int


def size_limits(text: str) -> Iterator[SizeLimit]:
    """Every comparison of a guard, outside macros, that bounds a size from above by a number."""
    try:
        found = comparisons(text)
    except ValueError:  # a construct that this reader does not know; the engine has accepted the text
        return
    for one in found:
        left, sign, right = one.left, one.sign, one.right
        if sign in (">", ">="):
            left, sign, right = right, sign.replace(">", "<"), left
        number = _NUMBER.match(right)
        if sign not in ("<", "<=") or number is None or not (size := _measured(left)):
            continue
        most = int(number[1]) - (sign == "<")
        if most >= _LEAST:
            yield SizeLimit(f"size({size})", size, most)


def _measured(text: str) -> str:
    """The argument of `size` if the text is only a call of `size`; else empty."""
    text = text.removeprefix("uint(").removesuffix(")") if text.startswith("uint(") else text
    if not (text.startswith("size(") and text.endswith(")")):
        return ""
    inside, depth = text[len("size(") : -1], 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return ""
    return inside


# -- calls of named functions that a macro repeats with the same arguments, moved out of the macro
#
# `indices(rows).all(r, parts(data, 9)[r] == r)` converts the whole of `data` once for every row. Written as
# `[parts(data, 9)].all(fixed_1, indices(rows).all(r, fixed_1[r] == r))` it converts it once. A contract has the first
# form, which is easier to read, and the engine evaluates the second. (65,537 elements for 300 rows took a quarter of
# a minute and five gigabytes.)
#
# The moved call is evaluated even if the macro would not have reached it, so the second form can be an error when the
# first is not. It never has another value. So the first form decides if the second is an error.

_PREDICATE: Final = re.compile(r"\s*\.\s*(?:all|exists|exists_one|filter)\s*\(")
_FIXED: Final = "fixed_"  # the start of the names of moved calls
_MOST_MOVED: Final = 16  # each is one of the 32 levels that the engine takes


@dataclass(frozen=True, slots=True)
class _Scope:
    """The body of a macro with its variable, or the whole expression; `condition` says whether its type is bool."""

    variable: str
    body: Node
    condition: bool


def hoisted(text: str, functions: Collection[str]) -> str:
    """The expression of type bool with every repeated call of these functions moved out; the same text if none is.

    Raises ValueError if the text has a construct that `parse` does not know.
    """
    for count in range(1, _MOST_MOVED + 1):
        if (found := next(_repeated(text, functions), None)) is None:
            break
        text = _moved(text, *found, functions, f"{_FIXED}{count}")
    return text


def _repeated(text: str, functions: Collection[str]) -> Iterator[tuple[str, _Scope]]:
    """The calls that need no variable of the innermost macro around them, each with the scope that it belongs to."""
    for node, scopes in _calls_in(text, functions):
        home = _home(text, node, scopes)
        between = scopes[scopes.index(home) + 1 :]
        if home.condition and not all(scope.variable.startswith(_FIXED) for scope in between):
            yield text[node.start : node.end], home


def _moved(text: str, call: str, home: _Scope, functions: Collection[str], name: str) -> str:
    """The text with one name in place of a call, everywhere in its home, and the call around that."""
    start, end = home.body.start, home.body.end
    same = [
        node
        for node, scopes in _calls_in(text, functions)
        if text[node.start : node.end] == call and _home(text, node, scopes).body == home.body
    ]
    body, at = "", start
    for node in same:
        body, at = body + text[at : node.start] + name, node.end
    return f"{text[:start]}[{call}].all({name}, {body}{text[at:end]}){text[end:]}"


def _home(text: str, node: Node, scopes: tuple[_Scope, ...]) -> _Scope:
    """The innermost scope whose variable a call mentions."""
    names = set(_names_in(text, node))
    return next((scope for scope in reversed(scopes) if scope.variable in names), scopes[0])


def _names_in(text: str, node: Node) -> Iterator[str]:
    return (text[one.start : one.end] for one in _walk(node, lambda one: one.parts) if one.sign == "name")


def _calls_in(text: str, functions: Collection[str]) -> Iterator[tuple[Node, tuple[_Scope, ...]]]:
    """The calls of these functions inside macros, the outer before the inner, each with the scopes around it."""
    root = parse(text)
    waiting: list[tuple[Node, tuple[_Scope, ...]]] = [(root, (_Scope("", root, True),))]
    while waiting:
        node, scopes = waiting.pop()
        if len(scopes) > 1 and node.sign == "call" and text[node.start : node.end].partition("(")[0] in functions:
            yield node, scopes
        if node.sign == "macro":
            around, variable, *bodies = node.parts
            condition = _PREDICATE.match(text, around.end) is not None
            waiting += [
                (body, (*scopes, _Scope(text[variable.start : variable.end], body, condition)))
                for body in reversed(bodies)
            ]
            waiting.append((around, scopes))
        else:
            waiting += [(part, scopes) for part in reversed(node.parts)]
