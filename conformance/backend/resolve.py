"""A backend string becomes a command: a name of the suite, `mutant:ID`, `python:module[:object]`, or a command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import site
import sys
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import TZPATH

from conformance.contract.suite import MUTANT, Suite

_ROOT: Final = Path(__file__).resolve().parents[2]  # the folder of our own `conformance`


class BackendNotFound(Exception):
    """A backend string names nothing that can start; the message says what was looked for and the next step."""

    place = "tally"  # there is no file with a mistake

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class BackendCommand:
    """How to start a backend: its string as the user wrote it, the argument vector, the environment."""

    text: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(repr=False, compare=False)
    in_process: str = ""  # module[:object], if the harness calls it in its own process
    folder: Path | None = None  # where it starts; None: in the current folder


def resolve(
    text: str, suite: Suite, wire: str = "json", same_process: bool = False, bytecode: bool = True
) -> BackendCommand:
    """The command behind a backend string, which starts in a time zone of its own; raises BackendNotFound.

    `same_process` is for debuggers and for `python:` backends alone. Without `bytecode`, Python writes no compiled
    modules.
    """
    command = _command(text, suite, wire, same_process)
    own = {"TZ": time_zone(), **({} if bytecode else {"PYTHONDONTWRITEBYTECODE": "1"})}
    return replace(command, environment={**command.environment, **own})


@cache
def time_zone() -> str:
    """A time zone that is never UTC, with daylight saving and odd minutes, so local time is never mistaken for UTC.

    It is a name if the system has the zone, because Node and Java do not read rules; else a rule, because the C
    library treats an unknown name as UTC.
    """
    return _ZONE if any(Path(folder, _ZONE).is_file() for folder in TZPATH) else _RULE


_ZONE: Final = "America/St_Johns"
_RULE: Final = "NST3:30NDT,M3.2.0,M11.1.0"  # the current rule of the zone in POSIX form


def _command(text: str, suite: Suite, wire: str, same_process: bool) -> BackendCommand:
    if same_process and not text.startswith("python:"):
        raise BackendNotFound(f"{text!r} is a process of its own; only python:module can share ours")
    if text in suite.backends:
        return _declared(text, suite.backends[text], suite, wire, suite.root)
    if text.startswith(MUTANT):
        return _mutant(text, suite, wire)
    if text.startswith("python:"):
        return _worker(text, text, suite, wire, same_process)
    arguments = _split_command(text)
    if shutil.which(arguments[0]) is None:
        _refuse_program(arguments[0], text)
        known = ", ".join([*suite.backends, "python:module"])
        close = get_close_matches(text, suite.backends, 1)
        meant = f"did you mean {close[0]}? " if close else ""
        said = f"{meant}a backend is one of {known}, or a command line"
        raise BackendNotFound(f"command not found: {arguments[0]!r}; {said}")
    return BackendCommand(text, arguments, {**os.environ, "TALLY_WIRE": wire})


def _declared(text: str, command: str, suite: Suite, wire: str, folder: Path) -> BackendCommand:
    """A command of the suite's `tally.toml`, started in `folder`; `python` is the interpreter that runs this."""
    if command.startswith("python:"):
        return replace(_worker(text, command, suite, wire), folder=folder)
    first, *rest = _split_command(command)
    if first == "python":
        first = sys.executable
    elif "/" in first:
        first = str(folder / first)
    if shutil.which(first) is None:
        _refuse_program(first, command)
        raise BackendNotFound(f"command not found: {first!r}, of the backend {text!r} in {suite.path_text(suite.file)}")
    return BackendCommand(text, (first, *rest), _ours(wire), folder=folder)


def _mutant(text: str, suite: Suite, wire: str) -> BackendCommand:
    """A mutant by the suite's own command, or the reference in a patched copy of its folder."""
    id_, ways = text.removeprefix(MUTANT), suite.mutants
    if ways.command:
        # The id stays in one word of the command, even with blanks in it.
        first, *rest = (word.replace("{id}", id_) for word in _split_command(ways.command))
        command = _declared(text, shlex.join([first, *rest]), suite, wire, suite.root)
        return replace(command, environment={"TALLY_SPEC_DIR": str(suite.spec), **command.environment})
    if not ways.folder:
        hint = "name a folder or a command in [mutants] of tally.toml"
        raise BackendNotFound(f"the suite does not say how {text!r} starts; {hint}")
    from conformance.backend.mutant_copy import UnusableMutant, mutant_copy  # it imports the expression engine

    try:
        copy = mutant_copy(suite, id_)
    except UnusableMutant as reason:
        said = (sys.executable, "-P", "-c", _TELL, str(reason), str(reason.status))
        return BackendCommand(text, said, _ours(wire))
    command = _declared(text, suite.backends[suite.reference], suite, wire, copy)
    return replace(command, environment={**command.environment, **_search_path_of(copy, command, suite)})


def _search_path_of(copy: Path, command: BackendCommand, suite: Suite) -> dict[str, str]:
    """PYTHONPATH with the folders of the copy before those of the suite, which have the modules without the mistake."""
    found: list[str] = []
    for place in filter(None, command.environment["PYTHONPATH"].split(os.pathsep)):
        inner = Path(place).resolve()
        if inner.is_relative_to(suite.root):
            found.append(str(copy / inner.relative_to(suite.root)))
        found.append(place)
    return {"PYTHONPATH": os.pathsep.join(found)}


_TELL: Final = "import sys; print(sys.argv[1], file=sys.stderr); sys.exit(int(sys.argv[2]))"


def _worker(text: str, target: str, suite: Suite, wire: str, same_process: bool = False) -> BackendCommand:
    named = target.removeprefix("python:")
    if not named:
        raise BackendNotFound("python: names no module; write python:module or python:module:object")
    worker = (sys.executable, "-P", "-m", "conformance.backend.worker", named, str(suite.spec))
    environment = {**_ours(wire), "TALLY_SPEC_DIR": str(suite.spec)}
    return BackendCommand(text, worker, environment, named if same_process else "")


def _refuse_program(program: str, command: str) -> None:
    """Raise BackendNotFound if a file, a folder, or words for a shell take the place of a program."""
    if Path(program).is_file():
        raise BackendNotFound(f"{program!r} is a file that cannot be executed; name the interpreter before it")
    if Path(program).is_dir():
        raise BackendNotFound(f"{program!r} is a folder; name a program in it, with its interpreter")
    if (first := _split_command(command)[0]).startswith(("~", "$")) or _ASSIGNED.match(first):
        said = f"{first!r} has a meaning for a shell alone, and none reads this command"
        raise BackendNotFound(f"command not found: {said}; use: sh -c {shlex.quote(command)}")


_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _split_command(command: str) -> tuple[str, ...]:
    try:
        arguments = tuple(shlex.split(command))
    except ValueError as error:
        raise BackendNotFound(f"the command line {command!r} cannot be split: {error}") from None
    if not arguments:
        raise BackendNotFound("the backend string is empty; name a backend of the suite or a command")
    return arguments


def _ours(wire: str) -> dict[str, str]:
    return {**os.environ, "TALLY_WIRE": wire, "PYTHONPATH": os.pathsep.join(_search_path())}


def _search_path() -> list[str]:
    """PYTHONPATH for our own processes: our root first, unless the interpreter finds it anyway.

    If a site-packages folder came before the standard library, its modules would hide modules of that.
    """
    installed = str(_ROOT) in (*site.getsitepackages(), site.getusersitepackages())
    return [*([] if installed else [str(_ROOT)]), *filter(None, [os.environ.get("PYTHONPATH")])]
