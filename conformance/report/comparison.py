"""The differences of several records or run manifests, and whether they can be compared at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.contract.wording import counted
from conformance.report.failure import cut
from conformance.report.markdown import code, table
from conformance.report.record import Record
from conformance.report.stored import Manifest, column_differences, text_of
from conformance.report.untrusted import one_line
from conformance.report.verdict import NOT_TRIED
from conformance.vectors.jsontext import digest_of, document_text

# These members decide; so do the contracts, the fuzzed calls, the checks made and the crash workloads.
_DECIDING: Final = ("harness", "vectors", "profile", "selection", "seed")
_TOLD: Final = ("text", "name", "version", "language", "wire", "sandbox", "operators")  # of the backend
_ABSENT: Final = "(absent)"
_SHOWN: Final = 20  # checks


@dataclass(frozen=True, slots=True)
class RunDifference:
    """One difference of the compared files; `decides` if it makes them not comparable."""

    what: str
    values: tuple[str, ...]  # one for each file
    decides: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The names of the compared files, their differences, and the checks with different verdicts, a word per file."""

    names: tuple[str, ...]
    differing: tuple[RunDifference, ...]
    verdicts: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether no difference decides."""
        return not any(one.decides for one in self.differing)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        if self.comparable:
            told = ", ".join(one.what for one in self.differing)
            return f"COMPARABLE: they differ in {told}" if told else "COMPARABLE: they differ in nothing"
        return f"NOT COMPARABLE: they differ in {', '.join(one.what for one in self.differing if one.decides)}"


def compare_records(names: Sequence[str], records: Sequence[Record]) -> Comparison:
    """Compare records: the questions decide, the answers do not."""
    found = [_differing(name, [record[name] for record in records], True) for name in _DECIDING]
    found += _of_each("contract of", [record["contracts"] for record in records])
    examples = [{op: figures.get("examples") for op, figures in record["fuzz"].items()} for record in records]
    shared = {operator for operator in examples[0] if all(operator in one for one in examples)}
    found += _of_each("fuzzed calls of", [{operator: one[operator] for operator in shared} for one in examples])
    found.append(_differing("checks that were made", [_part(record) for record in records], True))
    tried = ["no" if record["crash"] == NOT_TRIED else "yes" for record in records]
    found.append(_differing("crash workloads tried", tried, True))
    found += [_differing(f"backend {name}", [record["backend"][name] for record in records], False) for name in _TOLD]
    for name in ("expected_failures", "crash", "verdict"):
        found.append(_differing(name.replace("_", " "), [record[name] for record in records], False))
    return Comparison(tuple(names), tuple(filter(None, found)), tuple(_verdicts(records)))


def _part(record: Record) -> str:
    """The checks that a run made, if it ended early or chose only the checks that had failed."""
    if not record.members.get("stopped", 0) and "--last-failed" not in record["selection"].split():
        return "all that were selected"
    ids = [entry["id"] for entry in record.entries]
    return f"{counted(len(ids), 'check')}, digest {digest_of(ids)[:16]}"


def compare_manifests(manifests: Sequence[Manifest]) -> Comparison:
    """Compare run manifests: the members that a requirement names decide. The rows of run traces are compared too.

    Raises BrokenRecord for a row that cannot be read.
    """
    members = [manifest.members for manifest in manifests]
    found = []
    for name in sorted({name for one in members for name in one}):
        requirement = manifests[0].deciding.get(name, "")
        what = f"{name} ({requirement})" if requirement else name
        found.append(_differing(what, [_unordered(one.get(name, _ABSENT)) for one in members], bool(requirement)))
    rows = _rows([one.file for one in manifests]) if all(one.is_trace for one in manifests) else []
    return Comparison(tuple(str(one.file) for one in manifests), tuple(filter(None, [*found, *rows])))


def _rows(traces: Sequence[Path]) -> Iterator[RunDifference | None]:
    """The differences between the rows of run traces; none of them decides."""
    counts, apart = column_differences(traces)
    yield _differing("number of rows", counts, False)
    for one in apart:
        yield RunDifference(f"{one.column}, in {counted(one.rows, 'row')}, first in row {one.first}", one.values, False)


def _unordered(value: Any) -> Any:
    return sorted(map(text_of, value)) if isinstance(value, list) else value


def _of_each(what: str, found: Sequence[Mapping[str, Any]]) -> list[RunDifference | None]:
    names = sorted({name for one in found for name in one})
    return [_differing(f"{what} {name}", [one.get(name, _ABSENT) for one in found], True) for name in names]


def _differing(what: str, values: Sequence[Any], decides: bool) -> RunDifference | None:
    texts = tuple(text_of(value) for value in values)
    return RunDifference(what, texts, decides) if len(set(texts)) > 1 else None


def _verdicts(records: Sequence[Record]) -> Iterator[tuple[str, tuple[str, ...]]]:
    said = [{entry["id"]: _word(entry) for entry in record.entries} for record in records]
    for id_ in sorted({id_ for one in said for id_ in one}):
        words = tuple(one.get(id_, _ABSENT) for one in said)
        if len(set(words)) > 1:
            yield id_, words


def _word(entry: Mapping[str, Any]) -> str:
    return "excused" if entry.get("excused", False) else str(entry["verdict"])


def as_text(comparison: Comparison) -> str:
    """Lines for a terminal."""
    width = max(map(len, map(one_line, comparison.names)))
    lines = [one_line(cut(comparison.sentence, 2000))]
    for one in comparison.differing:
        lines.append(one_line(f"{one.what}{', which decides' if one.decides else ''}:"))
        for name, value in zip(comparison.names, one.values, strict=True):
            lines.append(f"    {one_line(name):<{width}}  {one_line(cut(value))}")
    if comparison.verdicts:
        lines.append(f"{counted(len(comparison.verdicts), 'check')} with different verdicts:")
        kinds = Counter(words for _, words in comparison.verdicts)
        lines += [f"    {times:>6}  {' / '.join(words)}" for words, times in sorted(kinds.items())]
        lines += [f"    {one_line(id_)}: {' / '.join(words)}" for id_, words in comparison.verdicts[:_SHOWN]]
        lines += [f"    {hidden}"] if (hidden := _hidden(comparison)) else []
    return "\n".join(lines) + "\n"


def as_markdown(comparison: Comparison) -> str:
    """A section of a page."""
    blocks = ["## Comparison", code(cut(comparison.sentence, 2000))]
    names = [code(name) for name in comparison.names]
    if comparison.differing:
        rows = [
            [code(one.what), "yes" if one.decides else "no", *(code(cut(value)) for value in one.values)]
            for one in comparison.differing
        ]
        blocks.append(table(["what differs", "decides", *names], rows))
    if comparison.verdicts:
        blocks.append(f"{counted(len(comparison.verdicts), 'check')} with different verdicts:")
        rows = [[code(id_), *(code(word) for word in words)] for id_, words in comparison.verdicts[:_SHOWN]]
        blocks.append(table(["check", *names], rows))
        blocks += [hidden] if (hidden := _hidden(comparison)) else []
    return "\n\n".join(blocks) + "\n"


def as_json(comparison: Comparison) -> str:
    """A JSON object with everything."""
    return document_text(
        {
            "comparable": comparison.comparable,
            "compared": list(comparison.names),
            "differing": [
                {"what": one.what, "decides": one.decides, "values": list(one.values)} for one in comparison.differing
            ],
            "sentence": comparison.sentence,
            "verdicts": {id_: list(words) for id_, words in comparison.verdicts},
        }
    )


def _hidden(comparison: Comparison) -> str:
    hidden = len(comparison.verdicts) - _SHOWN
    return f"and {hidden} more; --format json shows them all" if hidden > 0 else ""
