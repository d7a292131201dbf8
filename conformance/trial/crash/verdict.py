"""What a backend makes of one tree that a crash left, held to what it said when nothing interrupted it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from conformance.trial.crash.asking import Answer, Kind


class Verdict(StrEnum):
    """The judgement on one crash state; the worst of what its reads show."""

    OK = "ok"
    LOST = "LOST"  # something acknowledged is not there
    STALE = "STALE"  # something older than what was acknowledged is there
    TORN = "TORN"  # what is there was never written, cannot be read, or recovery refuses or fails
    MIXED = "MIXED"  # parts of two versions are there together
    NOT_IDEMPOTENT = "NOT_IDEMPOTENT"  # a second recovery finds or leaves something else


@dataclass(frozen=True, slots=True)
class Reading:
    """What a backend answers on one tree, recovering twice."""

    recovered: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    stable: bool  # whether the second recovery found and left the same as the first
    changed: bool  # whether recovery changed the tree


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the sentence that explains it."""

    verdict: Verdict
    reason: str = ""


_LONGEST = 80  # characters of a value that a reason shows, around the first that differs
Version = tuple[Answer, ...]
OK = Judgement(Verdict.OK)


def judge(reading: Reading, names: Sequence[str], versions: Sequence[Version], floor: int, ceiling: int) -> Judgement:
    """The judgement on a reading where every version from `floor` to `ceiling` is right.

    `names` are those of the reads, `versions` what they answered after 0, 1, 2, ... uninterrupted steps.
    """
    for answer in reading.recovered:
        if answer.kind not in (Kind.RESULT, Kind.ABSENT):
            return Judgement(Verdict.TORN, f"recovery is answered by {answer}")
    right = versions[floor : ceiling + 1]
    if reading.answers not in right:
        return _wrong(reading.answers, names, versions, right, floor)
    if not reading.stable:
        return Judgement(Verdict.NOT_IDEMPOTENT, "a second recovery finds or leaves something else than the first")
    return OK


def _wrong(
    answers: Version, names: Sequence[str], versions: Sequence[Version], right: Sequence[Version], floor: int
) -> Judgement:
    for index, (name, answer) in enumerate(zip(names, answers, strict=True)):
        wanted = [version[index] for version in right]
        if answer not in wanted:
            older = [version[index] for version in versions[:floor]]
            verdict = _verdict(answer, older, [version[index] for version in versions])
            return Judgement(verdict, f"{name} is answered by {_told(answer, wanted)}")
    return Judgement(Verdict.MIXED, f"each of {', '.join(names)} is right alone, together they are of two versions")


def _told(answer: Answer, wanted: Sequence[Answer]) -> str:
    """An answer and what would be right; of two results only the first part in which the likest one differs."""
    results = [dict(_leaves(one.value)) for one in wanted if one.kind is Kind.RESULT]
    if answer.kind is not Kind.RESULT or not results:
        return f"{answer}; right is {' or '.join(dict.fromkeys(map(str, wanted)))}"
    found = dict(_leaves(answer.value))
    differing = [[p for p in (*right, *found) if right.get(p) != found.get(p)] for right in results]
    best = min(range(len(results)), key=lambda k: len(differing[k]))
    path = differing[best][0]
    sides = [repr(side[path]) if path in side else "missing" for side in (found, results[best])]
    alike = next((k for k, pair in enumerate(zip(*sides, strict=False)) if len(set(pair)) > 1), 0)
    here = max(0, alike - _LONGEST // 2)
    shown = [f"{'...' * (here > 0)}{side[here : here + _LONGEST]}" for side in sides]
    return f"a result in which {'.'.join(path)} is {shown[0]}; right is {shown[1]}"


def _verdict(answer: Answer, older: Sequence[Answer], every: Sequence[Answer]) -> Verdict:
    if answer.kind is Kind.ABSENT:
        return Verdict.LOST
    if answer in older:
        return Verdict.STALE
    if answer.kind is Kind.RESULT and _is_mixture(
        answer.value, [one.value for one in every if one.kind is Kind.RESULT]
    ):
        return Verdict.MIXED
    return Verdict.TORN


def _is_mixture(value: Any, versions: Sequence[Any]) -> bool:
    """Whether it has the parts of a version, each as in some version; texts of one length digit by digit."""
    parts = dict(_leaves(value))
    known = [dict(_leaves(version)) for version in versions]
    if not any(parts.keys() == version.keys() for version in known):
        return False
    return all(_explained(leaf, [one[path] for one in known if path in one]) for path, leaf in parts.items())


def _explained(leaf: Any, versions: Sequence[Any]) -> bool:
    if leaf in versions:
        return True
    alike = [version for version in versions if isinstance(version, str) and isinstance(leaf, str)]
    alike = [version for version in alike if len(version) == len(leaf)]
    return len(alike) > 1 and all(any(version[k] == sign for version in alike) for k, sign in enumerate(leaf))


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, str(key)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _leaves(part, (*path, str(index)))
    else:
        yield path, value
