"""What is installed is what was checked out: the wheel, outside the checkout, among folders named like ours."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conformance.tests.certificates import certifier
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.tests.sources import modules, text_of

FEW = ("--profile", "quick", "-k", "SeededBlockPermute_v1::pinned-orders")
OF_EVERY_FAMILY = (
    "SeededBlockPermute_v1::pinned-orders",
    "Emit_v1::ends",
    "EncodeCanonical_v1::ends",
    "Migrate_v1::near",
    "Provider::order-of-settings",
    "FiringCounts::the-seeds-example",
    "RemapText::many",
)
BAD = "mutant:philox-nine-rounds"
MINE = """\
import impl.reference as reference


def hello():
    return {**reference.backend.hello(), "name": "mine"}


call = reference.backend.call
"""
HELLO = """\
from pathlib import Path
from conformance.backend.command import Process
from conformance.backend.resolve import resolve
from conformance.codec.framing import DIALECTS
from conformance.contract.suite_file import find_suite

for name in ("reference", "python:mine"):
    command = resolve(name, find_suite("", Path.cwd()))
    print(Process(command.arguments, DIALECTS["json"], 30.0, command.environment, 30.0, command.folder).hello().name)
"""
USERS_PROJECT = """\
import numpy as np

import tallystick
from tallystick import ContextStream, ContractFailure, Cursor, Sampler
from tallystick.stream import ListedTokens, Model


def epoch(samples: int, cursor: Cursor) -> list[list[int]]:
    size, token = np.int64(samples), bytes(32)
    sampler = Sampler(cardinality=size, global_batch_size=4, seed_token=token, rank=0, stage_type="eval", cursor=cursor)
    return [list(batch) for batch in sampler]


def saved(folder: str) -> bytes:
    stream = ContextStream(ListedTokens(range(64)), cms_frequencies=[1, 8])
    chunk = stream.next_chunk(8)
    assert chunk is not None and chunk.tokens[0] == 0
    stream.advance(1)
    tallystick.save_checkpoint(stream, folder, "latest", Model(1, b"weights"))
    return tallystick.restore_checkpoint(ListedTokens(range(64)), folder, "latest").model.state


try:
    epoch(7, Cursor(0, 9))
except ContractFailure as failure:
    code: str = failure.code
print(sorted(sum(epoch(7, Cursor(0, 4)), [1])))
"""
Tool = Callable[[str], str]


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with nothing of Python's in its environment but what is given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    given = {**inherited, **environment}
    return subprocess.run(
        list(map(str, command)), cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=300
    )


def must(command: Sequence[str | Path], folder: Path = ROOT) -> str:
    done = run(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    must([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder])
    return folder


def environment(home: Path, *what: str | Path) -> Path:
    """An environment in which something was installed without its dependencies, which are those of this one."""
    venv.create(home, symlinks=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    # A path line adds the folder alone: an editable checkout that is installed there stays behind.
    (site / "dependencies.pth").write_text("\n".join(dependencies) + "\n")
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "-q",
        "--python",
        home / "bin" / "python",
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
    ]
    must([*pip, "--no-build-isolation", *what])
    return home


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel."""
    (wheel,) = built.glob("*.whl")
    return environment(tmp_path_factory.mktemp("wheel") / "venv", wheel)


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the checkout itself."""
    return environment(tmp_path_factory.mktemp("editable") / "venv", "-e", ROOT)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A user's folder whose own packages are named like ours."""
    folder = tmp_path / "elsewhere"
    for name in ("impl", "conformance"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise ImportError('this is the package of the user')\n")
    (folder / "mine.py").write_text(MINE)
    return folder


def origins(home: Path, folder: Path) -> list[Path]:
    """Where the two packages and the specification of an environment come from."""
    code = "import conformance, impl, conformance.contract.suite_file as f\n"
    code += "print(conformance.__file__, impl.__file__, f.bundled_suite().root, sep='\\n')"
    return [Path(line) for line in must([home / "bin" / "python", "-P", "-c", code], folder).splitlines()]


def test_the_wheel_runs_from_its_own_files_in_a_folder_with_packages_named_like_ours(
    installed: Path, foreign: Path
) -> None:
    assert all(origin.is_relative_to(installed) for origin in origins(installed, foreign))
    chosen = [word for group in OF_EVERY_FAMILY for word in ("-k", group)]
    done = run([installed / "bin" / "tally", "run", "--profile", "quick", *chosen], foreign)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "this is the package of the user" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("CONFORMANT")
    assert f", {len(OF_EVERY_FAMILY)} of " in done.stdout.splitlines()[-1]
    assert sorted(file.name for file in foreign.iterdir()) == ["conformance", "impl", "mine.py"]


def test_every_bundled_backend_and_a_users_own_work_from_the_wheel(installed: Path, foreign: Path, tool: Tool) -> None:
    tool("node")
    tally = installed / "bin" / "tally"
    given = [word for backend in ("vectorized", "javascript", "python:mine") for word in ("--backend", backend)]
    must([tally, "run", *FEW, *given, "--output", "out"], foreign)
    for name in ("vectorized", "javascript", "python-mine"):
        assert '"verdict": "CONFORMANT"' in (foreign / "out" / name / "record.json").read_text("utf-8")
    # A run would also look for the mistake that explains the failures, which costs more than all of this.
    wrong = run([tally, "explain", f"UML_OS.Data.{FEW[-1]}::eight", "--backend", BAD], foreign)
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "differs at  block_order[" in wrong.stdout


def test_the_wheel_finds_the_pages_that_other_commands_need(installed: Path, foreign: Path) -> None:
    tally = installed / "bin" / "tally"
    assert must([tally, "--version"], foreign).startswith("tally ")
    assert '"$schema"' in must([tally, "schema", "UML_OS.Data.SeededIntraBlockMap_v1"], foreign)
    must([tally, "new-backend", "--language", "python", "backend"], foreign)
    assert (foreign / "backend" / "backend.py").is_file()
    # What `tally init` writes; deriving its vectors and killing its mutants takes longer than all of this.
    code = "from conformance.cli.init import suite_files\nprint(*suite_files('kit', 'javascript'), sep='\\n')"
    suite = must([installed / "bin" / "python", "-P", "-c", code], foreign).split()
    assert {"tally.toml", "reference/operators.js", "spec/bounds/Bounds.Clamp_v1.yaml"} <= {*suite}


def test_the_pages_and_examples_come_with_the_wheel(installed: Path, tmp_path: Path) -> None:
    tally, python = installed / "bin" / "tally", installed / "bin" / "python"
    assert "context-streams      Context streams" in must([tally, "docs"], tmp_path)
    shown = must([tally, "docs", "context-streams"], tmp_path)
    assert shown.strip() == (ROOT / "docs" / "context-streams.md").read_text("utf-8").strip()
    must([tally, "examples", "mine"], tmp_path)
    assert must([python, "mine/checkpoint/toy_kernel.py", "saved"], tmp_path).endswith("the same trace\n")
    assert (tmp_path / "saved" / "12").is_dir()
    again = run([tally, "examples", "mine"], tmp_path)
    assert (again.returncode, "the folder is not empty" in again.stderr) == (2, True)


def test_a_users_project_passes_a_strict_type_checker(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(USERS_PROJECT)
    python = installed / "bin" / "python"
    assert must([python, "mine.py"], tmp_path) == "[1, 4, 5, 6]\n"
    (tmp_path / "wrong.py").write_text(USERS_PROJECT.replace("rank=0", "rank='0'"))
    checked: list[str | Path] = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    said, end = run([*checked, "mine.py", "wrong.py"], tmp_path).stdout.splitlines()
    assert said.startswith("wrong.py:")
    assert 'incompatible type "str"' in said
    assert end == "Found 1 error in 1 file (checked 2 source files)"


def test_a_certificate_is_verified_by_the_wheel_in_any_folder(installed: Path, foreign: Path, tmp_path: Path) -> None:
    certifier(tmp_path, shipped_library())
    command: list[str | Path] = [installed / "bin" / "tally", "verify", tmp_path / "acme.zip"]
    command += ["--key", tmp_path / "acme.pub"]
    assert must([*command, "--artifact", tmp_path / "sampler"], foreign).startswith("VALID: folder sampler ")
    (tmp_path / "sampler" / "main.py").write_text("print('other')\n")
    assert run([*command, "--artifact", tmp_path / "sampler"], foreign).returncode == 1


def test_an_editable_install_runs_the_checkout_from_any_folder(editable: Path, foreign: Path) -> None:
    expected = [ROOT / "conformance" / "__init__.py", ROOT / "impl" / "__init__.py", ROOT]
    assert origins(editable, foreign) == expected
    # A run of `tally` here would read all contracts for these two backends, which the other installs do.
    assert must([editable / "bin" / "python", "-P", "-c", HELLO], foreign).split() == ["reference", "mine"]
    assert must([editable / "bin" / "tally", "--version"], foreign).startswith("tally ")


def test_a_checkout_that_is_only_on_the_path_runs_from_any_folder(foreign: Path) -> None:
    given = ["--backend", "reference", "--backend", "python:mine"]
    command = [sys.executable, "-P", "-m", "conformance.cli.main", "run", *FEW, *given]
    done = run(command, foreign, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr


def tracked(*folders: str) -> set[str]:
    """The files of some folders of the checkout, without what tools leave there."""
    left = {"__pycache__", "last"}
    files = (file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file())
    return {file.relative_to(ROOT).as_posix() for file in files if not left & set(file.relative_to(ROOT).parts)}


def test_the_wheel_holds_the_house_its_data_and_no_tests(built: Path) -> None:
    (file,) = built.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        names = set(wheel.namelist())
    # Of the reports, what commands read; the reports on the bundled backends are for visitors of the repository.
    reports = {file.relative_to(ROOT).as_posix() for file in (ROOT / "reports").glob("*.json")}
    folders = ("spec", "vectors", "checks", "docs", "examples")
    data = {f"conformance/_data/{name}" for name in (*tracked(*folders), *reports)}
    data |= {f"conformance/_data/{name}" for name in ("tally.toml", "README.md", "CHANGELOG.md")}
    code = {name for name in tracked("conformance", "impl", "tallystick") if "/tests/" not in name}
    # A developer's own last run lies in reports/last; a fresh clone has none.
    inside = {name for name in names if ".dist-info/" not in name and "/reports/last/" not in name}
    assert inside == data | code
    assert {"impl/javascript/serve.js", "conformance/_data/spec/contracts.lock", "tallystick/py.typed"} <= inside


def test_the_sdist_holds_what_tests_and_chores_need(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    data = ("checks", "spec", "vectors", "reports")
    wanted = tracked(*data, "conformance", "impl", "tallystick", "docs", "examples", "benchmarks", ".ci")
    assert wanted - names == set()
    single = {"noxfile.py", "conftest.py", "tally.toml", "pyproject.toml", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
    assert single <= names


def test_no_module_outside_the_tests_needs_them() -> None:
    """The wheel leaves them out."""
    files = modules("conformance", "impl", "tallystick", skeletons=True)
    assert [file for file in files if ".tests" in text_of(file)] == []
