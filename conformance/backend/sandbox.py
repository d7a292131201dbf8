"""A backend under bubblewrap: it has no network, cannot outlive the run, and can write only to its roots.

It sees the system's programs, its own interpreter and its own files, all read-only, and an empty /tmp that vanishes
with it. The contracts, the vectors, the reports and the harness are not there. `docs/threat-model.md` says what that is
worth.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from conformance.backend.guardian import guardian
from conformance.backend.resolve import BackendCommand
from conformance.backend.session import KnownSignatures, module_places, signatures_of
from conformance.codec.codebook import codebook_of
from conformance.contract.cache import cache_folder
from conformance.contract.library import load_library
from conformance.contract.suite import MUTANT, Suite

FILE: Final = "signatures.pickle"
_PACKAGES: Final = ("backend", "codec", "contract")  # imports of the worker, without contracts and vectors
_OURS: Final = Path(__file__).resolve().parents[1]


@lru_cache(4)
def worker_copy(suite: Suite) -> Path:
    """The folder of the copy, made once per run and removed with it."""
    folder = Path(tempfile.mkdtemp(prefix="worker-", dir=guardian().folder(tempfile.gettempdir(), "copies")))
    package = folder / "conformance"
    package.mkdir()
    (package / "__init__.py").write_bytes((_OURS / "__init__.py").read_bytes())
    for name in _PACKAGES:
        shutil.copytree(_OURS / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    known = signatures_of(codebook_of(load_library(suite)))
    (folder / FILE).write_bytes(pickle.dumps(KnownSignatures(dict(known.types), dict(known.numbers))))
    return folder


HOME: Final = Path("/tally")  # where our own code is in the sandbox
_ROOT: Final = Path(__file__).resolve().parents[2]
WORKER: Final = "conformance.backend.worker"  # the module that serves python: backends
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Files that programs open by a fixed name; not all of /etc, which may have private files of the user.
_SETTINGS: Final = (
    *("alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types"),
    *("nsswitch.conf", "passwd", "pki/tls/openssl.cnf", "ssl/openssl.cnf", "timezone"),
)
_ISOLATED: Final = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
_PRIVATE: Final = ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")  # noqa: S108 (of the sandbox alone)
_KEPT: Final = ("LANG", "LC_ALL", "PATH", "TALLY_WIRE")
_OWN: Final = ("TALLY_WIRE", "TZ")  # taken from the command, not from the user's environment
_PROBE: Final = 20  # seconds
_END: Final = "--"  # ends the options of bubblewrap
_READABLE: Final = 'while IFS= read -r file; do [ -r "$file" ] && exit 0; done; exit 1'


class NoSandbox(Exception):
    """bubblewrap is not here or cannot start; says why. Nothing was judged."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a sandboxed backend may read besides the system and itself, and what it must never see."""

    suite: Suite
    roots: Path  # the one folder that it may write to
    read: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()  # files that it must not read, wherever they are

    def command(self, command: BackendCommand) -> BackendCommand:
        """The same backend under bubblewrap; raises NoSandbox."""
        bwrap = require_bwrap()
        started = self.inside(command)
        here = command.folder or Path.cwd()
        options = [*_ISOLATED, *_system(), *_PRIVATE, *self._bound(self._bindings(command)[0])]
        # This comes last, because binding makes folders in it.
        options += ["--bind", self.roots, self.roots, "--dir", here, "--remount-ro", "/", "--chdir", here, "--clearenv"]
        for name, value in sorted(started.environment.items()):
            options += ["--setenv", name, value]
        return replace(command, arguments=(bwrap, *map(str, options), _END, *started.arguments))

    def inside(self, command: BackendCommand) -> BackendCommand:
        """The command that bubblewrap starts, with all of its environment."""
        _, environment, arguments = self._bindings(command)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {name: command.environment[name] for name in _OWN if name in command.environment}
        known = {"PATH": os.defpath, **kept, **own, "HOME": "/tmp", "TMPDIR": "/tmp", **environment}  # noqa: S108
        return replace(command, arguments=tuple(arguments), environment=known)

    def can_read(self, command: BackendCommand, files: Iterable[Path]) -> bool:
        """Whether the backend can read any of these files; it is tried in the sandbox. Raises NoSandbox."""
        whole = self.command(command).arguments
        tried = [*whole[: whole.index(_END)], _END, "/bin/sh", "-c", _READABLE]
        names = b"".join(os.fsencode(file.absolute()) + b"\n" for file in files)
        return subprocess.run(tried, input=names, capture_output=True, timeout=_PROBE, check=False).returncode == 0

    def _bindings(self, command: BackendCommand) -> tuple[dict[Path, Path], dict[str, str], Sequence[str]]:
        """What is bound besides the system, by its place inside; more environment; the arguments."""
        shown = {path: path for path in (*self.read, *_prefixes(command.arguments[0]))}
        here, arguments = command.folder or Path.cwd(), command.arguments
        ours = {"PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
        if arguments[0] == sys.executable:
            shown |= {path: path for path in self._folders(Path(entry) for entry in sys.path if entry)}
        if command.folder is not None:
            shown |= {path: path for path in self._of_suite(command.folder)}
        if WORKER in arguments[3:4]:
            copy, target = worker_copy(self.suite), arguments[4]
            paths = [Path(entry).absolute() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
            shown |= {path: path for path in self._folders([*paths, here])}
            files = module_files(target.partition(":")[0], here)
            shown |= {path: path for path in (*files, *self._folders(file.parent for file in files))}
            shown[HOME] = copy
            found = os.pathsep.join(map(str, [HOME, *paths]))
            return shown, {**ours, "PYTHONPATH": found}, (*arguments[:4], target, str(HOME / "signatures.pickle"))
        if command.folder is not None:
            if command.text.startswith(MUTANT) and self.suite.mutants.command:
                for file in self.suite.spec.glob("*/mutants.yaml"):
                    shown[HOME / "spec" / file.relative_to(self.suite.spec)] = file
                ours["TALLY_SPEC_DIR"] = str(HOME / "spec")
            return shown, ours, arguments
        named = [Path(word).absolute() for word in arguments[1:] if not word.startswith("-")]
        folders = [path if path.is_dir() else path.parent for path in named if path.exists()]
        shown |= {path: path for path in named if path.is_file()}
        shown |= {path: path for path in self._folders([*folders, here])}
        return shown, {}, (shutil.which(arguments[0]) or arguments[0], *arguments[1:])

    def _of_suite(self, folder: Path) -> Iterator[Path]:
        """What a command of `tally.toml` that starts in this folder may read."""
        for program in self.suite.sandbox.get("programs", ()):
            yield from _prefixes(program)
        if folder == self.suite.root and "show" in self.suite.sandbox:
            yield from (folder / name for name in self.suite.sandbox["show"] if (folder / name).exists())
        else:
            yield from self._folders([folder])

    def _folders(self, folders: Iterable[Path]) -> list[Path]:
        """The folders that may be shown whole: none above the user's home, and no checkout of the harness."""
        private = [Path.home(), *([_ROOT] if (_ROOT / "spec").is_dir() else [])]
        # A link to the checkout shows the checkout.
        shown = ((one, one.resolve()) for one in folders if one.is_dir())
        return [one for one, real in shown if not any(each.resolve().is_relative_to(real) for each in private)]

    def _bound(self, shown: dict[Path, Path]) -> list[str | Path]:
        """The options that bind what is shown, outer folders first, and cover in it what must not be seen."""
        bound = {_place(inside, shown): outside for inside, outside in shown.items()}
        options: list[str | Path] = []
        for inside, outside in sorted(bound.items()):
            options += ["--ro-bind", outside, inside]
        covered: list[Path] = []
        visible = {**bound, **{Path(name): Path(name) for name in _SYSTEM if not Path(name).is_symlink()}}
        for path in sorted(_inside(filter(Path.is_dir, self._hidden()), visible)):
            if not any(map(path.is_relative_to, covered)):
                options += ["--tmpfs", path, "--remount-ro", path]
                covered.append(path)
        for path in sorted(_inside(filter(Path.is_file, self.secret), bound)):
            options += ["--ro-bind", "/dev/null", path]
        return options

    def _hidden(self) -> Iterator[Path]:
        suite = self.suite
        yield from (suite.spec, suite.vectors, suite.reports)
        yield from (folder / ".git" for folder in (suite.root, *suite.root.parents))
        yield from (suite.root / name for name in suite.sandbox.get("hide", ()))
        # An editable install keeps the contracts in site-packages, beside the harness of the checkout.
        yield from (Path(entry).absolute() / "conformance" for entry in (str(_ROOT), *sys.path) if entry)
        if (known := cache_folder()) is not None:
            yield known


@lru_cache(1)
def require_bwrap() -> str:
    """The path of bubblewrap; raises NoSandbox where it is missing or cannot start a process."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise NoSandbox("bwrap not found; bubblewrap is the Debian package that has it")
    probe = [bwrap, *_ISOLATED, *map(str, _system()), *_PRIVATE, "--clearenv", "--", "/usr/bin/env"]
    try:
        done = subprocess.run(probe, capture_output=True, timeout=_PROBE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSandbox(f"bwrap cannot run: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoSandbox(f"bwrap cannot start a process here: {said[-1] if said else f'status {done.returncode}'}")
    return bwrap


@lru_cache(1)
def bwrap_version() -> str:
    """The version that bubblewrap reports; for observations, never for a record."""
    said = subprocess.run([require_bwrap(), "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def _place(shown: Path, all_shown: Iterable[Path]) -> Path:
    """Where a path is bound: what a link in another shown folder leads to has its own place, which the link finds."""
    if ".." in shown.parts:
        back = len(shown.parts) - shown.parts[::-1].index("..")
        shown = Path(*shown.parts[:back]).resolve().joinpath(*shown.parts[back:])
    below = any(one != shown and shown.is_relative_to(one) for one in all_shown)
    return shown.resolve() if below and not shown.is_relative_to(HOME) else shown


def _inside(hidden: Iterable[Path], bound: Mapping[Path, Path]) -> set[Path]:
    """Every place in the sandbox of files and folders that exist; links and `..` in their names are followed."""
    real = {inside: outside.resolve() for inside, outside in bound.items()}
    return {
        inside / path.relative_to(outside)
        for path in {path.resolve() for path in hidden}
        for inside, outside in real.items()
        if path.is_relative_to(outside)
    }


def _system() -> list[str | Path]:
    options: list[str | Path] = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            options += ["--symlink", path.readlink(), path]
        elif path.is_dir():
            options += ["--ro-bind", path, path]
    for name in _SETTINGS:
        options += ["--ro-bind-try", Path("/etc", name), Path("/etc", name)]
    return options


def _prefixes(program: str) -> list[Path]:
    """The folders that a program's installation consists of, one for each symbolic link on the way to it."""
    found: list[Path] = []
    path = Path(shutil.which(program) or program).absolute()
    for _ in range(40):
        found += _installation(path)
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    if program == sys.executable:
        found += [Path(sys.prefix), Path(sys.base_prefix)]
    system = [Path(name) for name in _SYSTEM]
    return [one for one in found if one.exists() and not any(one.is_relative_to(each) for each in system)]


def _installation(program: Path) -> list[Path]:
    """What belongs to a program by the customs of Unix: the folder around its `bin`, or around a manager's `shims`."""
    prefix = program.parent.parent
    if program.parent.name not in ("bin", "sbin", "shims") or Path.home().is_relative_to(prefix):
        return [program]
    # The rest of ~/.local is the user's own.
    return [prefix / "bin", prefix / "lib"] if prefix.name == ".local" else [prefix]


def module_files(module: str, here: Path) -> list[Path]:
    """The files of a module, or of its package, that a worker which starts `here` is to import."""
    spec = PathFinder.find_spec(module.partition(".")[0], module_places(module, sys.path, here))
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [Path(place).absolute() for place in spec.submodule_search_locations]
    return [Path(spec.origin).absolute()] if spec.origin else []
