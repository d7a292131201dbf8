"""The difference of two states of a suite for a terminal, as Markdown, as JSON and as an entry of a changelog."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, Final

from conformance.report.markdown import code, table
from conformance.report.suite_difference import ADDED, CertificateLapse, RequirementChange, SuiteDifference
from conformance.report.untrusted import one_line
from conformance.report.verdict import counted
from conformance.vectors.governance import ContractChange, Level
from conformance.vectors.jsontext import document_text

_WIDTH: Final = 80
_SHOWN: Final = 20  # cases and requirements in one list, where not all are asked for


def as_text(difference: SuiteDifference, every: bool = False) -> str:
    """Lines of at most 80 columns; `every` lists all cases."""
    lines = list(_wrapped(f"{difference.old} -> {difference.new}: {difference.sentence}", 0))
    for remark in difference.remarks:
        lines += _wrapped(f"warning: {remark}", 0)
    for label, said in _counts(difference):
        lines += _wrapped(f"{label:<13} {said}", 2, 16)
    for change in difference.contracts:
        lines += ["", *_wrapped(f"{change.operator}  {_versions(change)}", 0)]
        for label, said in _facts(change, difference):
            lines += _wrapped(f"{label:<7} {said}", 4, 12)
        cases = list(_cases(change, difference, every))
        for id_, how in cases if every else cases[:_SHOWN]:
            lines += _wrapped(f"{id_} {how}", 4, 8)
        lines += _hidden(len(cases), every)
    if difference.requirements:
        lines += ["", "requirements"]
        for row in difference.requirements if every else difference.requirements[:_SHOWN]:
            lines += _wrapped(_row(row), 4, 8)
        lines += _hidden(len(difference.requirements), every)
    if difference.certificates:
        lines += ["", "certificates (their signatures are not looked at; `tally verify` does that)"]
        for one in difference.certificates:
            lines += _wrapped(_certificate(one), 4, 8)
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: int, further: int | None = None) -> list[str]:
    """A line of any text, broken where it is longer than the terminal is wide."""
    behind = " " * (indent + 4 if further is None else further)
    return wrap(
        one_line(text),
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=behind,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _hidden(count: int, every: bool) -> list[str]:
    hidden = count - _SHOWN
    return [f"    and {hidden} more; --cases and --format json show them all"] if hidden > 0 and not every else []


def _counts(difference: SuiteDifference) -> Iterator[tuple[str, str]]:
    yield "vectors", difference.vectors
    hows = [row.how for row in difference.requirements]
    yield "requirements", f"{hows.count(ADDED)} added, {hows.count('gone')} gone, {hows.count('changed')} changed"
    if difference.reworded:
        yield "prose", f"differs in {', '.join(difference.reworded)}"
    yield "certificates", f"lapse for {len(difference.lapsing)} of {counted(difference.operators, 'operator')}"


def _versions(change: ContractChange) -> str:
    if not change.then:
        successor = f", the successor of {change.predecessor}" if change.predecessor else ""
        return f"new, version {change.now}{successor}"
    if not change.now:
        return f"{change.then}, gone"
    return f"{change.then} -> {change.now}  asked: {_word(change.asked)}, given: {_word(change.given)}"


def _word(level: Level) -> str:
    return level.name if level else "nothing"


def _facts(change: ContractChange, difference: SuiteDifference) -> Iterator[tuple[str, str]]:
    for reason in change.reasons:
        yield reason.level.name, reason.text
    if not change.then:
        yield "", f"{counted(len(change.added), 'vector')} added"
    if tested := difference.tested.get(change.operator, ()):
        yield "tests", ", ".join(tested)
    if change.operator in difference.lapsing:
        yield "lapsed", f"certificates: {difference.lapsing[change.operator]}"
    if change.wanted:
        yield "next", change.wanted


def _cases(change: ContractChange, difference: SuiteDifference, added: bool) -> Iterator[tuple[str, str]]:
    """The ids of cases that are not the same, and what happened to each; those that are new where `added` is true."""
    yield from ((id_, "is gone") for id_ in change.removed)
    yield from ((id_, f"changed in {difference.changed[id_]}") for id_ in change.changed)
    if added:
        yield from ((id_, "was added") for id_ in change.added)


def _row(row: RequirementChange) -> str:
    parts = f" ({' and '.join(row.parts)})" if row.parts else ""
    return f"{row.id} {row.how}{parts}{f': {row.sentence}' if row.sentence else ''}"


def _certificate(one: CertificateLapse) -> str:
    if not one.lapsing:
        return f"{one.place}: stays valid for {counted(len(one.operators), 'operator')}"
    lapsing = [
        f"{operator} ({why}{'; lapsed before' if operator in one.before else ''})"
        for operator, why in sorted(one.lapsing.items())
    ]
    rest = len(one.operators) - len(lapsing)
    stay = f"; {counted(rest, 'other operator')} as certified" if rest else ""
    return f"{one.place}: LAPSES for {', '.join(lapsing)}{stay}"


def as_markdown(difference: SuiteDifference, every: bool = False) -> str:
    """A section of a page."""
    blocks = [f"## {code(difference.old)} to {code(difference.new)}", code(difference.sentence)]
    blocks += [f"- warning: {code(remark)}" for remark in difference.remarks]
    blocks.append(table(["", ""], [[label, said] for label, said in _counts(difference)]))
    blocks += _contracts_table(difference)
    if every and difference.contracts:
        cases = [
            [code(id_), how] for change in difference.contracts for id_, how in _cases(change, difference, every)
        ]
        blocks.append(table(["case", "what"], cases))
    if difference.requirements:
        rows = [[code(row.id), row.how, " and ".join(row.parts), code(row.sentence)] for row in difference.requirements]
        blocks.append(table(["requirement", "what", "in", "it says"], rows))
    if difference.certificates:
        rows = [
            [code(one.place), "lapses" if one.lapsing else "stays", code(", ".join(sorted(one.lapsing)))]
            for one in difference.certificates
        ]
        blocks.append(table(["certificate", "", "lapses for"], rows))
    return "\n\n".join(blocks) + "\n"


def _contracts_table(difference: SuiteDifference) -> Iterator[str]:
    if not difference.contracts:
        return
    rows = [
        [code(change.operator), *map(code, (_versions(change), "; ".join(_reasons(change)), change.wanted))]
        for change in difference.contracts
    ]
    yield table(["contract", "version", "why", "next"], rows)


def _reasons(change: ContractChange) -> list[str]:
    return [f"{reason.level.name}: {reason.text}" for reason in change.reasons]


def as_json(difference: SuiteDifference, every: bool = True) -> str:
    """A JSON object with everything."""
    contracts = [
        {
            "operator": change.operator,
            "old_version": change.then or None,
            "new_version": change.now or None,
            "asked": _word(change.asked),
            "given": _word(change.given),
            "granted": change.is_granted,
            "next": change.wanted,
            "predecessor": change.predecessor or None,
            "reasons": [{"level": reason.level.name, "what": reason.text} for reason in change.reasons],
            "vectors": {
                "added": list(change.added),
                "removed": list(change.removed),
                "changed": {id_: difference.changed[id_] for id_ in change.changed},
            },
            "requirements": list(difference.tested.get(change.operator, ())),
        }
        for change in difference.contracts
    ]
    value: dict[str, Any] = {
        "old": difference.old,
        "new": difference.new,
        "governed": not difference.refused,
        "sentence": difference.sentence,
        "contracts": contracts,
        "requirements": [
            {"id": row.id, "what": row.how, "in": list(row.parts), "says": row.sentence}
            for row in difference.requirements
        ],
        "reworded": list(difference.reworded),
        "lapsing": dict(difference.lapsing),
        "certificates": [
            {"file": one.place, "operators": list(one.operators), "lapsing": dict(one.lapsing),
             "lapsed_before": list(one.before)}
            for one in difference.certificates
        ],
        "remarks": list(difference.remarks),
    }
    return document_text(value)


def as_entry(difference: SuiteDifference, tag: str) -> str:
    """An entry of a changelog about a release, in Markdown; `old` of the difference has no name before the first."""
    lines = [f"## {tag}", ""]
    for change in difference.contracts:
        lines.append(f"- {code(change.operator)} {_version_step(change)}")
        lines += [f"  - {reason.level.name}: {code(reason.text)}" for reason in change.reasons]
        if not change.then:
            lines.append(f"  - {counted(len(change.added), 'vector')}")
    if not difference.old:
        lines.append(f"- {counted(len(difference.requirements), 'requirement')}")
    for row in difference.requirements if difference.old else ():
        parts = f" ({' and '.join(row.parts)})" if row.parts else ""
        lines.append(f"- requirement {code(row.id)} {row.how}{parts}: {code(row.sentence)}")
    if difference.lapsing:
        lines.append(f"- certificates lapse for {', '.join(map(code, sorted(difference.lapsing)))}")
    return "\n".join(lines) + "\n"


def _version_step(change: ContractChange) -> str:
    if not change.then:
        return f"{change.now}, new" + (f", the successor of {code(change.predecessor)}" if change.predecessor else "")
    return f"{change.then} to {change.now}"
