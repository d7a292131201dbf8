"""`tally explain`: from a check to the rule, the first difference and the derivation."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from conformance.cli.main import status_of

ORDER = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
NINE = "mutant:philox-nine-rounds"
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("no_diagnosis")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    file = tmp_path / "inputs.json"
    seed = "000102030405060708090a0b0c0d0e0f"
    file.write_text(
        json.dumps({"block_id": "3", "local_pos": "5", "block_size": "64", "epoch_seed": seed, "cardinality": "1003"})
    )
    return file


def test_a_vector_shows_its_rule_and_derives_its_first_element(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight"]) == 0
    page = capsys.readouterr().out
    assert "contract    spec/data/UML_OS.Data.SeededBlockPermute_v1.yaml:" in page
    assert "requirement N11 (§ 5):" in page
    assert "guards      all 1 are true" in page
    assert page.rstrip().endswith("block_order[0] = 0")


def test_path_and_index_choose_what_is_derived(capsys: Capture) -> None:
    for options in (["--path", "block_order", "--index", "3"], ["--path", "block_order[3]"]):
        assert status_of(["explain", f"{ORDER}::pinned-orders::eight", *options]) == 0
        assert capsys.readouterr().out.rstrip().endswith("block_order[3] = 3")


def test_a_place_that_is_not_there_is_said_so(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight", "--path", "block_order[8]"]) == 2
    assert "--path 'block_order[8]': T003" in capsys.readouterr().err


def test_a_wrong_backend_is_explained_where_it_first_parts(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight", "--backend", NINE]) == 1
    page = capsys.readouterr().out
    assert "differs at  block_order[" in page
    index = page.split("differs at  block_order[")[1].split("]")[0]
    assert f"block_order[{index}] = " in page.rstrip().splitlines()[-1]


def test_a_command_that_starts_no_backend_is_no_judgement(capsys: Capture) -> None:
    nobody = shlex.join([sys.executable, "no-such-file.py"])
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight", "--backend", nobody]) == 2
    said = capsys.readouterr().err
    assert "T002 the backend exited (2) before the handshake" in said
    assert "is the command right?" in said
    assert "No such file" in said


def test_an_equal_backend_is_said_to_agree(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight", "--backend", "vectorized"]) == 0
    assert "vectorized answers as the reference does" in capsys.readouterr().out


def test_a_long_run_is_explained_at_its_first_wrong_call(capsys: Capture) -> None:
    id_ = f"{ORDER}::every-size-to-256::accumulate"
    assert status_of(["explain", id_, "--backend", NINE]) == 1
    page = capsys.readouterr().out
    assert "where       call 2 of 256" in page or "where       call 3 of 256" in page
    assert "derivation" in page


def test_a_long_run_that_is_right_needs_no_explanation(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::every-size-to-256::accumulate", "--backend", "vectorized"]) == 0
    assert "T008 the whole run is right" in capsys.readouterr().err


def test_a_trace_is_explained_at_the_step_where_the_backend_parts(capsys: Capture) -> None:
    assert status_of(["explain", "UML_OS.Data.SummarizeRun_v1::summary-of-real-records::trace", "--backend", NINE]) == 1
    page = capsys.readouterr().out
    assert "where       step first" in page
    assert "differs at  batch_sample_indices[" in page


def test_an_unknown_step_is_told_the_known_ones(capsys: Capture) -> None:
    assert status_of(["explain", "UML_OS.Data.SummarizeRun_v1::summary-of-real-records::trace", "--step", "no"]) == 2
    assert "its steps are first," in capsys.readouterr().err


def test_a_refused_call_names_the_guard_that_decides(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::no-blocks::none"]) == 0
    page = capsys.readouterr().out
    assert "refused by  blocks-positive: num_blocks > 0u is not true, so CONTRACT_VIOLATION" in page
    assert "reference   refuses with CONTRACT_VIOLATION" in page


def test_a_wrong_backend_is_told_the_clauses_that_its_answer_contradicts(capsys: Capture) -> None:
    options = ["--backend", "mutant:zero-blocks-accepted"]
    assert status_of(["explain", f"{ORDER}::no-blocks::none", *options]) == 1
    assert "contradicts the guard blocks-positive predicts CONTRACT_VIOLATION" in capsys.readouterr().out


def test_an_operator_shows_its_contract(capsys: Capture) -> None:
    assert status_of(["explain", MAP]) == 0
    page = capsys.readouterr().out
    assert "requires    block-size: block_size > 0u else CONTRACT_VIOLATION (N16, NA18)" in page
    assert "law         block-bijection" in page


def test_a_law_shows_its_requirement_and_how_to_go_on(capsys: Capture) -> None:
    assert status_of(["explain", f"{MAP}#block-bijection::any"]) == 0
    page = capsys.readouterr().out
    assert "requirement N15" in page
    assert "--record" in page


def test_given_inputs_are_derived(inputs: Path, capsys: Capture) -> None:
    assert status_of(["explain", MAP, "--inputs", str(inputs)]) == 0
    page = capsys.readouterr().out
    assert 'reference   original_index = "243"' in page
    assert page.rstrip().endswith("index = 192 + 51 = 243")


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ('{"block_id": 3}', "inputs"), ("{}", "missing")])
def test_inputs_that_do_not_fit_are_named(text: str, said: str, inputs: Path, capsys: Capture) -> None:
    inputs.write_text(text)
    assert status_of(["explain", MAP, "--inputs", str(inputs)]) == 2
    printed = capsys.readouterr().err
    assert "--inputs: T006" in printed
    assert said in printed


def test_a_failing_call_of_a_record_is_derived(tmp_path: Path, capsys: Capture) -> None:
    id_ = f"{ORDER}::pinned-orders::eight"
    assert status_of(["run", "--backend", NINE, "--profile", "quick", "-k", id_, "--output", str(tmp_path)]) == 1
    capsys.readouterr()
    assert status_of(["explain", id_, "--record", str(tmp_path / "record.json")]) == 0
    assert "as recorded in" in capsys.readouterr().out


def test_an_edited_record_is_refused(tmp_path: Path, capsys: Capture) -> None:
    id_ = f"{ORDER}::pinned-orders::eight"
    status_of(["run", "--backend", NINE, "--profile", "quick", "-k", id_, "--output", str(tmp_path)])
    file = tmp_path / "record.json"
    file.write_bytes(file.read_bytes().replace(b'"fail"', b'"pass"'))
    assert status_of(["explain", id_, "--record", str(file)]) == 1
    assert "T004 altered in" in capsys.readouterr().err


def test_an_unknown_vector_is_told_its_neighbours(capsys: Capture) -> None:
    assert status_of(["explain", f"{ORDER}::pinned-orders::eigth"]) == 2
    assert f"did you mean {ORDER}::pinned-orders::eight" in capsys.readouterr().err


def test_a_backend_that_is_lost_after_it_began_is_named_with_its_stderr(inputs: Path, capsys: Capture) -> None:
    backend = "python3 -c \"import sys; sys.stdin.readline(); sys.stderr.write('no licence'); sys.exit(3)\""
    assert status_of(["explain", MAP, "--inputs", str(inputs), "--backend", backend]) == 1
    said = capsys.readouterr().err
    assert "T007" in said
    assert "no licence" in said


PARTIAL = """
import json, sys
HELLO = {"protocol": 1, "name": "partial", "version": "1", "language": "Python", "wires": ["json"], "explain": True,
         "max_in_flight": 1, "operators": [sys.argv[1]]}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tally.bye" or (asked["method"] == "tally.explain" and len(sys.argv) > 2):
        sys.exit()
    said = {"tally.hello": HELLO, "tally.explain": {"lines": ["my own words"]}}
    result = said.get(asked["method"], {"block_order": ["7", "6", "5", "4", "3", "2", "1", "0"]})
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}), flush=True)
"""


@pytest.mark.parametrize(("dying", "heard"), [([], True), (["dies"], False)])
def test_a_backend_with_one_operator_explains_itself_or_is_not_heard(
    dying: list[str], heard: bool, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "partial.py").write_text(PARTIAL)
    backend = shlex.join([sys.executable, str(tmp_path / "partial.py"), ORDER, *dying])
    assert status_of(["explain", f"{ORDER}::pinned-orders::eight", "--backend", backend]) == 1
    page = capsys.readouterr().out
    assert "differs at  block_order[0]" in page
    assert "block_order[0] = 0" in page
    assert ("backend:   my own words" in page) is heard


def test_a_crash_workload_is_explained_by_its_id(capsys: Capture) -> None:
    assert status_of(["explain", "Stream%stream-saves"]) == 0
    page = capsys.readouterr().out
    assert "check       Stream%stream-saves (crash workload)" in page
    assert "contract    spec/stream/Stream.yaml:" in page
    assert "requirement S23 (" in page
    assert "level       posix" in page
    assert "crashed in  second: Stream.Checkpoint" in page
    assert "looks       restored: Stream.Restore" in page
    assert "--workload Stream%stream-saves" in page


def test_a_crash_workload_that_is_not_there_is_said_so_with_a_near_one(capsys: Capture) -> None:
    assert status_of(["explain", "Stream%stream-save"]) == 2
    said = capsys.readouterr().err
    assert "T003" in said
    assert "stream-saves" in said


def test_a_backend_that_is_not_asked_is_named(capsys: Capture) -> None:
    assert status_of(["explain", "UML_OS.Data.SeededBlockPermute_v1", "--backend", "reference"]) == 0
    assert "--backend 'reference': not asked; name a vector" in capsys.readouterr().err
