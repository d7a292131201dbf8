"""What every command has: two examples at the end of its help, and a hint where a name is nearly right."""

from __future__ import annotations

import re
from typing import Any, Final

import click

from conformance.cli.console import nearest

_EXAMPLES: Final = re.compile(r"\n*[\b]?\n?\s*Examples:\n(?:.+\n?)+\s*\Z")


class Name(click.Choice):  # type: ignore[type-arg] # it takes no arguments before click 8.2
    """One of some names; the message for another one says which was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name; fails as click's own choices do."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if hint := nearest(str(value), [str(one) for one in self.choices]):
                self.fail(f"{error.message.rstrip('.')}; {hint}", param, ctx)
            raise


def prepared(command: click.Command, inner: bool = True) -> click.Command:
    """The command with the examples of its docstring at the end and hints for its choices; `inner`: those below too."""
    if isinstance(command, click.Group) and inner:
        for name in command.list_commands(click.Context(command)):
            if (one := command.get_command(click.Context(command), name)) is not None:
                prepared(one)
    if command.help and (found := _EXAMPLES.search(command.help)):
        command.help = command.help[: found.start()].rstrip()
        _, *lines = found[0].strip("\b\n ").splitlines()
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line.strip()}" for line in lines)])
    for parameter in command.params:
        if type(parameter.type) is click.Choice:
            parameter.type = Name(parameter.type.choices, parameter.type.case_sensitive)
    return command
