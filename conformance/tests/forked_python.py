"""Backends in Python that are forked from the process of the tests instead of started anew.

A new interpreter takes 0.16 s of CPU to be the worker of `python:` backends, which imports NumPy and the codec, and
0.04 s to be a bundled backend. A forked one takes 0.02 s, and the tests start hundreds. It is a process like the other:
in a session of its own, with its own pipes, environment and folder, and with no module that a new interpreter would
have to find by itself. Every other command, and every process that a test starts by itself, is a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import os
import runpy
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

import conformance.backend.worker  # noqa: F401  what workers import, imported once
from conformance.tests.processes import ROOT

_OURS: Final = (sys.executable, "-P", "-m")
_PATHS: Final = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_HOUSE: Final = str(ROOT / "conformance")
_FIRST: Final = tuple(sys.path)  # before tests change it: setuptools, once imported, adds a folder of its own
_USUAL: Final = gc.get_threshold()  # before tests change it
_RAISED: Final = 1  # the status of an interpreter after an exception


class Forked(subprocess.Popen[bytes]):
    """A process that is forked where its command is a module of ours (`python -P -m`), else started as ever."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        environment = options.get("env")
        if tuple(command[:3]) == _OURS and environment is not None and _hashes_alike(environment):
            options["preexec_fn"] = partial(_run, tuple(command[3:]), dict(environment))
        super().__init__(command, **options)


def forking(module: Any) -> Any:
    """What a module may use as `subprocess` so that its backends are forked."""
    return SimpleNamespace(**{**vars(module.subprocess), "Popen": Forked})


def _hashes_alike(environment: Mapping[str, str]) -> bool:
    """Whether a new interpreter would hash strings as this one does, or at random as well."""
    return environment.get("PYTHONHASHSEED") == os.environ.get("PYTHONHASHSEED")


def _run(program: Sequence[str], environment: Mapping[str, str]) -> None:
    """Be the module; its pipes are 0, 1 and 2, and its session and folder are made. Never returns.

    `threading._shutdown` and the two calls of `atexit` are private, and no public call replaces them. A child of
    `multiprocessing` also ends with `threading._shutdown`.
    """
    status = _RAISED
    try:
        _forget(program, environment)
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        threading._shutdown()  # type: ignore[attr-defined]  # it waits, as an interpreter does
        status = 0
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else 0 if leave.code is None else _RAISED
        if isinstance(leave.code, str):
            print(leave.code, file=sys.stderr)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _forget(program: Sequence[str], environment: Mapping[str, str]) -> None:
    """Leave behind what a new interpreter would not have: files, handlers, modules, the environment."""
    gc.freeze()  # what the tests hold is not walked through again
    gc.set_threshold(*_USUAL)
    faulthandler.disable()
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = list(program)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    given = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*given, *(path for path in _FIRST if _is_installed(path))]
    sys.path_importer_cache.clear()
    for name, module in list(sys.modules.items()):
        if name == program[0] or not _stays(getattr(module, "__file__", None), name):
            del sys.modules[name]


def _is_installed(path: str) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in _PATHS) or path.endswith(".zip")


def _stays(file: str | None, name: str) -> bool:
    """Whether a module is the interpreter's, an installed one, or of the harness itself."""
    if file is None:
        return name.partition(".")[0] not in ("impl", "checks", "tallystick")
    return _is_installed(file) or (file.startswith(_HOUSE) and not name.startswith("conformance.tests"))
