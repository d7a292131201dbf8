"""The parts of a report that a terminal and a page share: the scope of the run, the score of each operator, remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.suggest import close_to
from conformance.contract.wording import counted
from conformance.report.failure import (
    LABEL,
    Fact,
    FailureGroup,
    facts_of,
    failures_of,
    group_alike,
    reproduction_in,
    stderr_in,
)
from conformance.report.mistake_shapes import looks_like
from conformance.report.record import Entry, Record, by_operator
from conformance.report.verdict import some_of

# The kinds of checks in the order of the columns, with their titles.
KINDS: Final = {"vector": "vectors", "law": "laws", "behaviour": "behaviour", "fuzz": "fuzz", "crash": "crash"}


MOST_FAILURES: Final = 8  # distinct failures; with more, the first one scrolls off the screen
_GROUP: Final = {"fail": "Failure group", "error": "Error group"}


@dataclass(frozen=True, slots=True)
class Score:
    """The passed checks among those that ran; `excused` failures were expected, `undeclared` checks never ran."""

    passed: int = 0
    excused: int = 0
    bad: int = 0
    undeclared: int = 0

    @property
    def ran(self) -> int:
        """The number of judged checks."""
        return self.passed + self.excused + self.bad

    @property
    def text(self) -> str:
        """The cell: passed/run, empty if there was nothing to run."""
        return f"{self.passed}/{self.ran}" if self.ran else ""

    @property
    def named(self) -> str:
        """The cell with the verdict."""
        return f"{self.text} {self.word}".strip()

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.bad:
            return "FAIL"
        if self.ran:
            return "pass" if not self.excused else "excused"
        return "n/a" if self.undeclared else "not run"


def score_of(entries: Iterable[Entry]) -> Score:
    """The score of some entries."""
    counts = Counter("excused" if entry.get("excused", False) else _COUNTED[entry["verdict"]] for entry in entries)
    return Score(**counts)


_COUNTED: Final = {"pass": "passed", "fail": "bad", "error": "bad", "not_applicable": "undeclared"}


def scores_by_kind(record: Record) -> tuple[list[str], list[tuple[str, list[Score], str]]]:
    """The titles of the kinds of a run, and for each declared operator its scores by kind and its verdict in a word."""
    kinds = [kind for kind in KINDS if any(entry["kind"] == kind for entry in record.entries)]
    folded = undeclared([record])
    rows = [
        (operator, [score_of(one for one in entries if one["kind"] == kind) for kind in kinds], score_of(entries).word)
        for operator, entries in by_operator(record.entries).items()
        if operator not in folded
    ]
    return [KINDS[kind] for kind in kinds], rows


def scores_by_backend(records: Sequence[Record]) -> list[tuple[str, list[Score | None]]]:
    """Every operator with its score on each backend; None if a record has no check of it."""
    columns = [{name: score_of(some) for name, some in by_operator(record.entries).items()} for record in records]
    operators = sorted({operator for column in columns for operator in column})
    return [(operator, [column.get(operator) for column in columns]) for operator in operators]


def listed_failures(
    record: Record, observations: Mapping[str, Any], most: int
) -> tuple[list[tuple[str, list[Fact], str]], str]:
    """Title, facts and hint (may be empty) of at most `most` distinct failures, and how many are left out."""
    groups = group_alike(failures_of(record.entries), record["prose"])
    told = []
    for number, alike in enumerate(groups[:most], 1):
        first = alike.first
        title = f"{_GROUP[first['verdict']]} {number} of {len(groups)} ({counted(alike.size, 'check')}): {first['id']}"
        facts = [*facts_of(first, record["prose"], reproduction_in(record), stderr_in(observations, first))]
        facts += [others_of(alike)] if alike.others else []
        told.append((title, facts, looks_like([first, *alike.others])))
    hidden = sum(alike.size for alike in groups[most:])
    left = f"and {counted(len(groups) - most, 'more distinct failure')} ({counted(hidden, 'check')})"
    return told, left if len(groups) > most else ""


def banner(record: Record) -> Iterator[tuple[str, str]]:
    """The scope of the run as (label, text) lines; a continuation has an empty label."""
    backend, counts = record["backend"], record["counts"]
    said = " ".join(filter(None, [backend["name"], backend["version"]]))
    language = f" ({backend['language']})" if backend["language"] else ""
    text = "" if backend["name"] == backend["text"] else f"{backend['text']}: "
    yield "backend", f"{text}{said}{language}"
    chosen = f", selected {record['selection']}" if record["selection"] else ""
    seed = f", seed {record['seed']}" if record["seed"] else ""
    boxed = f", sandbox {backend['sandbox']}" if backend["sandbox"] != "none" else ""
    yield "run", f"profile {record['profile']}, wire {backend['wire']}{boxed}{chosen}{seed}"
    yield "against", f"tallystick {record['harness']}, vectors {record['vectors'][:16]}"
    judged = f"{counts['loaded']} loaded, {counts['selected']} selected"
    yield "checks", f"{judged}, {counts['not_applicable']} not applicable,"
    yield "", f"{' ' * LABEL}{counts['expected_to_fail']} expected to fail, {counts['run']} run"


def undeclared(records: Iterable[Record]) -> list[str]:
    """The operators of these records that none of their backends declares, sorted."""
    words: dict[str, set[str]] = {}
    for record in records:
        for operator, entries in by_operator(record.entries).items():
            words.setdefault(operator, set()).add(score_of(entries).word)
    return sorted(operator for operator, found in words.items() if found == {"n/a"})


def undeclared_line(names: Sequence[str], most: int = 3) -> str:
    """One line about the operators that are not declared, with at most `most` names."""
    return f"not declared: {counted(len(names), 'operator')} ({some_of(names, most)})"


def others_of(alike: FailureGroup) -> Fact:
    """The number of similar failures, and their groups."""
    groups = Counter(entry["group"] for entry in alike.others)
    named = ", ".join(f"{group} {count}" for group, count in groups.most_common(4))
    hidden = sum(count for _, count in groups.most_common()[4:])
    checks = counted(len(alike.others), "other check")
    return Fact("alike", f"Same failure in {checks}: {named}" + (f", other groups {hidden}" if hidden else ""))


def remarks(record: Record) -> Iterator[tuple[str, str]]:
    """The remarks about a whole run, as (text, style) lines."""
    if unknown := sorted({*record["backend"]["operators"]} - {*record["contracts"]}):
        meant = [one for name in unknown for one in close_to(name, [*record["contracts"]], 0.8, 1)]
        hint = f" (did you mean {some_of(meant)}?)" if meant else ""
        if not meant and len(unknown) == len(record["backend"]["operators"]):
            hint = " (are they of another suite? --suite DIR names it)"
        yield f"declared, but no contract has this name: {some_of(unknown)}{hint}", "yellow"
    for loss, times in Counter(record["unattributed"]).items():
        often = f" {times} times" if times > 1 else ""
        yield f"unattributed: the backend was lost{often}, and no check repeats it alone: {loss}", "red"
    for why in record["obstacles"]:
        yield f"nothing can be judged: {why}", "red"
    for name in record["missing"]:
        yield f"required, but not declared: {name}", "red"
    for id_ in record["unexpected_passes"]:
        yield f"listed as an expected failure, but passes: {id_}; take it off the list", "red"
    for pattern in record["unmatched_expectations"]:
        yield f"listed as an expected failure, but no check has this id: {pattern}", "red"
    excused = failures_of(record.entries, excused=True)
    if excused:
        checks = counted(len(excused), "check")
        yield f"{checks} failed as expected. Runs with expected failures are not certifiable.", "yellow"
    if record["fuzz"]:
        yield f"fuzz: {_figures(record['fuzz'].values())}", "dim"
    diagnosis = record["diagnosis"]
    if diagnosis is not None and diagnosis["mutants"]:
        cited = ", ".join([*diagnosis["requirements"], *diagnosis["rulings"]])
        said = f"{diagnosis['sentence']} ({cited}); as mutant {' or '.join(diagnosis['mutants'])}"
        if diagnosis["single"]:
            yield f"answers this case as a backend that {said}. One failing case is too little for a diagnosis.", "bold"
        else:
            yield f"diagnosis: {said}", "bold"
    elif failures_of(record.entries) and not record["obstacles"]:
        why = "no kill matrix to look it up in"
        if diagnosis is not None:
            why = diagnosis["sentence"] or "no known mistake gives these answers"
        yield f"diagnosis: not explained ({why})", "bold"


def _figures(operators: Collection[Mapping[str, Any]]) -> str:
    examples, listed = (sum(figures.get(name, 0) for figures in operators) for name in ("examples", "listed"))
    share = 100 * sum(figures["succeeded"] for figures in operators) // max(examples, 1)
    guards = [sides for figures in operators for sides in figures.get("guards", {}).values()]
    both = sum(all(sides.values()) for sides in guards)
    drawn = f"{counted(listed, 'call')} listed, {examples} drawn, of which {share} % succeed"
    if not examples:
        drawn = f"{counted(listed, 'call')} listed, none drawn (fuzzing ends at the first wrong answer)"
    return f"{drawn}; {both} of {counted(len(guards), 'guard')} reached from both sides"
