"""L301, L302 and L304: every guard and edge case is met by frozen cases, and the cases fail where the guards say."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.lint.call import Call
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject
from conformance.lint.symbols import place


class GuardsReached:
    """Every guard is the first that is not true in a frozen case and true in another, and every code is frozen."""

    code, name, level = "L301", "guards-reached", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Guards that no case reaches from one side or the other, and operators without a successful case."""
        for contract in subject.contracts:
            desk, calls = subject.desk(contract), subject.calls(contract.operator)
            first = {guard.id for call in calls if (guard := desk.refusal(contract.requires, call))}
            for guard in contract.requires:
                if guard.id not in first:
                    message = f"no case in which guard {guard.id!r} is the first that is not true"
                    hint = "add a case that only this guard refuses, or remove the guard: an earlier one implies it"
                    yield Finding(guard.position, self.code, message, contract.operator, hint)
                if not any(desk.holds(guard.expression.text, call) for call in calls):
                    message = f"no case in which guard {guard.id!r} is true"
                    yield Finding(guard.position, self.code, message, contract.operator, "add a case inside it")
            frozen = {call.code for call in calls}
            for code in sorted(contract.codes - frozen):
                message = f"no case of {contract.operator} fails with {code}"
                yield Finding(contract.position, self.code, message, contract.operator, "add a case")
            if calls and not any(call.succeeds for call in calls):
                message = f"no case of {contract.operator} succeeds"
                yield Finding(
                    contract.position, self.code, message, contract.operator, "add a case that no guard refuses"
                )


class EdgeCasesReached:
    """Every declared edge case is met by at least one frozen case, and not by all of them."""

    code, name, level = "L302", "edge-cases-reached", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Edge cases that no case meets, or every case."""
        for contract in subject.contracts:
            desk, calls = subject.desk(contract), subject.calls(contract.operator)
            for edge in contract.edge_cases:
                met = [desk.holds(edge.when.text, call) for call in calls]
                if not any(met):
                    message, hint = f"no case meets edge case {edge.id!r}", "add a case for which its `when` is true"
                    yield Finding(edge.position, self.code, message, contract.operator, hint)
                elif all(met):
                    message = f"every case meets edge case {edge.id!r}: it is no edge"
                    yield Finding(edge.position, self.code, message, contract.operator, "narrow its `when`")


class GuardsAgree:
    """The first guard that is not true for a frozen call declares the frozen failure, and none means success."""

    code, name, level = "L304", "guards-agree", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Calls whose frozen outcome is not what the guards say, one finding for each guard and outcome."""
        for contract in subject.contracts:
            desk, told = subject.desk(contract), set()
            for call in subject.calls(contract.operator):
                guard = desk.refusal(contract.requires, call)
                predicted = guard.code if guard else ""
                unforeseen = guard is None and call.code in contract.later_codes
                if predicted == call.code or unforeseen:
                    for message in _wrong_record(contract, call):
                        yield Finding(place(contract, call), self.code, message, contract.operator, _RECORD)
                    continue
                kind = (guard.id if guard else "", call.code)
                if kind in told:
                    continue
                told.add(kind)
                said = f"guard {guard.id!r} says {guard.code}" if guard else "every guard holds"
                frozen = f"{call.code} is frozen" if call.code else "a result is frozen"
                message = f"{said} but {frozen} in {call}"
                where = guard.position if guard else place(contract, call)
                hint = "correct the guard, its order or its code, or build the vectors again"
                yield Finding(where, self.code, message, contract.operator, hint)


_RECORD = "the record names the failure that the guard declares"


def _wrong_record(contract: Contract, call: Call) -> Iterator[str]:
    said = {"failure_code": call.code, "failure_operator": contract.operator}
    for name, value in said.items():
        if not call.succeeds and call.record.get(name, value) != value:
            yield f"{call} is frozen with {name} {call.record[name]!r}, not {value!r}"
