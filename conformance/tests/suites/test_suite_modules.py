"""The Python of a suite of one's own: it runs where it is asked for alone, and its mistakes are told as such."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.contract.library import load_library
from conformance.contract.suite_file import read_suite
from conformance.pytest_checks import CheckProcess
from conformance.tests.released_suite import edit
from conformance.trial.options import RunOptions
from conformance.vectors.frozen.corpus import load_corpus

Capture = pytest.CaptureFixture[str]
OPERATOR = "Bounds.Clamp_v1"
TRAP = """
import os
open({mark!r}, "a").write(f"{{os.getpid()}}\\n")
"""


@pytest.fixture
def traps(own: Path, tmp_path: Path) -> Path:
    """Where each module of the suite, law or reference, writes the process that runs it."""
    mark = tmp_path / "ran"
    for name in ("suite_laws.py", "reference/__init__.py"):
        (own / name).write_text(TRAP.format(mark=str(mark)) + (own / name).read_text("utf-8"), "utf-8")
    return mark


READING = (["lint"], ["lint", "--coverage"], ["schema"], ["schema", OPERATOR], ["explain", OPERATOR])


@pytest.mark.parametrize("command", READING)
def test_lint_and_schema_run_nothing_of_a_suite(traps: Path, command: list[str], capsys: Capture) -> None:
    assert status_of(command) == 0, "".join(capsys.readouterr())
    assert not traps.exists()


def test_a_run_has_the_suites_modules_in_other_processes(traps: Path) -> None:
    assert status_of(["run"]) == 0
    processes = set(traps.read_text("utf-8").split())
    assert len(processes) >= 2  # of the laws, and of the reference
    assert str(os.getpid()) not in processes
    assert "suite_laws" not in sys.modules


def test_the_plugin_imports_no_module_of_a_suite(traps: Path) -> None:
    suite = read_suite(Path.cwd())
    bench = CheckProcess(load_library(suite), load_corpus(suite), RunOptions())
    law = f"{OPERATOR}#clamping-twice::value=0"
    assert law in {check.id for check in bench.collect().checks}
    assert bench.judge(law).verdict == "pass"
    bench.close()
    assert str(os.getpid()) not in traps.read_text("utf-8").split()
    assert "suite_laws" not in sys.modules


def test_a_law_without_its_conversation_is_refused_with_its_place(own: Path, capsys: Capture) -> None:
    edit(own / "suite_laws.py", '"clamping-twice"', '"clamping-thrice"')
    assert status_of(["run"]) == 2
    said = capsys.readouterr().err
    assert "spec/bounds/Bounds.Clamp_v1.yaml:28:3: C004 there is no law 'clamping-twice'" in said
    assert "Traceback" not in said


BAD_MODULES = {
    "raise RuntimeError('no')": "C018 the module 'suite_laws' cannot be imported: RuntimeError: no",
    "import sys; sys.exit(0)": "C018 the module 'suite_laws' cannot be imported: SystemExit: 0",
    "LAWS = ('a',)": "C018 the LAWS of the module 'suite_laws' have 'a', which is no Law",
    "import os; os._exit(0)": "tally: T013 a worker process ended without a result",
}


@pytest.mark.parametrize("module", BAD_MODULES)
def test_a_module_that_cannot_be_used_is_refused(own: Path, module: str, capsys: Capture) -> None:
    (own / "suite_laws.py").write_text(f"{module}\n")
    assert status_of(["run"]) == 2
    said = capsys.readouterr().err
    assert BAD_MODULES[module] in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('["suite_laws",\n    "more_laws"]', "9:5: C018 the module 'more_laws' cannot be imported"),
        ("['suite_laws', 'more_laws']", "8:23: C018 the module 'more_laws' cannot be imported"),
        ('["suite_laws", "copied_laws"]', "8:23: C018 two of the LAWS of its modules are called clamping-twice"),
        ('["suite_laws", "\\u006dore_laws"]', "8:1: C018 the module 'more_laws' cannot be imported"),
    ],
)
def test_a_module_that_cannot_be_used_has_the_place_of_its_entry(
    written: str, said: str, own: Path, capsys: Capture
) -> None:
    shutil.copy(own / "suite_laws.py", own / "copied_laws.py")
    edit(own / "tally.toml", '["suite_laws"]', written)
    assert status_of(["run"]) == 2
    assert f"tally.toml:{said}" in capsys.readouterr().err


def test_a_law_that_raises_names_its_line(own: Path, capsys: Capture) -> None:
    edit(own / "suite_laws.py", 'once["clamped"]', 'once["clamp"]')
    status_of(["run"])
    said = " ".join("".join(capsys.readouterr()).split())
    assert "or the law is wrong: KeyError: 'clamp' in suite_laws.py, line" in said


GENERATOR = """
from conformance.trial.generator import Generator
GENERATORS = (Generator("any", lambda random: {made}),)
"""
MADE = {
    "iter([])": "which lacks 'a dict of inputs'",
    "{}['low']": "the generator 'any' fails: KeyError: 'low' in suite_generators.py, line 3",
}


@pytest.mark.parametrize("made", MADE)
def test_a_generator_that_makes_no_inputs_is_told_so(own: Path, made: str, capsys: Capture) -> None:
    (own / "suite_generators.py").write_text(GENERATOR.replace("{made}", made))
    edit(own / "tally.toml", 'laws = ["suite_laws"]', 'laws = ["suite_laws"]\ngenerators = ["suite_generators"]')
    edit(own / "spec" / "bounds" / "Bounds.Clamp_v1.yaml", "laws:\n", "fuzz: {generator: any}\nlaws:\n")
    assert status_of(["vectors", "build"]) == 0
    assert status_of(["run", "-k", "?fuzz"]) == 2
    said = capsys.readouterr().err
    assert MADE[made] in said
    assert "Traceback" not in said


def test_a_test_that_a_requirement_names_must_be_there(own: Path, capsys: Capture) -> None:
    rows = own / "spec" / "bounds" / "requirements.yaml"
    row = '- {id: B03, kind: T, section: "1", text: It is tested., checks: ["test:tests/test_nope.py::test_nope"]}\n'
    rows.write_text(rows.read_text() + row)
    status_of(["lint"])
    assert "L106 B03 rests on 'test:tests/test_nope.py::test_nope': no such file" in capsys.readouterr().out


def test_lint_knows_the_parameters_of_a_law(own: Path, capsys: Capture) -> None:
    contract = own / "spec" / "bounds" / "Bounds.Clamp_v1.yaml"
    edit(contract, "{law: clamping-twice,", "{law: clamping-twice, over: {valeu: [1]},")
    status_of(["lint"])
    assert "L103 the law clamping-twice has no parameter 'valeu'" in capsys.readouterr().out
