"""The words of the verdict, the same in a terminal, a record, JUnit and the exit status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.backend.outcome import is_unasked, kind_of_loss
from conformance.contract.wording import counted
from conformance.trial.check import Verdict

CONFORMANT: Final = "CONFORMANT"
PASSED: Final = "PASSED WITH"  # n EXPECTED FAILURES follows; never certifiable
NOT_CONFORMANT: Final = "NOT CONFORMANT"
NO_JUDGEMENT: Final = "NO JUDGEMENT"
NOT_TRIED: Final = "not tried"
_RED: Final = ("unattributed", "unexpected_passes", "unmatched_expectations")
_SHOWN: Final = 3  # names in one line
_LONGEST: Final = 300  # characters of a reason in one line


def verdict_of(members: Mapping[str, Any]) -> str:
    """CONFORMANT, PASSED WITH n EXPECTED FAILURES, NOT CONFORMANT or NO JUDGEMENT, by the other members of a record."""
    if members["obstacles"]:
        return NO_JUDGEMENT
    if members["missing"]:
        return NOT_CONFORMANT
    if not members["counts"]["run"]:
        return NO_JUDGEMENT
    bad = [entry for entry in members["results"] if entry["verdict"] in (Verdict.FAIL, Verdict.ERROR)]
    excused = sum(entry.get("excused", False) for entry in bad)
    if excused < len(bad) or any(members[name] for name in _RED) or members.get("stopped"):
        return NOT_CONFORMANT
    return f"{PASSED} {counted(excused, 'EXPECTED FAILURE')}" if excused else CONFORMANT


def tone_of(verdict: str) -> str:
    """The colour of a verdict: good, fair or bad."""
    return "good" if verdict == CONFORMANT else "fair" if verdict.startswith(PASSED) else "bad"


def status_of(verdict: str) -> int:
    """The exit status of a verdict (DESIGN 7)."""
    return {NOT_CONFORMANT: 1, NO_JUDGEMENT: 2}.get(verdict, 0)


def exit_status(verdicts: Iterable[str]) -> int:
    """The exit status of a run: the worst of its backends', and 2 if there was none."""
    return max(map(status_of, verdicts), default=status_of(NO_JUDGEMENT))


def sentence_of(members: Mapping[str, Any]) -> str:
    """The verdict of a record in one line: the word, the failures, and the scope."""
    verdict, counts = str(members["verdict"]), members["counts"]
    if verdict == NO_JUDGEMENT:
        return f"{verdict}: {_hindrance(members)}"
    part = " in the selected checks" if members["selection"] else ""
    scope = members["scope"]
    tried = [f"{len(scope['operators'])} of {counted(scope['of'], 'operator')}", f"profile {members['profile']}"]
    stopped = members.get("stopped", 0)
    if part or stopped:
        failed_last = " that failed last" if "--last-failed" in members["selection"].split() else ""
        tried.insert(0, counted(counts["run"], "check") + failed_last)
    if stopped:
        planned = counts["selected"] - counts["not_applicable"]
        tried[0] = f"{counts['run']} of {counted(planned, 'check')}{failed_last} tried"
    tried.append(f"crash safety {crash_words(members['crash'])}")
    if unconfirmed := scope.get("unconfirmed", 0):
        tried.append(f"warning: {counted(unconfirmed, 'vector')} of one implementation, with no second derivation")
        if determined := scope.get("determined", 0):
            tried[-1] += f" but the contract, which determines {'them' if determined == unconfirmed else determined}"
    red = "; ".join(_red(members))
    return f"{verdict}{part}: {red + '; ' if red else ''}{', '.join(tried)}"


def crash_words(crash: Mapping[str, Mapping[str, Any]] | str) -> str:
    """The result of crash tests: "not tried", or the lowest level that a workload reached."""
    if isinstance(crash, str):
        return crash
    if not crash:
        return "has no workload for these operators"
    known = [one for one in crash.values() if one["reached"]]
    if len(known) < len(crash):
        return f"unknown in {len(crash) - len(known)} of {counted(len(crash), 'workload')}"
    order = ("none", "kill", "ext4", "posix")
    lowest = min((str(one["reached"]) for one in known), key=order.index)
    sampled = ", a sample of states" if any(one["sampled"] for one in known) else ""
    return f"{lowest} in {counted(len(crash), 'workload')}{sampled}"


def _hindrance(members: Mapping[str, Any]) -> str:
    counts, obstacles = members["counts"], members["obstacles"]
    if obstacles:
        more = f" (and {len(obstacles) - 1} more)" if len(obstacles) > 1 else ""
        return f"{_short(obstacles[0])}{more}"
    if not counts["selected"]:
        return f"nothing ran: none of {counts['loaded']} checks was selected; `tally run --list` prints their ids"
    if counts["selected"] == counts["not_applicable"]:
        checks = counted(counts["selected"], "selected check")
        return f"nothing ran: the backend declares no operator of the {checks}; its hello names what it declares"
    return f"nothing ran ({counts['loaded']} loaded, {counts['selected']} selected)"


def _red(members: Mapping[str, Any]) -> Iterator[str]:
    ran = members["counts"]["run"]
    if stopped := members.get("stopped", 0):
        yield f"stopped after {counted(stopped, 'failure')}"
    bad = [entry for entry in members["results"] if not entry.get("excused", False)]
    failed = sum(entry["verdict"] == Verdict.FAIL for entry in bad)
    errors = [entry for entry in bad if entry["verdict"] == Verdict.ERROR]
    if failed:
        yield f"{failed} of {counted(ran, 'check')} failed"
    if errors:
        said = [entry.get("message", "") for entry in errors]
        causes = [one for one in said if not is_unasked(one)]
        unasked = f" ({len(said) - len(causes)} not asked)" if 0 < len(causes) < len(said) else ""
        kinds = {kind_of_loss(one) for one in causes or said}
        why = f": {_short((causes or said)[0])}" if len(kinds) == 1 and "" not in kinds else ""
        yield f"{len(errors)} of {counted(ran, 'check')} errored{unasked}{why}"
    if missing := members["missing"]:
        yield f"required, but not declared: {some_of(missing)}"
    if passing := members["unexpected_passes"]:
        now = "now passes; remove it" if len(passing) == 1 else "now pass; remove them"
        yield f"{counted(len(passing), 'expected failure')} {now} with --update-expected"
    if unmatched := members["unmatched_expectations"]:
        yield f"{counted(len(unmatched), 'expected failure')} match{'es' * (len(unmatched) == 1)} no check"
    if losses := members["unattributed"]:
        yield f"the backend was lost {counted(len(losses), 'time')}, and no check repeats it alone"


@dataclass(frozen=True, slots=True)
class RunProblem:
    """A problem that belongs to no check; `lost` if the backend or the harness failed, not an answer."""

    name: str
    text: str
    lost: bool = False


def run_problems(members: Mapping[str, Any]) -> Iterator[RunProblem]:
    """The problems of a run besides its checks; a run without a judgement has at least one."""
    if members["verdict"] == NO_JUDGEMENT and not members["obstacles"]:
        yield RunProblem("no judgement", _hindrance(members), lost=True)
    for number, why in enumerate(members["obstacles"], 1):
        yield RunProblem(f"no judgement {number}", why, lost=True)
    for name in members["missing"]:
        yield RunProblem(f"required {name}", "required, but not declared")
    for number, loss in enumerate(members["unattributed"], 1):
        yield RunProblem(f"unattributed {number}", loss, lost=True)
    for id_ in members["unexpected_passes"]:
        yield RunProblem(id_, "listed as an expected failure, but passes")
    for pattern in members["unmatched_expectations"]:
        yield RunProblem(pattern, "listed as an expected failure, but no check has this id")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def some_of(names: Sequence[str], most: int = _SHOWN) -> str:
    """The first `most` names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
