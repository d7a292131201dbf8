"""Run traces: rows of batches, their files, and where two runs part as `tally report compare` tells it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.cli.main import status_of
from tallystick import Cursor, Sampler
from tallystick.telemetry import RunTrace, attributes_of, row_of, run_header

Capture = pytest.CaptureFixture[str]
REQUIRED = (  # seed 000 §7, Trace schema: iter
    "t", "epoch", "global_position", "is_shuffled", "micro_batch_size", "global_batch_size", "subsampling_mode",
    "sampling_mode", "sampler_config_hash", "effective_q", "epoch_seed_hash", "data_replay_t",
)  # fmt: skip


def sampler(**fields: Any) -> Sampler:
    return Sampler(**{"cardinality": 10, "global_batch_size": 4, "seed_token": bytes(32), "block_size": 3, **fields})


def traced(file: Path, used: Sampler, losses: dict[int, float] | None = None, epochs: int = 1) -> str:
    with RunTrace(file, run_header(used)) as trace:
        for step, batch in enumerate(used.batches(epochs=epochs)):
            trace.write(batch, loss=(losses or {}).get(step, 0.5))
    return str(file)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def compared(*files: str) -> int:
    return status_of(["report", "compare", *files])


def test_a_row_has_the_trace_record_and_the_metrics_of_the_source() -> None:
    batch = sampler().batch_at(Cursor(3, 4), t=7)
    row = row_of(batch, loss=0.25)
    assert set(REQUIRED) <= row.keys()
    record = asdict(batch.trace_record)
    assert {name: row[name] for name in REQUIRED} == {
        name: record[name].hex() if isinstance(record[name], bytes) else record[name] for name in REQUIRED
    }
    assert (row["effective_batch_size"], row["blocks_materialized"]) == (4, batch.sampling_metadata.blocks_materialized)
    assert (row["cursor_after_epoch"], row["cursor_after_global_index"], row["loss"]) == (3, 8, 0.25)


def test_an_array_is_told_by_the_digest_of_dtype_shape_and_bytes() -> None:
    array = np.array([[1, 2], [3, 4]], "<u2")
    expected = sha256(b"<u2(2, 2)" + bytes([1, 0, 2, 0, 3, 0, 4, 0])).hexdigest()
    assert row_of({"x": array}) == {"x_sha256": expected}
    assert row_of({"x": np.asfortranarray(array)}) == {"x_sha256": expected}
    assert row_of({"x": array.astype("<u4")}) != {"x_sha256": expected}


def test_members_of_members_have_both_names() -> None:
    @dataclass
    class Chunk:
        cursor: Cursor
        split: str
        seen: tuple[int, ...]
        raw: bytes

    assert row_of(Chunk(Cursor(1, 2), "train", (3, 4), b"\x01\xff")) == {
        "cursor_epoch": 1, "cursor_global_index": 2, "split": "train", "seen": "[3,4]", "raw": "01ff",
    }  # fmt: skip


def test_attributes_hold_what_64_bits_with_a_sign_do_not_as_text() -> None:
    said = attributes_of({"most": 2**63 - 1, "more": 2**63}, ok=True)
    assert said == {"tallystick.most": 2**63 - 1, "tallystick.more": str(2**63), "tallystick.ok": True}


def test_a_file_has_a_header_rows_and_the_end_of_the_run(tmp_path: Path) -> None:
    traced(tmp_path / "run.jsonl", sampler(), epochs=2)
    header, *rows, end = lines(tmp_path / "run.jsonl")
    assert (header["run_manifest"], header["dataset_key"], header["cardinality"]) == (1, "train", 10)
    assert header["sampler"] == rows[0]["sampler_config_hash"]
    assert header["metric_schema"] == list(rows[0])
    assert [row["global_position"] for row in rows] == [0, 4, 8, 0, 4, 8]
    assert end == {"run_end": {"rows": 6, "final_epoch": 2, "total_samples_seen": 20}}


def test_a_run_that_fails_has_rows_and_no_end(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), RunTrace(tmp_path / "run.jsonl", {}) as trace:
        trace.write({"step": 1})
        raise ZeroDivisionError
    assert lines(tmp_path / "run.jsonl")[1:] == [{"step": 1}]


def test_a_row_is_in_the_file_before_the_next_one_is_made(tmp_path: Path) -> None:
    trace = RunTrace(tmp_path / "run.jsonl", {})
    trace.write({"step": 1})
    assert lines(tmp_path / "run.jsonl")[-1] == {"step": 1}
    trace.close()
    trace.close()


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("mine")
    with pytest.raises(FileExistsError):
        RunTrace(tmp_path / "run.jsonl", {})
    assert (tmp_path / "run.jsonl").read_text() == "mine"


# -- tally report compare


def test_equal_runs_differ_in_nothing(tmp_path: Path, capsys: Capture) -> None:
    assert compared(traced(tmp_path / "a.jsonl", sampler()), traced(tmp_path / "b.jsonl", sampler())) == 0
    assert "COMPARABLE: they differ in nothing\n" in capsys.readouterr().out


def test_the_first_row_and_the_number_of_rows_tell_where_runs_part(tmp_path: Path, capsys: Capture) -> None:
    one = traced(tmp_path / "a.jsonl", sampler(), epochs=2)
    two = traced(tmp_path / "b.jsonl", sampler(), {1: float("nan"), 4: -0.0}, epochs=2)
    assert compared(one, two) == 0
    printed = capsys.readouterr().out
    assert "COMPARABLE: they differ in loss, in 2 rows, first in row 2\n" in printed
    assert "0.5\n" in printed
    assert "NaN\n" in printed


def test_zeros_of_two_signs_differ(tmp_path: Path, capsys: Capture) -> None:
    for name, zero in (("a", 0.0), ("b", -0.0)):
        traced(tmp_path / f"{name}.jsonl", sampler(), {0: zero})
    assert compared(str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")) == 0
    assert "loss, in 1 row, first in row 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "decides"),
    [
        ({"block_size": 4}, "sampler (N44)"),
        ({"cardinality": 11}, "dataset (N44)"),
        ({"dataset_key": "val"}, "dataset (N44)"),
    ],
)
def test_runs_of_another_dataset_or_sampler_are_not_comparable(
    other: dict[str, Any], decides: str, tmp_path: Path, capsys: Capture
) -> None:
    files = [traced(tmp_path / "a.jsonl", sampler()), traced(tmp_path / "b.jsonl", sampler(**other))]
    assert compared(*files) == 1
    assert decides in capsys.readouterr().out.splitlines()[0]


def test_runs_that_emit_other_metrics_are_not_comparable(tmp_path: Path, capsys: Capture) -> None:
    one = traced(tmp_path / "a.jsonl", sampler())
    with RunTrace(tmp_path / "b.jsonl", run_header(sampler())) as trace:
        for batch in sampler():
            trace.write(batch)
    assert compared(one, str(tmp_path / "b.jsonl")) == 1
    assert "NOT COMPARABLE: they differ in metric_schema (N44)\n" in capsys.readouterr().out


def test_ranks_of_one_run_are_comparable_and_differ_in_their_samples(tmp_path: Path, capsys: Capture) -> None:
    files = [traced(tmp_path / f"{rank}.jsonl", sampler(rank=rank, world_size=2)) for rank in (0, 1)]
    assert compared(*files) == 0
    said = capsys.readouterr().out
    assert "rank:" in said
    assert "batch_sample_indices_sha256, in 3 rows, first in row 1:" in said


def test_a_killed_run_is_compared_as_far_as_it_got(tmp_path: Path, capsys: Capture) -> None:
    one = traced(tmp_path / "a.jsonl", sampler())
    text = Path(one).read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_text("".join(text[:3]) + text[3][:40], "utf-8")
    assert compared(one, str(tmp_path / "b.jsonl")) == 0
    said = capsys.readouterr().out
    assert "COMPARABLE: they differ in number of rows, run_end, in 1 row, first in row 3\n" in said
    assert "it has no end" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "it is not JSON"), ("[1]", "it is no JSON object"), ('{"a":1,"a":2}', "comes twice")],
)
def test_a_damaged_row_is_one_line_and_exit_2(line: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    one = traced(tmp_path / "a.jsonl", sampler())
    (tmp_path / "b.jsonl").write_text(Path(one).read_text("utf-8").replace("\n", f"\n{line}\n", 1), "utf-8")
    assert compared(one, str(tmp_path / "b.jsonl")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{tmp_path / 'b.jsonl'}:2" in printed.err
    assert said in printed.err


def test_a_trace_without_the_members_of_a_manifest_is_a_complaint(tmp_path: Path, capsys: Capture) -> None:
    files = [str(tmp_path / f"{name}.jsonl") for name in "ab"]
    for file in files:
        with RunTrace(file, {}) as trace:
            trace.write({"step": 1})
    assert compared(*files) == 2
    assert "run-manifest.schema.json" in capsys.readouterr().err
