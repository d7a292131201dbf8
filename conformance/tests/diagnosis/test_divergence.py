"""Where two sequences part, and the steps behind one value: `tally explain --position` and `--first-difference`."""

from __future__ import annotations

import json
import re
import shlex
from math import ceil, log2
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.contract.library import Library
from conformance.report.html_failures import parting_of
from conformance.report.record import with_places
from conformance.tests.processes import ROOT, fake_command
from conformance.tests.shipped import shipped_library
from conformance.trial.diagnosis.divergence import searched_by_halves, searched_in_order

BATCH = "UML_OS.Data.NextBatch_v2"
ORDER = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
SAMPLES = 1000
Capture = pytest.CaptureFixture[str]


def partly(sin: str, *operators: str) -> str:
    return fake_command("partly", sin, "reference", list(operators))


def of_batches(**changes: Any) -> dict[str, Any]:
    """One sample a call, in blocks of 64."""
    dataset = {"id": "s", "version": "1", "hash": "a1" * 32, "cardinality": str(SAMPLES)}
    inputs = {
        "manifest": {"datasets": {"d": dataset}, "global_batch_size": "1", "data": {"sampler_block_size": "64"}},
        "dataset_key": "d",
        "world_size": 1,
        "rank": 0,
        "stage_type": "train",
        "cursor_in": {"epoch": "0", "global_index": "0"},
        "kernel_replay_token": "01" * 32,
        "manifest_hash": "02" * 32,
        "t": "0",
    }
    return inputs | changes


@pytest.fixture
def inputs(tmp_path: Path) -> str:
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps(of_batches()))
    return str(file)


def explained(capsys: Capture, *arguments: str, status: int = 0) -> str:
    """The page as one line of words."""
    assert status_of(["explain", *arguments]) == status
    return " ".join(capsys.readouterr().out.split())


# -- the search


@pytest.mark.parametrize("count", [1, 2, 3, 64, 100])
def test_sequences_that_stay_apart_are_found_with_the_logarithm_of_their_length(count: int) -> None:
    for place in range(count):
        found = searched_by_halves(count, place.__le__)
        assert found.differs == place
        assert len(found.asked) <= ceil(log2(count)) + 2
        assert found.certain == (set(range(place)) <= set(found.asked))


@pytest.mark.parametrize("place", [0, 1, 2, 64, 512, 999])
def test_one_wrong_call_is_found_at_the_ends_and_at_powers_of_two(place: int) -> None:
    found = searched_by_halves(1000, lambda call: call == place)
    assert found.differs == place
    assert len(found.asked) <= 2 * ceil(log2(1000)) + 2


def test_one_wrong_call_elsewhere_is_found_only_where_every_call_is_asked() -> None:
    missed = searched_by_halves(1000, lambda call: call == 333)
    assert (missed.differs, missed.certain) == (None, False)
    assert missed.unasked == 1000 - len(missed.asked)
    found = searched_in_order(1000, lambda calls: 333 if 333 in calls else None)
    assert (found.differs, len(found.asked), found.certain) == (333, 511, True)


def test_calls_that_are_asked_are_asked_once() -> None:
    asked: list[int] = []

    def differs(call: int) -> bool:
        asked.append(call)
        return call in (40, 76)

    found = searched_by_halves(77, differs)
    assert sorted(asked) == sorted(set(asked)) == sorted(found.asked)
    assert found.differs in (40, 76)


def test_an_empty_sequence_has_no_difference() -> None:
    assert searched_by_halves(0, lambda call: True).differs is None
    assert searched_in_order(0, lambda calls: calls.start).certain


# -- live calls


@pytest.mark.parametrize("place", [0, 1, 512, 700, 999])
def test_a_backend_that_parts_at_a_position_is_found_there(place: int, inputs: str, capsys: Capture) -> None:
    backend = partly(f"wrong-from:{place}", BATCH)
    page = explained(capsys, BATCH, "--inputs", inputs, "--backend", backend, "--first-difference", status=1)
    assert f"parts at sample {place} of 1000, in call {place + 1}" in page
    assert int(page.split("searched ")[1].split(" of 1000 calls")[0]) <= 12
    assert "differs at batch_sample_indices[0]" in page
    assert ("the call before it agrees" in page) == (place > 0)


def test_what_comes_and_goes_needs_every_call(inputs: str, capsys: Capture) -> None:
    asked = [BATCH, "--inputs", inputs, "--backend", partly("wrong-at:333", BATCH), "--first-difference"]
    page = explained(capsys, *asked)
    assert "calls that were asked agree" in page
    assert "uncertain" in page
    assert "--every asks each" in page
    page = explained(capsys, *asked, "--every", status=1)
    assert "searched 511 of 1000 calls, in order: 1, 2," in page
    assert "parts at sample 333 of 1000" in page
    assert "certain every call before it was asked" in page


def test_a_difference_inside_a_batch_is_told_by_its_position(tmp_path: Path, capsys: Capture) -> None:
    asked = of_batches()
    asked["manifest"]["global_batch_size"] = "48"
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps(asked))
    backend = partly("wrong-from:700", BATCH)
    page = explained(capsys, BATCH, "--inputs", str(file), "--backend", backend, "--first-difference", status=1)
    assert "parts at sample 700 of 1000, in call 15, which begins at 672" in page
    assert "of sample 700, which is value 28 of the answer" in page


def test_a_backend_that_dies_is_found_where_it_dies(inputs: str, capsys: Capture) -> None:
    backend = partly("dies-from:600", BATCH)
    page = explained(capsys, BATCH, "--inputs", inputs, "--backend", backend, "--first-difference", status=1)
    assert "parts at sample 600 of 1000" in page
    assert "differs at outcome" in page
    assert "actual a crash: " in page
    assert " > " not in page


def test_equal_backends_part_nowhere(inputs: str, capsys: Capture) -> None:
    page = explained(capsys, BATCH, "--inputs", inputs, "--backend", "vectorized", "--first-difference")
    assert "found all 12 calls that were asked agree" in page


# -- a derivation


def marked(page: str) -> list[str]:
    return [line.split()[1] for line in page.splitlines() if line.startswith("  > ")]


def test_the_first_helper_that_differs_is_marked(inputs: str, capsys: Capture) -> None:
    backend = partly("rotates", BATCH, ORDER, MAP)
    assert status_of(["explain", BATCH, "--inputs", inputs, "--position", "130", "--backend", backend]) == 0
    page = capsys.readouterr().out
    assert marked(page) == ["block_there"]
    assert "not declared" not in page
    assert max(map(len, page.split("derivation")[1].split("\n\n")[0].splitlines())) <= 80


def test_a_helper_that_the_backend_does_not_declare_is_said_so(inputs: str, capsys: Capture) -> None:
    asked = ["explain", BATCH, "--inputs", inputs, "--position", "130", "--backend", partly("wrong-at:130", BATCH)]
    assert status_of(asked) == 1
    page = capsys.readouterr().out
    assert marked(page) == ["index_in_the_batch"]
    assert page.count("(not declared)") == 2


@pytest.mark.parametrize(("stage", "position"), [("train", 0), ("train", 959), ("train", 960), ("eval", 999)])
def test_the_declared_steps_lead_to_the_value(stage: str, position: int, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps(of_batches(stage_type=stage)))
    page = explained(capsys, BATCH, "--inputs", str(file), "--position", str(position))
    told = page.split("index_in_the_batch ")[1].split()[0]
    assert f'batch_sample_indices[0] = "{told}"' in page
    if stage == "train":
        assert page.split("index_by_the_map ")[1].split()[0] == told


def test_a_case_begins_its_own_sequence(capsys: Capture) -> None:
    case = f"{BATCH}::epoch-of-a-thousand-digest::accumulate"
    page = explained(capsys, case, "--position", "999")
    assert f"begins as {case}" in page
    assert "where sample 999 of 1000: call 21 of 21, which begins at 960" in page
    assert "batch_sample_indices[39]" in page


def test_a_position_that_is_not_there_is_one_line_and_no_judgement(inputs: str, capsys: Capture) -> None:
    assert status_of(["explain", BATCH, "--inputs", inputs, "--position", "1000"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "--position 1000: T003 there is no sample 1000",
        "    hint: the sequence has the positions 0 to 999",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["UML_OS.Error.Emit_v1", "--position", "0"], "no sequence of it is declared"),
        ([BATCH, "--first-difference"], "name a backend"),
        (["Stream::hash-of-one-two-three::trace", "--position", "0"], "has no step 'position'"),
        ([BATCH, "--position", "0", "--every"], "--every: T006"),
        ([f"{ORDER}::every-size-to-256::accumulate", "--position", "256"], "there is no call 256"),
    ],
)
def test_what_cannot_be_searched_is_said_so(arguments: list[str], said: str, capsys: Capture) -> None:
    assert status_of(["explain", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert "derivation" not in printed.out


def test_without_a_declared_sequence_a_position_is_a_call_or_a_value(capsys: Capture) -> None:
    page = explained(capsys, f"{ORDER}::every-size-to-256::accumulate", "--position", "16")
    assert "where call 17 of 256" in page
    assert '"num_blocks": "17"' in page
    assert explained(capsys, f"{ORDER}::pinned-orders::eight", "--position", "3").endswith("block_order[3] = 3")


def test_a_long_run_says_which_checkpoints_agree_and_differ(capsys: Capture) -> None:
    case = f"{BATCH}::epoch-of-a-thousand-digest::accumulate"
    page = explained(capsys, case, "--backend", partly("wrong-from:500", BATCH), status=1)
    assert "where call 11 of 21; the checkpoint after 8 calls agrees, that after 16 differs" in page
    assert "of sample 500, which is value 20 of the answer" in page


# -- a replay


def test_a_sequence_without_random_access_is_replayed(capsys: Capture) -> None:
    backend = partly("wrong-from:150", "Stream")
    page = explained(capsys, "Stream", "--backend", backend, "--first-difference", status=1)
    assert "searched 1000 rounds of the backend, 39 of the reference" in page
    assert "parts at chunk 38 of 1000; all calls before are answered alike" in page
    assert "differs at chunk.tokens[0]" in page


def test_one_round_of_a_replay_is_shown(capsys: Capture) -> None:
    page = explained(capsys, "Stream", "--position", "2")
    assert "where chunk 2 of 1000" in page
    assert '"tokens": [8, 9]' in page
    assert status_of(["explain", "Stream", "--position", "1000"]) == 2


# -- the page


PAGE = (ROOT / "docs/divergence.md").read_text("utf-8")


@pytest.mark.parametrize("shown", re.findall(r"^```console.*\n\$ (tally explain (?:(?!```).*\n)+)", PAGE, re.M))
def test_the_page_shows_what_is_printed(shown: str, capsys: Capture) -> None:
    command, *lines = shown.splitlines()
    assert status_of(shlex.split(command)[1:]) == 1
    printed = iter(capsys.readouterr().out.splitlines())
    assert [line for line in lines if line != "..." and line not in printed] == []


# -- a record


def test_a_record_tells_the_position_in_the_sequence() -> None:
    library: Library = shipped_library()
    asked = of_batches(cursor_in={"epoch": "0", "global_index": "672"}, world_size=2, rank=1)
    asked["manifest"]["global_batch_size"] = "48"
    answer = {"result": {"batch_sample_indices": [str(k) for k in range(24)]}}
    entry = {
        "operator": BATCH,
        "difference": {"path": "batch_sample_indices[5]", "expected": "7", "actual": "5"},
        "call": {"operator": BATCH, "inputs": asked, "answer": answer},
    }
    (told,) = with_places([entry], library)
    assert told["details"]["sequence"] == {"unit": "sample", "begins": 696, "position": 701, "length": 1000}
    parting = parting_of(told)
    assert parting is not None
    assert (parting.unit, parting.begins, parting.agreed, parting.count) == ("sample", 696, 701, 1000)
    assert [place for place, _ in parting.around] == list(range(697, 706))
    assert list(with_places([{"operator": BATCH, "verdict": "pass"}], library)) == [
        {"operator": BATCH, "verdict": "pass"}
    ]
