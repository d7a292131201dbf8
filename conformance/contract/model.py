"""A contract as a value: the inputs, outputs and refusals of one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.contract.cel.expression import Environment, Expression
from conformance.contract.machine import Machine, Method, State, known, native
from conformance.contract.types import Struct
from conformance.contract.yaml.source import Position, Source, ValuePath

if TYPE_CHECKING:
    from conformance.contract.suite import Suite


@dataclass(frozen=True, slots=True)
class Clause:
    """A named CEL condition on inputs (and results), with the requirement that it tests."""

    id: str
    expression: Expression
    requirements: tuple[str, ...]
    position: Position
    implied_by: tuple[str, ...] = ()  # other clauses of the same contract that together imply it
    needs: frozenset[str] = frozenset()  # the state variables that it depends on


@dataclass(frozen=True, slots=True)
class Guard:
    """A precondition; when it is the first that is not true, the call fails with `code`."""

    id: str
    expression: Expression
    code: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    position: Position
    unit: str = ""  # what a guard that limits a size counts: bytes, characters or items
    needs: frozenset[str] = frozenset()  # the state variables that it depends on


def first_false(guards: Iterable[Guard], judge: Callable[[Expression], bool]) -> Guard | None:
    """The guard that decides a call: the first whose expression is not true; None if all are true."""
    return next((guard for guard in guards if not judge(guard.expression)), None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A failure that depends on a root's files or a machine's state, not on the inputs alone; `when` describes it."""

    id: str
    code: str
    when: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class EdgeCase:
    """A named part of the input space; `when` says whether an input is in it."""

    id: str
    when: Expression
    position: Position


@dataclass(frozen=True, slots=True)
class LawUse:
    """A law applied to this operator with its parameters."""

    law: str
    over: Mapping[str, Any]
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    profile: str
    position: Position


@dataclass(frozen=True, slots=True)
class Group:
    """A named group of cases as written in the contract; `conformance.vectors` derives the cases."""

    name: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    profile: str
    body: Mapping[str, Any]
    where: Expression | None
    path: ValuePath
    position: Position


@dataclass(frozen=True, slots=True)
class Workload:
    """A trace in which a backend must survive a crash at every point; `conformance.trial.crash` runs it."""

    name: str
    why: str
    requirements: tuple[str, ...]
    rulings: tuple[str, ...]
    level: str  # the required crash level: kill, ext4 or posix
    body: Mapping[str, Any]
    path: ValuePath
    position: Position


@dataclass(frozen=True, slots=True)
class Bystanders:
    """Patterns with reasons: paths that do not count as files of others, and files that the operator may remove."""

    none: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)  # outputs that may depend on these files


@dataclass(frozen=True, slots=True)
class Rng:
    """The random stream that an operator draws from, or the operators through which it draws."""

    family: str
    draws: str
    counter: str
    ordering: str
    through: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """One operator's contract, with every expression compiled and every position kept."""

    operator: str
    version: str
    family: str
    purpose: str
    seed: str
    purity: str
    rng: Rng | None
    calls: tuple[str, ...]
    confirmed_by: tuple[str, ...] | None  # second derivations; None: those of the suite
    inputs: Struct
    outputs: Struct
    failure: Struct
    environment: Environment  # over inputs: domain, guards, edge cases, where
    result_environment: Environment  # over inputs and result.*: postconditions
    domain: tuple[Expression, ...]
    requires: tuple[Guard, ...]
    refuses: tuple[Refusal, ...]
    ensures: tuple[Clause, ...]
    ordering: Mapping[str, str]
    laws: tuple[LawUse, ...]
    edge_cases: tuple[EdgeCase, ...]
    fuzz_limits: tuple[Expression, ...]  # limits of fuzzing besides the domain, which keep calls cheap
    fuzz_generator: str  # makes inputs that fuzzing starts from, besides the frozen ones; "" if none
    fuzz_examples: int  # calls of a run if the usual number costs too much; 0 for the usual number
    bases: Mapping[str, Mapping[str, Any]]
    groups: tuple[Group, ...]
    workloads: tuple[Workload, ...]
    source: Source = field(repr=False)
    fuzz_loose: Mapping[str, str] = field(default_factory=dict)  # by pattern: files whose fate is open, and why
    fuzz_decode: Mapping[str, str] = field(default_factory=dict)  # by pattern: files without fixed bytes, and the codec
    bystanders: Bystanders = field(default_factory=Bystanders)
    axes: Mapping[str, str] = field(default_factory=dict)  # axis -> why no group of the contract uses it
    machine: Machine | None = None  # in a machine's own contract and in those of its methods
    method: Method | None = None
    invariants: tuple[Clause, ...] = ()  # in a machine's own contract: over the state after every operation
    state_environment: Environment | None = field(default=None, repr=False)

    @property
    def position(self) -> Position:
        """The position of the start of the contract."""
        return self.source.at(("contract",))

    @property
    def own_machine(self) -> Machine | None:
        """The machine whose own contract this is; None for an operator and for a method."""
        return self.machine if self.method is None else None

    def owns(self, operator: str) -> bool:
        """Whether an operator is this one, or one of the methods if this is a machine's own contract."""
        machine = self.own_machine
        return operator == self.operator or (machine is not None and operator in machine.methods)

    def of_one(self, suite: Suite) -> bool:
        """Whether the contract, or the suite, declares that one implementation alone derives the values."""
        if not self.confirmed_by and suite.confirm == ():
            return True
        # For a machine, an empty list means that pins and the machine itself confirm everything.
        return self.confirmed_by == () and self.machine is None and bool(suite.reference)

    @property
    def major(self) -> int:
        """The MAJOR version, which equals the number in the operator's name."""
        return int(self.version.split(".")[0])

    @property
    def codes(self) -> frozenset[str]:
        """Every code that the operator may fail with."""
        return frozenset({*(guard.code for guard in self.requires), *self.later_codes})

    @property
    def later_codes(self) -> frozenset[str]:
        """The codes of failures that no guard can foresee."""
        return frozenset(refusal.code for refusal in self.refuses)

    def refusal(self, inputs: Mapping[str, Any]) -> Guard | None:
        """The guard that decides the failure for native inputs; None if every guard is true."""
        activation = self.environment.bind(inputs)
        return first_false(self.requires, lambda expression: expression.holds(activation))

    def foresees(self, inputs: Mapping[str, Any]) -> bool:
        """Whether all of the state that guards, postconditions and edge cases depend on is known in native inputs."""
        return self.method is None or known(self.method.needs[""], inputs.get("state"))

    def next_state(self, inputs: Mapping[str, Any], result: Mapping[str, Any]) -> State:
        """The state after a machine's method succeeds, without the variables that cannot be known.

        `inputs` are native, with the `state` before; `result` is native.
        """
        assert self.machine is not None
        assert self.method is not None
        method, environment = self.method, self.result_environment
        before: State = inputs.get("state") or {}
        values: Mapping[str, Any] = {}
        if not method.becomes.keys() <= method.keeps:
            values = environment.followed(environment.bindings(inputs), result)
        found: dict[str, Any] = {}
        for member in self.machine.state.fields:
            if member.name not in method.becomes or not method.needs[member.name] <= before.keys():
                continue
            if member.name in method.keeps:
                found[member.name] = before[member.name]
            elif (value := native(member.type, values.get(f"next.{member.name}"))) is not None:
                found[member.name] = value
        return found

    def broken_invariants(self, state: State) -> tuple[Clause, ...]:
        """The invariants of a machine that a state breaks; those that depend on unknown variables are left out."""
        if self.state_environment is None:
            return ()
        activation = self.state_environment.bind({"state": state})
        judged = (one for one in self.invariants if known(one.needs, state))
        return tuple(one for one in judged if not one.expression.holds(activation))
