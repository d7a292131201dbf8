"""L203: only operators that say so draw random numbers, and whoever draws through them says that."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from conformance.contract.model import Contract, Rng
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject

FAMILIES: Final = frozenset({"Philox4x32-10"})  # seed 000 §0.B names the only one


class RandomnessLocal:
    """An operator draws only where its `rng` counts the draws, and its callers, however far, declare `through`."""

    code, name, level = "L203", "randomness-local", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Undeclared, superfluous and half-declared random streams."""
        contracts = subject.library.contracts
        drawing = _drawing(contracts.values())
        for contract in subject.contracts:
            operator = contract.operator
            where = contract.source.key_at(("rng",)) if contract.rng else contract.source.key_at(("calls",))
            through = set(contract.rng.through) if contract.rng else set()
            for callee in contract.calls:
                if callee in drawing and callee not in through:
                    message = f"{operator} calls {callee}, which draws, and does not say so"
                    yield Finding(where, self.code, message, operator, f"add {callee} to rng.through")
            for callee in sorted(through):
                if callee in contracts and callee not in drawing:
                    message = f"rng.through names {callee}, which does not draw"
                    yield Finding(where, self.code, message, operator, "remove it")
                if callee not in contract.calls:
                    message = f"rng.through names {callee}, which {operator} does not call"
                    yield Finding(where, self.code, message, operator, "add it to `calls`, or remove it here")
            if contract.rng is not None:
                families = {rng.family for name in through if name in contracts and (rng := contracts[name].rng)}
                for message, hint in _mistakes(contract.rng, families):
                    yield Finding(where, self.code, message, operator, hint)


def _drawing(known: Collection[Contract]) -> set[str]:
    """The operators that draw themselves or through any number of others."""
    drawing = {contract.operator for contract in known if contract.rng is not None and contract.rng.draws}
    while True:
        more = {c.operator for c in known if c.operator not in drawing and drawing & set(c.calls)}
        if not more:
            return drawing
        drawing |= more


def _mistakes(rng: Rng, families: set[str]) -> Iterator[tuple[str, str]]:
    if rng.family not in FAMILIES:
        yield f"unknown random family {rng.family!r}", f"known: {', '.join(sorted(FAMILIES))}"
    if families - {rng.family}:
        yield f"draws {rng.family} through operators that draw {', '.join(sorted(families))}", "name the same family"
    if not rng.draws and not rng.through:
        yield "rng declares neither draws nor the operators it draws through", "add `draws:` or `through:`"
    if rng.draws and not rng.counter:
        yield "the draws have no counter", "add `counter:`, the words that the block function encrypts"
    if rng.counter and not rng.draws:
        yield "a counter without draws", "add `draws:`, how many one call makes"
