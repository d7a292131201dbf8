"""The loop of write, run, read: ending early, the checks that failed last, lists, and how much is printed."""

from __future__ import annotations

import errno
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli import known_failures
from conformance.cli.known_failures import failed_last, remember
from conformance.cli.main import status_of
from conformance.cli.run import command
from conformance.contract.cache import Cache
from conformance.contract.suite_file import KEYS
from conformance.report.record import read_record
from conformance.tests.processes import environment
from conformance.tests.runs import EXCUSE, ORDER, check, failed, passed
from conformance.tests.small_house import BAD, OPERATOR
from conformance.tests.small_spec import suite_at
from conformance.trial.check import Result, Verdict
from conformance.trial.options import FailureLimit, RunOptions

Capture = pytest.CaptureFixture[str]
FEW = f"{OPERATOR}::pinned-orders"
pytestmark = pytest.mark.usefixtures("no_diagnosis", "small")


@pytest.fixture
def small(
    built_once: Path, look_at: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One operator, and no check that is known to have failed."""
    look_at(built_once)
    monkeypatch.setenv("TALLY_CACHE", str(tmp_path / "cache"))


def run(*arguments: str, few: bool = True) -> int:
    return status_of(["run", "--profile", "quick", *arguments, *(("-k", FEW) if few else ())])


def verdict(capsys: Capture) -> str:
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("option", [["-x"], ["--maxfail", "3"]])
def test_a_run_ends_at_the_same_failure_with_any_number_of_processes(
    option: list[str], tmp_path: Path, capsys: Capture
) -> None:
    records = []
    for jobs in ("1", "2"):
        assert run("--backend", BAD, *option, "--jobs", jobs, "--output", str(tmp_path / jobs), few=False) == 1
        records.append((tmp_path / jobs / "record.json").read_bytes())
    assert records[0] == records[1]
    stopped = 1 if option == ["-x"] else 3
    said = verdict(capsys)
    assert said.startswith("NOT CONFORMANT: stopped after ")
    assert f"stopped after {stopped} failure{'s' * (stopped > 1)}; {stopped} of " in said
    record = read_record(records[0])
    assert record["stopped"] == stopped
    assert record.entries[-1]["verdict"] == "fail"
    assert len(record.entries) < 74


@pytest.mark.parametrize("number", ["-1", "abc", "1.5"])
def test_a_number_of_failures_is_a_number(number: str, capsys: Capture) -> None:
    assert run("--maxfail", number) == 2
    assert "--maxfail" in capsys.readouterr().err


def test_no_limit_is_the_default_and_can_be_asked_for(capsys: Capture) -> None:
    assert run("--backend", BAD, "--maxfail", "0") == 1
    assert "stopped" not in verdict(capsys)


def test_what_a_default_switches_on_the_command_line_switches_off() -> None:
    options = {name: one for one in command.params for name in one.opts}
    switches = [options[f"--{key}"] for key, kind in KEYS["run"].items() if kind == "true or false"]
    assert len(switches) > 5
    assert [one.opts for one in switches if not any(name.startswith("--no-") for name in one.secondary_opts)] == []


def test_no_exitfirst_goes_with_a_number_of_failures(capsys: Capture) -> None:
    assert run("--backend", BAD, "--no-exitfirst", "--maxfail", "2", few=False) == 1
    assert "stopped after 2 failures" in verdict(capsys)
    assert run("-x", "--maxfail", "2") == 2


def test_an_expected_failure_does_not_end_a_run(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "known.yaml"
    entry = f"- {{check: '{FEW}::*', reason: nine rounds are known, issue: 'https://example.org/1'}}\n"
    file.write_text(entry)
    assert run("--backend", BAD, "-x", "--expected-failures", str(file)) == 1  # one of the four passes
    assert "stopped after 1 failure; 1 expected failure now passes" in verdict(capsys)


def test_no_report_takes_the_place_of_the_list_of_expected_failures(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "known.yaml").write_text("[]")
    assert run("--expected-failures", f"{tmp_path}/known.yaml", "--format", f"json={tmp_path}/known.yaml") == 2
    assert "the file of --expected-failures, which it would overwrite" in capsys.readouterr().err
    assert (tmp_path / "known.yaml").read_text() == "[]"


@pytest.mark.parametrize("inside", ["tally.toml", "spec/small/types.yaml", "vectors/index.json", "vectors/new.json"])
def test_no_report_takes_the_place_of_an_input_of_the_run(inside: str, built: Path, capsys: Capture) -> None:
    before = {file: file.read_bytes() for file in built.rglob("*") if file.is_file()}
    (built.parent / "link").symlink_to(built)
    assert run("--format", "text=-", "--format", f"json={built.parent}/link/vectors/../{inside}") == 2
    printed = capsys.readouterr()
    assert f"{inside}': T005 tally.toml, the contracts and the vectors are inputs of the run" in printed.err
    assert printed.out == ""
    assert {file: file.read_bytes() for file in built.rglob("*") if file.is_file()} == before


def test_a_suite_whose_vectors_are_beside_its_file_has_room_for_a_report(built: Path) -> None:
    settings = built / "tally.toml"
    settings.write_text(settings.read_text().replace('vectors = "vectors"', 'vectors = "."'))
    for file in (built / "vectors").iterdir():
        file.rename(built / file.name)
    assert run("--format", f"json={built}/report.json") == 0
    assert run("--format", f"json={settings}") == 2


def test_a_report_takes_the_place_of_an_earlier_one(built: Path) -> None:
    report = built / "vectors.json"
    for _ in range(2):
        assert run("--format", f"json={report}") == 0
    assert read_record(report.read_bytes())


def test_the_checks_that_failed_last_are_run_alone_and_the_verdict_says_so(capsys: Capture) -> None:
    assert run("--backend", BAD) == 1
    capsys.readouterr()
    assert run("--backend", BAD, "--last-failed", "--list", few=False) == 0
    failed = capsys.readouterr().out.splitlines()
    assert len(failed) == 3
    assert run("--backend", BAD, "--last-failed", few=False) == 1
    said = verdict(capsys)
    assert said.startswith("NOT CONFORMANT in the selected checks: 3 of 3 checks failed; 3 checks that failed last, ")


def test_a_part_that_passes_never_looks_like_the_whole(built_once: Path, tmp_path: Path, capsys: Capture) -> None:
    remember(suite_at(built_once), "reference", {f"{FEW}::eight": True})
    assert run("--last-failed", "--output", str(tmp_path), few=False) == 0
    assert verdict(capsys).startswith("CONFORMANT in the selected checks: 1 check that failed last, ")
    assert read_record((tmp_path / "record.json").read_bytes())["selection"] == "--last-failed"
    # It passed, so that all checks are selected now.
    assert run("--last-failed", few=False) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith("CONFORMANT: ")
    assert "no check is known to have failed, so all are selected" in printed.err


def test_failures_belong_to_a_backend_and_a_suite(built_once: Path, tmp_path: Path) -> None:
    here = suite_at(built_once)
    remember(here, BAD, {"a": True, "b": False})
    assert failed_last(here, BAD) == {"a"}
    assert failed_last(here, "reference") == failed_last(here, "node other.js") == frozenset()
    assert failed_last(suite_at(tmp_path), BAD) == frozenset()
    remember(here, BAD, {"b": True})
    assert failed_last(here, BAD) == {"a", "b"}


@pytest.mark.parametrize("poison", [["no-such-check"], "text", [1, None], {"a": 1}])
def test_a_false_entry_selects_nothing_and_changes_no_verdict(
    poison: object, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    class Poisoned(Cache):
        def get(self, kind: str, key: str) -> object:
            return poison

    monkeypatch.setattr(known_failures, "_store", lambda: Poisoned(None, ""))
    assert run("--last-failed", "-q", few=False) == 0
    assert verdict(capsys).startswith("CONFORMANT: ")


def test_a_list_has_an_id_on_each_line_that_can_be_given_back_and_starts_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    mark = tmp_path / "started"
    backend = shlex.join([sys.executable, "-c", f"open({str(mark)!r}, 'w')"])
    assert run("--backend", backend, "--list", few=False) == 0
    ids = capsys.readouterr().out.splitlines()
    assert len(ids) == 74
    assert ids == sorted(ids)
    assert not mark.exists()
    for id_ in (ids[0], ids[-1]):
        assert run("-k", id_, "--list", few=False) == 0
        assert capsys.readouterr().out == f"{id_}\n"


def test_a_list_is_no_run(capsys: Capture) -> None:
    assert run("--list", "--format", "json=-") == 2
    assert "--list runs nothing" in capsys.readouterr().err
    assert run("--list", "-k", "pined-orders", few=False) == 2
    assert "did you mean" in capsys.readouterr().err


def test_silence_on_the_other_wire_is_not_blamed_on_stdout(capsys: Capture) -> None:
    backend = shlex.join([sys.executable, "-c", "import sys; sys.stdin.buffer.read(1); sys.exit(3)"])
    assert run("--wire", "cbor", "--backend", backend) == 1
    assert "hint: does it speak cbor, which TALLY_WIRE tells it?" in capsys.readouterr().err


def test_quiet_prints_the_verdict_alone(capsys: Capture) -> None:
    assert run("-q") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len(printed.out.splitlines()) == 1
    assert printed.out.startswith("CONFORMANT")


def test_verbose_prints_a_line_for_each_check(capsys: Capture) -> None:
    assert run("-v", "--backend", BAD) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("pass ", "FAIL "))]
    assert len(lines) == 4
    assert [id_ for _, id_ in lines] == sorted(id_ for _, id_ in lines)


def test_quiet_and_verbose_exclude_each_other(capsys: Capture) -> None:
    assert run("-q", "-v") == 2
    assert "give one of them" in capsys.readouterr().err


def test_the_slowest_checks_are_printed_before_the_verdict_and_are_in_no_record(
    tmp_path: Path, capsys: Capture
) -> None:
    assert run("--durations", "2", "--output", str(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("slowest 2 of 4 timed checks:")
    assert [line.split()[1] for line in lines[at + 1 : at + 3]] == ["s", "s"]
    assert lines[-1].startswith("CONFORMANT")
    assert b"durations" not in (tmp_path / "record.json").read_bytes()


@pytest.mark.parametrize("format_", ["json", "ctrf"])
def test_a_report_is_alone_on_stdout(format_: str, capsys: Capture) -> None:
    assert run("--backend", BAD, "-x", "-v", "--durations", "1", "--format", f"{format_}=-") == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert "NOT CONFORMANT" in printed.err


CONTENT = "correct its answer to tally.hello; "
ENVELOPE = "answer tally.hello on stdout and nothing else there; "
SLOW = """\
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tally.hello":
        said = {{"protocol": 1, "name": "slow", "version": "1", "language": "Python", "wires": ["json"]}}
        said |= {{"operators": [{operator!r}], "max_in_flight": 1}}
    elif "id" not in asked:
        break
    else:
        said = {{}}
        time.sleep(0.05)
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": said}}), flush=True)
"""


@pytest.mark.parametrize(
    ("edited", "said", "hint"),
    [
        (('"wires": ["json"]', '"wires": ["cbor"]'), "`wires` must list 'json', the wire in use (--wire), ", CONTENT),
        (('"protocol": 1', '"protocol": 2'), "protocol 1 was asked for, the backend speaks 2", CONTENT),
        (('"result": said', '"error": {{"code": -32601}}'), "tally.hello was answered by the failure", CONTENT),
        (('{{"jsonrpc": "2.0", "id": asked["id"], "result": said}}', "said"), "without the `id` of", ENVELOPE),
        (("for line in", 'print("ready", flush=True)\nfor line in'), "a line that is not JSON", ENVELOPE),
    ],
)
def test_the_hint_for_a_bad_hello_fits_it(
    edited: tuple[str, str], said: str, hint: str, tmp_path: Path, capsys: Capture
) -> None:
    assert SLOW.count(edited[0]) == 1
    (tmp_path / "slow.py").write_text(SLOW.replace(*edited).format(operator=OPERATOR))
    assert run("--backend", shlex.join([sys.executable, str(tmp_path / "slow.py")])) == 1
    first, second, *_ = capsys.readouterr().err.partition("--backend ")[2].splitlines()
    assert "T002 no valid hello: " in first
    assert said in first
    assert second.startswith(f"    hint: {hint}")


def test_files_of_a_run_are_written_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(file: Path, content: bytes) -> None:
        if file.name == "observations.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write_bytes(content)

    monkeypatch.setattr("conformance.vectors.jsontext.write_whole", full)
    assert run("--output", str(tmp_path), "--format", "junit") == 2
    said = f"--output {str(tmp_path)!r}: T011 cannot be written: {tmp_path / 'observations.json'}: No space left"
    assert said in (err := capsys.readouterr().err)
    assert "wrote " not in err
    assert list(tmp_path.glob("*.*")) == []


def test_a_misspelt_word_of_a_name_is_suggested(capsys: Capture) -> None:
    assert run("-k", "pinnd", few=False) == 2
    assert "no check has this in its id; did you mean pinned?" in capsys.readouterr().err


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_tells_what_was_found_and_gives_no_verdict(times: int, built_once: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW.format(operator=OPERATOR))
    backend = shlex.join([sys.executable, str(tmp_path / "slow.py")])
    code = f"""
from pathlib import Path
from conformance.cli import main
from conformance.trial.options import NoProgress
import conformance.cli.progress as progress
import conformance.contract.suite_file as finder
finder.find_suite = lambda *_: finder.read_suite(Path({str(built_once)!r}))
step = progress.LineProgress.step
progress.LineProgress.step = lambda self, count=1: (step(self, count), print("step", flush=True))
import sys
sys.argv = ["tally", "run", "--profile", "quick", "--backend", {backend!r}]
main.main()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment(), cwd=tmp_path) as one:
        assert one.stdout is not None
        one.stdout.readline()
        for _ in range(times):
            one.send_signal(signal.SIGINT)
        _, said = one.communicate(timeout=60)
    assert one.returncode == 2, said
    last = next(line for line in said.splitlines() if line.startswith("interrupted"))
    assert " of 74, " in last
    assert last.endswith("so far, no verdict")
    assert "Traceback" not in said


# -- the limit itself: little more is asked than is reported, and the same whatever was quick


def limit(most: int) -> FailureLimit:
    return FailureLimit(RunOptions(most_failures=most, expected_failures=(EXCUSE,)))


def test_without_a_limit_everything_is_tried_at_once() -> None:
    assert [len(part) for part in limit(0).parts(range(1000))] == [1000]


def test_with_a_limit_parts_grow_until_it_is_reached() -> None:
    one, sizes = limit(1), []
    for part in one.parts(range(1000)):
        sizes.append(len(part))
        if len(sizes) == 3:
            list(one.results_within([failed(ORDER, "wrong")]))
    assert sizes == [64, 128, 256]


def test_the_last_failure_that_is_allowed_is_the_last_result() -> None:
    results = [passed(ORDER, "a"), failed(ORDER, "b"), passed(ORDER, "c"), failed(ORDER, "d"), passed(ORDER, "e")]
    one = limit(2)
    assert list(one.results_within(results)) == results[:4]
    assert one.is_reached
    assert list(one.results_within(results)) == []


def test_an_expected_failure_does_not_count_and_its_pass_does() -> None:
    one = limit(1)
    listed = check(ORDER, "excused")
    assert [r.verdict for r in one.results_within([Result(listed, Verdict.FAIL), Result(listed, Verdict.PASS)])] == [
        Verdict.FAIL,
        Verdict.PASS,
    ]
    assert one.found == 1
