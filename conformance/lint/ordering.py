"""L201: the order of every list and of every random stream is written down."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.contract.types import ListOf, MapOf, Struct, Type
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


class OrderDeclared:
    """Every list among the inputs and outputs, and every random stream that is drawn from, declares its order."""

    code, name, level = "L201", "order-declared", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Lists and streams without an order, and orders of nothing."""
        for contract in subject.contracts:
            lists = {*list_paths(contract.inputs), *list_paths(contract.outputs)}
            draws = contract.rng is not None and bool(contract.rng.draws)
            streams = {"rng"} if draws else set()
            at, operator = contract.source, contract.operator
            for path in sorted((lists | streams) - contract.ordering.keys()):
                what = "the random stream" if path == "rng" else f"list {path!r}"
                where = at.key_at(("rng",) if path == "rng" else _declared_at(contract, path))
                yield Finding(where, self.code, f"{what} declares no order", operator, f"add `{path}:` to ordering")
            for path in sorted(contract.ordering.keys() - lists - streams):
                message = f"ordering names {path!r}, which is neither a list nor a stream drawn from"
                yield Finding(
                    at.key_at(("ordering", path)), self.code, message, operator, "remove it or correct the path"
                )
            if draws and contract.rng is not None and not contract.rng.ordering.strip():
                message = "the draws declare no order"
                yield Finding(at.key_at(("rng",)), self.code, message, operator, "add `ordering:` to rng")


def _declared_at(contract: Contract, path: str) -> tuple[str, ...]:
    first = path.split(".")[0]
    return ("outputs" if first in contract.source.value["outputs"] else "inputs", first)


def list_paths(type_: Type, path: str = "") -> Iterator[str]:
    """The dotted path of every list inside a type; items stand under the path of their holder."""
    if isinstance(type_, Struct):
        for member in type_.fields:
            yield from list_paths(member.type, f"{path}.{member.name}" if path else member.name)
    elif isinstance(type_, ListOf):
        yield path
        yield from list_paths(type_.item, path)
    elif isinstance(type_, MapOf):
        yield from list_paths(type_.item, path)
