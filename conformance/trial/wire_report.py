"""The distortion score on disk: reports/distortions.json, compact, so that a change of it can be reviewed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.trial.wire import OPEN, Distortion, Score
from conformance.vectors.jsontext import json_text

FORMAT: Final = 1
FILE: Final = "distortions.json"


class UnreadableScore(Exception):
    """The committed score is missing or not of this format; says which file and the next step."""


def score_text(score: Score) -> str:
    """The text of reports/distortions.json: per operator and side how many are noticed, and the others by reason."""
    operators: dict[str, Any] = {}
    for one in sorted(score.noticed):
        _side(operators, one)["noticed"] += 1
    for one, reason in sorted(score.unnoticed.items()):
        leaves = _side(operators, one)["unnoticed"].setdefault(reason, {})
        leaves[one.leaf] = f"{leaves[one.leaf]} {one.name}" if one.leaf in leaves else one.name
    totals = {"noticed": len(score.noticed), "unnoticed": len(score.unnoticed), "open": len(score.open)}
    return json_text({"format": FORMAT, "total": totals, "operators": operators})


def _side(operators: dict[str, Any], one: Distortion) -> dict[str, Any]:
    sides: dict[str, Any] = operators.setdefault(one.operator, {})
    side: dict[str, Any] = sides.setdefault(one.side, {"noticed": 0, "unnoticed": {}})
    return side


def read_unnoticed(file: Path) -> dict[Distortion, str]:
    """The unnoticed distortions of a committed score with their reasons; raises UnreadableScore."""
    try:
        record = json.loads(file.read_text("utf-8"))
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']!r}")
        return dict(_unnoticed(record["operators"]))
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "run `tally mutants --wire --write`"
        raise UnreadableScore(f"{file}: {error!r:.200}\n    hint: {hint}") from None


def _unnoticed(operators: Mapping[str, Any]) -> Iterator[tuple[Distortion, str]]:
    for operator, sides in operators.items():
        for side, body in sides.items():
            for reason, leaves in body["unnoticed"].items():
                for leaf, names in leaves.items():
                    for name in names.split():
                        yield Distortion(operator, side, leaf, name), reason


def changes(committed: Mapping[Distortion, str], score: Score, only: frozenset[str]) -> Iterator[str]:
    """What a fresh score says otherwise than the committed one, of the operators that were looked at."""
    for one in sorted(committed.keys() | score.unnoticed.keys()):
        if only and one.operator not in only:
            continue
        old, new = committed.get(one, "noticed"), score.unnoticed.get(one, "noticed")
        if old != new:
            yield f"{one.operator}, {one.side}, {one.leaf}: {one.name} was: {old}; is: {new}"


def summary(score: Score) -> Iterator[str]:
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
