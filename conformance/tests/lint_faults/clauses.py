"""Faults in single contracts: names, declarations, guards, postconditions, state and randomness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from conformance.contract.cel.syntax import size_limits
from conformance.contract.model import Contract
from conformance.contract.yaml.source import ValuePath
from conformance.lint.checks import mentions
from conformance.lint.determinism import carried_paths, list_paths
from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.edits import Edit, Fault, Tree, add, drop, put, with_contract
from conformance.vectors.conversation.contradiction import equations_of
from conformance.vectors.notable import AXES

_GHOST = "Missing.Ghost_v1"


def clause_faults(subject: LintTarget) -> Iterator[Fault]:
    """Every fault that one edit of one contract makes."""
    for contract in subject.contracts:
        for code, name, edit in _edits(subject, contract):
            shown = f"{contract.operator}: {name}"
            yield Fault(code, shown, partial(with_contract, subject, contract, edit))


_Edits = Iterator[tuple[str, str, Edit]]


def _edits(subject: LintTarget, contract: Contract) -> _Edits:
    yield from _symbols(contract)
    yield from _usage(contract)
    yield from _ordering(contract)
    yield from _randomness(subject, contract)
    yield from _guards(contract)
    yield from _postconditions(contract)
    yield from _state(contract)
    yield from _memory(contract)
    yield from _axes(contract)
    yield from _limits(contract)
    yield from _prose(contract)


def _axes(contract: Contract) -> _Edits:
    """An axis without its group, a reason beside a group, and a reason that is missing."""
    for axis in AXES:
        where = [group.path for group in contract.groups if group.body.get("axis") == axis]
        if where:
            yield "L309", f"no {axis} group", partial(_without_axis, where)
            yield "L309", f"a reason against {axis} beside its group", put(("axes", axis), "It is not needed here.")
    for axis in contract.axes:
        yield "L309", f"no reason against {axis}", drop(("axes", axis))


def _limits(contract: Contract) -> _Edits:
    """A limit without its unit, a limit with a wrong unit, and a unit without a limit."""
    for k, guard in enumerate(contract.requires):
        if guard.unit:
            other = "items" if guard.unit != "items" else "bytes"
            yield "L308", f"guard {guard.id} without its unit", drop(("requires", k, "unit"))
            yield "L308", f"guard {guard.id} that counts {other}", put(("requires", k, "unit"), other)
        elif not list(size_limits(guard.expression.text)):
            yield "L308", f"guard {guard.id} with a unit and no limit", put(("requires", k, "unit"), "bytes")


def _without_axis(where: Sequence[ValuePath], tree: Tree) -> Tree:
    for path in where:
        tree = tree.drop((*path, "axis"))
        if not {"cases", "trace"} & tree.at(path).keys():
            tree = tree.put((*path, "cases"), [{"id": "plain"}])
    return tree


def _symbols(contract: Contract) -> _Edits:
    yield "L101", "calls an operator without a contract", add(("calls",), _GHOST)
    yield "L101", "calls itself", add(("calls",), contract.operator)
    for k in range(len(contract.calls)):
        yield "L101", f"call {k} misspelt", put(("calls", k), contract.calls[k] + "0")
    for k in range(len(contract.rng.through if contract.rng else ())):
        yield "L101", f"rng.through {k} misspelt", put(("rng", "through", k), _GHOST)
    for k, guard in enumerate(contract.requires):
        yield "L102", f"guard {guard.id} with an unknown code", put(("requires", k, "else"), f"{guard.code}_")
    for k, refusal in enumerate(contract.refuses):
        yield "L102", f"refusal {refusal.id} with an unknown code", put(("refuses", k, "code"), f"{refusal.code}_")
    for group in contract.groups:
        for n, case in enumerate(group.body.get("cases", ())):
            if "failure" in case.get("pin", {}):
                where = (*group.path, "cases", n, "pin", "failure")
                yield "L102", f"case {case['id']} pins an unknown code", put(where, "NO_SUCH_CODE")
    for workload in contract.workloads:
        for k, step in enumerate(workload.body["verify"]):
            if "call" in step:
                yield "L101", f"a read of {workload.name} misspelt", put((*workload.path, "verify", k, "call"), _GHOST)
            if "absent" in step:
                signs = (*workload.path, "verify", k, "absent")
                yield "L102", f"a read of {workload.name} awaits an unknown code", put(signs, ["NO_SUCH_CODE"])
    for k, use in enumerate(contract.laws):
        yield "L103", f"law {use.law} misspelt", put(("laws", k, "law"), f"{use.law}-ish")
    yield "L103", "an unknown law", add(("laws",), {"law": "conservation-of-energy", "requirement": "N01"})
    for key, code in (("requirement", "L104"), ("ruling", "L105")):
        seen: set[str] = set()
        for mention in mentions(contract, key):
            if mention.name not in seen:
                seen.add(mention.name)
                yield code, f"{key} {mention.name} misspelt", partial(_renamed, key, mention.name)


def _renamed(key: str, name: str, tree: Tree) -> Tree:
    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: other(v) if k == key else rename(v) for k, v in value.items()}
        return [rename(item) for item in value] if isinstance(value, list) else value

    def other(value: Any) -> Any:
        return [other(item) for item in value] if isinstance(value, list) else "ZZ99" if value == name else value

    tree.value = rename(tree.value)
    return tree


def _usage(contract: Contract) -> _Edits:
    for k, group in enumerate(contract.groups):
        yield "L108", f"group {group.name} removed", drop(("vectors", k))
        yield "L108", f"group {group.name} renamed", put(("vectors", k, "group"), f"{group.name}-too")
    yield "L109", "a let that nothing uses", put(("let", "unused_number"), "1u + 1u")
    yield "L109", "a base that no case uses", put(("bases", "unused-base"), {})
    yield "L110", "another MAJOR", put(("version",), f"{contract.major + 1}.0.0")
    yield "L110", "a let in camel case", put(("let", "camelCase"), "1u")
    if contract.method is None:
        yield "L110", "an operator in another's file", put(("contract",), contract.operator + "0")
    if contract.requires:
        yield "L110", "a guard that says nothing", put(("requires", 0, "id"), "check-1")
    if contract.groups:
        yield "L110", "a group that says nothing", put(("vectors", 0, "group"), "misc")


def _ordering(contract: Contract) -> _Edits:
    for path in contract.ordering:
        yield "L201", f"order of {path} dropped", drop(("ordering", path))
        yield "L201", f"order of {path} misspelt", partial(_moved, path)
    if contract.rng and contract.rng.ordering:
        yield "L201", "order of the draws dropped", drop(("rng", "ordering"))
    if contract.outputs.fields and not set(list_paths(contract.outputs)):
        first = contract.outputs.fields[0].name
        yield "L201", "an order of what is no list", put(("ordering", first), "ascending")


def _moved(path: str, tree: Tree) -> Tree:
    text = tree.at(("ordering", path))
    return tree.drop(("ordering", path)).put(("ordering", f"{path}s"), text)


def _randomness(subject: LintTarget, contract: Contract) -> _Edits:
    contracts = subject.library.contracts
    if contract.rng is None:
        for callee in sorted(name for name, other in contracts.items() if other.rng and other.rng.draws):
            yield "L203", f"draws through {callee} and does not say so", add(("calls",), callee)
        yield "L203", "an rng that draws nothing", put(("rng",), {"family": "Philox4x32-10"})
        return
    yield "L203", "another family", put(("rng", "family"), "MT19937")
    for k, callee in enumerate(contract.rng.through):
        yield "L203", f"{callee} left out of rng.through", drop(("rng", "through", k))
    if contract.rng.through:
        yield "L203", "rng dropped", drop(("rng",))
        others = [n for n, other in sorted(contracts.items()) if not other.rng and n != contract.operator]
        for callee in others:
            yield "L203", f"rng.through names {callee}", add(("rng", "through"), callee)
    if contract.rng.draws:
        yield "L203", "no counter", drop(("rng", "counter"))
        yield "L203", "a counter without draws", drop(("rng", "draws"))


def _guards(contract: Contract) -> _Edits:
    codes = ("CONTRACT_VIOLATION", "REPLAY_DIVERGENCE")
    for k, guard in enumerate(contract.requires):
        other = next(code for code in codes if code != guard.code)
        text = guard.expression.text
        yield "L304", f"guard {guard.id} negated", put(("requires", k, "that"), f"!({text})")
        yield "L304", f"guard {guard.id} with another code", put(("requires", k, "else"), other)


def _postconditions(contract: Contract) -> _Edits:
    for k, clause in enumerate(contract.ensures):
        text = clause.expression.text
        path = ("ensures", k, "that")
        yield "L305", f"postcondition {clause.id} negated", put(path, f"!({text})")
        yield "L306", f"postcondition {clause.id} made empty", put(path, f"({text}) || true")
        again = {"id": f"{clause.id}-again", "that": text, "requirement": list(clause.requirements)}
        yield "L306", f"postcondition {clause.id} twice", add(("ensures",), again)
    empty = {"id": "empty", "that": "true", "requirement": "N30"}
    yield "L306", "a postcondition that is true of anything", add(("ensures",), empty)
    if contract.machine is None:  # a method may succeed only in states that are not known
        yield "L305", "a domain without its cases", put(("domain",), ["false"])


def _state(contract: Contract) -> _Edits:
    if contract.machine is None:
        yield "L202", "stateful and no machine", put(("purity",), "stateful")
        carried = set(carried_paths(contract))
        for k, clause in enumerate(contract.ensures):
            for path, source in equations_of(clause.expression.text):
                if path in carried and "result." not in source:
                    unsaid = clause.expression.text.replace(f"result.{path} ==", f"result.{path} >=")
                    yield "L202", f"{path} bounded and not equated", put(("ensures", k, "that"), unsaid)


def _memory(contract: Contract) -> _Edits:
    """Faults in the state and the invariants of a machine."""
    method = contract.method
    for k, clause in enumerate(contract.invariants):
        path = ("invariants", k, "that")
        yield "L305", f"invariant {clause.id} negated", put(path, f"!({clause.expression.text})")
        yield "L306", f"invariant {clause.id} made empty", put(path, f"({clause.expression.text}) || true")
        again = {"id": f"{clause.id}-again", "that": clause.expression.text, "requirement": list(clause.requirements)}
        yield "L306", f"invariant {clause.id} twice", add(("invariants",), again)
    if contract.own_machine is not None:
        yield "L202", "a variable that nothing uses", put(("state", "idle"), {"type": "uint64"})
    if contract.machine is None or method is None or method.closes:
        return
    for one in contract.machine.variables:
        if one.name in contract.source.value.get("becomes", {}):
            yield "L202", f"{contract.operator} says nothing of {one.name}", partial(_left_out, one.name)
            if not method.opens:
                yield "L202", f"{one.name} both becomes and stays", partial(_kept_too, one.name)
            if not method.opens and one.name in method.becomes:
                yield "L202", f"{one.name} becomes what it was", put(("becomes", one.name), f"state.{one.name}")
        elif one.name in method.keeps:
            yield "L202", f"{contract.operator} forgets to keep {one.name}", partial(_dropped, one.name)


def _left_out(name: str, tree: Tree) -> Tree:
    return tree.drop(("becomes", name))


def _kept_too(name: str, tree: Tree) -> Tree:
    return tree.add(("keeps",), name)


def _dropped(name: str, tree: Tree) -> Tree:
    return tree.put(("keeps",), [one for one in tree.at(("keeps",)) if one != name])


def _prose(contract: Contract) -> _Edits:
    yield "L403", "a purpose without a full stop", put(("purpose",), contract.purpose.rstrip("."))
    for k, group in enumerate(contract.groups):
        yield "L403", f"why of {group.name} cut", put(("vectors", k, "why"), group.why[:5])
        lower = group.why[0].lower() + group.why[1:]
        if lower != group.why:
            yield "L403", f"why of {group.name} in lower case", put(("vectors", k, "why"), lower)
        yield "L403", f"why of {group.name} postponed", put(("vectors", k, "why"), "TODO: say why this is here.")
