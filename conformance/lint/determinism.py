"""L201 to L204: the order of lists, the state of machines, random numbers and forbidden names are written down."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from conformance.contract.model import Contract, Rng, StateVariable
from conformance.contract.source import Path
from conformance.contract.types import Enum, ListOf, MapOf, Struct, Type
from conformance.lint.call import Call
from conformance.lint.rule import Finding
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


def totality(subject: Subject, contract: Contract, code: str) -> Iterator[Finding]:
    """What a method leaves open about the state, or says twice, and updates that no case bears out."""
    machine, method, body = contract.machine, contract.method, contract.source.value
    if machine is None or method is None or method.closes:
        return
    becomes, keeps = body.get("becomes", {}), body.get("keeps", ())
    for one in machine.variables:
        times = (one.name in becomes) + list(keeps).count(one.name)
        if times != 1:
            said = "says nothing of" if not times else "says twice what becomes of"
            message = f"{contract.operator} {said} {one.name}"
            hint = "name every variable in `becomes` or in `keeps`, once"
            yield Finding(contract.position, code, message, contract.operator, hint)
    for name in sorted(set(method.becomes) - method.keeps):
        place = contract.source.key_at(("becomes", name))
        calls = [call for call in subject.calls(contract.operator, unsure=True) if call.result is not None]
        judged = [call for call in calls if _judged(subject, contract, name, call)]
        failed = next((call for call in judged if name not in (call.after or {})), None)
        if failed is not None:
            message = f"what becomes of {name} has no value in {failed}"
            hint = "it overflows, or is no value of the variable's type"
            yield Finding(place, code, message, contract.operator, hint)
        elif not method.opens and judged and not any(_changes(call, name) for call in judged):
            message = f"no case in which {contract.operator} changes {name}"
            yield Finding(place, code, message, contract.operator, "add a case, or name it in `keeps`")
        elif not judged:
            message = f"no case shows what {contract.operator} makes of {name}"
            yield Finding(place, code, message, contract.operator, "add a case in which what it hangs on is known")


def _judged(subject: Subject, contract: Contract, name: str, call: Any) -> bool:
    assert contract.method is not None
    known = contract.method.needs[name] <= (call.inputs.get("state") or {}).keys()
    return known and subject.desk(contract).judges(contract.method.becomes[name].text, call)


def _changes(call: Any, name: str) -> bool:
    return bool((call.after or {}).get(name) != call.inputs.get("state", {}).get(name))


def memory(subject: Subject, contract: Contract, code: str) -> Iterator[Finding]:
    """State variables that no clause, update or invariant of the machine looks at: they say nothing."""
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
        # What only follows after a call is looked at by a postcondition.
        texts = [clause.expression.text for clause in method.ensures]
        used |= {one.name for one in machine.variables for text in texts if f"next.{one.name}" in text}
    for one in machine.variables:
        if not one.opaque and one.name not in used:
            message = f"nothing looks at {one.name}: no guard, postcondition, invariant or other variable hangs on it"
            yield Finding(one.position, code, message, contract.operator, "add what hangs on it, or remove it")
    opens = [name for name in machine.methods if (found := subject.library.contracts[name].method) and found.opens]
    if not opens:
        message = f"no operation of {contract.operator} opens a handle"
        yield Finding(contract.position, code, message, contract.operator, "say `opens:` where the handle is given")


def invariant_calls(subject: Subject, contract: Contract) -> Iterator[Any]:
    """Every frozen call of a machine that leaves a state that is known in part at least."""
    for name in contract.machine.methods if contract.machine is not None else ():
        yield from (call for call in subject.calls(name) if call.after)


class StateTotal:
    """Exactly one update of every state variable applies to each success and gives the frozen value."""

    code, name, level = "L202", "state-total", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Paths with no update or several, wrong updates, updates that no case takes, and undeclared state."""
        for contract in subject.contracts:
            if contract.machine is not None:
                yield from totality(subject, contract, self.code)
                yield from memory(subject, contract, self.code)
                continue
            calls = [call for call in subject.calls(contract.operator) if call.succeeds and call.result is not None]
            for variable in contract.state:
                yield from self._variable(subject, contract, variable, calls)
            yield from self._undeclared(contract)

    def _variable(
        self, subject: Subject, contract: Contract, variable: StateVariable, calls: list[Call]
    ) -> Iterator[Finding]:
        desk, operator = subject.desk(contract), contract.operator
        taken = [0] * len(variable.updates)
        told: set[str] = set()
        for call in calls:
            if not all(desk.judges(u.when.text + u.becomes.text, call) for u in variable.updates):
                continue
            applying = [k for k, u in enumerate(variable.updates) if desk.holds(u.when.text, call)]
            for k in applying:
                taken[k] += 1
            if len(applying) != 1:
                number = "no update" if not applying else f"{len(applying)} updates"
                message, hint = f"{number} of {variable.name} for {call}", "exactly one `when` is true on every path"
            else:
                becomes = variable.updates[applying[0]].becomes.text
                if desk.holds(f"result.{variable.after} == ({becomes})", call):
                    continue
                message = f"{variable.name} does not become what update {applying[0] + 1} says in {call}"
                hint = "correct `becomes`, or the reference"
            if message.split(" for ")[0] not in told:  # one example for each kind of mistake
                told.add(message.split(" for ")[0])
                yield Finding(variable.position, self.code, message, operator, hint)
        for k, count in enumerate(taken):
            if count == 0:
                message = f"no case takes update {k + 1} of {variable.name}"
                yield Finding(variable.position, self.code, message, operator, "add a case, or remove the update")

    def _undeclared(self, contract: Contract) -> Iterator[Finding]:
        """State that comes in and goes out under one type without a variable that says how it changes."""
        declared = {variable.after for variable in contract.state}
        incoming = [member.type for member in contract.inputs.fields if _is_record(member.type)]
        for member in contract.outputs.fields:
            if not (_is_record(member.type) and member.type in incoming):
                continue
            for path in _leaves(member.type, member.name):
                if path not in declared:
                    where = contract.source.key_at(("outputs", member.name))
                    message = f"{path} carries state over from an input of its type, but no state variable assigns it"
                    yield Finding(where, self.code, message, contract.operator, "declare it under `state`")
        if contract.purity == "stateful" and not contract.state:
            where = contract.source.at(("state",))
            yield Finding(where, self.code, "a stateful operator declares no state", contract.operator, "list it")
        names = [variable.name for variable in contract.state]
        for k, variable in enumerate(contract.state):
            if variable.name in names[:k]:
                message = f"state variable {variable.name} twice"
                yield Finding(variable.position, self.code, message, contract.operator, "join their updates")


def _is_record(type_: Type) -> bool:
    return isinstance(type_, Struct) and bool(type_.name)


def _leaves(type_: Type, path: str) -> Iterator[str]:
    if isinstance(type_, Struct):
        for member in type_.fields:
            yield from _leaves(member.type, f"{path}.{member.name}")
    elif not isinstance(type_, ListOf | MapOf):
        yield path


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
