"""A backend string becomes a command: a bundled name, `python:module[:object]`, or a command line (DESIGN 6)."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

REFERENCE: Final = "reference"  # answers for what a backend does not declare, and decides what is right in fuzzing
BUNDLED: Final = (REFERENCE, "vectorized", "javascript")
_ROOT: Final = Path(__file__).resolve().parents[2]  # the folder of our own `impl` and `conformance`


class BackendNotFound(Exception):
    """A backend string names nothing that can be started; says what was looked for and the next step."""


@dataclass(frozen=True, slots=True)
class BackendCommand:
    """How to start a backend: its string as the user wrote it, the argument vector, the environment."""

    text: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(repr=False, compare=False)
    in_process: str = ""  # module[:object], where the harness makes the calls in its own process


def resolve(text: str, wire: str = "json", same_process: bool = False) -> BackendCommand:
    """The command behind a backend string; raises BackendNotFound.

    `same_process` is for debuggers and for `python:` backends alone.
    """
    environment = {**os.environ, "TALLY_WIRE": wire}
    ours = {**environment, "PYTHONPATH": os.pathsep.join(_search_path())}
    if same_process and not text.startswith("python:"):
        raise BackendNotFound(f"{text!r} is a process of its own; only python:module can share ours")
    if text in BUNDLED or text.startswith("mutant:"):
        # -P: a user's own impl/ in the current folder must not shadow ours.
        return BackendCommand(text, (sys.executable, "-P", "-m", "impl.serve", text), ours)
    if text.startswith("python:"):
        target = text.removeprefix("python:")
        if not target:
            raise BackendNotFound("python: names no module; write python:module or python:module:object")
        worker = (sys.executable, "-P", "-m", "conformance.backend.worker", target)
        return BackendCommand(text, worker, ours, target if same_process else "")
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise BackendNotFound(f"the command line {text!r} cannot be split: {error}") from None
    if not arguments:
        raise BackendNotFound("the backend string is empty; name a bundled backend or a command")
    if shutil.which(arguments[0]) is None:
        if Path(arguments[0]).is_file():
            raise BackendNotFound(f"{arguments[0]!r} is a file that cannot be executed; name the interpreter before it")
        known = ", ".join(BUNDLED)
        raise BackendNotFound(
            f"command not found: {arguments[0]!r}; a backend is one of {known}, python:module, or a command line"
        )
    return BackendCommand(text, arguments, environment)


def _search_path() -> list[str]:
    """PYTHONPATH for our own processes: our root first, unless the interpreter finds it anyway.

    Put before the standard library, a site-packages folder would let its modules shadow that.
    """
    installed = str(_ROOT) in (*site.getsitepackages(), site.getusersitepackages())
    return [*([] if installed else [str(_ROOT)]), *filter(None, [os.environ.get("PYTHONPATH")])]
