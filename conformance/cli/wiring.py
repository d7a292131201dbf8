"""What `tally mutants --wire` does."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cli.complaint import Complaint, nearest
from conformance.cli.say import say
from conformance.cli.specification import frozen_vectors, specification
from conformance.trial import wire_report
from conformance.trial.wire import wire_score

FINE, BAD = 0, 1


def judge_wire(operators: Sequence[str], write: bool) -> int:
    """Score the operators, or all, and compare with the committed score or write it."""
    library = specification()
    for name in operators:
        if name not in library.contracts:
            known = nearest(name, sorted(library.contracts))
            raise Complaint(f"operator {name!r}", "T003", "no contract has this name", known)
    score = wire_score(library, frozen_vectors(library, least=1), operators)
    say("\n".join(wire_report.summary(score)))
    file = library.layout.reports / wire_report.FILE
    if operators:
        for one, reason in sorted(score.unnoticed.items()):
            say(f"{one.operator}, {one.side}, {one.leaf}: {one.name}: {reason}")
    if write:
        file.parent.mkdir(exist_ok=True)
        file.write_text(wire_report.score_text(score), encoding="utf-8")
        say(f"wrote {library.layout.shown(file)}")
        return FINE
    try:
        committed = wire_report.read_unnoticed(file)
    except wire_report.UnreadableScore as error:
        say(f"red: {error}")
        return BAD
    stale = list(wire_report.changes(committed, score, frozenset(operators)))
    for sentence in stale:
        say(f"red: {sentence}\n    hint: run `tally mutants --wire --write` and review the difference")
    return BAD if stale else FINE
