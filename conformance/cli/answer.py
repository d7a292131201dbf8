"""The facts of the specification as labelled lines, and the answers of the reference and a backend to one call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.backend.hello import BadHello
from conformance.backend.outcome import Lost, LostBackend, Observed, ObservedResult, describe
from conformance.cli.console import CommandError, say
from conformance.cli.interview import BackendPair, ExplainedCall
from conformance.cli.sequence import side_by_side, steps_behind
from conformance.contract.library import Library
from conformance.contract.model import Contract, Workload
from conformance.report.failure import Fact, cut, json_text, plain_lines, shown_value
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, RestartStep, TreeStep, label
from conformance.vectors.conversation.contradiction import Contradiction, contradiction
from conformance.vectors.conversation.difference import Difference

_short: Final = partial(cut, whole="")  # no record has what a page of `tally explain` shows


def case_facts(case: Case, library: Library) -> list[Fact]:
    """The facts of a frozen case: its reason, its question, and the expected answer."""
    facts = [Fact("check", f"{case.id} ({case.kind}, profile {case.profile})"), Fact("why", case.why)]
    contract = library.contracts.get(case.operator)
    for group in contract.groups if contract is not None else ():
        if group.name == case.group:
            facts.append(Fact("contract", str(group.position)))
    facts += cited(case.requirements, case.rulings, library)
    if case.accumulation is not None:
        run = case.accumulation
        facts.append(Fact("asks", f"{run.operator} {run.count} times ({run.generator}), {run.output} hashed"))
    for number, step in enumerate(case.steps, start=1):
        if isinstance(step, CallStep):
            if case.kind == "trace":
                facts.append(Fact("step", _short(f"{step.name}: {step.operator} {json_text(step.inputs)}", 400)))
            expected = step.expected
            refusal = isinstance(expected, ExpectedFailure)
            said = f"failure {expected.code}" if isinstance(expected, ExpectedFailure) else json_text(expected.fields)
            facts.append(Fact("expected", said if refusal else _short(said, 400)))
        elif isinstance(step, RestartStep):
            facts.append(Fact("step", "a new process"))
        else:
            facts.append(Fact("step", f"{label(step, number)} {_subject(step)}"))
    return facts


def _subject(step: FileStep | TreeStep) -> str:
    return step.subject if isinstance(step, FileStep) else f"{step.root}/{step.path}"


def check_facts(id_: str, contract: Contract, library: Library) -> list[Fact]:
    """The facts of a law, a behaviour rule or a fuzzed operator."""
    facts = [Fact("check", id_)]
    if "#" in id_:
        name = id_.split("#", 1)[1].split("::", 1)[0]
        for law in contract.laws:
            if law.law == name:
                declared = library.laws.get(name)
                if declared is not None:
                    facts.append(Fact("law", f"{declared.sentence} [{declared.position}]"))
                    facts += [Fact("calls", ", ".join(declared.calls))] if declared.calls else []
                facts.append(Fact("contract", str(law.position)))
                facts += [Fact("over", json_text(law.over))] if law.over else []
                facts += cited(law.requirements, law.rulings, library)
    else:
        facts.append(Fact("contract", str(contract.position)))
        facts.append(Fact("purity", contract.purity))
    facts.append(Fact("next", "the record of a failing run has the call: add --record FOLDER/record.json"))
    return facts


def entry_facts(id_: str, library: Library) -> list[Fact]:
    """The facts of the requirement, ruling or mutant with this id; none if there is none."""
    facts: list[Fact] = []
    if (row := library.requirement(id_)) is not None:
        facts += cited([id_], (), library)
        facts += [Fact("check", check) for check in row.checks]
        facts += [Fact("excluded", row.excluded)] if row.excluded else []
    if (ruling := library.rulings.get(id_)) is not None:
        facts += [Fact("question", ruling.question), *cited((), [id_], library)]
        facts += cited(ruling.requirements, (), library)
    if (mutant := library.mutants.get(id_)) is not None:
        facts += [Fact("mutant", f"{id_}: {mutant.sentence} [{mutant.position}]")]
        facts += [Fact("breaks", check) for check in mutant.breaks]
        facts += cited(mutant.requirements, mutant.rulings, library)
        facts.append(Fact("next", f"`tally mutants {id_}` tells what notices it"))
    return facts


def workload_facts(workload: Workload, contract: Contract, library: Library) -> list[Fact]:
    """The facts of a crash workload: its reason, the required level, and its calls before, in and after the crash."""
    facts = [Fact("check", f"{contract.operator}%{workload.name} (crash workload)"), Fact("why", workload.why)]
    facts.append(Fact("contract", str(workload.position)))
    facts += cited(workload.requirements, workload.rulings, library)
    facts.append(Fact("level", f"{workload.level}: the backend must survive every crash of this kind"))
    for part, said in _PARTS.items():
        facts += [Fact(said, _short(_of_step(step), 400)) for step in workload.body.get(part, ())]
    command = f"tally crash --backend TEXT --workload {contract.operator}%{workload.name}"
    return [*facts, Fact("next", f"`{command}` tries it and shows the first bad state")]


_PARTS: Final = {"before": "before", "steps": "crashed in", "recover": "recovers", "verify": "looks"}


def _of_step(step: Mapping[str, Any]) -> str:
    """One step of a workload: its name and its call, or the harness's own action, as the contract words it."""
    if "call" in step:
        return f"{step['step']}: {step['call']} {json_text(step.get('set', {}))}"
    return json_text(dict(step))


def contract_facts(contract: Contract) -> list[Fact]:
    """The facts of a contract: purpose, guards in order, postconditions, laws."""
    facts = [Fact("operator", f"{contract.operator} {contract.version}"), Fact("purpose", contract.purpose)]
    facts.append(Fact("contract", str(contract.position)))
    if machine := contract.own_machine:
        facts.append(Fact("operations", ", ".join(machine.methods)))
        facts.append(Fact("state", ", ".join(one.name for one in machine.variables)))
        facts += [Fact("invariant", f"{clause.id}: {clause.expression.text}") for clause in contract.invariants]
    for guard in contract.requires:
        named = ", ".join((*guard.requirements, *guard.rulings))
        facts.append(Fact("requires", f"{guard.id}: {guard.expression.text} else {guard.code} ({named})"))
    for refusal in contract.refuses:
        named = ", ".join((*refusal.requirements, *refusal.rulings))
        facts.append(Fact("refuses", f"{refusal.id}: {refusal.when.rstrip('.')}, then {refusal.code} ({named})"))
    for clause in contract.ensures:
        facts.append(Fact("ensures", f"{clause.id}: {clause.expression.text} ({', '.join(clause.requirements)})"))
    facts += [Fact("law", f"{law.law} ({', '.join(law.requirements)})") for law in contract.laws]
    facts += [Fact("vectors", f"{group.name}: {group.why}") for group in contract.groups]
    facts.append(Fact("next", f"`tally schema {contract.operator}`, or --inputs FILE to derive one call"))
    return facts


def decision_facts(contract: Contract, inputs: Mapping[str, Any]) -> list[Fact]:
    """The clause that decides a call: the first guard that is not true, or none."""
    state = inputs.get("state")
    found = [Fact("state", ", ".join(f"{name} {value!r:.60}" for name, value in state.items()))] if state else []
    if not contract.foresees(inputs):
        return [*found, Fact("guards", "they depend on state that is not known here")]
    guard = contract.refusal(inputs)
    if guard is None:
        return [*found, Fact("guards", f"all {len(contract.requires)} are true: the call is answered")]
    text = f"{guard.id}: {guard.expression.text} is not true, so {guard.code}"
    return [*found, Fact("refused by", text), Fact("", str(guard.position))]


def contradicted_facts(found: Contradiction | None) -> Iterator[Fact]:
    """The clauses of the contract that a backend's answer contradicts."""
    if found is None:
        return
    if found.decision:
        yield Fact("contradicts", found.predicted)
    for clause in found.broken:
        yield Fact("contradicts", f"{clause.id}: {clause.expression.text}")
        yield Fact("", str(clause.position))


def cited(requirements: Iterable[str], rulings: Iterable[str], library: Library) -> Iterator[Fact]:
    """The text of requirements and rulings, each with its place."""
    for id_ in requirements:
        row = library.requirement(id_)
        yield Fact("requirement", id_ if row is None else f"{id_} (§ {row.section}): {row.text} [{row.position}]")
    for id_ in rulings:
        ruling = library.rulings.get(id_)
        yield Fact("ruling", id_ if ruling is None else f"{id_}: {ruling.ruling} [{ruling.position}]")


_ELEMENT: Final = re.compile(r"(.*)\[([0-9]+)\]\Z")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """The options of the user."""

    backend: str | None
    path: str
    index: int | None
    step: str
    inputs: bytes | None
    record: Path | None
    timeout: float
    position: int | None = None  # in a sequence
    search: bool = False  # look for the first difference of a sequence
    every: bool = False  # ask every call of the sequence
    call: int | None = None  # of a long run, counted from 0

    @property
    def in_sequence(self) -> bool:
        """Whether the user asks about a sequence."""
        return self.position is not None or self.search


def answered(question: ExplainedCall, options: AnswerOptions, library: Library, pair: BackendPair, at: int = 0) -> int:
    """Print the answers of the reference and the backend to one call; `at` is the value to derive."""
    operator, inputs = question.operator, question.inputs
    contract = library.contracts[operator]
    facts = [Fact("asked", _short(f"{operator} {json_text(inputs)}", 600))]
    if question.note:
        facts.append(Fact("where", question.note))
    foreseen = contract.method is None or question.native is not None
    if foreseen:
        facts += decision_facts(contract, question.native or pair.native(operator, inputs))
    if question.mine is None:
        mine = pair.reference.answer(operator, inputs)
        theirs = None if pair.backend is None else pair.backend.answer(operator, inputs)
        question = replace(question, mine=mine, theirs=theirs)
    assert question.mine is not None
    expected = pair.expected(question.mine)
    if isinstance(expected, ExpectedFailure):
        facts.append(Fact("reference", f"refuses with {expected.code}"))
    parted: Difference | None = None
    if question.theirs is not None:
        parted = pair.difference(operator, question.mine, question.theirs)
        facts += _compared(options.backend or "", parted, question.theirs)
        if parted is not None and foreseen:
            situation = pair.situation(operator, inputs, question.theirs, question.native)
            facts += contradicted_facts(contradiction(situation, pair.codebook))
    path, index = _place(options, parted, question.mine)
    if isinstance(question.mine, ObservedResult) and path:
        value = _element(question.mine.fields, path, index)
        shown = path if index is None else f"{path}[{index}]"
        facts.append(Fact("reference", _short(f"{shown} = {json_text(value)}", 600)))
    say(plain_lines(facts))
    if contract.purity == "pure" and path:  # an answer that depends on state cannot be repeated
        steps = steps_behind(question, library, pair, index if index is not None else at)
        written = [*steps, *_in_words(question, pair, path, index)]
        say("derivation")
        say("\n".join(written or [f"    the reference derives no output of {operator}; read its contract"]))
    return 1 if parted is not None else 0


def _in_words(question: ExplainedCall, pair: BackendPair, path: str, index: int | None) -> list[str]:
    """The derivation of a value by the reference, and by the backend if it explains itself and differs."""
    asked = question.operator, question.inputs, path, index
    try:
        mine = pair.reference.derivation(*asked)
    except (BadHello, LostBackend) as error:
        said = describe(error.reason) if isinstance(error, LostBackend) else str(error)
        raise CommandError(pair.reference.name, "T007", f"lost during the derivation: {said}") from None
    theirs: list[str] = []
    if pair.backend is not None and question.theirs is not None and not isinstance(question.theirs, Lost):
        with suppress(BadHello, LostBackend):
            theirs = pair.backend.derivation(*asked)
    return list(side_by_side(mine, theirs))


def _compared(backend: str, parted: Difference | None, theirs: Observed) -> list[Fact]:
    if parted is None:
        return [Fact("backend", f"{backend} answers as the reference does")]
    note = f" ({parted.note})" if parted.note else ""
    actual = _short(shown_value(parted.actual, parted.path, parted.note))
    return [
        Fact("differs at", f"{parted.path}{note}"),
        Fact("expected", _short(shown_value(parted.expected, parted.path, parted.note))),
        Fact("actual", describe(theirs) if isinstance(theirs, Lost) else actual),
    ]


def _place(options: AnswerOptions, parted: Difference | None, reference: object) -> tuple[str, int | None]:
    """The output and index to derive: the requested one, else the first difference, else the head of the first list."""
    if options.path:
        match = _ELEMENT.match(options.path)
        return (match[1], int(match[2])) if match else (options.path, options.index)
    if not isinstance(reference, ObservedResult):
        return "", None
    if parted is not None and re.split(r"[.\[]", parted.path)[0] in reference.fields:
        match = _ELEMENT.match(parted.path)
        return (match[1], int(match[2])) if match else (parted.path, None)
    for name, value in reference.fields.items():
        if isinstance(value, list) and value:
            return name, min(options.index or 0, len(value) - 1)
    return next(iter(reference.fields), ""), None


def _element(fields: Mapping[str, Any], path: str, index: int | None) -> Any:
    value: Any = fields
    try:
        for name in re.findall(r"[^.\[\]]+", path):
            value = value[int(name)] if isinstance(value, list) else value[name]
        return value if index is None else value[index]
    except (KeyError, IndexError, ValueError, TypeError):
        shown = path if index is None else f"{path}[{index}]"
        known = ", ".join(fields)
        raise CommandError(f"--path {shown!r}", "T003", "the answer has no such path", f"it has {known}") from None
