"""Turns one parsed YAML file into a `Contract`; every mistake is reported at its position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.expression import BadLet, Environment, Expression, environment
from conformance.contract.cel.functions import Function
from conformance.contract.machine import (
    Machine,
    Method,
    OperationText,
    machine_from,
    method_from,
    state_needs,
    words_of,
)
from conformance.contract.model import (
    Bystanders,
    Clause,
    Contract,
    EdgeCase,
    Group,
    Guard,
    LawUse,
    Refusal,
    Rng,
    Workload,
)
from conformance.contract.suggest import nearest
from conformance.contract.types import ROOT, Field, NamedTypes, Scalar, Struct, is_place, struct_at, walk
from conformance.contract.wording import excerpt
from conformance.contract.yaml.source import MalformedContract, Position, Problem, Source, ValuePath, row

DEFAULT_FAILURE = "default_failure"
_Row = TypeVar("_Row")


def contract_from(
    source: Source,
    family: str,
    named: NamedTypes,
    functions: Sequence[Function],
    machine: Machine | None = None,
) -> Contract:
    """The contract of a schema-valid source; raises MalformedContract with every bad expression.

    `machine` is set if the source is of one of its methods; a source with `methods` is of a whole machine.
    """
    return _Parser(source, family, named, functions, machine).contract()


@dataclass
class _Parser:
    source: Source
    family: str
    named: NamedTypes
    functions: Sequence[Function]
    machine: Machine | None
    words: OperationText | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = self.source.value
        return body

    def contract(self) -> Contract:
        body = self.body
        inputs = struct_at(self.source, ("inputs",), self.named)
        outputs = struct_at(self.source, ("outputs",), self.named)
        self.places(inputs, outputs)
        if "methods" in body:
            self.machine = machine_from(self.source, self.named, self.problems)
        elif self.machine is not None:
            self.words = words_of(self.source, self.machine, inputs, outputs, self.problems)
        if self.problems:
            raise MalformedContract(self.problems)
        before = self.environment(inputs, None)
        after = self.environment(inputs, outputs)
        invariants, over_state = self.invariants()
        requires = tuple(self.guard(k, before) for k in range(len(body["requires"])))
        ensures = tuple(self.clause(("ensures", k), after) for k in range(len(body.get("ensures", ()))))
        edge_cases = tuple(self.edge_case(k, before) for k in range(len(body.get("edge_cases", ()))))
        names = {"requires": "id", "ensures": "id", "refuses": "id", "vectors": "group", "workloads": "name"}
        for key, name in names.items():
            self.unique(key, [one[name] for one in body.get(key, ())])
        fuzz = body.get("fuzz", {})
        contract = Contract(
            operator=body["contract"],
            version=body["version"],
            family=self.family,
            purpose=body["purpose"],
            seed=body["source"]["seed"],
            purity=body["purity"],
            rng=self.rng(),
            calls=tuple(body.get("calls", ())),
            confirmed_by=tuple(body["confirmed_by"]) if "confirmed_by" in body else None,
            inputs=inputs,
            outputs=outputs,
            failure=self.failure(),
            environment=before,
            result_environment=after,
            domain=tuple(self.expression(("domain", k), before) for k in range(len(body.get("domain", ())))),
            requires=requires,
            refuses=self.rows(Refusal, "refuses"),
            ensures=ensures,
            ordering=dict(body["ordering"]),
            laws=self.rows(LawUse, "laws", profile="standard"),
            fuzz_limits=tuple(
                self.expression(("fuzz", "limits", k), before) for k in range(len(fuzz.get("limits", ())))
            ),
            fuzz_generator=fuzz.get("generator", ""),
            fuzz_examples=fuzz.get("examples", 0),
            edge_cases=edge_cases,
            bases=body.get("bases", {}),
            groups=tuple(self.group(k, before) for k in range(len(body["vectors"]))),
            workloads=tuple(
                row(Workload, {"level": "posix", **one}, body=one, path=("workloads", k), position=place)
                for k, (one, place) in enumerate(self.source.rows("workloads"))
            ),
            source=self.source,
            fuzz_loose=fuzz.get("loose", {}),
            fuzz_decode=fuzz.get("decode", {}),
            bystanders=Bystanders(**body.get("bystanders", {})),
            axes=dict(body.get("axes", {})),
            machine=self.machine,
            method=self.method(before, after, (*requires, *ensures), edge_cases),
            invariants=invariants,
            state_environment=over_state,
        )
        if self.problems:
            raise MalformedContract(self.problems)
        return contract

    def places(self, inputs: Struct, outputs: Struct) -> None:
        """Check that roots and handles are members of the top level, and that no output is a root."""
        for key, struct in (("inputs", inputs), ("outputs", outputs)):
            for member in struct.fields:
                if is_place(member.type) and self.body["purity"] == "pure":
                    message = f"{key}.{member.name} is a {member.type}, and the operator is pure"
                    hint = "purity: io for files, stateful for a machine"
                    self.problems.append(self.source.problem((key, member.name), "C003", message, hint))
                hidden = any(is_place(inner) for _, inner in walk(member.type)) and not is_place(member.type)
                if hidden or (key == "outputs" and member.type == Scalar(ROOT)):
                    message = f"a root or handle cannot be in {key}.{member.name}"
                    hint = "declare it as an input of its own, or a handle as an output of its own"
                    self.problems.append(self.source.problem((key, member.name), "C003", message, hint))
        if self.problems:
            raise MalformedContract(self.problems)

    def environment(self, inputs: Struct, outputs: Struct | None) -> Environment:
        lets, words = list(self.body.get("let", {}).items()), self.words
        seen, silent = (inputs, None) if words is None else (words.visible_inputs(inputs), words.silent)
        following = words.following if words is not None and outputs is not None else []
        try:
            return environment(seen, outputs, lets, self.functions, following, silent)
        except BadLet as error:
            name = error.name.removeprefix("next.")
            raise MalformedContract([self.bad(("let" if name == error.name else "becomes", name), error)]) from None

    def method(
        self, before: Environment, after: Environment, clauses: Sequence[Guard | Clause], edge_cases: Sequence[EdgeCase]
    ) -> Method | None:
        if self.words is None:
            return None
        needs = (*(one.needs for one in clauses), *(self.needs(edge.when, before) for edge in edge_cases))
        return method_from(self.words, self.body["contract"], after, frozenset().union(*needs))

    def needs(self, expression: Expression, env: Environment) -> frozenset[str]:
        """The state variables that an expression depends on; none if it does not compile or there is no machine."""
        if self.machine is None or expression.compiled is None:
            return frozenset()
        return state_needs(expression, env)

    def invariants(self) -> tuple[tuple[Clause, ...], Environment | None]:
        """The conditions on the state that are true after every operation of a machine."""
        bodies = self.body.get("invariants", ())
        if self.machine is None or not bodies:
            return (), None
        self.unique("invariants", [body["id"] for body in bodies])
        silent = {f"state.{one.name}": "it is opaque" for one in self.machine.variables if one.opaque}
        seen = Struct((Field("state", self.machine.state, optional=True),))
        env = environment(seen, None, [], self.functions, silent=silent)
        return tuple(self.clause(("invariants", k), env) for k in range(len(bodies))), env

    def expression(self, path: ValuePath, env: Environment) -> Expression:
        text = self.source.part(path)
        try:
            return env.compile(text)
        except BadExpression as error:
            self.problems.append(self.bad(path, error))
            return Expression(text, None)

    def bad(self, path: ValuePath, error: BadExpression) -> Problem:
        place = self.inside(self.source.at(path), error)
        return Problem(place, "C004", f"{error.message} in {excerpt(self.source.part(path))}", error.hint)

    def inside(self, position: Position, error: BadExpression) -> Position:
        """The position in the file of a mistake inside the scalar at `position`."""
        lines = self.source.text.splitlines()
        style = lines[position.line - 1][position.column - 1 :][:1]
        if style == "|":  # a block begins on the next line, indented
            block = lines[position.line :]
            indent = next((len(line) - len(line.lstrip()) for line in block if line.strip()), 0)
            return Position(position.file, position.line + error.line, indent + error.column)
        if error.line > 1 or style == ">":  # YAML has joined the lines
            return position
        return Position(position.file, position.line, position.column + (style in ("'", '"')) + error.column - 1)

    def unique(self, key: str, ids: Sequence[str]) -> None:
        for k, name in enumerate(ids):
            if name in ids[:k]:
                hint = f"rename one; the first is at {self.source.at((key, ids.index(name)))}"
                self.problems.append(self.source.problem((key, k), "C005", f"{key} has {name!r} twice", hint))

    def guard(self, index: int, env: Environment) -> Guard:
        body, path = self.body["requires"][index], ("requires", index)
        return row(Guard, body, code=body["else"], **self.expression_fields(path, env))

    def clause(self, path: ValuePath, env: Environment) -> Clause:
        return row(Clause, self.source.part(path), **self.expression_fields(path, env))

    def expression_fields(self, path: ValuePath, env: Environment) -> dict[str, Any]:
        """The fields of guards and postconditions besides their texts."""
        expression = self.expression((*path, "that"), env)
        return {"expression": expression, "position": self.source.at(path), "needs": self.needs(expression, env)}

    def failure(self) -> Struct:
        name = self.body.get("failure", DEFAULT_FAILURE)
        found = self.named.get(name)
        if not isinstance(found, Struct):
            structs = [key for key, one in self.named.items() if isinstance(one, Struct)]
            hint = nearest(name, structs, f"add a struct {name} to types.yaml, or write `failure: NAME`")
            raise self.source.malformed(("failure",), "C003", f"unknown record {name!r}", hint)
        return found

    def rng(self) -> Rng | None:
        body = self.body.get("rng")
        if body is None:
            return None
        text = {key: str(body.get(key, "")) for key in ("family", "draws", "counter", "ordering")}
        return Rng(**text, through=tuple(body.get("through", ())))

    def edge_case(self, index: int, env: Environment) -> EdgeCase:
        path: ValuePath = ("edge_cases", index)
        when = self.expression((*path, "when"), env)
        return row(EdgeCase, self.source.part(path), when=when, position=self.source.at(path))

    def group(self, index: int, env: Environment) -> Group:
        path: ValuePath = ("vectors", index)
        body = self.body["vectors"][index]
        where = self.expression((*path, "where"), env) if "where" in body else None
        given = {"name": body["group"], "profile": body.get("profile", "quick"), "where": where}
        return row(Group, body, body=body, path=path, position=self.source.at(path), **given)

    def rows(self, kind: type[_Row], key: str, **otherwise: str) -> tuple[_Row, ...]:
        """The rows of a list; `otherwise` has the values for fields that a row lacks."""
        return tuple(row(kind, {**otherwise, **body}, position=place) for body, place in self.source.rows(key))
