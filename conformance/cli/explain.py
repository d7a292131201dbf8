"""`tally explain`: the rule behind a check, and the derivation of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click

from conformance.cli.answer import (
    AnswerOptions,
    answered,
    case_facts,
    check_facts,
    contract_facts,
    entry_facts,
    workload_facts,
)
from conformance.cli.backend_options import timeout_option
from conformance.cli.console import CommandError, nearest, require_known, say
from conformance.cli.interview import BackendPair, ExplainedCall, pair_of
from conformance.cli.replay import replayed
from conformance.cli.sequence import (
    Located,
    beginning,
    case_of,
    declared_sequence,
    replay_facts,
    sequence_in_words,
    sequence_over,
)
from conformance.cli.suite import contract_named, frozen_vectors, is_operator, specification
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.scalar import IllTyped
from conformance.contract.family import SequenceDeclaration
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.report.failure import Fact, plain_lines
from conformance.report.record import BrokenRecord, read_record
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import Corpus

_MARKS = "[#!?%]"  # the sign after the operator in the id of a check that is no vector


def explain(target: str, options: AnswerOptions, run: bool = True) -> int:
    """Print all facts; return 1 if a named backend and the reference answer differently.

    Without `run`, only the facts of the specification are printed, and no backend is started.
    """
    library = specification()
    operator = re.split(f"::|{_MARKS}", target, maxsplit=1)[0]
    if operator == target and not is_operator(library, target) and (entry := entry_facts(target, library)):
        say(plain_lines(entry))
        return 0
    contract = contract_named(library, operator)
    corpus = frozen_vectors(library, operator="" if options.in_sequence else contract.operator)
    case = _case(corpus, target)
    if options.inputs is not None or options.record is not None:
        facts: Sequence[Fact] = [Fact("contract", f"{contract.operator} {contract.version}, {contract.position}")]
    elif target in (operator, contract.operator):
        facts = contract_facts(contract) if not options.in_sequence else []
    elif case is not None:
        facts = case_facts(case, library)
    elif "::" in target and not re.search(_MARKS, target):
        known = [case.id for case in frozen_vectors(library)]
        hint = nearest(target, known, "`tally run` prints the ids of failed checks")
        raise CommandError(f"check {target!r}", "T003", "no vector has this id", hint)
    elif "%" in target:
        facts = _of_workload(target, contract, library)
    else:
        facts = check_facts(target, contract, library)
    if options.in_sequence and library.sequences.get(contract.operator) is None and case is not None:
        options = _without_sequence(options, case)
    if not options.in_sequence:
        say(plain_lines(facts))
        if case is None and options.inputs is None and options.record is None:
            if options.backend is not None:
                say(f"--backend {options.backend!r}: not asked; name a vector, or give --inputs or --record", err=True)
            return 0
        if not run:
            return 0
    elif options.search and options.backend is None:
        raise CommandError(
            "--first-difference", "T006", "it needs a backend to compare", "name a backend: --backend TEXT"
        )
    elif options.every and not options.search:
        raise CommandError("--every", "T006", "it is only for a search", "add --first-difference")
    codebook = codebook_of(library)
    given = None if options.inputs is None else _wire_inputs(options.inputs, codebook, contract, operator)
    with pair_of(codebook, options.backend, options.timeout) as pair:
        if options.in_sequence:
            return _in_sequence(contract, case, given, options, library, corpus, pair)
        return answered(_question(target, contract, case, given, options, pair), options, library, pair)


def _without_sequence(options: AnswerOptions, case: Case) -> AnswerOptions:
    """The options without a declared sequence: a position is a call of a long run, or a value of the only answer."""
    if options.search and case.accumulation is None:
        return options
    if options.position is None:
        return replace(options, search=False)
    if case.accumulation is None:
        return options if case.kind == "trace" else replace(options, position=None, index=options.position)
    if options.position >= case.accumulation.count:
        hint = f"the run has the positions 0 to {case.accumulation.count - 1}"
        raise CommandError(f"--position {options.position}", "T003", f"there is no call {options.position}", hint)
    return replace(options, position=None, search=False, call=options.position)


def _of_workload(target: str, contract: Contract, library: Library) -> Sequence[Fact]:
    name = target.split("%", 1)[1]
    known = {one.name: one for one in contract.workloads}
    otherwise = "`tally crash --help` tells how workloads are tried"
    require_known(f"check {target!r}", name, known, "no crash workload has this name", otherwise)
    return workload_facts(known[name], contract, library)


def _case(corpus: Corpus, id_: str) -> Case | None:
    try:
        return corpus.find(id_)
    except KeyError:
        return None


def _question(
    target: str,
    contract: Contract,
    case: Case | None,
    given: Mapping[str, Any] | None,
    options: AnswerOptions,
    pair: BackendPair,
) -> ExplainedCall:
    if given is not None:
        return ExplainedCall(contract.operator, given)
    if options.record is not None:
        return _recorded(target, options.record)
    assert case is not None
    if case.accumulation is not None:
        return pair.first_divergence(case.accumulation, options.call)
    found = pair.trace(case.steps, options.step)
    return found if case.kind == "trace" else replace(found, note="")


def _wire_inputs(text: bytes, codebook: Codebook, contract: Contract, operator: str) -> Mapping[str, Any]:
    try:
        checked: Mapping[str, Any] = codebook[contract.operator].inputs.check(json.loads(text))
    except ValueError as error:
        raise CommandError("--inputs", "T006", f"not JSON: {error}", "write the params of one request") from None
    except IllTyped as error:
        hint = f"`tally schema {operator}` prints the types"
        raise CommandError("--inputs", "T006", str(error).replace("result:", "inputs:"), hint) from None
    return checked


def _recorded(target: str, file: Path) -> ExplainedCall:
    try:
        record = read_record(file.read_bytes(), str(file))
    except BrokenRecord as error:
        raise CommandError(error.place, "T004", f"{error.message}; {error.hint}", status=1) from None
    for entry in record.entries:
        if entry["id"] == target and "call" in entry:
            return ExplainedCall(entry["call"]["operator"], entry["call"]["inputs"], f"as recorded in {file}")
    raise CommandError(str(file), "T003", f"it has no failing call of {target}", "name a check that failed in that run")


def _in_sequence(
    contract: Contract,
    case: Case | None,
    given: Mapping[str, Any] | None,
    options: AnswerOptions,
    library: Library,
    corpus: Corpus,
    pair: BackendPair,
) -> int:
    """Explain one position of a sequence, or the first at which the backend differs."""
    declaration = declared_sequence(library, contract.operator)
    begins = case or (case_of(declaration, corpus) if given is None else None)
    if declaration.replay is not None:
        return _replayed(declaration, case or case_of(declaration, corpus), options, library, pair)
    base = beginning(begins) if given is None and begins is not None else given or {}
    sequence = sequence_over(library, contract.operator, base, pair)
    found = sequence.first_difference(options.every) if options.position is None else sequence.at(options.position)
    heading = [Fact("sequence", f"{contract.operator}, {sequence.in_words}")]
    if begins is not None:
        heading.append(Fact("begins as", begins.id))
    if not isinstance(found, Located):
        say(plain_lines([*heading, *found]))
        return 0
    say(plain_lines([*heading, *found.facts]))
    mine = pair.reference.ask(contract.operator, found.inputs)
    theirs = None if pair.backend is None else pair.backend.ask(contract.operator, found.inputs)
    question = ExplainedCall(contract.operator, found.inputs, "", mine, theirs)
    values = "" if found.parted else sequence.path(found.index)
    return answered(question, replace(options, path=values), library, pair, found.index)


def _replayed(
    declaration: SequenceDeclaration, case: Case, options: AnswerOptions, library: Library, pair: BackendPair
) -> int:
    pair.required(declaration.operator)
    found = replayed(declaration, case, pair, options.position)
    facts = [Fact("sequence", f"{declaration.operator}, {sequence_in_words(declaration)}"), Fact("begins as", case.id)]
    if found is None:
        say(plain_lines([*facts, Fact("found", "the backend answers every call as the reference does")]))
        return 0
    say(plain_lines([*facts, *replay_facts(found, declaration, pair)]))
    mine = found.mine
    question = ExplainedCall(mine.operator, mine.inputs, f"step {mine.step}", mine.observed, found.theirs)
    return answered(question, replace(options, path=""), library, pair)


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
@click.option(
    "--position",
    type=click.IntRange(0),
    default=None,
    help="Explain the value at this position of the sequence that OPERATOR, or the case, is part of.",
)
@click.option(
    "--first-difference",
    "search",
    is_flag=True,
    help="Search the sequence for the first position where --backend parts from the reference, by bisection.",
)
@click.option("--every", is_flag=True, help="Search call by call: no difference can be missed.")
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
@click.option("--no-run", is_flag=True, help="Start no backend, not even the reference: show what the contract says.")
@timeout_option
def command(
    target: str,
    backend: str | None,
    path: str,
    index: int | None,
    step: str,
    inputs: IO[bytes] | None,
    record: Path | None,
    timeout: float,
    position: int | None,
    search: bool,
    every: bool,
    no_run: bool,
) -> int:
    """Show the contract clause and the requirement behind a check, and how the reference derives a value.

    CHECK_OR_OPERATOR is a check id as `tally run` prints it, an operator, or the id of a requirement, a ruling or a
    mutant. With --backend the exit status is 1 if the backend's answer differs from the reference's.

    \b
    Examples:
      tally explain Bounds.Clamp_v1
      tally explain "$CHECK" --backend "python my-backend/backend.py"
    """

    asking = {"--backend": backend, "--inputs": inputs, "--record": record, "--position": position, "--index": index}
    asking |= {"--first-difference": search or None, "--path": path or None, "--step": step or None}
    asks = [option for option, value in asking.items() if value is not None]
    if no_run and asks:
        raise click.UsageError(f"{asks[0]} asks a backend, and --no-run starts none")
    given = None if inputs is None else inputs.read()
    options = AnswerOptions(backend, path, index, step, given, record, timeout, position, search, every)
    return explain(target, options, run=not no_run)
