"""`tally crash`: does a backend recover from a crash at every point?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import click

from conformance.backend.resolve import BackendNotFound
from conformance.cli.backend_options import timeout_option, wire_option
from conformance.cli.console import CommandError, nearest, say, tell, writing
from conformance.cli.progress import shown_progress
from conformance.cli.suite import specification
from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.wording import counted
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.recording import BrokenWorkload
from conformance.trial.crash.report import CrashReport, StateCounts, listing
from conformance.trial.crash.states import CrashModel
from conformance.trial.crash.strace import NotRun
from conformance.trial.crash.trial import SOME_STATES, CrashOptions, operators_of, try_workload
from conformance.trial.crash.workload import CrashWorkload, crash_workloads
from conformance.vectors.draft import Unusable
from conformance.vectors.jsontext import write_whole

FINE, BAD, NO_JUDGEMENT = 0, 1, 2


def _chosen(known: Sequence[CrashWorkload], wanted: Sequence[str]) -> list[CrashWorkload]:
    if not known:
        hint = "docs/crash-testing.md says how to write one"
        raise CommandError("--workload", "T003", "no contract has a workload", hint)
    if not wanted:
        return list(known)
    chosen: dict[str, CrashWorkload] = {}
    for name in wanted:
        found = [plan for plan in known if plan.id.endswith(f"%{name}")]
        found = found or [plan for plan in known if name in plan.id or fnmatchcase(plan.id, name)]
        if not found:
            hint = nearest(name, [plan.id.partition("%")[2] for plan in known], "`tally crash --list` lists them")
            raise CommandError(f"--workload {name!r}", "T003", "no contract has this workload", hint)
        chosen |= {plan.id: plan for plan in found}
    return list(chosen.values())


def _operators(options: CrashOptions, codebook: Codebook) -> frozenset[str]:
    try:
        return operators_of(options, codebook)
    except BackendNotFound as error:
        raise CommandError(f"--backend {options.backend!r}", "T001", str(error)) from None
    except (BrokenWorkload, NotRun) as error:
        status = BAD if isinstance(error, BrokenWorkload) else NO_JUDGEMENT
        raise CommandError(f"--backend {options.backend!r}", "T002", str(error), status=status) from None


def _applicable(
    chosen: Sequence[CrashWorkload], options: CrashOptions, operators: frozenset[str]
) -> Iterator[CrashWorkload]:
    for plan in chosen:
        if plan.operators <= operators:
            yield plan
        else:
            missing = ", ".join(sorted(plan.operators - operators))
            say(f"{plan.id}: not applicable to {options.backend}, which does not declare {missing}")


_UNTRACEABLE: Final = (
    "nothing was judged: the trace is incomplete; change the files by calls that are modelled, such as write and rename"
    " (`tally docs crash-testing` lists under Limits what is not)"
)


def _try_plan(plan: CrashWorkload, codebook: Codebook, options: CrashOptions) -> tuple[CrashReport | None, int]:
    place = f"{plan.id} ({options.backend})"
    try:
        with shown_progress(plan.id) as progress:
            report = try_workload(plan, codebook, options, progress)
    except NotRun as error:
        tell(CommandError(place, "T010", f"not run: {error}", "nothing was judged; a container needs ptrace"))
        return None, NO_JUDGEMENT
    except Untraceable as error:
        tell(CommandError(place, "T011", f"untraceable: {error}", _UNTRACEABLE))
        return None, NO_JUDGEMENT
    except BrokenWorkload as error:
        extra = f"its stderr ended with: {error.stderr}" if error.stderr else ""
        tell(CommandError(place, "T012", str(error), "`tally run` with this backend says more", BAD, extra))
        return None, BAD
    return report, FINE if report.satisfied else BAD


def report_lines(report: CrashReport, most: int) -> Iterator[str]:
    """A report for people."""
    yield f"{report.workload} ({report.backend}): {report.why}"
    yield f"  {counted(len(report.operations), 'operation')}, {counted(len(report.answers), 'answer')}"
    for model, tally in report.states.items():
        yield f"  {model!s:<6} {_counted(tally)}"
    if report.recoveries:
        harshest = report.recovery_states[max(report.recovery_states)]
        yield f"  {counted(report.recoveries, 'recovery')} interrupted in turn: {_counted(harshest)}"
    for sweep in report.sweeps:
        yield f"  {sweep.name} sweep: {sweep.reached} of {sweep.runs} {sweep.what}, {len(sweep.findings)} bad"
        yield from (f"    {finding}" for finding in sweep.findings[:most])
    for bad in sorted(report.bad, key=lambda one: (one.model, one.during is not None, one.state.at))[:most]:
        yield from (f"    {line}" for line in listing(bad, report.answers))
    yield f"  {verdict_line(report)}"


def verdict_line(report: CrashReport) -> str:
    """The level, or the reason why there is none."""
    asked = f"{report.wanted} is asked for"
    if report.level:
        return f"level: {report.level}, {asked}"
    worst = report.first_bad
    found = f"already bad under {worst.model}" if worst is not None else "no bad state among those tried"
    return f"no level stated, {found}, {asked}; --full tries every state"


def _counted(tally: StateCounts) -> str:
    why = ", ".join(f"{count} {damage}" for damage, count in sorted(tally.bad.items()))
    tried = f"{tally.bad_count} bad of {counted(tally.tried, 'state')} tried, of {tally.total}"
    return f"{tried}: {why}" if why else tried


def as_json(report: CrashReport) -> dict[str, Any]:
    """A report for programs: deterministic for a deterministic backend."""

    def tallies(of: dict[CrashModel, StateCounts]) -> dict[str, Any]:
        return {
            str(model): {"total": one.total, "tried": one.tried, "bad": {str(v): n for v, n in sorted(one.bad.items())}}
            for model, one in of.items()
        }

    first = report.first_bad
    return {
        "backend": report.backend,
        "workload": report.workload,
        "level": report.level or None,
        "wanted": str(report.wanted),
        "satisfied": report.satisfied,
        "operations": len(report.operations),
        "states": tallies(dict(report.states)),
        "recoveries": report.recoveries,
        "recovery_states": tallies(dict(report.recovery_states)),
        "sweeps": [
            {"name": one.name, "reached": one.reached, "runs": one.runs, "findings": list(one.findings)}
            for one in report.sweeps
        ],
        "first_bad": None if first is None else list(listing(first, report.answers)),
    }


_BACKEND = "A name of the suite, python:module[:object], or a command line; repeatable."


@click.command("crash")
@click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME",
    help="A workload of a contract, by its name or any part of OPERATOR%NAME; repeatable. The default is all.",
)
@click.option("--list", "listed", is_flag=True, help="List the workloads and run nothing.")
@click.option(
    "--model",
    type=click.Choice(["kill", "ext4", "posix"]),
    default="posix",
    show_default=True,
    help="The harshest crash to try: kill keeps everything done, ext4 loses content, posix loses names as well.",
)
@click.option(
    "--states", type=click.IntRange(1), metavar="N", help="Number of states to try per workload; the default is 2000."
)
@click.option("--full", is_flag=True, help="Try every state, and print the level that was reached.")
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    type=click.Choice(["order", "kill", "error"]),
    help="order: check that files are durable before they are renamed or answered. kill: kill the backend at "
    "every call. error: make every fsync, write and unlink fail, one in each run. Repeatable.",
)
@wire_option
@timeout_option
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write the results as JSON."
)
@click.option(
    "--show", type=click.IntRange(0), default=1, show_default=True, help="Number of bad states to print per workload."
)
def command(
    *,
    backends: Sequence[str],
    workloads: Sequence[str],
    listed: bool,
    model: str,
    states: int | None,
    full: bool,
    sweeps: Sequence[str],
    wire: str,
    timeout: float,
    output: Path | None,
    show: int,
) -> int:
    """Record a workload under strace, rebuild the files that crashes can leave, and let the backend recover and read.

    Exit status: 0 no bad state at or below the level that the workload asks for, 1 there is one, 2 no judgement:
    strace is missing or may not trace, or the backend makes calls that cannot be traced.

    \b
    Examples:
      tally crash --list
      tally crash --backend "python my-backend/backend.py" --model ext4
    """
    if full and states is not None:
        raise click.UsageError("--full tries every state; leave out --states")
    library = specification()
    codebook = codebook_of(library)
    try:
        known = list(crash_workloads(library, codebook))
    except Unusable as error:
        problem = error.problem
        raise CommandError(str(problem.position), problem.code, problem.message, problem.hint) from None
    chosen = _chosen(known, workloads)
    if listed:
        for plan in chosen:
            say(f"{plan.id}  ({plan.level})  {plan.why}")
        return FINE
    models = tuple(one for one in CrashModel if one <= CrashModel[model.upper()])
    statuses: list[int] = []
    reports: list[CrashReport] = []
    for backend in dict.fromkeys(backends or [library.suite.reference]):
        most = None if full else states or SOME_STATES
        options = CrashOptions(backend, wire, models, most, tuple(dict.fromkeys(sweeps)), timeout)
        operators = _operators(options, codebook)
        options = replace(options, declared=operators)
        for plan in _applicable(chosen, options, operators):
            report, status = _try_plan(plan, codebook, options)
            statuses.append(status)
            if report is not None:
                reports.append(report)
                say("\n".join(report_lines(report, show)))
    if output is not None:
        with writing(f"--output {str(output)!r}", "name a writable file"):
            output.parent.mkdir(parents=True, exist_ok=True)
            write_whole(output, json.dumps([as_json(report) for report in reports], indent=1) + "\n")
    if not statuses:
        raise CommandError(
            "--backend", "T008", "the backend declares the operators of none of these workloads: nothing ran"
        )
    return BAD if BAD in statuses else max(statuses)
