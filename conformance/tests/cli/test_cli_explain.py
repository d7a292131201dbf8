"""`tally explain`: from a check to the rule, the first difference and the derivation."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from conformance.cli.main import status_of

ORDER = "UML_OS.Data.SeededBlockPermute_v1"
NEXT = "UML_OS.Data.NextBatch_v2"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
NINE = "mutant:philox-nine-rounds"
EIGHT, LONG_RUN = f"{ORDER}::pinned-orders::eight", f"{ORDER}::every-size-to-256::accumulate"
TRACE = "UML_OS.Data.SummarizeRun_v1::summary-of-real-records::trace"
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


# What is asked, the exit status, the stream, and what is printed; a page ends with END.
PAGES: dict[str, tuple[list[str], int, str, list[str]]] = {
    "a vector shows its rule and derives its first element": (
        [EIGHT],
        0,
        "out",
        [
            "contract    spec/data/UML_OS.Data.SeededBlockPermute_v1.yaml:",
            "requirement N11 (§ 5):",
            "guards      all 1 are true",
            "block_order[0] = 0END",
        ],
    ),
    "path and index choose": ([EIGHT, "--path", "block_order", "--index", "3"], 0, "out", ["block_order[3] = 3END"]),
    "a path may have the index": ([EIGHT, "--path", "block_order[3]"], 0, "out", ["block_order[3] = 3END"]),
    "no such place": ([EIGHT, "--path", "block_order[8]"], 2, "err", ["--path 'block_order[8]': T003"]),
    "no such vector, but a near one": ([f"{EIGHT[:-3]}gth"], 2, "err", [f"did you mean {EIGHT}"]),
    "an equal backend": ([EIGHT, "--backend", "vectorized"], 0, "out", ["vectorized answers as the reference does"]),
    "a long run that is right": ([LONG_RUN, "--backend", "vectorized"], 0, "err", ["T008 the whole run is right"]),
    "a trace at the step where the backend parts": (
        [TRACE, "--backend", NINE], 1, "out", ["where       step first", "differs at  batch_sample_indices["]
    ),
    "a trace shows the inputs of its steps": (
        [TRACE, "--no-run"], 0, "out", [f'step        first: {NEXT} {{"cursor_in": {{', "expected    {"]
    ),
    "without a run the page ends with what is expected": ([EIGHT, "--no-run"], 0, "out", ['"5"]}END']),
    "what asks a backend is not for --no-run": ([EIGHT, "--no-run", "--backend", "x"], 2, "err", ["--backend asks a"]),
    "a long text is cut, and no record has it": (
        ["Batch.Build::faults-of-every-column::trace", "--no-run"], 0, "out", ["characters)\n"]
    ),
    "no such step": ([TRACE, "--step", "no"], 2, "err", ["its steps are first,"]),
    "a refused call names the guard that decides": (
        [f"{ORDER}::no-blocks::none"],
        0,
        "out",
        [
            "refused by  blocks-positive: num_blocks > 0u is not true, so CONTRACT_VIOLATION",
            "reference   refuses with CONTRACT_VIOLATION",
        ],
    ),
    "a wrong backend is told the clauses that its answer contradicts": (
        [f"{ORDER}::no-blocks::none", "--backend", "mutant:zero-blocks-accepted"],
        1,
        "out",
        ["contradicts the guard blocks-positive predicts CONTRACT_VIOLATION"],
    ),
    "an operator shows its contract": (
        [MAP],
        0,
        "out",
        [
            "requires    block-size: block_size > 0u else CONTRACT_VIOLATION (N16, NA18)",
            "law         block-bijection",
        ],
    ),
    "an operator asks no backend": (
        [ORDER, "--backend", "reference"], 0, "err", ["--backend 'reference': not asked; name a vector"]
    ),
    "a law shows its sentence and its requirement": (
        [f"{MAP}#block-bijection::any"],
        0,
        "out",
        ["law         ", "spec/data/laws.yaml:", f"calls       {MAP}", "over        {", "requirement N15", "--record"],
    ),
    "a requirement": (["N15"], 0, "out", ["requirement N15 (§", "check       law:UML_OS.Data.SeededIntraBlockMap_v1#"]),
    "a ruling": (["NA01"], 0, "out", ["question    The constraints say", "ruling      NA01: The", "requirement N20"]),
    "a mutant": (
        ["philox-nine-rounds"],
        0,
        "out",
        ["mutant      philox-nine-rounds: ", "spec/data/mutants.yaml:", "`tally mutants philox-nine-rounds`"],
    ),
    "the sentence of a refusal is put into another": (
        ["Batch.Build"], 0, "out", ["no expression walks, then\n"]
    ),
    "an id of nothing": (["N999"], 2, "err", ["T003 no contract has this name"]),
    "a crash workload": (
        ["Stream%stream-saves"],
        0,
        "out",
        [
            "check       Stream%stream-saves (crash workload)",
            "contract    spec/stream/Stream.yaml:",
            "requirement S23 (",
            "level       posix",
            "crashed in  second: Stream.Checkpoint",
            "looks       restored: Stream.Restore",
            "--workload Stream%stream-saves",
        ],
    ),
    "no such crash workload, but a near one": (["Stream%stream-save"], 2, "err", ["T003", "stream-saves"]),
}


@pytest.mark.parametrize("case", PAGES)
def test_what_is_asked_is_explained_or_said_to_be_missing(case: str, capsys: Capture) -> None:
    asked, status, stream, said = PAGES[case]
    assert status_of(["explain", *asked]) == status
    printed = f"{getattr(capsys.readouterr(), stream).rstrip()}END"
    assert [part for part in said if part not in printed] == []


def test_a_law_without_values_shows_none(new_suite: Path, capsys: Capture) -> None:
    assert status_of(["explain", "Bounds.Clamp_v1#clamping-twice", "--suite", str(new_suite)]) == 0
    said = capsys.readouterr().out
    assert "law         A number that is clamped already stays as it is." in said
    assert "calls       Bounds.Clamp_v1" in said
    assert "over " not in said


def test_a_wrong_backend_is_explained_where_it_first_parts(capsys: Capture) -> None:
    assert status_of(["explain", EIGHT, "--backend", NINE]) == 1
    page = capsys.readouterr().out
    assert "differs at  block_order[" in page
    index = page.split("differs at  block_order[")[1].split("]")[0]
    assert f"block_order[{index}] = " in page.rstrip().splitlines()[-1]


def test_a_long_run_is_explained_at_its_first_wrong_call(capsys: Capture) -> None:
    assert status_of(["explain", LONG_RUN, "--backend", NINE]) == 1
    page = capsys.readouterr().out
    assert "where       call 2 of 256" in page or "where       call 3 of 256" in page
    assert "derivation" in page


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


def test_a_failing_call_of_a_record_is_derived_and_an_edited_record_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert status_of(["run", "--backend", NINE, "--profile", "quick", "-k", EIGHT, "--output", str(tmp_path)]) == 1
    file = tmp_path / "record.json"
    assert status_of(["explain", EIGHT, "--record", str(file)]) == 0
    assert "as recorded in" in capsys.readouterr().out
    file.write_bytes(file.read_bytes().replace(b'"fail"', b'"pass"'))
    assert status_of(["explain", EIGHT, "--record", str(file)]) == 1
    assert "T004 altered in" in capsys.readouterr().err


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
    assert status_of(["explain", EIGHT, "--backend", backend]) == 1
    page = capsys.readouterr().out
    assert "differs at  block_order[0]" in page
    assert "block_order[0] = 0" in page
    assert ("backend:   my own words" in page) is heard
