"""The extra `telemetry`: run traces as Parquet, and attributes on spans of OpenTelemetry."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
import torch
from opentelemetry import trace as trace_api

from tallystick import ContractFailure, Sampler
from tallystick.telemetry import RunTrace, row_of, run_header, set_span_attributes

SAMPLER = Sampler(cardinality=10, global_batch_size=4, seed_token=bytes(32))
MOST = 2**64 - 1


def traced(file: Path, **metrics: Any) -> str:
    with RunTrace(file, run_header(SAMPLER)) as trace:
        for batch in SAMPLER:
            trace.write(batch, **metrics)
    return str(file)


def compared(*files: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "conformance.cli.main", "report", "compare", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_parquet_has_the_rows_of_the_lines(tmp_path: Path) -> None:
    files = [traced(tmp_path / f"run.{ending}", loss=float("nan"), delta=-1) for ending in ("jsonl", "parquet")]
    table = parquet.read_table(files[1])
    assert table.to_pylist() == [
        pytest.approx(row_of(batch, loss=float("nan"), delta=-1), nan_ok=True) for batch in SAMPLER
    ]
    assert json.loads(table.schema.metadata[b"tallystick"])["cardinality"] == 10
    told = compared(*files)
    assert (told.returncode, told.stderr) == (0, "")
    assert "COMPARABLE: they differ in nothing\n" in told.stdout


def test_parquet_holds_the_largest_position(tmp_path: Path) -> None:
    with RunTrace(tmp_path / "run.parquet", {}) as trace:
        trace.write({"position": 0})
        trace.write({"position": MOST})
    assert parquet.read_table(tmp_path / "run.parquet").to_pylist() == [{"position": 0}, {"position": MOST}]


def test_a_run_that_fails_leaves_its_rows_in_parquet(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), RunTrace(tmp_path / "run.parquet", {}) as trace:
        trace.write({"step": 1})
        raise ZeroDivisionError
    assert parquet.read_table(tmp_path / "run.parquet").to_pylist() == [{"step": 1}]


def test_a_damaged_parquet_file_is_one_line_and_exit_2(tmp_path: Path) -> None:
    whole = Path(traced(tmp_path / "run.parquet"))
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-40])
    told = compared(whole, tmp_path / "cut.parquet")
    assert (told.returncode, told.stdout) == (2, "")
    assert "it is no Parquet file" in told.stderr


def test_attributes_are_on_the_current_span(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {}
    span = trace_api.NonRecordingSpan(trace_api.INVALID_SPAN_CONTEXT)
    monkeypatch.setattr(span, "set_attributes", found.update)
    with trace_api.use_span(span):
        set_span_attributes({"epoch": 2, "position": MOST}, loss=0.5)
    assert found == {"tallystick.epoch": 2, "tallystick.position": str(MOST), "tallystick.loss": 0.5}


def test_a_tensor_is_told_like_the_array_of_its_values() -> None:
    values = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    assert row_of({"x": values}) == row_of({"x": values.numpy()})


def test_a_tensor_with_a_gradient_is_told_like_one_without() -> None:
    values = torch.ones(3)
    assert row_of({"x": values.clone().requires_grad_()}) == row_of({"x": values})


def test_a_tensor_that_numpy_cannot_read_is_refused_with_a_sentence() -> None:
    with pytest.raises(ContractFailure, match="x must be an array of numbers, bools or texts that NumPy reads"):
        row_of({"x": torch.zeros(2, dtype=torch.bfloat16)})


def test_what_a_column_of_parquet_cannot_hold_is_refused_when_it_is_written(tmp_path: Path) -> None:
    trace = RunTrace(tmp_path / "run.parquet", {})
    trace.write({"position": MOST}, change=-1)
    with pytest.raises(ContractFailure, match="change must be an integer from -9223372036854775808"):
        trace.write({"position": 0}, change=2**63)
    trace.close()
    assert parquet.read_table(tmp_path / "run.parquet").to_pylist() == [{"position": MOST, "change": -1}]
