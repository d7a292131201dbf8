"""The checks as pytest items, in a folder that has nothing to do with the house."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import hypothesis  # noqa: F401  a pytest in this process forgets what it imported, and the next one imports it anew
import pytest

from conformance.backend.resolve import BackendNotFound
from conformance.cli.main import status_of
from conformance.contract.suite_file import read_suite
from conformance.tests.processes import ROOT
from conformance.trial.forked import WorkerProcess
from conformance.trial.fuzz import operator

pytest_plugins = ["pytester"]

COUNTS = "Stream.FiringCounts"
OPERATOR = "UML_OS.Data.SeededBlockPermute_v1"
NINE = "mutant:philox-nine-rounds"
# The plugin of Hypothesis would be imported by each worker of xdist.
OPTIONS = ("-p", "conformance.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
EIGHT = f"{OPERATOR}::pinned-orders::eight"


SMALL = """\
from pathlib import Path

import conformance.contract.suite_file as finder

finder.find_suite = lambda named, here: finder.read_suite(Path({root!r}))  # the test around this one puts it back
"""


@pytest.fixture(autouse=True)
def page_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture(autouse=True)
def small(built_once: Path, look_at: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin looks at one operator: to collect all makes ten thousand items."""
    look_at(built_once)
    monkeypatch.setattr(operator, "DEFAULT_EXAMPLES", 5)


def run(pytester: pytest.Pytester, *arguments: str, backend: str | None = "reference") -> pytest.RunResult:
    """The plugin in a pytest of its own, in this process: starting one costs more than what it tries."""
    chosen = [] if backend is None else ["--tally-backend", backend]
    return pytester.runpytest_inprocess(*OPTIONS, *chosen, *arguments)


def test_items_have_their_check_ids_and_need_no_test_file(pytester: pytest.Pytester) -> None:
    done = run(pytester, "--collect-only", "-q", OPERATOR)
    ids = [line for line in done.outlines if line.startswith("UML_OS")]
    assert EIGHT in ids
    assert f"{OPERATOR}!pure" in ids
    assert f"{OPERATOR}?fuzz" in ids
    assert any(id_.startswith(f"{OPERATOR}#block-order-bijection::") for id_ in ids)
    assert ids == sorted(ids)


def test_right_answers_pass(pytester: pytest.Pytester) -> None:
    done = run(pytester, "-k", f"{OPERATOR} and (pinned or pure or shape or fuzz)")
    assert done.ret == 0, done.stdout.str()
    assert "7 passed" in done.stdout.str()


def test_a_wrong_answer_fails_as_the_terminal_tells_it(pytester: pytest.Pytester) -> None:
    done = run(pytester, "-k", "pinned-orders", "--tally-profile", "quick", backend=NINE)
    assert done.ret == 1
    assert "differs at  block_order[" in done.stdout.str()
    assert "requirement N11" in done.stdout.str()
    assert f"repeat      tally run --backend {NINE} --profile quick -k {OPERATOR}::pinned-orders::" in done.stdout.str()
    assert "Traceback" not in done.stdout.str()
    assert "pytest_plugin.py" not in done.stdout.str()


def test_two_workers_and_junit_agree_with_one(pytester: pytest.Pytester, built_once: Path) -> None:
    pytester.makeconftest(SMALL.format(root=str(built_once)))  # for the workers
    verdicts = []
    for options in ([], ["-n", "2"]):
        file = pytester.path / f"{len(options)}.xml"
        run(pytester, "-k", f"{OPERATOR} and pinned", "--junitxml", str(file), *options, backend=NINE)
        cases = ET.parse(file).getroot().iter("testcase")
        verdicts.append({f"{c.get('classname')}::{c.get('name')}": c.find("failure") is not None for c in cases})
    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["UML_OS.Data.SeededBlockPermute_v1.pinned-orders::one"] is False
    assert any(verdicts[0].values())


def test_a_backend_without_a_hello_is_an_error_and_no_failure(pytester: pytest.Pytester) -> None:
    code = "import sys; sys.stderr.write('no licence'); sys.exit(3)"
    file = pytester.path / "junit.xml"
    backend = shlex.join([sys.executable, "-c", code])
    done = run(pytester, "-k", "pinned-orders", "--junitxml", str(file), backend=backend)
    assert done.ret == 1
    assert "no valid hello: " in done.stdout.str()
    assert "no licence" in done.stdout.str()
    suite = ET.parse(file).getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", suite.get("tests"))


def test_checks_of_an_operator_that_is_not_declared_are_deselected(
    pytester: pytest.Pytester, sliced: Path, look_at: Callable[[Path], None]
) -> None:
    look_at(sliced)
    mine = ["--language", "python", "--operator", COUNTS, str(pytester.path / "mine")]
    assert status_of(["new-backend", *mine]) == 0
    backend = shlex.join([sys.executable, str(pytester.path / "mine" / "backend.py")])
    both = (OPERATOR, f"{COUNTS}::multiples-of-levels", "--tally-profile", "quick")
    done = run(pytester, *both, "--collect-only", "-q", backend=backend)
    done.stdout.fnmatch_lines([f"{COUNTS}::multiples-of-levels::*", "*/* tests collected (* deselected) in *"])


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("more", [(), ("-n", "2"), (EIGHT, "test_own.py")])
def test_a_backend_that_declares_no_selected_operator_is_no_success_of_the_tests_beside(
    more: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.path.joinpath("none.py").write_text(DECLARES_NOTHING.format(root=str(ROOT)))
    done = run(pytester, *more, backend=shlex.join([sys.executable, "none.py"]))
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "the backend declares no operator of the " in done.stderr.str()


DECLARES_NOTHING = """\
import json, sys
sys.path.insert(0, {root!r})
from impl.reference import backend
from impl.serve import serve
hello = {{**backend.hello(), "operators": []}}
backend.hello = lambda: hello
serve(backend)
"""


CRASHES_ON_EIGHT = """\
import json, sys
sys.path.insert(0, {root!r})
from impl.reference import backend
from impl.serve import Session
from impl.wire.messages import JsonLines
wire = JsonLines()
session = Session(backend, wire)
for line in sys.stdin.buffer:
    if b'"num_blocks":"8"' in line.replace(b" ", b"") and b"PermuteX" not in line and b"Permute" in line:
        sys.exit(5)
    for message in wire.feed(line):
        sys.stdout.buffer.write(session.answer(message))
        sys.stdout.buffer.flush()
    if session.over:
        break
"""


def test_a_crash_is_an_error_of_its_own_item_alone(pytester: pytest.Pytester) -> None:
    program = pytester.path / "backend.py"
    program.write_text(CRASHES_ON_EIGHT.format(root=str(ROOT)))
    backend = shlex.join([sys.executable, str(program)])
    done = run(pytester, "-k", "pinned-orders", "-rA", backend=backend)
    lines = done.outlines
    assert f"ERROR {EIGHT}" in " ".join(line[:90] for line in lines)
    assert f"PASSED {OPERATOR}::pinned-orders::thirteen" in lines
    assert "it exited with status 5" in done.stdout.str()


def test_a_backend_that_is_not_there_is_a_usage_error(pytester: pytest.Pytester) -> None:
    done = run(pytester, backend="no-such-program")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "command not found" in done.stderr.str()


def test_a_child_that_failed_before_it_was_asked_says_why() -> None:
    """A backend that cannot start ends the child at once, and so perhaps before the first question is sent."""

    def refused(_: Iterator[str]) -> Iterator[str]:
        raise BackendNotFound("no such program")

    before = set(multiprocessing.active_children())
    worker = WorkerProcess(refused)
    while set(multiprocessing.active_children()) - before:
        time.sleep(0.01)
    with pytest.raises(BackendNotFound, match="no such program"):
        worker.ask("")
    worker.close()


@pytest.fixture
def own(pytester: pytest.Pytester) -> Path:
    """A test of the user's own."""
    file = pytester.path / "test_own.py"
    file.write_text("def test_own():\n    pass\n")
    return file


FEW = ("-k", "test_own or (pinned-orders and thirteen)")


@pytest.mark.usefixtures("own")
def test_own_tests_stay_beside_the_checks(pytester: pytest.Pytester) -> None:
    run(pytester, *FEW).assert_outcomes(passed=2, deselected=84)
    run(pytester, "test_own.py", *FEW).assert_outcomes(passed=2, deselected=84)
    run(pytester, *FEW, "--tally-only").assert_outcomes(passed=1, deselected=84)


@pytest.mark.usefixtures("own")
def test_without_a_backend_nothing_happens(pytester: pytest.Pytester) -> None:
    done = run(pytester, backend=None)
    done.assert_outcomes(passed=1)
    # pytest itself lists what is installed, and where: in a folder named `tallystick`, say.
    said = [line.replace(sys.prefix, "").replace(str(ROOT), "") for line in done.outlines]
    assert not [line for line in said if "tally" in line and not line.startswith("plugins: ")]


@pytest.mark.usefixtures("own")
def test_the_ini_file_can_name_the_backend(pytester: pytest.Pytester) -> None:
    for setting, here in (("addopts = --tally-backend=reference", ()), ("tally_backend = reference", (".",))):
        pytester.makeini(f"[pytest]\n{setting}\ntally_profile = quick\n")
        run(pytester, *here, *FEW, backend=None).assert_outcomes(passed=2, deselected=73)
    done = run(pytester, "test_own.py", backend=None)  # who names a file there wants that file
    done.assert_outcomes(passed=1)
    assert "no check is collected beside the files that are named" in done.stdout.str()


def test_a_setting_that_is_wrong_is_a_usage_error(pytester: pytest.Pytester) -> None:
    wrong = {"--tally-profile=quik": "did you mean quick?", "--tally-timeout=soon": "is not a number of seconds"}
    wrong["--tally-backend="] = "is a variable of the shell not set?"
    for option, said in wrong.items():
        done = run(pytester, option)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert said in done.stderr.str()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_contracts_that_lint_finds_fault_with_are_a_usage_error(
    workers: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    done = run(pytester, *workers)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "spec: T010 lint has" in done.stderr.str()


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("given", "number"),
    [
        ([f"{OPERATOR}!shape", f"{OPERATOR}?fuzz"], 2),
        ([EIGHT, "test_own.py::test_own"], 2),
    ],
)
def test_node_ids_can_be_given_back(given: list[str], number: int, pytester: pytest.Pytester) -> None:
    run(pytester, *given).assert_outcomes(passed=number)


def test_a_node_id_that_no_check_has_is_a_usage_error(pytester: pytest.Pytester) -> None:
    done = run(pytester, f"{OPERATOR}::pinned-orders::eigth")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert f"no check has this id: {OPERATOR}::pinned-orders::eigth; did you mean {EIGHT}" in done.stderr.str()
    done = run(pytester, f"{OPERATOR}::pined-orders")
    assert f"did you mean {OPERATOR}::pinned-orders or " in done.stderr.str()


def test_a_usage_error_is_told_with_xdist_as_well(pytester: pytest.Pytester) -> None:
    for backend, argument in (("no-such-program", OPERATOR), ("reference", f"{OPERATOR}::gone")):
        done = run(pytester, argument, "-n", "2", backend=backend)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert "ERROR: " in done.stderr.str()


def test_a_reason_is_one_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = run(pytester, EIGHT, backend=NINE)
    done.stdout.re_match_lines([rf"FAILED {EIGHT} - Failed: block_order\[\d\]: expected '\d', found '\d'$"])


KNOWN = """\
- {{check: '{eight}', reason: nine rounds are known, issue: 'https://example.org/1'}}
- {{check: '{one}', reason: nine rounds are known, issue: 'https://example.org/1'}}
"""


def test_expected_failures_are_strict(pytester: pytest.Pytester) -> None:
    (pytester.path / "known.yaml").write_text(KNOWN.format(eight=EIGHT, one=EIGHT.replace("eight", "one")))
    listed = ("--tally-profile", "quick", "--tally-expected-failures", "known.yaml")
    done = run(pytester, f"{OPERATOR}::pinned-orders", *listed, backend=NINE)
    done.assert_outcomes(xfailed=1, failed=3)
    assert "[XPASS(strict)] nine rounds are known (https://example.org/1)" in done.stdout.str()


def test_an_expected_failure_that_no_check_has_is_a_usage_error(pytester: pytest.Pytester) -> None:
    (pytester.path / "known.yaml").write_text(KNOWN.format(eight=EIGHT, one="no-such-check"))
    done = run(pytester, "--tally-profile", "quick", "--tally-expected-failures", "known.yaml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "no check has this id: no-such-check" in done.stderr.str()


def test_the_failures_of_the_last_time_are_selected(pytester: pytest.Pytester) -> None:
    options = ("-p", "conformance.pytest_plugin", "--tally-backend", NINE, "--tally-profile", "quick")
    pytester.runpytest_inprocess(*options, f"{OPERATOR}::pinned-orders").assert_outcomes(failed=3, passed=1)
    pytester.runpytest_inprocess(*options, "--lf").assert_outcomes(failed=3, deselected=71)


def test_the_plugin_is_registered_by_its_own_name() -> None:
    """So that -p and the entry point do not load it twice."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    assert points == {"conformance.pytest_plugin": "conformance.pytest_plugin"}


ALL_KNOWN = "- {check: 'UML*', reason: everything is known to fail, issue: 'https://example.org/1'}\n"


@pytest.mark.usefixtures("own")
def test_a_backend_without_a_hello_is_no_expected_failure(pytester: pytest.Pytester) -> None:
    (pytester.path / "known.yaml").write_text(ALL_KNOWN)
    listed = ("--tally-profile", "quick", "--tally-expected-failures", "known.yaml")
    backend = shlex.join([sys.executable, "-c", "import sys; sys.exit(3)"])
    done = run(pytester, "-k", "test_own or pinned-orders", *listed, backend=backend)
    done.assert_outcomes(passed=1, errors=4, deselected=70)


DIES_ONCE = CRASHES_ON_EIGHT.replace("import json, sys", "import json, pathlib, sys").replace(
    """if b'"num_blocks":"8"' in line.replace(b" ", b"") and b"PermuteX" not in line and b"Permute" in line:""",
    """if b"Permute" in line and not pathlib.Path("died").exists():\n        pathlib.Path("died").touch()""",
)


def test_a_loss_in_fuzzing_that_nothing_repeats_is_an_error_though_it_is_expected(pytester: pytest.Pytester) -> None:
    (pytester.path / "known.yaml").write_text(ALL_KNOWN)
    (pytester.path / "dies.py").write_text(DIES_ONCE.format(root=str(ROOT)))
    listed = ("--tally-expected-failures", "known.yaml")
    done = run(pytester, f"{OPERATOR}?fuzz", *listed, backend=shlex.join([sys.executable, "dies.py"]))
    assert (pytester.path / "died").exists()
    done.assert_outcomes(errors=1)
    assert "no check repeats it alone: a crash: it exited with status 5" in done.stdout.str()


def test_paths_of_the_ini_file_are_relative_to_it(
    pytester: pytest.Pytester, built_once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.contract.suite_file.find_suite", lambda named, here: read_suite(Path(named)))
    mine = os.path.relpath(built_once, pytester.path)
    (pytester.path / "known.yaml").write_text(ALL_KNOWN.replace("UML", "No*UML"))
    (pytester.path / "own.py").write_text(CRASHES_ON_EIGHT.format(root=str(ROOT)))
    command = shlex.join([sys.executable, "own.py"])
    ini = f"[pytest]\ntally_backend = {command}\ntally_suite = "
    pytester.makeini(f"{ini}{mine}\n")
    (pytester.path / "tests").mkdir()
    monkeypatch.chdir(pytester.path / "tests")
    done = run(pytester, f"{OPERATOR}::pinned-orders", backend=None)
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["tally backend: *own.py", "tally suite: * (*)"])
    pytester.makeini(f"{ini}{mine}\ntally_expected_failures = known.yaml\n")
    done = run(pytester, f"{OPERATOR}::pinned-orders", backend=None)
    assert "no check has this id: No*UML*" in done.stderr.str()
    pytester.makeini(f"{ini}gone\n")
    done = run(pytester, f"{OPERATOR}::pinned-orders", backend=None)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert str(pytester.path / "gone") in done.stderr.str()


DIES_IN_ONE = """\
import json, sys
def line(id_, **said):
    print(json.dumps({"jsonrpc": "2.0", "id": id_, **said}), flush=True)
for text in sys.stdin:
    asked = json.loads(text)
    if "id" not in asked:
        break
    if asked["method"] == "tally.hello":
        operators = ["Stream.FiringCounts", "UML_OS.Data.SeededBlockPermute_v1"]
        said = {"protocol": 1, "name": "one", "version": "1", "language": "Python", "wires": ["json"]}
        line(asked["id"], result={**said, "operators": operators, "max_in_flight": 1})
    elif "Firing" in asked["method"]:
        sys.exit(5)
    else:
        line(asked["id"], result={})
"""


def test_an_operator_that_dies_does_not_end_the_asking_of_others(
    pytester: pytest.Pytester, sliced: Path, look_at: Callable[[Path], None]
) -> None:
    look_at(sliced)
    (pytester.path / "one.py").write_text(DIES_IN_ONE)
    names = (COUNTS, f"{OPERATOR}::pinned-orders")
    done = run(pytester, "--tally-profile", "quick", *names, backend=shlex.join([sys.executable, "one.py"]))
    assert done.parseoutcomes()["failed"] == 4
    assert done.parseoutcomes()["errors"] > 20
