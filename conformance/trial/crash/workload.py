"""A workload of a contract, ready to be asked: calls in wire form, roots by name, answers that mean "nothing there"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.contract.library import Library
from conformance.contract.model import Contract, Workload
from conformance.contract.types import ROOT, members_of
from conformance.trial.crash.durability import Model
from conformance.vectors.draft import Draft, Place
from conformance.vectors.natural import Reference


@dataclass(frozen=True, slots=True)
class Step:
    """One call; `absent` are the answers that mean that nothing is there.

    A text is a failure code, a map the fields of a result or of a failure record, by path.
    """

    name: str
    operator: str
    inputs: Mapping[str, Any]  # JSON wire form; {"from": "step.path"} for what an earlier step answered
    roots: Mapping[str, str]  # which inputs are roots, and which
    acknowledged: bool = True
    absent: tuple[str | Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """The harness's own look at files of a root: their digests by path."""

    name: str
    root: str
    files: str  # a pattern for the whole path below the root, as fnmatch reads it


@dataclass(frozen=True, slots=True)
class Put:
    """A file that stands there before anything is recorded."""

    root: str
    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What is recorded, how a backend recovers, and how to see what is there then."""

    id: str  # OPERATOR%name
    why: str
    level: Model
    before: tuple[Step | Put, ...]
    steps: tuple[Step, ...]
    recover: tuple[Step, ...]
    verify: tuple[Step | Look, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """Every root that anything is done in."""
        names: dict[str, None] = {}
        for step in (*self.before, *self.steps, *self.recover, *self.verify):
            names |= dict.fromkeys(step.roots.values() if isinstance(step, Step) else (step.root,))
        return tuple(names)

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that a backend must have."""
        everything = (*self.before, *self.steps, *self.recover, *self.verify)
        return frozenset(step.operator for step in everything if isinstance(step, Step))

    def floor(self, answers: int) -> int:
        """The last version that must not be lost once so many steps are answered."""
        kept = [k + 1 for k, step in enumerate(self.steps[:answers]) if step.acknowledged]
        return max(kept, default=0)


def plans(library: Library, codebook: Codebook) -> Iterator[Plan]:
    """Every workload of a library; raises Unusable at what cannot be asked."""
    for _, contract in sorted(library.contracts.items()):
        for workload in contract.workloads:
            yield plan_of(contract, workload, codebook)


def plan_of(contract: Contract, workload: Workload, codebook: Codebook) -> Plan:
    """The plan behind one workload; raises Unusable."""
    builder = _Builder(contract, codebook, Place(contract.source, workload.path))
    body = workload.body
    before = tuple(builder.before(body.get("before", ())))
    steps = tuple(builder.calls("steps", body["steps"]))
    recover = tuple(builder.calls("recover", body.get("recover", ())))
    verify = tuple(builder.looks("verify", body["verify"]))
    level = Model[workload.level.upper()]
    return Plan(f"{contract.operator}%{workload.name}", workload.why, level, before, steps, recover, verify)


@dataclass(frozen=True, slots=True)
class _Builder:
    contract: Contract
    codebook: Codebook
    place: Place

    def before(self, bodies: Sequence[Mapping[str, Any]]) -> Iterator[Step | Put]:
        for k, body in enumerate(bodies):
            if "put" in body:
                put, place = body["put"], self.place / "before" / k / "put"
                try:
                    content = bytes.fromhex(put["bytes"]) if "bytes" in put else put["text"].encode()
                except ValueError:
                    raise (place / "bytes").problem("C009", "not hexadecimal", "two digits for each byte") from None
                yield Put(put["root"], relative(put["path"], place / "path"), content)
            else:
                yield self.step(body, self.place / "before" / k)

    def calls(self, key: str, bodies: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        seen: set[str] = set()
        for k, body in enumerate(bodies):
            step = self.step(body, self.place / key / k)
            if step.name in seen:
                raise (self.place / key / k).problem("C011", f"the step {step.name!r} stands twice", "rename one")
            seen.add(step.name)
            yield step

    def looks(self, key: str, bodies: Sequence[Mapping[str, Any]]) -> Iterator[Step | Look]:
        for k, body in enumerate(bodies):
            if "tree" in body:
                yield Look(body["step"], body["tree"]["root"], body["tree"]["files"])
            else:
                yield self.step(body, self.place / key / k)

    def step(self, body: Mapping[str, Any], place: Place) -> Step:
        operator = body.get("call", self.contract.operator)
        if operator not in self.codebook:
            raise (place / "call").problem("C014", f"unknown operator {operator!r}", "name a contract of this library")
        contract = self.codebook[operator].contract
        draft = Draft(contract)
        if "base" in body:
            draft.base(body["base"], place / "base")
        draft.apply(body, place)
        for path, text in body.get("use", {}).items():
            draft.set(path, Reference(text), place / "use" / path)
        inputs = draft.wire(place)
        roots = {name: inputs[name][ROOT] for name in members_of(contract.inputs, ROOT) if name in inputs}
        return Step(
            body["step"],
            operator,
            inputs,
            roots,
            body.get("acknowledged", True),
            tuple(body.get("absent", ())),
        )


def relative(path: str, place: Place) -> str:
    """A path that stays below its root; raises Unusable for any other."""
    if not path or path.startswith("/") or any(step in ("", ".", "..") for step in path.split("/")):
        raise place.problem("C009", f"the path {path!r} leaves its root", "write a relative path without `.` and `..`")
    return path
