"""Calls of named functions that a macro repeats with the same arguments, moved out of the macro.

`indices(rows).all(r, parts(data, 9)[r] == r)` converts the whole of `data` once for every row. Written as
`[parts(data, 9)].all(fixed_1, indices(rows).all(r, fixed_1[r] == r))` it converts it once; so do compilers with the
invariants of a loop. A contract says the first, which is easier to read, and the engine evaluates the second. (65,537
elements for each of 300 rows took a quarter of a minute and five gigabytes.)

The moved call is evaluated also where the macro would not have come to it, so the second form may be an error where the
first is none. It never has another value, so the first form decides where the second is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from conformance.contract.syntax import Node, parse

_PREDICATE: Final = re.compile(r"\s*\.\s*(?:all|exists|exists_one|filter)\s*\(")
_FIXED: Final = "fixed_"  # begins the names of what was moved


@dataclass(frozen=True, slots=True)
class _Scope:
    """The body of a macro with its variable, or the whole expression; `condition` says whether its type is bool."""

    variable: str
    body: Node
    condition: bool


def hoisted(text: str, functions: Collection[str]) -> str:
    """The expression of type bool with every repeated call of these functions moved out; the text itself where none is.

    Raises ValueError where the reader of `syntax.py` does not know a construct.
    """
    count = 0
    while (found := next(_repeated(text, functions), None)) is not None:
        count += 1
        text = _moved(text, *found, functions, f"{_FIXED}{count}")
    return text


def _repeated(text: str, functions: Collection[str]) -> Iterator[tuple[str, _Scope]]:
    """The calls that need no variable of the innermost macro around them, each with the scope that it belongs to."""
    for node, scopes in _calls(text, functions):
        home = _home(text, node, scopes)
        between = scopes[scopes.index(home) + 1 :]
        if home.condition and not all(scope.variable.startswith(_FIXED) for scope in between):
            yield text[node.start : node.end], home


def _moved(text: str, call: str, home: _Scope, functions: Collection[str], name: str) -> str:
    """The text with one name in place of a call, everywhere in its home, and the call around that."""
    start, end = home.body.start, home.body.end
    same = [
        node
        for node, scopes in _calls(text, functions)
        if text[node.start : node.end] == call and _home(text, node, scopes).body == home.body
    ]
    body, at = "", start
    for node in same:
        body, at = body + text[at : node.start] + name, node.end
    return f"{text[:start]}[{call}].all({name}, {body}{text[at:end]}){text[end:]}"


def _home(text: str, node: Node, scopes: tuple[_Scope, ...]) -> _Scope:
    """The innermost scope whose variable a call mentions."""
    names = set(_names(text, node))
    return next((scope for scope in reversed(scopes) if scope.variable in names), scopes[0])


def _names(text: str, node: Node) -> Iterator[str]:
    if node.sign == "name":
        yield text[node.start : node.end]
    for part in node.parts:
        yield from _names(text, part)


def _calls(text: str, functions: Collection[str]) -> Iterator[tuple[Node, tuple[_Scope, ...]]]:
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
