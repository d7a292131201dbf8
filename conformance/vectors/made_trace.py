"""A trace of a machine that the harness makes up: calls on its handles, behind the files that it is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.vectors.case import HarnessStep
from conformance.vectors.draft import Place
from conformance.vectors.filedraft import FileDraft, roots_of
from conformance.vectors.group import Expansion
from conformance.vectors.model_walk import Move
from conformance.vectors.placeholder import is_root
from conformance.vectors.question import Asked, Question

_OWN: Final = re.compile(r"-[0-9]+\Z")  # of the roots of a second handle, and a third
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(slots=True)
class Walk:
    """A trace under construction: its steps in order, and its calls by name."""

    expansion: Expansion
    steps: list[Asked | HarnessStep] = field(default_factory=list)
    calls: dict[str, Asked] = field(default_factory=dict)

    def ask(self, move: Move, handle: Any = None, number: int = 1) -> str:
        """Add a call; the name of the step. `number` is that of the handle that it opens."""
        contract = self.expansion.codebook[move.operator].contract
        method = contract.method
        assert method is not None
        name = f"{kebab(method.name)}-{len(self.calls) + 1}"
        wire = own_roots(contract, move.wire, number)
        if handle is not None and method.takes:
            wire[method.takes] = handle
        self.calls[name] = Asked(name, move.operator, wire)
        self.steps.append(self.calls[name])
        return name

    def question(self, slug: str) -> Question:
        """The trace behind the file steps that the machine is given."""
        before = given_steps(self.expansion, roots_of(self.expansion, self.calls))
        return self.expansion.question(slug, (*before, *self.steps), self.expansion.place)


def given_steps(expansion: Expansion, roots: tuple[str, ...]) -> tuple[HarnessStep, ...]:
    """The file steps that a machine is given before every trace that the harness makes up, in every root of it."""
    machine, place = expansion.contract.machine, Place(expansion.contract.source, ("given",))
    found: list[HarnessStep] = []
    for k, body in enumerate(machine.given if machine is not None else ()):
        ((_, own),) = body.items()
        for root in roots:
            if own.get("root", root) in (root, _OWN.sub("", root)):
                found.append(FileDraft(expansion, place / k, (root,), {}).step(in_root(body, root)))
    return tuple(found)


def in_root(body: Mapping[str, Any], root: str) -> Mapping[str, Any]:
    """A file step as a contract words it, in this root."""
    ((action, own),) = body.items()
    return {action: {**own, "root": root}}


def own_roots(contract: Contract, wire: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The inputs that open the handle of this number, from 1, with roots of its own where the machine says so."""
    machine, method = contract.machine, contract.method
    if number == 1 or machine is None or not machine.own_roots or method is None or method.takes:
        return dict(wire)
    own = {name: value for name, value in wire.items() if is_root(value)}
    return {**wire, **{name: {"root": f"{value['root']}-{number}"} for name, value in own.items()}}


def kebab(name: str) -> str:
    """`NextChunk` as `next-chunk`."""
    return _HUMP.sub("-", name).lower()
