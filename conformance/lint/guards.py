"""L301 to L304 and L307 to L309: frozen cases meet every guard, both sides of its limits, every axis, and the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.expression import Environment
from conformance.contract.cel.syntax import BYTES, CHARACTERS, ITEMS, Relation, SizeLimit, size_limits
from conformance.contract.model import Contract, Guard
from conformance.contract.types import Struct, walk
from conformance.contract.wording import excerpt
from conformance.lint.call import Evaluator, FrozenCall
from conformance.lint.deciding import MOST_INSIDE, tangles
from conformance.lint.names import place
from conformance.lint.rule import FoundIn, LintTarget, contract_rule
from conformance.lint.valueless import valueless
from conformance.vectors.case import CallStep, Case, FileStep, TreeStep
from conformance.vectors.conversation.state_tracking import NEIGHBOURS, comparisons_of
from conformance.vectors.leaf import is_root
from conformance.vectors.notable import axes_of


@contract_rule("L301", "guards-reached")
def guards_reached(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every guard is the first that is not true in a frozen case and true in another, and every code is frozen."""
    evaluator, calls = subject.evaluator(contract), subject.calls(contract.operator)
    first = {guard.id for call in calls if (guard := evaluator.refusal(contract.requires, call))}
    reaching = calls
    for guard in contract.requires:
        what, text = f"guard {guard.id!r}", guard.expression.text
        error = valueless(evaluator, contract, what, text, guard.position, reaching)
        reaching = tuple(call for call in reaching if evaluator.holds(text, call))
        if error:
            yield error
            continue
        if guard.id not in first:
            hint = "add a case that only this guard refuses, or remove the guard: an earlier one implies it"
            yield guard.position, f"no case in which guard {guard.id!r} is the first that is not true", hint
        if not any(evaluator.holds(text, call) for call in calls):
            yield guard.position, f"no case in which guard {guard.id!r} is true", "add a case inside it"
    frozen = {call.code for call in calls}
    for code in sorted(contract.codes - frozen):
        yield contract.position, f"no case of {contract.operator} fails with {code}", "add a case"
    if calls and not any(call.succeeds for call in calls):
        yield contract.position, f"no case of {contract.operator} succeeds", "add a case that no guard refuses"


@contract_rule("L302", "edge-cases-reached")
def edge_cases_reached(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every declared edge case is met by at least one frozen case, and not by all of them."""
    evaluator, calls = subject.evaluator(contract), subject.calls(contract.operator)
    for edge in contract.edge_cases:
        met = [evaluator.holds(edge.when.text, call) for call in calls]
        if error := valueless(evaluator, contract, f"edge case {edge.id!r}", edge.when.text, edge.position, calls):
            yield error
        elif not any(met):
            message, hint = f"no case meets edge case {edge.id!r}", "add a case for which its `when` is true"
            yield edge.position, message, hint
        elif all(met):
            yield edge.position, f"every case meets edge case {edge.id!r}: it is no edge", "narrow its `when`"


@contract_rule("L304", "guards-agree")
def guards_agree(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """The first guard that is not true for a frozen call declares the frozen failure, and none means success."""
    evaluator, told = subject.evaluator(contract), set()
    for call in subject.calls(contract.operator):
        found = evaluator.contradiction(contract, call)
        guard = found.guard
        if not found.decision:
            for message in _wrong_record(contract, call):
                yield place(contract, call), message, _RECORD
            continue
        kind = (guard.id if guard else "", call.code)
        if kind in told:
            continue
        told.add(kind)
        frozen = f"{call.code} is frozen" if call.code else "a result is frozen"
        message = f"{found.predicted}, but {frozen} in {call}"
        where = guard.position if guard else place(contract, call)
        yield where, message, "correct the guard, its order or its code, or build the vectors again"


_RECORD = "the record names the failure that the guard declares"


def _wrong_record(contract: Contract, call: FrozenCall) -> Iterator[str]:
    said = {"failure_code": call.code, "failure_operator": contract.operator}
    for name, value in said.items():
        if not call.succeeds and call.record.get(name, value) != value:
            yield f"{call} is frozen with {name} {call.record[name]!r}, not {value!r}"


TRUE, FALSE = "when it is true", "when it is false"
WORDS: Final[Mapping[int, str]] = {-1: "one below the boundary", 0: "on the boundary", 1: "one above the boundary"}


@contract_rule("L303", "boundaries-crossed")
def boundaries_crossed(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Where a comparison decides a guard, there is a frozen case on each side of its boundary, right beside it."""
    evaluator = subject.evaluator(contract)
    judged = list(subject.calls(contract.operator))
    for guard in contract.requires:
        known = comparisons_of(guard.expression)
        untried = set[tuple[int, int]]()
        for tangle in tangles(guard.expression.text) if known else ():
            untried.update(tangle.inside)
            message = f"{len(tangle.inside)} comparisons are inside {excerpt(tangle.text, 60)}"
            hint = "join them by && and || alone, or make several guards of this one"
            yield guard.position, f"guard {guard.id!r}: {message}: with more than {MOST_INSIDE}, none is tried", hint
        for comparison in known:
            if (comparison.start, comparison.end) in untried:
                continue
            for side, touching in sides(evaluator, comparison, judged).items():
                if touching:
                    continue
                hint = "add a case there that every earlier guard lets through"
                yield guard.position, f"guard {guard.id!r}: no case decides {excerpt(comparison.text)} {side}", hint
        judged = [call for call in judged if evaluator.holds(guard.expression.text, call)]


def sides(evaluator: Evaluator, comparison: Relation, calls: Iterable[FrozenCall]) -> Mapping[str, list[FrozenCall]]:
    """The calls on each side of a comparison, by the words for that side; empty if a side cannot be evaluated."""
    if not (evaluator.compiles(comparison.left) and evaluator.compiles(comparison.right)):
        return {}
    decided = [call for call in calls if evaluator.decides(comparison, call)]
    value = evaluator.value
    pairs = [(call, value(comparison.left, call), value(comparison.right, call)) for call in decided]
    integers = all(type(left) is type(right) is int for _, left, right in pairs if None not in (left, right))
    if comparison.sign not in NEIGHBOURS or not integers:
        return {
            TRUE: [call for call in decided if evaluator.holds(comparison.text, call)],
            FALSE: [call for call in decided if not evaluator.holds(comparison.text, call)],
        }
    true, false = NEIGHBOURS[comparison.sign]
    touching: dict[str, list[FrozenCall]] = {WORDS[true]: [], WORDS[false]: []}
    for call, left, right in pairs:
        # A side that overflows counts as the far side of the boundary.
        difference = false if None in (left, right) else left - right
        if difference in (true, false):
            touching[WORDS[difference]].append(call)
    return touching


_WRAPPERS: Final = ("bytes(", "canonical(")  # calls that may wrap a measured input


@contract_rule("L308", "limits-have-units")
def limits_have_units(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """A guard that bounds a size names its unit, measures in it, and has a group of cases beside the limit."""
    for guard in contract.requires:
        limits = list(size_limits(guard.expression.text))
        for message, hint in _wrong(contract, guard, limits):
            yield guard.position, f"guard {guard.id!r}: {message}", hint


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
    """The unit of a limit, by the type of the measured expression; empty if the expression does not compile."""
    try:
        name = environment.compile(limit.subject, None).compiled.return_type().name()
    except BadExpression:
        return ""
    return {"STRING": CHARACTERS, "BYTES": BYTES}.get(name, ITEMS)


def _is_input(contract: Contract, subject: str) -> bool:
    """Whether the guard measures an input of the operator: no case can give a computed value a certain length.

    A method's contract has no groups of its own.
    """
    for wrapper in _WRAPPERS:
        if subject.startswith(wrapper) and subject.endswith(")"):
            subject = subject[len(wrapper) : -1]
    return contract.method is None and subject in {path for path, _ in walk(contract.inputs)}


@contract_rule("L309", "axes-walked")
def axes_walked(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """An operator or machine with leaves for an axis has a group along it, or says under `axes` why it has none."""
    if contract.method is not None:
        return  # its cases are the machine's
    wanted = axes_of(*_inputs(subject, contract))
    walked = {group.body["axis"] for group in contract.groups if "axis" in group.body}
    for axis in sorted(wanted - walked - contract.axes.keys()):
        hint = f"add a group with `axis: {axis}`, or say why not: `axes: {{{axis}: ...}}`"
        yield contract.position, f"no group of {contract.operator} goes along the axis {axis}", hint
    for axis in sorted(contract.axes.keys() & walked | contract.axes.keys() - wanted):
        message = f"{contract.operator} says why it has no {axis} group, and has one or needs none"
        yield contract.source.at(("axes", axis)), message, "remove the reason"


def _inputs(subject: LintTarget, contract: Contract) -> list[Struct]:
    if contract.machine is None:
        return [contract.inputs]
    return [subject.library.contracts[name].inputs for name in contract.machine.methods]


@contract_rule("L307", "files-looked-at")
def files_looked_at(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """An operator of purity io has a frozen case that reads a tree, or a root in which an earlier step wrote."""
    if contract.method is not None:
        return  # its cases are the machine's
    if contract.purity == "io" and not any(map(reads_files, subject.cases.get(contract.operator, ()))):
        where = contract.source.at(("purity",))
        hint = "add a trace with a `tree` step, or one that reads back what it has put or written"
        yield where, f"no case of {contract.operator} looks at the files that it touches", hint


def reads_files(case: Case) -> bool:
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
