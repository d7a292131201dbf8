"""One failure in labelled lines, for the terminal, JUnit and pytest; similar failures are shown once."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, Final

from conformance.backend.outcome import UNREGISTERED, is_unasked, kind_of_loss
from conformance.codec.scalar import shorten
from conformance.report.record import Entry, Prose, Record, called, cited_by_guards
from conformance.report.untrusted import for_log, one_line, printable
from conformance.vectors.compact import is_marker

_NUMBER = re.compile(r"[0-9]+")
_CODE = re.compile(r"[A-Z][A-Z_]+\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LARGE: Final = 2_000  # characters; a longer call is too long to read


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one operator that differ from the expectation at the same place; the first one represents them."""

    first: Entry
    others: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """The number of failures."""
        return 1 + len(self.others)


def failures_of(entries: Iterable[Entry], excused: bool = False) -> list[Entry]:
    """The entries that failed or could not be judged; with `excused` also the expected failures."""
    return [e for e in entries if e["verdict"] in ("fail", "error") and e.get("excused", False) is excused]


def group_alike(failures: Sequence[Entry], prose: Prose) -> list[FailureGroup]:
    """The distinct failures: first those with a readable difference, among these the most frequent first.

    Checks that were not asked come last: another failure is the cause.
    Fuzzed calls join the frozen cases that differ at the same place, so that a smaller call can represent them.
    """
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in failures:
        groups.setdefault(_shape(entry), []).append(entry)
    for shape in [shape for shape in groups if shape[1] == "fuzz" and groups[shape][0].get("difference")]:
        hosts = [other for other in groups if other[1] == "vector" and _place(other) == _place(shape)]
        if len(hosts) == 1:
            groups[hosts[0]] += groups.pop(shape)
    found = [_group_of(group, prose) for group in groups.values()]
    return sorted(found, key=_order)


def _order(alike: FailureGroup) -> tuple[Any, ...]:
    first = alike.first
    return (is_unasked(first.get("message", "")), _is_opaque(first), -alike.size, first["id"])


def _group_of(group: Sequence[Entry], prose: Prose) -> FailureGroup:
    """The group, its smallest failure that cites the differing field first; the size of an answer does not count.

    A frozen case has a reason and can be explained: a drawn call comes first only if the frozen ones are large.
    """

    def rank(entry: Entry) -> tuple[Any, ...]:
        inputs = len(str(entry.get("call", {}).get("inputs", "")))
        drawn = entry["kind"] == "fuzz"
        return (inputs > _LARGE, drawn, not _cites(entry, prose), "step" in entry, inputs, entry["id"])

    first = min(group, key=rank)
    return FailureGroup(first, tuple(entry for entry in group if entry is not first))


def _place(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape without kind of check and postconditions, because not all drawn calls name them."""
    return (shape[0], *shape[2:-1])


def _is_opaque(entry: Entry) -> bool:
    """Whether a failure shows only that two digests differ."""
    difference = entry.get("difference", {})
    sides = (difference.get("expected"), difference.get("actual"))
    return all(isinstance(side, Mapping) and ("sha256" in side or is_marker(side)) for side in sides)


def _cites(entry: Entry, prose: Prose) -> bool:
    """Whether the reason of a check, or a requirement of it, names the field that differs."""
    fields = _NAME.findall(entry.get("difference", {}).get("path", ""))
    rows = [prose["requirements"].get(id_, {}) for id_ in entry["requirements"]]
    words = " ".join([entry["why"], entry["group"], *(row.get("text", "") for row in rows)])
    return bool(fields) and fields[-1] in _NAME.findall(words)


def _shape(entry: Entry) -> tuple[Any, ...]:
    difference = entry.get("difference")
    head = (entry["operator"], entry["kind"], entry["verdict"], entry.get("outcome", ""))
    if difference is None:
        return (*head, kind_of_loss(entry.get("message", "")))
    codes = tuple(value if _is_code(value) else "" for value in (difference["expected"], difference["actual"]))
    return (*head, _NUMBER.sub("#", difference["path"]), codes, tuple(entry.get("broken", ())))


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and _CODE.match(value) is not None


LABEL: Final = 12  # columns; the widest label is "requirement"
_LAST_WORDS: Final = 6  # lines of stderr; the end of a traceback has the reason
_CALLED: Final = re.compile(r"\s+(?:at|from) ")  # a line of a trace: where the line above was called
_WINDOW: Final = 48  # characters of a long value that are shown around the first difference
_CONTEXT: Final = 16  # of them before it


@dataclass(frozen=True, slots=True)
class Fact:
    """One labelled line; a `verbatim` one is never wrapped, so that it can be copied."""

    label: str
    text: str
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The options of a run: enough to write the commands that repeat it."""

    backend: str
    profile: str
    wire: str
    seed: str = ""
    sandbox: str = "none"

    def repeat(self, check: str, crash: bool = False) -> str:
        """The command that repeats one check alone; a `crash` workload needs `--crash`."""
        words = ["tally", "run", "--backend", self.backend]
        if self.wire != "json":
            words += ["--wire", self.wire]
        if self.profile != "standard":
            words += ["--profile", self.profile]
        if self.sandbox != "none":
            words += ["--sandbox", self.sandbox]
        if self.seed:
            words += ["--seed", self.seed]
        return shlex.join([*words, *(["--crash"] if crash else []), "-k", check])

    def explain(self, check: str) -> str:
        """The command that derives what a vector expects."""
        return shlex.join(["tally", "explain", "--backend", self.backend, check])


def reproduction_in(record: Record) -> Reproduction:
    """The options of the run of a record."""
    backend: Mapping[str, str] = record["backend"]
    return Reproduction(backend["text"], record["profile"], backend["wire"], record["seed"], backend["sandbox"])


def stderr_in(observations: Mapping[str, Any], entry: Entry) -> str:
    """The stderr of the backend before it was lost in a check; empty if it was not lost.

    If it answered with an error of no contract, an exception may be the cause: then the end of its stderr in the run.
    """
    if entry.get("difference", {}).get("expected") == UNREGISTERED and (
        said := str(observations.get("stderr_tail", "")).rstrip()
    ):
        head = "(the last lines of the run, perhaps of another check)"
        return "\n".join([head, *_last_words(said, _LAST_WORDS - 1)])
    return str(observations.get("stderr", {}).get(entry["id"], ""))


def _last_words(said: str, most: int = _LAST_WORDS) -> list[str]:
    """The last lines; of calls that follow the message of an exception, as in JavaScript and Java, only the first."""
    lines = [line for line in said.splitlines() if line.strip()]
    told = [line for before, line in pairwise(["", *lines]) if not (_CALLED.match(before) and _CALLED.match(line))]
    return told[-most:]


def seconds_in(observations: Mapping[str, Any], entry: Entry) -> float:
    """The duration of a check in seconds, 0 if it was not observed."""
    return float(observations.get("durations", {}).get(entry["id"], 0))


def headline(entry: Entry) -> str:
    """One line about a failure: its message, or the place of the difference."""
    if message := entry.get("message", ""):
        return str(message)
    difference: Mapping[str, Any] = entry.get("difference", {})
    if difference:
        expected, actual = shorten(difference["expected"]), shorten(difference["actual"])
        return f"{difference['path']}: expected {expected}, found {actual}"
    return str(entry["verdict"])


def excuse_of(record: Record, entry: Entry) -> str:
    """The reason of an expected failure."""
    for expected in record["expected_failures"]:
        if fnmatchcase(entry["id"], expected["check"]):
            return f"expected to fail: {expected['reason']} ({expected['issue']})"
    return "expected to fail"


def facts_of(entry: Entry, prose: Prose, tried: Reproduction, stderr: str = "") -> Iterator[Fact]:
    """Everything that is known about one failure, in the order of a reader's questions.

    `stderr` is an observation of this run, never part of a record.
    """
    if entry["why"]:
        yield Fact("why", entry["why"])
    if message := entry.get("message", ""):
        yield Fact("found", message)
    if step := entry.get("step", ""):
        yield Fact("step", step)
    if (difference := entry.get("difference")) is not None:
        yield from _difference(difference)
    for number, line in enumerate(entry.get("details", {}).get("trace", ())):
        # Whole lines, so that they can be pasted under `vectors` of the machine's contract.
        yield Fact("" if number else "trace", line, verbatim=True)
    if (call := entry.get("call")) is not None:
        yield Fact("asked", cut(f"{call['operator']} {json_text(call['inputs'])}"))
    guards = entry.get("details", {}).get("guards", {})
    yield from _guards(guards)
    for id_ in cited_by_guards(entry, "requirements") or entry["requirements"]:
        yield _cited("requirement", id_, prose["requirements"].get(id_, {}))
    for id_ in entry["rulings"] if not guards else cited_by_guards(entry, "rulings"):
        yield _cited("ruling", id_, prose["rulings"].get(id_, {}))
    for id_ in entry.get("broken", ()):
        clause = prose["clauses"].get(f"{called(entry)}/{id_}", {})
        yield Fact("broken", f"{id_}: {clause['text']}" if clause else id_)
    yield Fact("repeat", tried.repeat(entry["id"], entry["kind"] == "crash"), verbatim=True)
    for number, line in enumerate(_last_words(stderr)):
        yield Fact("" if number else "stderr", cut(line))
    if entry["kind"] == "vector" and ("call" in entry or entry["verdict"] == "fail"):
        yield Fact("explain", tried.explain(entry["id"]), verbatim=True)
    elif entry["kind"] == "fuzz":
        # No frozen case has this call, so the rules of its operator are shown.
        operator = entry["call"]["operator"] if "call" in entry else entry["operator"]
        yield Fact("explain", shlex.join(["tally", "explain", operator]), verbatim=True)


def _difference(difference: Entry) -> Iterator[Fact]:
    note, path = difference.get("note", ""), difference["path"]
    expected, actual = (shown_value(difference[side], path, note) for side in ("expected", "actual"))
    where = f"{path or 'outcome'}" + (f" ({note})" if note else "")
    longest = max(len(expected), len(actual))
    if longest > _WINDOW and not _is_phrase(actual, path, note):
        at = first_difference(expected, actual)
        where += f", shown from character {max(at - _CONTEXT, 0)} of {longest}"
        expected, actual = window(expected, at), window(actual, at)
    yield Fact("differs at", where)
    if said := _lengths(difference):
        yield Fact("length", said)
    yield Fact("expected", cut(expected))
    yield Fact("actual", cut(actual))


def _lengths(difference: Entry) -> str:
    """The difference in length of a long text from the right one; empty if both are short or equally long."""
    right, wrong = difference["expected"], difference["actual"]
    if not (isinstance(right, str) and isinstance(wrong, str)) or _is_phrase(wrong, difference["path"], ""):
        return ""
    if len(right) == len(wrong) or max(len(right), len(wrong)) <= _WINDOW or difference.get("note"):
        return ""
    same = first_difference(right, wrong)
    return f"{len(wrong):,} characters instead of {len(right):,}; the first {same:,} agree"


def _guards(guards: Mapping[str, Any]) -> Iterator[Fact]:
    """The two guards that compete, if a wrong failure was answered."""
    decides, answered = guards.get("decides"), guards.get("answered", ())
    if decides is not None:
        yield Fact("guard", f"{decides['id']} decides with {decides['code']}: {decides['that']}")
    for guard in answered:
        place = "comes later" if decides is not None else "allows this call"
        # No guard refuses the call; the answer does not show which of several the backend applied.
        label = "answered as" if decides is not None or len(answered) == 1 else "perhaps"
        yield Fact(label, f"{guard['id']} with {guard['code']}, which {place}: {guard['that']}")


def _cited(label: str, id_: str, row: Mapping[str, str]) -> Fact:
    section = f" (§ {row['section']})" if row.get("section") else ""
    return Fact(label, f"{id_}{section}: {row['text']}" if row else id_)


def shown_value(value: Any, path: str, note: str) -> str:
    """One side of a difference: a wire value, or a phrase if there is no value to compare."""
    return value if _is_phrase(value, path, note) else json_text(value)


def _is_phrase(value: Any, path: str, note: str) -> bool:
    return isinstance(value, str) and (note == "ill-typed" or path in ("", "outcome", "answer"))


def json_text(value: Any) -> str:
    """A wire value on one line."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def first_difference(one: str, other: str) -> int:
    """The index of the first character in which two texts differ, or the length of the shorter."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def window(text: str, at: int) -> str:
    """A long text cut to the part around `at`."""
    if len(text) <= _WINDOW:
        return text
    start = max(at - _CONTEXT, 0)
    head = "..." if start else ""
    tail = "..." if start + _WINDOW < len(text) else ""
    return f"{head}{text[start : start + _WINDOW]}{tail}"


def cut(text: str, limit: int = 280, whole: str = "; the record has them all") -> str:
    """A text of at most `limit` characters, and the length of the whole; `whole` says where it is."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters{whole})"


def lines_of(facts: Iterable[Fact], width: int) -> Iterator[tuple[str, str]]:
    """The facts as (label, text) lines of at most `width` columns; a continuation has an empty label."""
    for fact in facts:
        pieces = [one_line(fact.text)]
        if not fact.verbatim:
            pieces = [
                piece
                for line in printable(fact.text).splitlines() or [""]
                for piece in textwrap.wrap(line, max(width - LABEL, 20), break_on_hyphens=False) or [""]
            ]
        for number, piece in enumerate(pieces):
            yield ("" if number else fact.label), for_log(piece)


WIDEST: Final = 120  # columns; longer lines of prose are hard to read


def wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    """A line of prose in lines of at most `width` columns; words are not broken.

    Only the first line starts at the margin, so that no text of a backend can be mistaken for the verdict.
    """
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def plain_lines(facts: Iterable[Fact]) -> str:
    """The facts as plain text."""
    return "\n".join(f"{label:<{LABEL}}{text}".rstrip() for label, text in lines_of(facts, 80))
