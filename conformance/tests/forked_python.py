"""Backends in Python that are forked from a small process beside the tests instead of started anew.

A new interpreter takes 0.08 s of CPU to be the worker of `python:` backends, which imports NumPy and the codec, 0.04 s
to be a bundled backend, and 0.025 s to be a fake. A fork of the tests themselves takes 0.04 s, most of it for the page
table of 400 MB. A fork of the small process, the mother, takes a third of that and less. The tests start thousands.

A forked backend is a process like the other: a child of the tests in a session of its own, with its own pipes,
environment and folder, and with no module that a new interpreter would have to find by itself. Every other command, and
every process that a test starts by itself, is a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import inspect
import os
import pickle
import platform
import runpy
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NoReturn

import conformance.backend.worker  # noqa: F401  what workers import, imported once
from conformance.tests.processes import ROOT, environment

_OURS: Final = (sys.executable, "-P", "-m")
_PATHS: Final = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_HOUSE: Final = str(ROOT / "conformance")
_FIRST: Final = tuple(sys.path)  # before tests change it: setuptools, once imported, adds a folder of its own
_USUAL: Final = gc.get_threshold()  # before tests change it
_LATER: Final = ("numpy", "conformance.contract.library")  # what workers and backends import when they are asked
_FAKES: Final = "conformance.tests.fakes"
_WRITERS: Final = "conformance.tests.crash_writers"
_RAISED: Final = 1  # the status of an interpreter after an exception
_CLONE: Final = {"x86_64": 56, "aarch64": 220}.get(platform.machine(), 0) if sys.platform == "linux" else 0
_CLONE_PARENT: Final = 0x8000  # the new process is a child of the caller's parent
_LONGEST: Final = 1 << 17  # bytes of a request: a program, its environment and its folder
_STARTING: Final = threading.Lock()
_TESTS: Final = os.getpid()
_STARTS: Final = Counter[int]()  # of backends, by the process that asks for them
_FEW: Final = 4  # a mother costs as much as so many forks of the tests


class Forked(subprocess.Popen[bytes]):
    """A process that is forked where it is a module of ours (`python -P -m`) or a fake, else started as ever.

    The mother forks it. The first few of a process that the tests forked, which is not worth a mother of its own, and
    all where a system has no `CLONE_PARENT` are forked by the process itself if they are modules, and else started.
    `_execute_child` and `_close_pipe_fds` are private, and no public call lets another process start the child.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        self._mother: Mother | None = None
        module, given = tuple(command[:3]) == _OURS, options.get("env")
        if (module or _is_fake(command)) and given is not None and _hashes_alike(given):
            self._mother = mother()
            if self._mother is None and module:
                options["preexec_fn"] = partial(_run, tuple(command[1:]), dict(given))
        super().__init__(command, **options)

    def _execute_child(self, *given: Any) -> None:
        start = super()._execute_child  # type: ignore[misc]
        named = inspect.signature(start).bind(*given).arguments
        folder = Path(named["cwd"] or Path.cwd())
        if self._mother is None or not folder.is_dir():
            start(*given)
            return
        pipes = [named[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        theirs = [usual if pipe == -1 else pipe for usual, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = self._mother.fork(_Request(tuple(named["args"][1:]), dict(named["env"]), folder), theirs)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def forking(module: Any) -> Any:
    """What a module may use as `subprocess` so that its backends are forked."""
    return SimpleNamespace(**{**vars(module.subprocess), "Popen": Forked})


def _is_fake(command: Sequence[str]) -> bool:
    """Whether a command is a fake, a script of a test, or a writer for the crash harness."""
    match tuple(command):
        case (sys.executable, "-S", "-c", said, *_):
            return f"from {_FAKES}." in said or f"'{_WRITERS}." in said
        case (sys.executable, "-S", "-m", name, *_):
            return name.startswith(_FAKES)
        case (sys.executable, "-S", script, *_):
            return script.startswith("/") and script.endswith(".py")
    return False


def _hashes_alike(environment: Mapping[str, str]) -> bool:
    """Whether a new interpreter would hash strings as this one does, or at random as well."""
    return environment.get("PYTHONHASHSEED") == os.environ.get("PYTHONHASHSEED")


# -- the mother, as the tests see her


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of an interpreter, its whole environment and its folder; its pipes are sent along."""

    program: tuple[str, ...]
    environment: dict[str, str]
    folder: Path


class Mother:
    """The small process that forks; it ends when the tests do, as its end of the socket is then closed."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-c", f"from {__name__} import be_mother; be_mother({number})"]
            # BLAS makes no threads: a thread does not survive the fork, and nobody would tell BLAS.
            alone = environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
            self._process = subprocess.Popen(command, env=alone, pass_fds=[number], start_new_session=True)

    def fork(self, request: _Request, pipes: Sequence[int]) -> int:
        """The number of a new child of this process that is the program."""
        with self._asking:
            socket.send_fds(self._socket, [pickle.dumps(request)], list(pipes))
            number = self._socket.recv(32)
        if not number:
            raise ChildProcessError("the process that forks for the tests is gone")
        return int(number)


def mother() -> Mother | None:
    """The mother of this process's next backend; none where this process forks it itself, or nobody can."""
    with _STARTING:
        process = os.getpid()
        _STARTS[process] += 1
        return _mother_of(process) if _CLONE and (process == _TESTS or _STARTS[process] > _FEW) else None


@cache
def _mother_of(process: int) -> Mother:
    return Mother()


# -- the mother, as she sees herself


def be_mother(number: int) -> None:
    """Fork for whoever is at the other end of a socket, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (*_LATER, *(f"{_FAKES}.{name}" for name in ("halves", "table"))):
        importlib.import_module(name)
    _installed(), _foreign()  # once for all forks
    with socket.socket(fileno=number) as asked:
        gc.collect()
        gc.freeze()  # a fork does not walk through it again
        while True:
            request, pipes, *_ = socket.recv_fds(asked, _LONGEST, 3)
            if not request:
                return
            program = pickle.loads(request)
            if _fork_a_sibling() == 0:
                _begin(program, pipes, asked)
            for pipe in pipes:
                os.close(pipe)


def _fork_a_sibling() -> int:
    """As `os.fork`, but the new process is a child of this one's parent, which can wait for it."""
    python, system = ctypes.pythonapi, ctypes.PyDLL(None, use_errno=True)
    python.PyOS_BeforeFork()
    made = int(system.syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if made == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    if made < 0:
        raise OSError(ctypes.get_errno(), "no process can be made beside this one")
    return made


def _begin(request: _Request, pipes: Sequence[int], asked: socket.socket) -> NoReturn:
    """In a new process: be the program, in a session of its own, with three pipes. Never returns."""
    os.setsid()
    os.chdir(request.folder)
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
    asked.send(str(os.getpid()).encode())
    _run(request.program, request.environment)


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Be the program; its pipes are 0, 1 and 2, and its session and folder are made. Never returns.

    `threading._shutdown` and the two calls of `atexit` are private, and no public call replaces them. A child of
    `multiprocessing` also ends with `threading._shutdown`.
    """
    status = _RAISED
    try:
        _forget(arguments, environment)
        if arguments[1] == "-m":
            runpy.run_module(arguments[2], run_name="__main__", alter_sys=True)
        elif arguments[1] == "-c":
            exec(arguments[2], {"__name__": "__main__"})
        else:
            runpy.run_path(arguments[1], run_name="__main__")
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


def _forget(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Leave behind what a new interpreter would not have: files, handlers, modules, the environment."""
    gc.freeze()  # what the tests hold is not walked through again
    gc.set_threshold(*_USUAL)
    faulthandler.disable()
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(set(environment.items()) - set(os.environ.items()))
    time.tzset()
    bare, how = arguments[0] == "-S", arguments[1]
    program, *given_it = arguments[2:] if how in ("-c", "-m") else arguments[1:]
    sys.argv = ["-c" if how == "-c" else program, *given_it]
    beside = str(Path.cwd() if how in ("-c", "-m") else Path(program).parent)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    given = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    installed = (path for path in _installed() if not (bare and path.endswith("-packages")))
    sys.path[:] = [*([beside] if bare else []), *given, *installed]
    sys.path_importer_cache.clear()
    for name in (program, *_foreign()):
        if not bare or name == program or not (name.startswith(_FAKES) or _FAKES.startswith(name)):
            sys.modules.pop(name, None)


@cache
def _installed() -> list[str]:
    """Where a new interpreter looks without being told."""
    return [path for path in _FIRST if _is_installed(path)]


@cache
def _foreign() -> list[str]:
    """The modules that a new interpreter would have to find by itself."""
    return [name for name, one in sys.modules.items() if not _stays(getattr(one, "__file__", None), name)]


def _is_installed(path: str) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in _PATHS) or path.endswith(".zip")


def _stays(file: str | None, name: str) -> bool:
    """Whether a module is the interpreter's, an installed one, or of the harness itself."""
    if file is None:
        return name.partition(".")[0] not in ("impl", "checks", "tallystick")
    return _is_installed(file) or (file.startswith(_HOUSE) and not name.startswith("conformance.tests"))
