"""`tally report compare` as its users meet it: records of runs, and run manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from conformance.tests.cli.test_cli_report import GREEN, RED, Capture, put, report
from conformance.tests.runs import BATCH, MAP, failed, passed, record


def test_records_of_the_same_checks_are_comparable_whatever_was_answered(tmp_path: Path, capsys: Capture) -> None:
    files = [put(tmp_path / "a.json", GREEN), put(tmp_path / "b.json", RED)]
    assert report("compare", *files) == 0
    shown = capsys.readouterr().out
    assert "COMPARABLE: they differ in verdict\n" in shown
    assert "1 check with different verdicts:\n" in shown
    assert f"    {MAP}::tail-blocks::a: pass / fail\n" in shown
    assert report("compare", files[0], files[0]) == 0
    assert "COMPARABLE: they differ in nothing\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vectors": "f" * 64}, "vectors"),
        ({"harness": "0.2.0"}, "harness"),
        ({"profile": "quick"}, "profile"),
        ({"seed": "7"}, "seed"),
        ({"selection": "Map"}, "selection"),
        ({"contracts": {BATCH: "2.0.0 zz", MAP: "1.0.0 bb"}}, f"contract of {BATCH}"),
        ({"crash": {}}, "crash workloads tried"),
    ],
)
def test_records_of_other_checks_are_not_comparable(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: Capture
) -> None:
    other = record(passed(MAP, "a"), passed(BATCH, "b"), **changes)
    files = [put(tmp_path / "a.json", GREEN), put(tmp_path / "b.json", other)]
    assert report("compare", *files) == 1
    assert f"NOT COMPARABLE: they differ in {said}\n" in capsys.readouterr().out
    assert report("compare", *files, "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["comparable"] is False
    assert [one["what"] for one in told["differing"] if one["decides"]] == [said]


def test_fuzzing_with_another_number_of_calls_is_not_comparable(tmp_path: Path, capsys: Capture) -> None:
    files = [
        put(tmp_path / f"{examples}.json", record(passed(MAP, "a"), fuzz={MAP: {"examples": examples, "succeeded": 9}}))
        for examples in (10, 20)
    ]
    assert report("compare", *files) == 1
    assert f"they differ in fuzzed calls of {MAP}" in capsys.readouterr().out


def test_markdown_has_the_records_side_by_side_and_the_comparison(tmp_path: Path, capsys: Capture) -> None:
    files = [put(tmp_path / "a.json", GREEN), put(tmp_path / "b.json", RED)]
    assert report("compare", *files, "--format", "markdown") == 0
    shown = capsys.readouterr().out
    assert f"| `{MAP}` | 1/1 pass | 0/1 FAIL |" in shown
    assert "## Comparison" in shown


@pytest.mark.parametrize("format_", ["json", "markdown", "text"])
def test_what_hostile_records_say_is_escaped_in_a_comparison(format_: str, tmp_path: Path, capsys: Capture) -> None:
    hostile = "\x1b[2J\x9b\ud800\nCOMPARABLE `|<b>"
    files = [
        put(tmp_path / f"{k}.json", record(result, backend=f"{k}{hostile}", selection=f"{k}{hostile}"))
        for k, result in (("a", passed(MAP, hostile)), ("b", failed(MAP, hostile)))
    ]
    assert report("compare", *files, "--format", format_, "--output", str(tmp_path / "out")) == 1
    lines = (tmp_path / "out").read_text("utf-8").split("\n")
    assert all(line.isprintable() for line in lines)
    if format_ == "markdown":
        assert "<b>" not in MarkdownIt("gfm-like", {"linkify": False}).render("\n".join(lines))
    assert [line for line in lines if line.startswith("COMPARABLE")] == []
    assert report("compare", *files, "--format", format_) == 1
    assert len(capsys.readouterr().out) > 100


MANIFEST = {
    "run_manifest": 1,
    "dataset": {"id": "corpus", "version": "3", "hash": "ab" * 32, "cardinality": "1003"},
    "sampler": {"block_size": "64", "drop_last": False},
    "replay_token_rule": "data_replay_t",
    "metric_schema": ["epoch", "global_position"],
    "schema_version": "1.0.0",
    "hash_rules": "sha256-canonical-cbor",
    "learning_rate": "3e-4",
}


def manifests(folder: Path, **changes: Any) -> list[str]:
    files = []
    for name, members in (("one", MANIFEST), ("two", {**MANIFEST, **changes})):
        (folder / f"{name}.json").write_text(json.dumps({k: v for k, v in members.items() if v is not None}))
        files.append(str(folder / f"{name}.json"))
    return files


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset": {**MANIFEST["dataset"], "hash": "cd" * 32}}, "dataset (N44)"),  # type: ignore[dict-item]
        ({"sampler": {"block_size": "128", "drop_last": False}}, "sampler (N44)"),
        ({"replay_token_rule": "other"}, "replay_token_rule (N44)"),
        ({"metric_schema": ["epoch"]}, "metric_schema (N44)"),
        ({"schema_version": "1.1.0"}, "schema_version (C60)"),
        ({"hash_rules": "sha512"}, "hash_rules (C60)"),
        ({"hash_rules": None, "schema_version": None}, "hash_rules (C60), schema_version (C60)"),
    ],
)
def test_runs_are_comparable_exactly_where_the_sources_say_so(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: Capture
) -> None:
    assert report("compare", *manifests(tmp_path, **changes)) == 1
    assert f"NOT COMPARABLE: they differ in {said}\n" in capsys.readouterr().out


def test_what_no_source_names_is_told_and_does_not_decide(tmp_path: Path, capsys: Capture) -> None:
    files = manifests(tmp_path, learning_rate="1e-3", metric_schema=["global_position", "epoch"])
    assert report("compare", *files) == 0
    assert "COMPARABLE: they differ in learning_rate\n" in capsys.readouterr().out


@pytest.mark.parametrize("changes", [{"dataset": 7}, {"dataset": None, "hash_rules": None}, {"run_manifest": 2}])
def test_a_run_manifest_that_does_not_fit_its_schema_is_a_complaint(
    changes: dict[str, Any], tmp_path: Path, capsys: Capture
) -> None:
    assert report("compare", *manifests(tmp_path, **changes)) == 2
    assert "run-manifest.schema.json" in capsys.readouterr().err


def test_a_record_is_not_compared_with_a_run_manifest(tmp_path: Path, capsys: Capture) -> None:
    assert report("compare", manifests(tmp_path)[0], put(tmp_path / "record.json", GREEN)) == 2
    assert "T015 it is a run manifest, the others are records" in capsys.readouterr().err
    assert report("show", manifests(tmp_path)[0]) == 2
    assert "it is a run manifest, no record" in capsys.readouterr().err
