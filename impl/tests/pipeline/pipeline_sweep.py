"""A child process killed, or refused, at a chosen system call on chosen paths, through strace."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: `reached` tells whether the chosen call was made at all."""

    status: int
    lines: list[str]
    errors: str
    reached: bool


def child(*arguments: object) -> list[str]:
    return [sys.executable, "-P", "-m", "impl.tests.pipeline.pipeline_child", *map(str, arguments)]


def interrupted(
    strace: str, log: Path, call: str, when: object, effect: str, paths: Sequence[Path], *arguments: object
) -> Ended:
    """Run a child in which the `when`-th `call` on one of the paths meets with the effect."""
    watched = [part for path in paths for part in ("-P", str(path))]
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:{effect}:when={when}"]
    command = [strace, "-f", "-qq", "-o", str(log), *watched, *inject, *child(*arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    noted = log.read_text("utf-8", "replace")
    return Ended(done.returncode, done.stdout.splitlines(), done.stderr, "INJECTED" in noted or "SIGKILL" in noted)


def calls_of(strace: str, log: Path, paths: Sequence[Path], *arguments: object) -> Iterator[tuple[str, int]]:
    """Every system call that a child makes on the paths: its name, and which of that name it is."""
    watched = [part for path in paths for part in ("-P", str(path))]
    command = [strace, "-f", "-qq", "-o", str(log), *watched, *child(*arguments)]
    subprocess.run(command, capture_output=True, timeout=60, check=True, env=ENVIRONMENT)
    seen: dict[str, int] = {}
    for line in log.read_text("utf-8", "replace").splitlines():
        name = line.split(maxsplit=1)[1].partition("(")[0]
        if name.isidentifier():
            seen[name] = seen.get(name, 0) + 1
            yield name, seen[name]
