"""`tally explain`: the rule behind a check, and the derivation of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

from conformance.backend.outcome import Observed, ObservedFailure, ObservedResult
from conformance.cli.console import Complaint, nearest, say
from conformance.cli.interview import Interview
from conformance.cli.on_trial import Seconds
from conformance.cli.rules import (
    case_facts,
    check_facts,
    contract_facts,
    contradicted_facts,
    decision_facts,
    workload_facts,
)
from conformance.cli.specification import contract_named, frozen_vectors, specification
from conformance.codec.codebook import codebook_of
from conformance.codec.scalar import IllTyped
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.report.failure import Fact, cut, json_text, plain, shown_value
from conformance.report.record import BrokenRecord, read_record
from conformance.trial.options import DEFAULT_TIMEOUT
from conformance.vectors.case import Case, ExpectedFailure, ExpectedResult
from conformance.vectors.contradiction import contradiction
from conformance.vectors.corpus import Corpus
from conformance.vectors.difference import Difference, difference

_MARKS = "[#!?%]"  # what follows the operator in a check's id where it is no vector
_ELEMENT = re.compile(r"(.*)\[([0-9]+)\]\Z")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked to see."""

    backend: str | None
    path: str
    index: int | None
    step: str
    inputs: bytes | None
    record: Path | None
    timeout: float


@dataclass(frozen=True, slots=True)
class Question:
    """One call that is to be explained."""

    operator: str
    inputs: Mapping[str, Any]
    note: str = ""
    reference: Observed | None = None  # what was answered already, inside a trace
    theirs: Observed | None = None
    native: Mapping[str, Any] | None = None  # of a trace, with the state of the machine that the call finds


def explain(target: str, wish: Wish) -> int:
    """Print everything that is known; 1 where a backend that was named answers otherwise than the reference."""
    library = specification()
    corpus = frozen_vectors(library)
    interview = Interview(codebook_of(library), wish.timeout)
    operator = re.split(f"::|{_MARKS}", target, maxsplit=1)[0]
    contract = contract_named(library, operator)
    if wish.inputs is not None or wish.record is not None:
        facts: Sequence[Fact] = [Fact("contract", f"{contract.operator} {contract.version}, {contract.position}")]
    elif target in (operator, contract.operator):
        facts = contract_facts(contract)
    elif (case := _case(corpus, target)) is not None:
        facts = case_facts(case, library)
    elif "::" in target and not re.search(_MARKS, target):
        hint = nearest(target, [known.id for known in corpus], "`tally run` prints the ids of failed checks")
        raise Complaint(f"check {target!r}", "T003", "no vector has this id", hint)
    elif "%" in target:
        facts = _of_workload(target, contract, library)
    else:
        facts = check_facts(target, contract, library)
    say(plain(facts))
    question = _question(target, wish, library, corpus, interview)
    if question is None:
        return 0
    return _answered(question, wish, library, interview)


def _of_workload(target: str, contract: Contract, library: Library) -> Sequence[Fact]:
    name = target.split("%", 1)[1]
    known = {one.name: one for one in contract.workloads}
    if name not in known:
        hint = nearest(name, list(known), "`tally crash --help` tells how workloads are tried")
        raise Complaint(f"check {target!r}", "T003", "no crash workload has this name", hint)
    return workload_facts(known[name], contract, library)


def _case(corpus: Corpus, id_: str) -> Case | None:
    try:
        return corpus.find(id_)
    except KeyError:
        return None


def _question(target: str, wish: Wish, library: Library, corpus: Corpus, interview: Interview) -> Question | None:
    operator = re.split(f"::|{_MARKS}", target, maxsplit=1)[0]
    if wish.inputs is not None:
        return Question(
            contract_named(library, operator).operator, _wire_inputs(wish.inputs, interview, library, operator)
        )
    if wish.record is not None:
        return _recorded(target, wish.record)
    case = _case(corpus, target)
    if case is None:
        return None
    if case.accumulation is not None:
        found = interview.first_divergence(case.accumulation, wish.backend)
        return Question(case.accumulation.operator, found.inputs, f"call {found.number} of {case.accumulation.count}")
    situation, theirs = interview.trace(case.steps, wish.backend, wish.step)
    mine = situation.exchange
    note = f"step {mine.step}" if case.kind == "trace" else ""
    return Question(
        mine.operator, mine.inputs, note, mine.observed, theirs.observed if theirs else None, situation.inputs
    )


def _wire_inputs(text: bytes, interview: Interview, library: Library, operator: str) -> Mapping[str, Any]:
    form = interview.codebook[contract_named(library, operator).operator].inputs
    try:
        checked: Mapping[str, Any] = form.check(json.loads(text))
    except ValueError as error:
        raise Complaint("--inputs", "T006", f"not JSON: {error}", "write the params of one request") from None
    except IllTyped as error:
        hint = f"`tally schema {operator}` prints the types"
        raise Complaint("--inputs", "T006", str(error).replace("result:", "inputs:"), hint) from None
    return checked


def _recorded(target: str, file: Path) -> Question:
    try:
        record = read_record(file.read_bytes(), str(file))
    except BrokenRecord as error:
        place, _, message = str(error).partition(": ")
        raise Complaint(place, "T004", message, status=1) from None
    for entry in record.entries:
        if entry["id"] == target and "call" in entry:
            return Question(entry["call"]["operator"], entry["call"]["inputs"], f"as recorded in {file}")
    raise Complaint(str(file), "T003", f"it has no failing call of {target}", "name a check that failed in that run")


def _answered(question: Question, wish: Wish, library: Library, interview: Interview) -> int:
    contract = library.contracts[question.operator]
    facts = [Fact("asked", cut(f"{question.operator} {json_text(question.inputs)}", 600))]
    if question.note:
        facts.append(Fact("where", question.note))
    facts += decision_facts(contract, question.native or interview.native(question.operator, question.inputs))
    reference, theirs = question.reference, question.theirs
    if reference is None:
        reference = interview.ask(interview.reference, question.operator, question.inputs)
        if wish.backend is not None:
            theirs = interview.ask(wish.backend, question.operator, question.inputs)
    parted: Difference | None = None
    if isinstance(reference, ObservedResult):
        expected: ExpectedResult | ExpectedFailure = ExpectedResult(reference.fields)
    elif isinstance(reference, ObservedFailure):
        expected = ExpectedFailure(reference.code, reference.data)
        facts.append(Fact("reference", f"refuses with {reference.code}"))
    else:
        hint = "`tally run` with this backend says more"
        raise Complaint(interview.reference, "T007", f"it gave no answer: {reference}", hint)
    if theirs is not None:
        parted = difference(expected, theirs, contract.outputs, contract.failure)
        facts += _compared(wish.backend or "", parted)
        if parted is not None:
            situation = interview.situation(question.operator, question.inputs, theirs, question.native)
            facts += contradicted_facts(contradiction(situation, interview.codebook))
    path, index = _place(wish, parted, reference)
    if isinstance(reference, ObservedResult) and path:
        value = _element(reference.fields, path, index)
        shown = path if index is None else f"{path}[{index}]"
        facts.append(Fact("reference", cut(f"{shown} = {json_text(value)}", 600)))
    say(plain(facts))
    pure = contract.purity == "pure"  # an answer that depends on state cannot be asked for again
    lines = interview.derivation(question.operator, question.inputs, path, index) if path and pure else []
    if lines:
        say("derivation")
        say("\n".join(f"    {line}" for line in lines))
    return 1 if parted is not None else 0


def _compared(backend: str, parted: Difference | None) -> list[Fact]:
    if parted is None:
        return [Fact("backend", f"{backend} answers as the reference does")]
    note = f" ({parted.note})" if parted.note else ""
    return [
        Fact("differs at", f"{parted.path}{note}"),
        Fact("expected", cut(shown_value(parted.expected, parted.path, parted.note))),
        Fact("actual", cut(shown_value(parted.actual, parted.path, parted.note))),
    ]


def _place(wish: Wish, parted: Difference | None, reference: object) -> tuple[str, int | None]:
    """The output and the index to derive: what was asked for, else where the two part, else the first list's head."""
    if wish.path:
        match = _ELEMENT.match(wish.path)
        return (match[1], int(match[2])) if match else (wish.path, wish.index)
    if not isinstance(reference, ObservedResult):
        return "", None
    if parted is not None and re.split(r"[.\[]", parted.path)[0] in reference.fields:
        match = _ELEMENT.match(parted.path)
        return (match[1], int(match[2])) if match else (parted.path, None)
    for name, value in reference.fields.items():
        if isinstance(value, list) and value:
            return name, min(wish.index or 0, len(value) - 1)
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
        raise Complaint(f"--path {shown!r}", "T003", "the answer has no such path", f"it has {known}") from None


@click.command("explain")
@click.argument("target", metavar="CHECK_OR_OPERATOR")
@click.option(
    "--backend",
    default=None,
    metavar="TEXT",
    help="Compare this backend with the reference, and explain the first difference.",
)
@click.option(
    "--path", default="", help="The output to derive, e.g. batch_sample_indices; the default is the first list."
)
@click.option("--index", type=click.IntRange(0), default=None, help="The element of that list.")
@click.option("--step", default="", help="The step of a trace, by its name; the default is the last.")
@click.option(
    "--inputs", type=click.File("rb"), default=None, help="A JSON file with the inputs of one call of OPERATOR."
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="A record.json: explain the call that failed CHECK in that run.",
)
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds without an answer before a backend counts as hung.",
)
def command(
    target: str,
    backend: str | None,
    path: str,
    index: int | None,
    step: str,
    inputs: IO[bytes] | None,
    record: Path | None,
    timeout: float,
) -> int:
    """Show the contract clause and the requirement behind a check, and how the reference derives a value.

    CHECK_OR_OPERATOR is a check id as `tally run` prints it, or an operator. With --backend the exit status is 1 if the
    backend's answer differs from the reference's.
    """

    given = None if inputs is None else inputs.read()
    return explain(target, Wish(backend, path, index, step, given, record, timeout))
