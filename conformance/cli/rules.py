"""What the specification says, as labelled lines: of a case, of another check, of a whole contract, of one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from conformance.contract.library import Library
from conformance.contract.model import Contract, Workload
from conformance.report.failure import Fact, cut, json_text
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, RestartStep, TreeStep, label
from conformance.vectors.contradiction import Contradiction


def case_facts(case: Case, library: Library) -> list[Fact]:
    """A frozen case: why it is there, what it tests, what it asks and expects."""
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
                facts.append(Fact("step", f"{step.name}: {step.operator}"))
            expected = step.expected
            refusal = isinstance(expected, ExpectedFailure)
            said = f"failure {expected.code}" if isinstance(expected, ExpectedFailure) else json_text(expected.fields)
            facts.append(Fact("expected", said if refusal else cut(said, 400)))
        elif isinstance(step, RestartStep):
            facts.append(Fact("step", "a new process"))
        else:
            facts.append(Fact("step", f"{label(step, number)} {_subject(step)}"))
    return facts


def _subject(step: FileStep | TreeStep) -> str:
    return step.subject if isinstance(step, FileStep) else f"{step.root}/{step.path}"


def check_facts(id_: str, contract: Contract, library: Library) -> list[Fact]:
    """A law, a behaviour rule or a fuzzed operator."""
    facts = [Fact("check", id_)]
    if "#" in id_:
        name = id_.split("#", 1)[1].split("::", 1)[0]
        for law in contract.laws:
            if law.law == name:
                facts.append(Fact("contract", str(law.position)))
                facts.append(Fact("over", json_text(law.over)))
                facts += cited(law.requirements, law.rulings, library)
    else:
        facts.append(Fact("contract", str(contract.position)))
        facts.append(Fact("purity", contract.purity))
    facts.append(Fact("next", "the record of a failing run has the call: add --record FOLDER/record.json"))
    return facts


def workload_facts(workload: Workload, contract: Contract, library: Library) -> list[Fact]:
    """A crash workload: why it is there, the level that is asked for, and its calls before, in and after the crash."""
    facts = [Fact("check", f"{contract.operator}%{workload.name} (crash workload)"), Fact("why", workload.why)]
    facts.append(Fact("contract", str(workload.position)))
    facts += cited(workload.requirements, workload.rulings, library)
    facts.append(Fact("level", f"{workload.level}: the backend must survive every crash of this kind"))
    for part, said in _PARTS.items():
        facts += [Fact(said, cut(_of_step(step), 400)) for step in workload.body.get(part, ())]
    command = f"tally crash --backend TEXT --workload {contract.operator}%{workload.name}"
    return [*facts, Fact("next", f"`{command}` tries it and shows the first bad state")]


_PARTS: Final = {"before": "before", "steps": "crashed in", "recover": "recovers", "verify": "looks"}


def _of_step(step: Mapping[str, Any]) -> str:
    """One step of a workload: its name and its call, or the harness's own action, as the contract words it."""
    if "call" in step:
        return f"{step['step']}: {step['call']} {json_text(step.get('set', {}))}"
    return json_text(dict(step))


def contract_facts(contract: Contract) -> list[Fact]:
    """A whole contract: purpose, guards in order, postconditions, laws."""
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
        facts.append(Fact("refuses", f"{refusal.id}: {refusal.when}, then {refusal.code} ({named})"))
    for clause in contract.ensures:
        facts.append(Fact("ensures", f"{clause.id}: {clause.expression.text} ({', '.join(clause.requirements)})"))
    facts += [Fact("law", f"{law.law} ({', '.join(law.requirements)})") for law in contract.laws]
    facts += [Fact("vectors", f"{group.name}: {group.why}") for group in contract.groups]
    facts.append(Fact("next", f"`tally schema {contract.operator}`, or --inputs FILE to derive one call"))
    return facts


def decision_facts(contract: Contract, inputs: Mapping[str, Any]) -> list[Fact]:
    """Which clause decides a call: the first guard that is not true, or none."""
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
