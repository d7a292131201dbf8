"""L201 to L205: declarations of order, state, random numbers and sequences, and forbidden names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from conformance.contract.cel.engine import variables_of
from conformance.contract.family import SequenceDeclaration
from conformance.contract.model import Contract, Rng
from conformance.contract.suggest import close_to
from conformance.contract.types import ListOf, MapOf, Struct, Type, names_inside, walk
from conformance.contract.yaml.source import ValuePath
from conformance.lint.rule import Found, FoundIn, LintTarget, contract_rule, rule
from conformance.vectors.call_sequence import problems_of
from conformance.vectors.case import CallStep, Case
from conformance.vectors.conversation.contradiction import equations_of


@contract_rule("L201", "order-declared")
def order_declared(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every list among the inputs and outputs, and every random stream that is drawn from, declares its order."""
    lists = {*list_paths(contract.inputs), *list_paths(contract.outputs)}
    draws = contract.rng is not None and bool(contract.rng.draws)
    streams = {"rng"} if draws else set()
    at = contract.source
    missing = (lists | streams) - contract.ordering.keys()
    for path in sorted(contract.ordering.keys() - lists - streams):
        meant = [one for one in missing if path.endswith(f".{one}")] or close_to(path, sorted(missing), most=1)
        missing -= set(meant)
        hint = f"did you mean {meant[0]}?" if meant else "remove it or correct the path"
        message = f"ordering names {path!r}, which is neither a list nor a stream drawn from"
        yield at.key_at(("ordering", path)), message, hint
    for path in sorted(missing):
        what = "the random stream" if path == "rng" else f"list {path!r}"
        where = at.key_at(("rng",) if path == "rng" else _declared_at(contract, path))
        yield where, f"{what} declares no order", f"add `{path}:` to ordering"
    if draws and contract.rng is not None and not contract.rng.ordering.strip():
        yield at.key_at(("rng",)), "the draws declare no order", "add `ordering:` to rng"


def _declared_at(contract: Contract, path: str) -> tuple[str, ...]:
    first = path.split(".")[0]
    return ("outputs" if first in contract.source.value["outputs"] else "inputs", first)


def list_paths(type_: Type, path: str = "") -> Iterator[str]:
    """The dotted path of every list inside a type; a list inside a list has the path of the outer one."""
    if isinstance(type_, Struct):
        for member in type_.fields:
            yield from list_paths(member.type, f"{path}.{member.name}" if path else member.name)
    elif isinstance(type_, ListOf):
        yield path
        yield from list_paths(type_.item, path)
    elif isinstance(type_, MapOf):
        yield from list_paths(type_.item, path)


def _of_method(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Variables that a method declares not at all or twice, and values that no case confirms."""
    machine, method, body = contract.machine, contract.method, contract.source.value
    if machine is None or method is None or method.closes:
        return
    becomes, keeps = body.get("becomes", {}), body.get("keeps", ())
    for one in machine.variables:
        times = (one.name in becomes) + list(keeps).count(one.name)
        if times != 1:
            said = "says nothing of" if not times else "says twice what becomes of"
            hint = "name every variable in `becomes` or in `keeps`, once"
            yield contract.position, f"{contract.operator} {said} {one.name}", hint
    for name in sorted(set(method.becomes) - method.keeps):
        place = contract.source.key_at(("becomes", name))
        calls = [call for call in subject.calls(contract.operator, unsure=True) if call.result is not None]
        judged = [call for call in calls if _is_judgeable(subject, contract, name, call)]
        failed = next((call for call in judged if name not in (call.after or {})), None)
        if failed is not None:
            hint = "it overflows, or is no value of the variable's type"
            yield place, f"what becomes of {name} has no value in {failed}", hint
        elif not method.opens and judged and not any(_changes(call, name) for call in judged):
            message = f"no case in which {contract.operator} changes {name}"
            yield place, message, "add a case, or name it in `keeps`"
        elif not judged:
            hint = "add a case in which everything that it depends on is known"
            yield place, f"no case shows what {contract.operator} makes of {name}", hint


def _is_judgeable(subject: LintTarget, contract: Contract, name: str, call: Any) -> bool:
    assert contract.method is not None
    known = contract.method.needs[name] <= (call.inputs.get("state") or {}).keys()
    return known and subject.evaluator(contract).judges(contract.method.becomes[name].text, call)


def _changes(call: Any, name: str) -> bool:
    return bool((call.after or {}).get(name) != call.inputs.get("state", {}).get(name))


def _of_machine(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """State variables that no clause, other variable or invariant uses, and a machine that opens no handle."""
    machine = contract.machine
    if machine is None or contract.method is not None:
        return
    used: set[str] = set()
    for invariant in contract.invariants:
        used |= invariant.needs
    for name in machine.methods:
        method = subject.library.contracts[name]
        if method.method is None:
            continue
        used |= method.method.needs[""]
        for variable, needs in method.method.needs.items():
            used |= needs - {variable}
        # A postcondition may use the state after the call.
        looked_at = [variables_of(clause.expression.compiled) for clause in method.ensures]
        used |= {one.name for one in machine.variables for names in looked_at if f"next.{one.name}" in names}
    for one in machine.variables:
        if not one.opaque and one.name not in used:
            message = f"nothing looks at {one.name}: no guard, postcondition, invariant or variable depends on it"
            yield one.position, message, "add what depends on it, or remove it"
    opens = [name for name in machine.methods if (found := subject.library.contracts[name].method) and found.opens]
    if not opens:
        message = f"no operation of {contract.operator} opens a handle"
        yield contract.position, message, "say `opens:` where the handle is given"


def invariant_calls(subject: LintTarget, contract: Contract) -> Iterator[Any]:
    """Every frozen call of a machine after which at least a part of the state is known."""
    for name in contract.machine.methods if contract.machine is not None else ():
        yield from (call for call in subject.calls(name) if call.after)


@contract_rule("L202", "state-total")
def state_total(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """What every success makes of state is said once, by a postcondition of an operator or a method of a machine."""
    if contract.machine is not None:
        yield from _of_method(subject, contract)
        yield from _of_machine(subject, contract)
        return
    equated = {
        path
        for clause in contract.ensures
        for path, source in equations_of(clause.expression.text)
        if "result." not in source
    }
    for path in carried_paths(contract):
        if path not in equated:
            where = contract.source.key_at(("outputs", path.split(".")[0]))
            message = f"{path} carries state over from an input of its type, but no postcondition equates it"
            hint = f"say in `ensures` what it becomes: `result.{path} == ...`, a value of the inputs"
            yield where, message, hint
    if contract.purity == "stateful":
        yield contract.source.at(("purity",)), "a stateful operator is a machine", "write it with `machine:`"


def carried_paths(contract: Contract) -> Iterator[str]:
    """The leaves of every output whose named struct type is also the type of an input: state that the caller keeps."""
    incoming = [member.type for member in contract.inputs.fields]
    for member in contract.outputs.fields:
        if isinstance(member.type, Struct) and member.type.name and member.type in incoming:
            yield from _leaves(member.type, member.name)


def _leaves(type_: Type, path: str) -> Iterator[str]:
    if isinstance(type_, Struct):
        for member in type_.fields:
            yield from _leaves(member.type, f"{path}.{member.name}")
    elif not isinstance(type_, ListOf | MapOf):
        yield path


FAMILIES: Final = frozenset({"Philox4x32-10"})  # seed 000 §0.B names the only one


@rule("L203", "randomness-local")
def randomness_local(subject: LintTarget) -> Iterator[Found]:
    """An operator draws only where its `rng` counts the draws, and its callers, however far, declare `through`."""
    contracts = subject.library.contracts
    drawing = _drawing(contracts.values())
    for contract in subject.contracts:
        operator = contract.operator
        where = contract.source.key_at(("rng",)) if contract.rng else contract.source.key_at(("calls",))
        through = set(contract.rng.through) if contract.rng else set()
        for callee in contract.calls:
            if callee in drawing and callee not in through:
                message = f"{operator} calls {callee}, which draws, and does not say so"
                yield where, message, operator, f"add {callee} to rng.through"
        for callee in sorted(through):
            if callee in contracts and callee not in drawing:
                yield where, f"rng.through names {callee}, which does not draw", operator, "remove it"
            if callee not in contract.calls:
                message = f"rng.through names {callee}, which {operator} does not call"
                yield where, message, operator, "add it to `calls`, or remove it here"
        if contract.rng is not None:
            families = {rng.family for name in through if name in contracts and (rng := contracts[name].rng)}
            for message, hint in _mistakes(contract.rng, families):
                yield where, message, operator, hint


def _drawing(known: Collection[Contract]) -> set[str]:
    """The operators that draw random numbers themselves or through other operators."""
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


@contract_rule("L204", "names-permitted")
def names_permitted(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """No operator, field, type, enum value or state variable of a family contains a word of its `forbidden_names`."""
    page = subject.library.requirements.get(contract.family)
    for word in page.forbidden_names if page else ():
        for path, name in _names(contract):
            if word.lower() in name.lower():
                message = f"the name {name!r} contains {word!r}, which the source rules out"
                yield contract.source.at(path), message, "find another name"


def _names(contract: Contract) -> Iterator[tuple[ValuePath, str]]:
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
    yield from names_inside(type_)
    yield from (one.name for _, one in walk(type_) if isinstance(one, Struct))


@rule("L205", "sequences-derivable")
def sequences_derivable(subject: LintTarget) -> Iterator[Found]:
    """The operator, case, paths and helper calls of every sequence exist, and its expressions compile."""
    for declaration in subject.library.sequences.values():
        for problem in problems_of(declaration, subject.library):
            yield problem.position, problem.message, declaration.operator, problem.hint
        cases = (case for some in subject.cases.values() for case in some)
        case = next((case for case in cases if case.id == declaration.case), None)
        for path, message, hint in _of_case(declaration, case):
            where = declaration.source.at((*declaration.path, *path))
            yield where, message, declaration.operator, hint


def _of_case(declaration: SequenceDeclaration, case: Case | None) -> Iterator[tuple[ValuePath, str, str]]:
    if case is None:
        yield ("case",), f"no vector has the id {declaration.case!r}", "name a frozen case of the operator"
        return
    replay = declaration.replay
    if replay is None:
        if case.kind == "trace" or declaration.operator not in case.operators:
            hint = f"name one that calls {declaration.operator} once, or a long run of it"
            yield ("case",), f"{case.id} gives no inputs for the first call", hint
        return
    names = [step.name for step in case.steps if isinstance(step, CallStep)]
    for key, wanted in (("before", replay.before), ("round", replay.round)):
        for k, name in enumerate(wanted):
            if name not in names:
                yield ("replay", key, k), f"{case.id} has no step {name!r}", f"its steps are {', '.join(names)}"
