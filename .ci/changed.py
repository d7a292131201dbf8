"""A bundled Python backend with one change: `python .ci/changed.py FILE NUMBER` serves it on stdin and stdout.

The backend is that of the file's folder: impl/reference or impl/vectorized.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
NEIGHBOURS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OPPOSITES: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr,
}  # fmt: skip
FUNCTIONS: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
REMOVED: Final = (ast.Raise, ast.AugAssign, ast.Delete, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a syntax tree: where it is, what it is, and how it is made."""

    line: int
    said: str
    make: Callable[[], object]


def changes(tree: ast.Module) -> list[Change]:
    """Every change of a module, in an order that only the module decides."""
    passed_over = {id(node) for one in ast.walk(tree) for part in _without_effect(one) for node in ast.walk(part)}
    return [change for node in ast.walk(tree) if id(node) not in passed_over for change in _changes_of(node)]


def _without_effect(node: ast.AST) -> Iterator[ast.AST]:
    """The parts that the answer does not depend on: types, decorators, what an error says."""
    yield from (part for name in ("annotation", "returns") if isinstance(part := getattr(node, name, None), ast.AST))
    yield from getattr(node, "decorator_list", ())
    if isinstance(node, ast.Raise) and node.exc is not None:
        yield node.exc


def _changes_of(node: ast.AST) -> Iterator[Change]:
    line = getattr(node, "lineno", 0)
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in NEIGHBOURS[type(op)]:
                    become = partial(ops.__setitem__, place, other())
                    yield Change(line, f"{_name(op)} becomes {other.__name__}", become)
        case ast.BinOp(op=op) if type(op) in OPPOSITES:
            opposite = OPPOSITES[type(op)]
            yield Change(line, f"{_name(op)} becomes {opposite.__name__}", partial(setattr, node, "op", opposite()))
        case ast.BoolOp(op=op, values=values):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield Change(line, f"{_name(op)} becomes {_name(other_op)}", partial(setattr, node, "op", other_op))
            for place in range(len(values)):
                rest = values[:place] + values[place + 1 :]
                yield Change(line, f"without operand {place}", partial(setattr, node, "values", rest + rest[:1]))
        case ast.Call(func=ast.Name(id=name) as called) if name in FUNCTIONS:
            yield Change(line, f"{name} becomes {FUNCTIONS[name]}", partial(setattr, called, "id", FUNCTIONS[name]))
        case ast.Constant(value=bool() as value):
            yield Change(line, f"{value} becomes {not value}", partial(setattr, node, "value", not value))
        case ast.Constant(value=int() as number):
            for other_number in (number - 1, number + 1):
                yield Change(line, f"{number} becomes {other_number}", partial(setattr, node, "value", other_number))
        case ast.If() | ast.IfExp():
            for value in (True, False):
                yield Change(line, f"always {value}", partial(setattr, node, "test", ast.Constant(value)))
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) if len(items) > 1:
            for place, item in enumerate(items):
                if not isinstance(getattr(node, "ctx", None), ast.Store):
                    yield Change(item.lineno, f"without element {place}", partial(items.pop, place))
        case ast.Dict(keys=keys, values=values) if len(keys) > 1:
            for place, item in enumerate(values):
                without = {"keys": keys[:place] + keys[place + 1 :], "values": values[:place] + values[place + 1 :]}
                yield Change(item.lineno, f"without entry {place}", partial(vars(node).update, without))
        case ast.For(iter=items):
            yield from _of_fewer(node, items)
        case ast.comprehension(iter=items, ifs=ifs):
            yield from _of_fewer(node, items)
            for place, test in enumerate(ifs):
                yield Change(test.lineno, "without the filter", partial(ifs.pop, place))
        case ast.Slice(lower=lower, upper=upper):
            for name, end in (("lower", lower), ("upper", upper)):
                if end is not None:
                    yield Change(end.lineno, f"without the {name} end", partial(setattr, node, name, None))
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for place, statement in enumerate(block):
            if isinstance(statement, REMOVED) or _is_call(statement):
                yield Change(statement.lineno, "without the statement", partial(block.__setitem__, place, ast.Pass()))


def _of_fewer(node: ast.AST, items: ast.expr) -> Iterator[Change]:
    """A loop over the first item alone, over all but the last, and over all but the first."""
    for said, part in (("the first item alone", "[:1]"), ("not the last", "[:-1]"), ("not the first", "[1:]")):
        fewer = ast.parse(f"list({ast.unparse(items)}){part}", mode="eval").body
        yield Change(items.lineno, said, partial(setattr, node, "iter", fewer))


def _name(op: ast.AST) -> str:
    return type(op).__name__


def _is_call(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


# -- the backend with one change


def changed(file: Path, number: int) -> CodeType:
    """The code of a module with one of its changes made."""
    tree = ast.parse((ROOT / file).read_bytes())
    changes(tree)[number].make()
    return compile(ast.fix_missing_locations(tree), str(ROOT / file), "exec")


class Changed(MetaPathFinder, Loader):
    """Imports one module with other code."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name, self._code = name, code

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)  # noqa: S102


def serve(file: Path, number: int) -> int:
    """Serve the backend of a file with one change, on stdin and stdout."""
    sys.meta_path.insert(0, Changed(".".join(file.with_suffix("").parts), changed(file, number)))
    from impl.serve import main as serving

    return serving([file.parts[1]])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(serve(Path(sys.argv[1]), int(sys.argv[2])))
