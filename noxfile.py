"""The table of contents of Tallystick's chores: `nox --list` prints it, `nox -s NAME` does one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"
nox.options.sessions = ["conform", "tests", "lint", "vectors", "torch"]
nox.options.reuse_existing_virtualenvs = True

CRASHED = ["--backend", "reference", "--backend", "javascript"]
TORCH_PYTHON = "3.11"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
LOWEST = ["codec_", "contract_", "fuzz_drawn", "report_terminal", "cli_main", "cli_schema"]
ROOM = 1 << 30  # bytes of the temporary files of a run of the tests; a container often has less in memory
CONSTRAINTS = str(Path(".ci") / "constraints.txt")


@nox.session
def conform(session: nox.Session) -> None:
    """Put the bundled reference on trial, print the verdict table (the main job), and compare the committed report."""
    install(session, ".")
    tried(session, "reference", "json")


@nox.session
def backends(session: nox.Session) -> None:
    """Put the other bundled backends on trial, one of them on the CBOR wire, and compare the committed reports."""
    install(session, ".")
    trials = [("vectorized", "json"), ("javascript", "cbor")]
    for backend, wire in trials:
        tried(session, backend, wire)


@nox.session
def reports(session: nox.Session) -> None:
    """Write reports/ again: run and certify the bundled backends, make the pages; `-- NAME` for one, `-- --again`."""
    install(session, ".")
    session.run("python", str(Path(".ci") / "reports.py"), *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the test suite; what needs an absent tool says so in the summary."""
    install(session, ".[dev]")
    session.run("pytest", *(session.posargs or ["-q", "-n", "2", "--dist", "worksteal"]), env=in_memory())


@nox.session
def queue(session: nox.Session) -> None:
    """Run the tests of the file queue that no POSIX tool is needed for: what CI runs on Windows."""
    install(session, ".[dev]")
    names = ["consumer", "legacy", "meta", "names", "npz", "provider", "sampling", "seeds", "threads", "waiting"]
    names += ["what_became"]
    files = [str(Path("impl") / "tests" / "pipeline" / f"test_pipeline_{name}.py") for name in names]
    session.run("pytest", "-q", *files, *session.posargs, env=in_memory())


@nox.session(python=TORCH_PYTHON)
def torch(session: nox.Session) -> None:
    """Run the tests that need torch or other extras: .pt files, the batch sampler, Parquet, docs/pytorch.md."""
    install(session, ".[dev,torch,loaders,telemetry]")
    session.run("pytest", "-q", "impl/tests/torch", *session.posargs, env=in_memory())


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and types of the code, and lint the contracts."""
    install(session, ".[dev]")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("tally", "lint")


@nox.session
def docs(session: nox.Session) -> None:
    """Make the API reference of `tallystick` from its docstrings, as HTML in build/reference."""
    install(session, ".[dev]")
    session.run("python", str(Path(".ci") / "reference.py"), "build/reference")


@nox.session
def vectors(session: nox.Session) -> None:
    """Regenerate every vector under the newest installed Python from 3.11 up; `-- all`: under each."""
    found = {version: interpreter for version in PYTHONS if (interpreter := find_python(version)) is not None}
    if not found:
        session.error("no Python from 3.11 up was found")
    # The main job has asked every case under the Python of the environment already.
    chosen = list(found) if "all" in session.posargs else list(found)[-1:]
    for version in chosen:
        session.log(f"Python {version}: {found[version]}")
        home = Path(session.create_tmp()) / f"python-{version}"
        if not (home / "bin" / "python").exists():
            session.run(found[version], "-m", "venv", str(home), external=True)
        python = str(home / "bin" / "python")
        session.run(python, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, "-e", ".", external=True)
        session.run(python, "-m", "conformance.cli.main", "vectors", "check", "--jobs", "2", external=True)
    for version in PYTHONS:
        if version not in chosen:
            session.log(f"Python {version}: {'not asked for' if version in found else 'not found'}, not checked")


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the quick vectors, one machine, and tests of contracts and codec with the lowest versions declared."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    session.run("python", str(Path(".ci") / "lowest.py"), str(constraints))
    session.install("-c", str(constraints), "-e", ".[duckdb]")
    session.run("tally", "run", "--profile", "quick")
    session.run("tally", "run", "-k", "Stream")
    tests = Path("conformance") / "tests"
    files = [file for name in LOWEST for file in sorted(map(str, tests.rglob(f"test_{name}*.py")))]
    files.append("impl/tests/batch/test_batch_load.py")
    session.run("pytest", "-q", *files, *session.posargs, env=in_memory())


@nox.session
def mutants(session: nox.Session) -> None:
    """Run every mutant against the vectors and compare with the committed kill matrix and floor."""
    install(session, ".")
    session.run("tally", "mutants", "--jobs", "2", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Change a Python backend in one place at a time, list what no quick case notices; `-- PATH` for a part of it."""
    install(session, ".")
    session.run("python", str(Path(".ci") / "mutation.py"), *session.posargs)


@nox.session
def crash(session: nox.Session) -> None:
    """Crash the bundled backends in every workload, in a sample of the states, and state the level reached."""
    install(session, ".")
    session.run("tally", "crash", *(session.posargs or CRASHED))


@nox.session
def crash_full(session: nox.Session) -> None:
    """Crash the bundled backends in every workload, in every state, and test the harness's own model."""
    install(session, ".[dev]")
    session.run("tally", "crash", "--full", "--sweep", "kill", "--sweep", "error", *(session.posargs or CRASHED))
    tests = ["calibration", "writers", "reference"]
    files = [f"conformance/tests/crash/test_crash_{name}.py" for name in tests]
    files.append("impl/tests/pipeline/test_pipeline_kill.py")
    session.run("pytest", "-q", "-n", "2", *files, env={"TALLY_CRASH_FULL": "1"})


@nox.session
def challenge(session: nox.Session) -> None:
    """Answer the challenge of `tally certify` for every operator from a table of all public answers; none may pass."""
    install(session, ".[dev]")
    tests = "conformance/tests/trial/test_challenge.py"
    session.run("pytest", "-q", "-n", "2", tests, *session.posargs, env={"TALLY_CHALLENGE_FULL": "1"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Hold the vectorized backend to the reference on more than 10,000 fuzzed calls, derived from the contracts."""
    install(session, ".")
    examples = ["--fuzz-examples", "1500"]  # of every operator
    session.run("tally", "run", "--backend", "vectorized", "-k", "?fuzz", *examples, *session.posargs)


@nox.session
def golden(session: nox.Session) -> None:
    """Run the golden profile, N = 10^9 and up, on the vectorized backend."""
    install(session, ".")
    session.run("tally", "run", "--backend", "vectorized", "--profile", "golden", "--wire", "cbor", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Print every promised figure as a ratio to a yardstick measured in the same run; fail where one is broken."""
    install(session, ".[dev]")
    for benchmark in sorted(Path("benchmarks").glob("*.py")):
        session.run("python", str(benchmark), "--check", *session.posargs)


def tried(session: nox.Session, backend: str, wire: str) -> None:
    """Run a backend with the standard profile; unless it was asked for something else, compare the committed report."""
    how = ["--backend", backend, "--wire", wire, "--jobs", "2"]
    if session.posargs:
        session.run("tally", "run", *how, *session.posargs)
        return
    session.run("tally", "run", *how, "--format", f"json={Path('reports') / 'last' / f'{backend}.json'}")
    session.run("python", str(Path(".ci") / "reports.py"), backend, "--check")


def install(session: nox.Session, what: str) -> None:
    """Install this checkout, editable, with the versions that CI tests; `nox --no-venv` has it installed already."""
    if session.virtualenv.is_sandboxed:
        session.install("-c", CONSTRAINTS, "-e", what)


def in_memory() -> dict[str, str]:
    """Temporary files in memory where there is a folder for them: most tests that write files also fsync them."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) and "TMPDIR" not in os.environ
    return {"TMPDIR": str(memory)} if usable and shutil.disk_usage(memory).free >= ROOM else {}


def find_python(version: str) -> str | None:
    """An interpreter of this version that answers, on the PATH or among pyenv's."""
    for candidate in candidates(version):
        try:
            said = subprocess.run([candidate, "--version"], capture_output=True, text=True, timeout=20, check=False)
        except OSError:
            continue
        if said.returncode == 0 and said.stdout.startswith(f"Python {version}."):
            return candidate
    return None


def candidates(version: str) -> Iterator[str]:
    """Where an interpreter of this version may be."""
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    for name in ("python3", "python"):
        if on_path := shutil.which(name):
            yield on_path
    for home in sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*"), reverse=True):
        yield str(home / "bin" / "python")
