"""`--suite DIR`, which every command takes, and the defaults that a suite's `tally.toml` gives to `tally run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import Complaint

if TYPE_CHECKING:
    from conformance.contract.suite import Suite

_NAMED: Final = "tally.suite.named"  # keys of what a context and those inside it know
_FOUND: Final = "tally.suite.found"
_HELP: Final = "The folder of the suite; the default is TALLY_SUITE, a tally.toml here or above, or the bundled suite."
_LEFT_ALONE: Final = ("init",)  # it makes a suite, so there is none yet


def with_suite(command: click.Command) -> click.Command:
    """The command, and the commands below it, with the option --suite."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            if (inner := command.get_command(click.Context(command), name)) is not None:
                with_suite(inner)
    elif command.name not in _LEFT_ALONE and all("--suite" not in one.opts for one in command.params):
        command.params.append(
            click.Option(
                ["--suite"], metavar="DIR", help=_HELP, expose_value=False, is_eager=True, callback=_remembered
            )
        )
    return command


def _remembered(context: click.Context, _: click.Parameter, value: str | None) -> None:
    context.meta[_NAMED] = value or ""
    if context.command.name == "run":
        context.default_map = _defaults(context, current_suite(context))


def current_suite(context: click.Context | None = None) -> Suite:
    """The suite that the command works on; raises MalformedContract."""
    from conformance.contract.finder import find_suite

    context = context or click.get_current_context(silent=True)
    if context is not None and _FOUND in context.meta:
        known: Suite = context.meta[_FOUND]
        return known
    named = "" if context is None else context.meta.get(_NAMED, "")
    found = find_suite(named or os.environ.get("TALLY_SUITE", ""), Path.cwd())
    if context is not None:
        context.meta[_FOUND] = found
    return found


def work_on(suite: Suite) -> None:
    """Let the rest of the command work on this suite."""
    click.get_current_context().meta[_FOUND] = suite


def _defaults(context: click.Context, suite: Suite) -> dict[str, object]:
    """The values of [run] by the names of the parameters; raises Complaint for one that the option refuses."""
    by_option = {option: one for one in context.command.params for option in one.opts}
    found: dict[str, object] = {}
    for key, setting in suite.run.items():
        parameter = by_option[f"--{key}"]
        try:
            parameter.type_cast_value(context, setting.value)
        except click.BadParameter as error:
            hint = f"`tally run --help` tells what --{key} takes"
            raise Complaint(str(setting.position), "C018", f"{key}: {error.message}", hint) from None
        assert parameter.name is not None
        found[parameter.name] = setting.value
    return found
