"""A workload of a contract, ready to be asked: calls in wire form, roots by name, answers that mean "nothing there"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.contract.library import Library
from conformance.contract.model import Contract, Workload
from conformance.contract.types import ROOT, members_of
from conformance.trial.crash.durability import Model
from conformance.vectors.draft import Draft, Place
from conformance.vectors.natural import Reference
from conformance.vectors.typepath import UnknownPath, type_at


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
    where: str = ""  # an earlier read; where that finds nothing, nothing is looked for


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
    requirements: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()

    @property
    def roots(self) -> tuple[str, ...]:
        """Every root that anything is done in."""
        names: dict[str, None] = {}
        for step in (*self.before, *self.steps, *self.recover, *self.verify):
            names |= dict.fromkeys(step.roots.values() if isinstance(step, Step) else (step.root,))
        return tuple(names)

    @property
    def operators(self) -> frozenset[str]:
        """Every operator that a backend must have: those of the recorded steps. A stand-in answers the rest."""
        return frozenset(step.operator for step in self.steps)

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
    builder = _Builder(contract, codebook, Place(contract.source, workload.path), workload.body)
    return Plan(
        id=f"{contract.operator}%{workload.name}",
        why=workload.why,
        level=Model[workload.level.upper()],
        before=tuple(step for step in builder.steps("before") if not isinstance(step, Look)),
        steps=builder.calls("steps"),
        recover=builder.calls("recover"),
        verify=tuple(step for step in builder.steps("verify") if not isinstance(step, Put)),
        requirements=workload.requirements,
        rulings=workload.rulings,
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    contract: Contract
    codebook: Codebook
    place: Place
    body: Mapping[str, Any]

    def steps(self, key: str) -> Iterator[Step | Look | Put]:
        """The list under a key, in order; a name stands once in it."""
        earlier: dict[str, str] = {}
        for k, body in enumerate(self.body.get(key, ())):
            place = self.place / key / k
            if "put" in body:
                yield put_of(body["put"], place / "put")
                continue
            name = body["step"]
            if name in earlier:
                raise (place / "step").problem("C011", f"the step {name!r} stands twice", "rename one")
            if "tree" in body:
                where = body["tree"].get("where", "")
                if where and where not in earlier:
                    raise (place / "tree" / "where").problem("C010", f"{where!r} names no earlier step", "name a read")
                earlier[name] = ""
                yield Look(name, body["tree"]["root"], body["tree"]["files"], where)
            else:
                step = self.step(body, place, earlier)
                earlier[name] = step.operator
                yield step

    def calls(self, key: str) -> tuple[Step, ...]:
        """The calls under a key."""
        return tuple(step for step in self.steps(key) if isinstance(step, Step))

    def step(self, body: Mapping[str, Any], place: Place, earlier: Mapping[str, str]) -> Step:
        operator = body.get("call", self.contract.operator)
        if operator not in self.codebook:
            raise (place / "call").problem("C014", f"unknown operator {operator!r}", "name a contract of this library")
        contract = self.codebook[operator].contract
        draft = Draft(contract)
        if "base" in body:
            draft.base(body["base"], place / "base")
        draft.apply(body, place)
        for path, text in body.get("use", {}).items():
            self.require_answer(text, earlier, place / "use" / path)
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

    def require_answer(self, text: str, earlier: Mapping[str, str], place: Place) -> None:
        """Refuse a use of what no earlier step of the same list answers."""
        step, _, output = text.partition(".")
        if not earlier.get(step) or not output:
            known = ", ".join(earlier) or "none"
            raise place.problem("C010", f"{text!r} names no earlier step", f"write step.output; calls so far: {known}")
        try:
            type_at(self.codebook[earlier[step]].contract.outputs, output)
        except UnknownPath as error:
            raise place.problem("C010", f"{earlier[step]} has no output {output!r}", error.hint) from None


def put_of(body: Mapping[str, Any], place: Place) -> Put:
    """The file that a `put` writes; raises Unusable."""
    try:
        content = bytes.fromhex(body["bytes"]) if "bytes" in body else body["text"].encode()
    except ValueError:
        raise (place / "bytes").problem("C009", "not hexadecimal", "two digits for each byte") from None
    return Put(body["root"], relative(body["path"], place / "path"), content)


def relative(path: str, place: Place) -> str:
    """A path that stays below its root; raises Unusable for any other."""
    if not path or path.startswith("/") or any(step in ("", ".", "..") for step in path.split("/")):
        raise place.problem("C009", f"the path {path!r} leaves its root", "write a relative path without `.` and `..`")
    return path
