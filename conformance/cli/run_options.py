"""The options of `tally run`; a suite's `tally.toml` may give defaults for them in [run]."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from conformance.cli.backend_options import jobs_option, sandbox_read, timeout_option, wire_option
from conformance.cli.console import nearest
from conformance.cli.outputs import LAST, Output
from conformance.cli.suite import current_suite
from conformance.contract.yaml.source import MalformedContract
from conformance.report.writer import FORMATS
from conformance.trial.options import PROFILES

F = TypeVar("F", bound=Callable[..., Any])


class Report(click.ParamType):  # type: ignore[type-arg] # it takes no arguments before click 8.5
    """A report to write: NAME, or NAME=PATH."""

    name = "report"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Output:
        """The output; fails for a format that does not exist, and for an empty path."""
        if isinstance(value, Output):
            return value
        name, equals, path = str(value).partition("=")
        if name not in FORMATS:
            known = sorted(FORMATS)
            self.fail(f"{name!r} is not one of {', '.join(known)}; {nearest(name, known)}".rstrip("; "), param, ctx)
        if equals and not path:
            self.fail(f"{value!r} has no path; - is stdout", param, ctx)
        return Output(name, Path(path) if equals else None)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The formats that begin with the typed text."""
        return [CompletionItem(name) for name in sorted(FORMATS) if name.startswith(incomplete)]


def _backends(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The backends of the suite that begin with the typed text; none without a readable suite."""
    try:
        return [name for name in current_suite(ctx).backends if name.startswith(incomplete)]
    except MalformedContract:
        return []


_BACKEND: Final = (
    "A name of the suite, mutant:ID, python:module[:object], or a command line; the default is the suite's reference. "
    "Repeatable: one column for each."
)
_SANDBOX: Final = (
    "bwrap: run the backend under bubblewrap, without network and without access to contracts, vectors and harness."
)

_FORMAT: Final = (
    f"Also write this report: {', '.join(sorted(FORMATS))}. It goes to PATH, and with - to stdout; without a path into "
    f"DIR ({LAST} without --output). Repeatable."
)


_OPTIONS: Final = (
    click.option("--backend", "backends", multiple=True, metavar="TEXT", help=_BACKEND, shell_complete=_backends),
    wire_option,
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default="standard",
        show_default=True,
        help="quick: vectors; standard: also laws, behaviour and fuzzing; golden: also N = 10^9 and up.",
    ),
    click.option(
        "-k",
        "--select",
        multiple=True,
        metavar="PATTERN",
        help="Run only the checks whose id contains or matches this; repeatable.",
    ),
    click.option(
        "-x", "--exitfirst/--no-exitfirst", help="End the run at the first failure; the same as --maxfail 1."
    ),
    click.option(
        "--maxfail", type=click.IntRange(0), default=0, metavar="N", help="End the run after N failures; 0: never."
    ),
    click.option(
        "--last-failed/--no-last-failed",
        "--lf",
        help="Run only the checks that failed last, of this backend in this suite; all checks if none failed.",
    ),
    click.option("--list", "listed", is_flag=True, help="Print the ids of the selected checks, and run nothing."),
    click.option("--sandbox", type=click.Choice(["none", "bwrap"]), default="none", show_default=True, help=_SANDBOX),
    sandbox_read,
    jobs_option,
    timeout_option,
    click.option(
        "--expected-failures",
        "expected",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A list of checks that are known to fail, with reason and issue. A listed check that passes fails "
        "the run.",
    ),
    click.option("--update-expected", is_flag=True, help="Rewrite FILE so that it lists the checks that fail now."),
    click.option("--reason", default="", help="The reason for the checks that --update-expected adds."),
    click.option("--issue", default="", metavar="URL", help="The issue of the checks that --update-expected adds."),
    click.option(
        "--fuzz-examples", "examples", type=click.IntRange(1), metavar="N", help="Number of fuzzed calls per operator."
    ),
    click.option(
        "--seed", default="", metavar="TEXT", help="Fuzz with this seed; without it the calls are always the same."
    ),
    click.option("--shuffle", default="", metavar="TEXT", help="Run the checks in a random order from this seed."),
    click.option(
        "--require",
        multiple=True,
        metavar="OPERATOR",
        help="Fail if the backend does not declare this operator or machine; repeatable, or `all`.",
    ),
    click.option("--crash/--no-crash", help="Also crash the backend in the workloads of its operators."),
    click.option(
        "--same-process/--no-same-process", help="Run a python: backend in this process, for a debugger."
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write record.json and observations.json there.",
    ),
    click.option("--format", "formats", multiple=True, type=Report(), metavar="NAME[=PATH]", help=_FORMAT),
    click.option(
        "--show", type=click.IntRange(0), default=8, show_default=True, help="Number of distinct failures to print."
    ),
    click.option("-q", "--quiet/--no-quiet", help="Print the verdict alone."),
    click.option("-v", "--verbose/--no-verbose", help="Also print a line for each check."),
    click.option(
        "--durations", type=click.IntRange(0), metavar="N", help="Print the N slowest checks; 0: the time of each."
    ),
)


def run_options(function: F) -> F:
    """The function with all options of `tally run`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def failures_allowed(context: click.Context) -> int:
    """The number of failures that ends the run, by -x and --maxfail; 0: none. Raises click.UsageError."""
    given = given_in(context, "exitfirst", "maxfail")
    if len(given) == 2 and context.params["exitfirst"]:
        raise click.UsageError("-x is --maxfail 1: give one of them")
    most: int = context.params["maxfail"]
    return 1 if context.params["exitfirst"] and given != ["maxfail"] else most


def verbosity(context: click.Context) -> int:
    """-1 for -q, 1 for -v, 0 for neither; raises click.UsageError for both."""
    quiet, verbose = bool(context.params["quiet"]), bool(context.params["verbose"])
    if quiet and verbose:
        given = given_in(context, "quiet", "verbose")
        if len(given) != 1:  # an option wins over a default
            raise click.UsageError("-q prints less and -v prints more: give one of them")
        quiet, verbose = given == ["quiet"], given == ["verbose"]
    return verbose - quiet


def given_in(context: click.Context, *names: str) -> list[str]:
    """The parameters that the command line sets."""
    source = click.core.ParameterSource.COMMANDLINE
    return [name for name in names if context.get_parameter_source(name) is source]
