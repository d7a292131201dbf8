"""What a run saw, batch by batch: rows of JSONL or Parquet files, and attributes of OpenTelemetry spans."""

from impl.library.telemetry import RunTrace, attributes_of, row_of, run_header, set_span_attributes

__all__ = ["RunTrace", "attributes_of", "row_of", "run_header", "set_span_attributes"]
