"""The entry point: the commands by name, and the exit status of each (DESIGN 7)."""

from __future__ import annotations

import errno
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click

from conformance import __version__
from conformance.cli.console import CommandError, nearest, opened_outlets, say, tell
from conformance.cli.progress import Interrupted
from conformance.cli.suite import offer_suite
from conformance.contract.wording import counted

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_PLACES: Final = (_PACKAGE.parent, _PACKAGE / "_data")  # a checkout comes before packaged data, as for the suite itself


@lru_cache(1)
def added_commands() -> Mapping[str, tuple[str, str]]:
    """The module and purpose of each added command; the suites of users add none, so no folder adds a command."""
    import tomllib  # 10 ms

    for place in _PLACES:
        if (place / "spec" / "contracts.lock").is_file():
            listed = tomllib.loads((place / "tally.toml").read_text("utf-8")).get("commands", {})
            return {name: (told.partition(": ")[0], told.partition(": ")[2]) for name, told in listed.items()}
    return {}


_EXAMPLES: Final = re.compile(r"\n*[\b]?\n?\s*Examples:\n(?:.+\n?)+\s*\Z")


class NameChoice(click.Choice):  # type: ignore[type-arg] # it takes no arguments before click 8.2
    """One of some names; the message for another name suggests the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name; fails like the choices of click."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if hint := nearest(str(value), [str(one) for one in self.choices]):
                self.fail(f"{error.message.rstrip('.')}; {hint}", param, ctx)
            raise


class GivenPath(click.Path):
    """A path that is not empty: an empty one would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails like the paths of click."""
        if value == "":
            self.fail("a path is empty; is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)


def prepared(command: click.Command, has_suite: bool = False) -> click.Command:
    """The command and its subcommands with examples at the end of the help, strict values and, if wanted, --suite."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            prepared(one, has_suite)
    elif has_suite:
        offer_suite(command)
    if command.help and (found := _EXAMPLES.search(command.help)):
        command.help = command.help[: found.start()].rstrip()
        _, *lines = found[0].strip("\b\n ").splitlines()
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line.strip()}" for line in lines)])
    for parameter in command.params:
        if type(parameter.type) is click.Choice:
            parameter.type = NameChoice(parameter.type.choices, parameter.type.case_sensitive)
        elif type(parameter.type) is click.Path:
            given = vars(parameter.type)
            parameter.type = GivenPath()
            vars(parameter.type).update(given)
    return command


FINE: Final = 0
NO_JUDGEMENT: Final = 2
_PATIENCE: Final = 1.0  # seconds; a second Ctrl-C after this time ends the process at once
# Codes of errors about unusable input; by class name, as their import takes longer than --version.
_CODES: Final = {
    **dict.fromkeys(("CorruptedCorpus", "BadLock", "UnreadableReport"), "T004"),
    "Unreadable": "T020",
    "BackendNotFound": "T001",
    "LostWorker": "T013",
}
_CLOSED: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)  # not writable, or the disk is full
SCARCE: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EFBIG)
# Imported on demand: the contract language alone costs 200 ms, `tally --version` may take 150.
COMMANDS: Final = {
    "run": "test a backend",
    "report": "show, compare or merge records",
    "explain": "show the rule behind a check, and how a value is derived",
    "schema": "print the JSON Schema of an operator's messages",
    "new-backend": "write the skeleton of a backend",
    "init": "write a new suite of contracts",
    "new-operator": "add an operator to a suite",
    "lint": "check the contracts against the lint rules",
    "vectors": "build, check, compare or release the frozen vectors",
    "diff": "compare two states of a suite, and say which versions must rise",
    "mutants": "run every mutant against the vectors",
    "crash": "crash a backend at every point, and check what it recovers",
    "certify": "challenge a backend, and sign a certificate",
    "verify": "check a certificate",
    "keys": "make keys to sign certificates with",
    "docs": "list the pages of the documentation, or print one",
    "examples": "copy the example programs to a folder",
}


class Commands(click.Group):
    """A group whose commands are modules of this package; each module offers its `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer needs them, then those of the bundled suite."""
        return [*COMMANDS, *added_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called `cmd_name`, imported now."""
        if cmd_name in COMMANDS:
            return prepared(import_module(f"conformance.cli.{cmd_name.replace('-', '_')}").command, has_suite=True)
        added = added_commands().get(cmd_name)
        return prepared(import_module(added[0]).command) if added is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; the error message lists similar names."""
        if args and args[0] not in (known := self.list_commands(ctx)) and (hint := nearest(args[0], known)):
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *((name, says) for name, (_, says) in added_commands().items())])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tally", message="%(prog)s %(version)s")
def tally() -> None:
    """Compare an implementation with a machine-readable contract, bit for bit.

    Exit status: 0 conformant or fine, 1 the thing judged is bad, 2 no judgement or Ctrl-C, 128 + n ended by signal n.

    \b
    Examples:
      tally run --backend "python my-backend/backend.py"
      tally explain Bounds.Clamp_v1
    """


prepared(tally)  # its commands are prepared when they are imported


class Terminated(BaseException):
    """A signal asked this process to end; open resources are closed as the exception passes."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


def status_of(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit status in every case."""
    try:
        answer: Any = tally.main(
            args=None if arguments is None else list(arguments), prog_name="tally", standalone_mode=False
        )
        return answer if isinstance(answer, int) else FINE
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2 and later; its message is the help
            error.show()
            return error.exit_code
        command = error.ctx.command_path if error.ctx is not None else "tally"
        said = error.format_message().rstrip(".")
        tell(CommandError(command, "T006", said[:1].lower() + said[1:], f"`{command} --help` says what it takes"))
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CommandError as complaint:
        tell(complaint)
        return complaint.status
    except (click.Abort, KeyboardInterrupt) as interrupt:
        stage = interrupt.stage if isinstance(interrupt, Interrupted) else ""
        say(f"interrupted{f' in the stage {stage!r}' if stage else ''}: no judgement", err=True)
        return NO_JUDGEMENT
    except Terminated as ended:
        say(f"ended by {ended}: no judgement", err=True)
        return ended.status
    except Exception as error:
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    import traceback

    from conformance.contract.yaml.source import MalformedContract

    if (lacking := _lacking(error)) is not None:
        tell(CommandError("tally", "T013", f"the system reports: {lacking}", "end other programs, or raise the limit"))
        return NO_JUDGEMENT
    if code := _CODES.get(type(error).__name__):
        place, message, hint = (getattr(error, name, "") for name in ("place", "message", "hint"))
        tell(CommandError(place, code, message, hint))
        return NO_JUDGEMENT
    if isinstance(error, MalformedContract):
        say(str(error), err=True)
        say(f"{counted(len(error.problems), 'problem')}: nothing was judged or written", err=True)
        return NO_JUDGEMENT
    if isinstance(error, OSError) and error.filename is not None and error.errno in _CLOSED:
        message, hint = f"cannot be used: {error.strerror}", "make room, or give access"
        tell(CommandError(str(error.filename), "T011", message, hint))
        return NO_JUDGEMENT
    said = (
        "tally: T000 internal error: no judgement\n    hint: this is a defect of tally; report it with the lines above"
    )
    say(f"{traceback.format_exc()}{said}", err=True)
    return NO_JUDGEMENT


def _lacking(error: BaseException) -> str | None:
    """The resource whose lack caused an error."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.errno in SCARCE:
        return os.strerror(error.errno)
    # If a module cannot be opened, only the text of the ImportError says why.
    scarce = [os.strerror(number) for number in SCARCE if os.strerror(number) in str(error)]
    if scarce and isinstance(error, ImportError | RuntimeError):
        return scarce[0]
    return None if error.__context__ is None else _lacking(error.__context__)


def _end_on_signals() -> None:
    def ended(number: int, frame: FrameType | None) -> None:
        # A second signal must not interrupt the clean-up.
        signal.signal(number, signal.SIG_IGN)
        stop(Terminated(number), frame)

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(number, partial(again, time.monotonic()))
        stop(KeyboardInterrupt(), frame)

    def stop(error: BaseException, frame: FrameType | None) -> None:
        engine = sys.modules.get("conformance.contract.cel.engine")  # most commands need it, `tally --version` does not
        if engine is None or not engine.postponed(frame, error):
            raise error

    def again(since: float, *_: object) -> None:
        # Two quick presses still show the results; a press after a long wait ends the process.
        if time.monotonic() - since > _PATIENCE:
            os._exit(NO_JUDGEMENT)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):  # Windows has no SIGHUP
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup SIGHUP is ignored
            signal.signal(number, ended)


def main() -> None:
    """Run the command line as a process of its own."""
    # The specification is a large graph that is never freed; the default thresholds cost a sixth of a run.
    gc.set_threshold(100_000, 10, 10)
    if os.environ.get("COLUMNS") == "0":  # from a terminal without a width; every report would be empty
        del os.environ["COLUMNS"]
    out, _ = opened_outlets()
    _end_on_signals()
    status = status_of()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not change the exit status
    sys.stdout.flush()
    if out.failure is not None:
        hint = "the output is incomplete; redirect it to another place"
        tell(CommandError("stdout", "T011", f"cannot be written: {out.failure.strerror}", hint))
        status = max(status, NO_JUDGEMENT)
    if threading.active_count() > 1:
        # A thread still waits for a backend, which ends with this process.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
