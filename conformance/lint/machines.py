"""The machine's part of L202: every operation says what becomes of every state variable, and the cases bear it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.contract.model import Contract
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


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
    return known and subject.desk(contract).judges(contract.mentions.becomes[name], call)


def _changes(call: Any, name: str) -> bool:
    return bool((call.after or {}).get(name) != call.inputs.get("state", {}).get(name))


def memory(subject: Subject, contract: Contract, code: str) -> Iterator[Finding]:
    """State variables that no clause, update or invariant of the machine looks at: they say nothing."""
    machine = contract.machine
    if machine is None or contract.method is not None:
        return
    used: set[str] = set()
    for invariant in contract.invariants:
        used |= contract.mentions.of(invariant.expression.text)
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
