"""The distortion score: for every leaf of every operator, does a frozen case notice that it is distorted?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.types import Struct
from conformance.trial.client import attempt
from conformance.trial.committed_reports import read_report
from conformance.trial.options import NO_PROGRESS, Progress
from conformance.vectors.case import CallStep, Case, ExpectedResult
from conformance.vectors.compact import expanded
from conformance.vectors.distortion import distortions
from conformance.vectors.jsontext import json_text
from conformance.vectors.leaf import LeafOccurrence, contains_value, is_placeholder, is_reference, put, rewritten, spots
from conformance.vectors.notable import AXES, notable_values
from conformance.vectors.questions.axis import refusal_of

TRIES: Final = 5  # cases whose distorted question is asked before a leaf is said to leave the answer alone
TIMEOUT: Final = 20.0
_AT_ONCE: Final = 200  # distorted questions between two lines of progress
_OFTEN: Final = 8  # calls in which a key inside a self-describing value makes a leaf of its own
INPUTS, RESULTS, FAILURES = "inputs", "results", "failures"
SAME: Final = "the answers stay the same"
WORDS: Final = "it holds words of the contract only"
OPEN: Final = "no frozen case carries such a value"


@dataclass(frozen=True, slots=True, order=True)
class Distortion:
    """One class of distortion at one leaf of one side of an operator."""

    operator: str
    side: str
    leaf: str
    name: str


@dataclass(frozen=True, slots=True)
class WireScore:
    """Every distortion that could be: those that a frozen case notices, and for each of the others the reason."""

    noticed: frozenset[Distortion]
    unnoticed: Mapping[Distortion, str]

    @property
    def open(self) -> tuple[Distortion, ...]:
        """The distortions for which a case is missing."""
        return tuple(sorted(one for one, reason in self.unnoticed.items() if reason == OPEN))


@dataclass(frozen=True, slots=True)
class _Affected:
    """A frozen call whose inputs a distortion changes."""

    case: Case
    place: int  # of the step among the steps


@dataclass(slots=True)
class _Survey:
    """What the corpus has for each distortion."""

    known: set[Distortion] = field(default_factory=set)
    noticed: set[Distortion] = field(default_factory=set)
    affected: dict[Distortion, list[_Affected]] = field(default_factory=dict)
    spots: dict[tuple[str, str], tuple[Mapping[str, Any], LeafOccurrence]] = field(default_factory=dict)
    texts: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)


def wire_score(
    library: Library,
    cases: Iterable[Case],
    only: Sequence[str] = (),
    progress: Progress = NO_PROGRESS,
) -> WireScore:
    """The score of a corpus, for the operators that `only` names, or for all if it names none."""
    codebook = codebook_of(library)
    survey = _Survey()
    some = [case for case in cases if case.profile != "golden" and case.accumulation is None]
    often = _common_places(some, codebook, only)
    progress.stage("frozen cases", len(some))
    for case in some:
        for _, k, step in _calls([case], codebook, only):
            _note(survey, codebook, case, k, step, often)
        progress.step()
    _ask(survey, codebook, progress)
    reasons = {one: _reason(one, survey, codebook) for one in sorted(survey.known - survey.noticed)}
    return WireScore(frozenset(survey.noticed), reasons)


def _calls(cases: Sequence[Case], codebook: Codebook, only: Sequence[str]) -> Iterator[tuple[Case, int, CallStep]]:
    """The calls that are looked at, each with its place among the steps."""
    for case in cases:
        for k, step in enumerate(case.steps):
            if isinstance(step, CallStep) and step.operator in codebook.forms and (not only or step.operator in only):
                yield case, k, step


def _sides(step: CallStep, contract: Contract) -> Iterator[tuple[str, Struct, Any]]:
    yield INPUTS, contract.inputs, step.inputs
    if isinstance(step.expected, ExpectedResult):
        yield RESULTS, contract.outputs, step.expected.fields
    else:
        yield FAILURES, contract.failure, step.expected.data


def _common_places(cases: Sequence[Case], codebook: Codebook, only: Sequence[str]) -> frozenset[tuple[str, str, str]]:
    """The leaves inside self-describing values that are fields: the same key in several calls."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for _, _, step in _calls(cases, codebook, only):
        for side, type_, wire in _sides(step, codebook[step.operator].contract):
            places = {spot.place for spot in spots(type_, wire) if "~" in spot.place}
            counted.update((step.operator, side, place) for place in places)
    return frozenset(key for key, count in counted.items() if count >= _OFTEN)


def _note(
    survey: _Survey, codebook: Codebook, case: Case, k: int, step: CallStep, often: frozenset[tuple[str, str, str]]
) -> None:
    for side, type_, frozen in _sides(step, codebook[step.operator].contract):
        wire = expanded(frozen)
        for spot in spots(type_, wire):
            if "~" in spot.place and (step.operator, side, spot.place) not in often:
                continue
            if is_placeholder(spot.value):
                continue
            if side == INPUTS:
                survey.spots.setdefault((step.operator, spot.place), (wire, spot))
            elif isinstance(spot.value, str):
                survey.texts.setdefault((step.operator, side, spot.place), set()).add(spot.value)
            for name, change in distortions(spot.type).items():
                one = Distortion(step.operator, side, spot.place, name)
                survey.known.add(one)
                affected = survey.affected.setdefault(one, [])
                if one in survey.noticed or len(affected) >= TRIES:
                    continue
                if affected and affected[-1].case is case and affected[-1].place == k:
                    continue
                if change(spot.value) == spot.value:
                    continue
                if side == INPUTS:
                    affected.append(_Affected(case, k))
                else:
                    survey.noticed.add(one)


def _ask(survey: _Survey, codebook: Codebook, progress: Progress) -> None:
    """Ask the reference the distorted questions, one affected call of each distortion after the other."""
    for turn in range(TRIES):
        asked: dict[str, Distortion] = {}
        cases: list[Case] = []
        for one in sorted(survey.known - survey.noticed):
            affected = survey.affected[one]
            if one.side != INPUTS or len(affected) <= turn:
                continue
            case = _distorted(affected[turn], one, codebook)
            if case is None:
                survey.noticed.add(one)
                continue
            id_ = f"{case.operator}::distorted::{len(cases)}"
            asked[id_] = one
            cases.append(replace(case, id=id_))
        if not cases:
            return
        progress.stage(f"distorted questions, turn {turn + 1} of {TRIES} at most", len(cases))
        for start in range(0, len(cases), _AT_ONCE):
            part = cases[start : start + _AT_ONCE]
            tried = attempt(codebook.suite.reference, part, codebook, TIMEOUT)
            survey.noticed |= {asked[id_] for id_ in tried.wrong}
            progress.step(len(part))


def _distorted(frozen: _Affected, one: Distortion, codebook: Codebook) -> Case | None:
    """The case with one step's question distorted; None if no backend may be asked it, so the distortion shows."""
    step = frozen.case.steps[frozen.place]
    assert isinstance(step, CallStep)
    contract = codebook[step.operator].contract
    wire = expanded(step.inputs)
    changes = {spot.place: spot.type for spot in spots(contract.inputs, wire)}
    change = distortions(changes[one.leaf])[one.name]
    changed = rewritten(contract.inputs, wire, one.leaf, change)
    if refusal_of(codebook[step.operator], changed) is None:
        return None
    asked = replace(step, inputs=changed)
    pure = all(codebook[name].contract.purity == "pure" for name in frozen.case.operators)
    if pure and not contains_value(step.inputs, is_reference):
        return replace(frozen.case, steps=(asked,))
    steps = tuple(asked if k == frozen.place else other for k, other in enumerate(frozen.case.steps))
    return replace(frozen.case, steps=steps)


def _reason(one: Distortion, survey: _Survey, codebook: Codebook) -> str:
    """Why nothing notices a distortion: computed from contract and corpus, or OPEN."""
    contract = codebook[one.operator].contract
    if one.side == INPUTS:
        if survey.affected.get(one):
            return SAME
        return _kept_out(one, survey, codebook)
    texts = survey.texts.get((one.operator, one.side, one.leaf))
    if texts is not None and all(text in contract.source.text for text in texts):
        return WORDS
    return OPEN


def _kept_out(one: Distortion, survey: _Survey, codebook: Codebook) -> str:
    """Whether the contract refuses, or does not judge, every notable value that the distortion would change."""
    wire, spot = survey.spots[one.operator, one.leaf]
    change = distortions(spot.type)[one.name]
    found: set[str] = set()
    for axis in AXES:
        for _, value in notable_values(axis, spot):
            whole = expanded(value)
            if change(whole) == whole:
                continue
            refused = refusal_of(codebook[one.operator], put(wire, spot.steps, whole))
            if refused == "":
                return OPEN
            found.add("it is outside the domain" if refused is None else f"the guard {refused} refuses it")
    return ", ".join(sorted(found)) or OPEN


FORMAT: Final = 1


def score_text(score: WireScore, others: Mapping[str, Any] = MappingProxyType({})) -> str:
    """The text of reports/distortions.json: per operator and side how many are noticed, and the unnoticed by reason.

    `others` are the operators of a committed report that were not measured again.
    """
    operators = dict(others)
    for one in sorted(score.noticed):
        _side(operators, one)["noticed"] += 1
    for one, reason in sorted(score.unnoticed.items()):
        leaves = _side(operators, one)["unnoticed"].setdefault(reason, {})
        leaves[one.leaf] = f"{leaves[one.leaf]} {one.name}" if one.leaf in leaves else one.name
    return json_text({"format": FORMAT, "total": _totals(operators), "operators": operators})


def _totals(operators: Mapping[str, Any]) -> dict[str, int]:
    sides = [side for of_one in operators.values() for side in of_one.values()]
    unnoticed: Counter[str] = Counter()
    for side in sides:
        for reason, leaves in side["unnoticed"].items():
            unnoticed[reason] += sum(len(names.split()) for names in leaves.values())
    noticed = sum(side["noticed"] for side in sides)
    return {"noticed": noticed, "unnoticed": unnoticed.total(), "open": unnoticed[OPEN]}


def _side(operators: dict[str, Any], one: Distortion) -> dict[str, Any]:
    sides: dict[str, Any] = operators.setdefault(one.operator, {})
    side: dict[str, Any] = sides.setdefault(one.side, {"noticed": 0, "unnoticed": {}})
    return side


def read_others(file: Path, measured: Sequence[str]) -> dict[str, Any]:
    """The operators of a committed score that were not measured, none if all were; raises UnreadableReport."""
    if not measured:
        return {}
    return read_report(
        file,
        FORMAT,
        lambda record: {name: sides for name, sides in record["operators"].items() if name not in measured},
        "tally mutants --wire --write",
    )


def read_unnoticed(file: Path) -> dict[Distortion, str]:
    """The unnoticed distortions of a committed score with their reasons; raises UnreadableReport."""
    return read_report(file, FORMAT, lambda record: dict(_unnoticed(record)), "tally mutants --wire --write")


def _unnoticed(record: Mapping[str, Any]) -> Iterator[tuple[Distortion, str]]:
    for operator, sides in record["operators"].items():
        for side, body in sides.items():
            for reason, leaves in body["unnoticed"].items():
                for leaf, names in leaves.items():
                    for name in names.split():
                        yield Distortion(operator, side, leaf, name), reason


def score_changes(committed: Mapping[Distortion, str], score: WireScore, only: frozenset[str]) -> Iterator[str]:
    """The differences between a fresh score and the committed one, for the operators that were measured."""
    for one in sorted(committed.keys() | score.unnoticed.keys()):
        if only and one.operator not in only:
            continue
        old, new = committed.get(one, "noticed"), score.unnoticed.get(one, "noticed")
        if old != new:
            yield f"{one.operator}, {one.side}, {one.leaf}: {one.name} was: {old}; is: {new}"


def score_lines(score: WireScore) -> Iterator[str]:
    """One line per operator, and the sum."""
    counted: dict[str, list[int]] = {}
    for one in score.noticed:
        counted.setdefault(one.operator, [0, 0, 0])[0] += 1
    for one, reason in score.unnoticed.items():
        counted.setdefault(one.operator, [0, 0, 0])[2 if reason == OPEN else 1] += 1
    width = max(map(len, counted), default=0)
    for operator, (seen, barred, lacking) in sorted(counted.items()):
        yield f"{operator:<{width}}  {seen:>5} noticed  {barred:>5} cannot be  {lacking:>5} open"
    unnoticed, missing = len(score.unnoticed), len(score.open)
    yield f"{len(score.noticed)} distortions noticed, {unnoticed} not; for {missing} a case is missing"
