"""L301 to L304 and L307 to L309: frozen cases meet every guard, both sides of its limits, every axis, and the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.contract.expression import BadExpression, Environment
from conformance.contract.model import Contract, Guard
from conformance.contract.syntax import BYTES, CHARACTERS, ITEMS, Comparison, SizeLimit, comparisons, size_limits
from conformance.contract.types import Struct, walk
from conformance.lint.call import Call, Evaluator
from conformance.lint.names import place
from conformance.lint.rule import Finding
from conformance.lint.subject import Subject
from conformance.vectors.case import CallStep, Case, FileStep, TreeStep
from conformance.vectors.leaf import is_root
from conformance.vectors.notable import axes_of


class GuardsReached:
    """Every guard is the first that is not true in a frozen case and true in another, and every code is frozen."""

    code, name, level = "L301", "guards-reached", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Guards that no case reaches from one side or the other, and operators without a successful case."""
        for contract in subject.contracts:
            evaluator, calls = subject.evaluator(contract), subject.calls(contract.operator)
            first = {guard.id for call in calls if (guard := evaluator.refusal(contract.requires, call))}
            for guard in contract.requires:
                if guard.id not in first:
                    message = f"no case in which guard {guard.id!r} is the first that is not true"
                    hint = "add a case that only this guard refuses, or remove the guard: an earlier one implies it"
                    yield Finding(guard.position, self.code, message, contract.operator, hint)
                if not any(evaluator.holds(guard.expression.text, call) for call in calls):
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
            evaluator, calls = subject.evaluator(contract), subject.calls(contract.operator)
            for edge in contract.edge_cases:
                met = [evaluator.holds(edge.when.text, call) for call in calls]
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
            evaluator, told = subject.evaluator(contract), set()
            for call in subject.calls(contract.operator):
                found = evaluator.contradiction(contract, call)
                guard = found.guard
                if not found.decision:
                    for message in _wrong_record(contract, call):
                        yield Finding(place(contract, call), self.code, message, contract.operator, _RECORD)
                    continue
                kind = (guard.id if guard else "", call.code)
                if kind in told:
                    continue
                told.add(kind)
                frozen = f"{call.code} is frozen" if call.code else "a result is frozen"
                message = f"{found.predicted}, but {frozen} in {call}"
                where = guard.position if guard else place(contract, call)
                hint = "correct the guard, its order or its code, or build the vectors again"
                yield Finding(where, self.code, message, contract.operator, hint)


_RECORD = "the record names the failure that the guard declares"


def _wrong_record(contract: Contract, call: Call) -> Iterator[str]:
    said = {"failure_code": call.code, "failure_operator": contract.operator}
    for name, value in said.items():
        if not call.succeeds and call.record.get(name, value) != value:
            yield f"{call} is frozen with {name} {call.record[name]!r}, not {value!r}"


# left - right in the nearest case where the comparison is true, and in the nearest case where it is not.
_NEIGHBOURS: Final[Mapping[str, tuple[int, int]]] = {"<": (-1, 0), "<=": (0, 1), ">": (1, 0), ">=": (0, -1)}
_WORDS: Final[Mapping[int, str]] = {-1: "one below the boundary", 0: "on the boundary", 1: "one above the boundary"}


class BoundariesCrossed:
    """Where a comparison decides a guard, there is a frozen case on each side of its boundary, right beside it."""

    code, name, level = "L303", "boundaries-crossed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Comparisons with a side that no case touches."""
        for contract in subject.contracts:
            evaluator = subject.evaluator(contract)
            judged = list(subject.calls(contract.operator))
            for guard in contract.requires:
                for comparison in comparisons_of(guard):
                    for side, touching in sides(evaluator, comparison, judged).items():
                        if touching:
                            continue
                        message = f"guard {guard.id!r}: no case decides {comparison.text!r} {side}"
                        hint = "add a case there that every earlier guard lets through"
                        yield Finding(guard.position, self.code, message, contract.operator, hint)
                judged = [call for call in judged if evaluator.holds(guard.expression.text, call)]


def comparisons_of(guard: Guard) -> tuple[Comparison, ...]:
    """The comparisons that a guard makes outside macros."""
    try:
        return comparisons(guard.expression.text)
    except ValueError:  # this reader does not know every construct that the engine accepts
        return ()


def _decides(evaluator: Evaluator, comparison: Comparison, call: Call) -> bool:
    """Whether the guard's outcome for the call depends on this comparison."""
    if comparison.text == comparison.whole.strip():
        return True
    outcomes = [evaluator.value(comparison.replaced(value), call) for value in ("true", "false")]
    return bool(outcomes[0] != outcomes[1])


def sides(evaluator: Evaluator, comparison: Comparison, calls: Iterable[Call]) -> Mapping[str, list[Call]]:
    """The calls on each side of a comparison, by the words for that side; empty if a side cannot be evaluated."""
    if not (evaluator.compiles(comparison.left) and evaluator.compiles(comparison.right)):
        return {}
    decided = [call for call in calls if _decides(evaluator, comparison, call)]
    value = evaluator.value
    pairs = [(call, value(comparison.left, call), value(comparison.right, call)) for call in decided]
    integers = all(type(left) is type(right) is int for _, left, right in pairs if None not in (left, right))
    if comparison.sign not in _NEIGHBOURS or not integers:
        return {
            "when it is true": [call for call in decided if evaluator.holds(comparison.text, call)],
            "when it is false": [call for call in decided if not evaluator.holds(comparison.text, call)],
        }
    true, false = _NEIGHBOURS[comparison.sign]
    touching: dict[str, list[Call]] = {_WORDS[true]: [], _WORDS[false]: []}
    for call, left, right in pairs:
        # A side that overflows counts as the far side of the boundary.
        difference = false if None in (left, right) else left - right
        if difference in (true, false):
            touching[_WORDS[difference]].append(call)
    return touching


_WRAPPERS: Final = ("bytes(", "canonical(")  # around an input that is measured


class LimitsHaveUnits:
    """A guard that bounds a size names its unit, measures in it, and has a group of cases beside the limit."""

    code, name, level = "L308", "limits-have-units", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Limits without a unit, with another one than they count, or without cases in letters of several bytes."""
        for contract in subject.contracts:
            for guard in contract.requires:
                limits = list(size_limits(guard.expression.text))
                for message, hint in _wrong(contract, guard, limits):
                    yield Finding(guard.position, self.code, f"guard {guard.id!r}: {message}", contract.operator, hint)


def _wrong(contract: Contract, guard: Guard, limits: list[SizeLimit]) -> Iterator[tuple[str, str]]:
    if not limits:
        if guard.unit:
            yield f"it has the unit {guard.unit} and bounds no size", "remove `unit`"
        return
    for limit in limits:
        counted = _counted(limit, contract.environment)
        if not guard.unit:
            yield f"{limit.measure} is at most {limit.most} of what?", f"add `unit: {counted}`, which it counts"
        elif counted != guard.unit:
            hint = "measure a text in bytes with size(bytes(text)), in characters with size(text)"
            yield f"{limit.measure} counts {counted}, not {guard.unit}", hint
        if _is_input(contract, limit.subject) and not any(
            group.body.get("limit") == guard.id for group in contract.groups
        ):
            hint = f"add `{{group: ..., base: ..., limit: {guard.id}, grow: <path of an input>}}`"
            yield "no group has cases on both sides of the limit", hint


def _counted(limit: SizeLimit, environment: Environment) -> str:
    """What a limit counts, by the type of what it measures; empty where that does not compile."""
    try:
        name = environment.compile(limit.subject, None).compiled.return_type().name()
    except BadExpression:
        return ""
    return {"STRING": CHARACTERS, "BYTES": BYTES}.get(name, ITEMS)


def _is_input(contract: Contract, subject: str) -> bool:
    """Whether the guard measures an input of the operator; of a computed value no case of a given length can be made.

    A method's contract has no groups of its own.
    """
    for wrapper in _WRAPPERS:
        if subject.startswith(wrapper) and subject.endswith(")"):
            subject = subject[len(wrapper) : -1]
    return contract.method is None and subject in {path for path, _ in walk(contract.inputs)}


class AxesWalked:
    """An operator or machine with leaves for an axis has a group along it, or says under `axes` why it has none."""

    code, name, level = "L309", "axes-walked", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Axes without a group or a reason, and reasons beside a group or without a leaf."""
        for contract in subject.contracts:
            if contract.method is not None:
                continue  # its cases are the machine's
            wanted = axes_of(*_inputs(subject, contract))
            walked = {group.body["axis"] for group in contract.groups if "axis" in group.body}
            for axis in sorted(wanted - walked - contract.axes.keys()):
                message = f"no group of {contract.operator} goes along the axis {axis}"
                hint = f"add a group with `axis: {axis}`, or say why not: `axes: {{{axis}: ...}}`"
                yield Finding(contract.position, self.code, message, contract.operator, hint)
            for axis in sorted(contract.axes.keys() & walked | contract.axes.keys() - wanted):
                message = f"{contract.operator} says why it has no {axis} group, and has one or needs none"
                where = contract.source.at(("axes", axis))
                yield Finding(where, self.code, message, contract.operator, "remove the reason")


def _inputs(subject: Subject, contract: Contract) -> list[Struct]:
    if contract.machine is None:
        return [contract.inputs]
    return [subject.library.contracts[name].inputs for name in contract.machine.methods]


class FilesLookedAt:
    """An operator of purity io has a frozen case that reads a tree, or a root in which an earlier step wrote."""

    code, name, level = "L307", "files-looked-at", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Operators that touch files, without a case that reads them."""
        for contract in subject.contracts:
            if contract.method is not None:
                continue  # its cases are the machine's
            if contract.purity == "io" and not any(map(looks, subject.cases.get(contract.operator, ()))):
                where = contract.source.at(("purity",))
                message = f"no case of {contract.operator} looks at the files that it touches"
                hint = "add a trace with a `tree` step, or one that reads back what it has put or written"
                yield Finding(where, self.code, message, contract.operator, hint)


def looks(case: Case) -> bool:
    """Whether a case reads a root: by a tree, or by a call in a root that an earlier step was given."""
    touched: set[str] = set()
    for step in case.steps:
        if isinstance(step, TreeStep):
            return True
        if isinstance(step, FileStep):
            touched.add(step.body["root"])
        elif isinstance(step, CallStep):
            roots = {value["root"] for value in step.inputs.values() if is_root(value)}
            if roots & touched:
                return True
            touched |= roots
    return False
