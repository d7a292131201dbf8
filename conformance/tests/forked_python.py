"""Workers of `python:` backends that are forked from the process of the tests instead of started anew.

A new interpreter takes 0.16 s of CPU to import NumPy and the codec, and the tests start 1,500 workers (measured: a
third of the whole suite). A forked one is a process like it: of its own session, with its own pipes, environment and
folder, and with no module that a new one would have to find by itself. Tests of the start itself, of other commands,
and in processes of their own get new interpreters all the same.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from conformance.backend.worker import main
from conformance.tests.processes import ROOT

WORKER: Final = (sys.executable, "-P", "-m", "conformance.backend.worker")
_PATHS: Final = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_HOUSE: Final = str(ROOT / "conformance")


class Forked(subprocess.Popen[bytes]):
    """A process that is forked where its command is that of a worker, else started as ever."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        environment = options.get("env")
        if tuple(command[:4]) == WORKER and environment is not None and _hashes_alike(environment):
            options["preexec_fn"] = partial(_serve, tuple(command), dict(environment))
        super().__init__(command, **options)


def forking(module: Any) -> Any:
    """What a module may use as `subprocess` so that its workers are forked."""
    return SimpleNamespace(**{**vars(module.subprocess), "Popen": Forked})


def _hashes_alike(environment: Mapping[str, str]) -> bool:
    """Whether a new interpreter would hash strings as this one does, or at random as well."""
    return environment.get("PYTHONHASHSEED") == os.environ.get("PYTHONHASHSEED")


def _serve(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Be the worker; its pipes are 0, 1 and 2, and its session and folder are made. Never returns."""
    status = 70
    try:
        _forget(command, environment)
        status = main(list(command[4:]))
        threading._shutdown()  # type: ignore[attr-defined]  # it waits, as an interpreter does
        atexit._run_exitfuncs()
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _forget(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Leave behind what a new interpreter would not have: files, handlers, modules, the environment."""
    gc.freeze()  # what the tests hold is not walked through again
    faulthandler.disable()
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = list(command[3:])
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    given = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [*given, *(path for path in sys.path if _is_installed(path))]
    sys.path_importer_cache.clear()
    for name, module in list(sys.modules.items()):
        if not _stays(getattr(module, "__file__", None), name):
            del sys.modules[name]


def _is_installed(path: str) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in _PATHS) or path.endswith(".zip")


def _stays(file: str | None, name: str) -> bool:
    """Whether a module is the interpreter's, an installed one, or of the harness itself."""
    if file is None:
        return name.partition(".")[0] not in ("impl", "checks", "tallystick")
    return _is_installed(file) or (file.startswith(_HOUSE) and not name.startswith("conformance.tests"))
