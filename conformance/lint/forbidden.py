"""L204: what a family's source rules out as a name is none."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.contract.position import Path
from conformance.contract.types import Enum, ListOf, MapOf, Struct, Type
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


class NamesPermitted:
    """No operator, field, type, enum value or state variable of a family holds a word of its `forbidden_names`."""

    code, name, level = "L204", "names-permitted", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Names that hold a forbidden word, in any case of letters."""
        for contract in subject.contracts:
            page = subject.library.requirements.get(contract.family)
            for word in page.forbidden_names if page else ():
                for path, name in _names(contract):
                    if word.lower() in name.lower():
                        message = f"the name {name!r} holds {word!r}, which the source rules out"
                        where = contract.source.at(path)
                        yield Finding(where, self.code, message, contract.operator, "find another name")


def _names(contract: Contract) -> Iterator[tuple[Path, str]]:
    yield (), contract.operator
    for side in ("inputs", "outputs", "failure"):
        for field in getattr(contract, side).fields:
            path = (side, field.name) if side != "failure" else ()
            yield path, field.name
            for name in _inside(field.type):
                yield path, name
    if contract.machine is not None:
        for name in _inside(contract.machine.state):
            yield (), name


def _inside(type_: Type) -> Iterator[str]:
    if isinstance(type_, Struct):
        yield type_.name
        for field in type_.fields:
            yield field.name
            yield from _inside(field.type)
    elif isinstance(type_, ListOf | MapOf):
        yield from _inside(type_.item)
    elif isinstance(type_, Enum):
        yield from type_.values
