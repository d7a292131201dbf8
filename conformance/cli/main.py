"""The entry point: the commands by name, and the exit status that every one of them keeps (DESIGN 7)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from conformance import __version__
from conformance.cli.complaint import Complaint, tell

FINE: Final = 0
NO_JUDGEMENT: Final = 2
# Imported on demand: the contract language alone costs 200 ms, `tally --version` may take 150.
COMMANDS: Final = {
    "run": "put a backend on trial",
    "explain": "show the rule behind a check, and the derivation of a value",
    "schema": "print the JSON Schema of an operator's messages",
    "new-backend": "write the skeleton of a backend",
    "lint": "hold the contracts to the rules of the house",
    "vectors": "build, check or compare the frozen vectors",
    "mutants": "run every mutant against the vectors",
    "crash": "crash a backend at every point and let it recover",
}


class Commands(click.Group):
    """A group whose commands are modules beside this one; a module's `command` is what it offers."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called `cmd_name`, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"conformance.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tally", message="%(prog)s %(version)s")
def tally() -> None:
    """Hold an implementation to a machine-readable contract, bit for bit.

    Exit status: 0 conformant or fine, 1 the thing judged is bad, 2 no judgement.
    """


def status_of(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the exit status, whatever happens."""
    try:
        answer: Any = tally.main(
            args=None if arguments is None else list(arguments), prog_name="tally", standalone_mode=False
        )
        return answer if isinstance(answer, int) else FINE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Complaint as complaint:
        tell(complaint)
        return complaint.status
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: no judgement", err=True)
        return NO_JUDGEMENT
    except BrokenPipeError:
        # Whoever read our output has gone, and with it the verdict.
        sys.stdout = None
        return NO_JUDGEMENT
    except Exception as error:
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    import traceback

    from conformance.contract.position import MalformedContract

    if isinstance(error, MalformedContract):
        click.echo(str(error), err=True)
        count = len(error.problems)
        click.echo(f"{count} problem{'s' * (count != 1)}: nothing was judged or written", err=True)
        return NO_JUDGEMENT
    traceback.print_exc()
    said = "tally: T000 this is a mistake in tally itself: no judgement\n    hint: report it with the lines above"
    click.echo(said, err=True)
    return NO_JUDGEMENT


def main() -> None:
    """The console script."""
    # The specification is a large graph that stays; looking through it as often as usual costs a sixth of a run.
    gc.set_threshold(100_000, 10, 10)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(status_of())


if __name__ == "__main__":
    main()
