"""L202: on every path that the cases take, every state variable becomes exactly what one update says."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract, StateVariable
from conformance.contract.types import ListOf, MapOf, Struct, Type
from conformance.lint.call import Call
from conformance.lint.finding import Finding
from conformance.lint.machines import memory, totality
from conformance.lint.subject import Subject


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
