"""`tally report show` and `merge` as their users meet them, and files that anybody may have written."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import status_of
from conformance.contract.suite_file import bundled_suite, schema_folder
from conformance.report import stored
from conformance.report.merge import merged, merged_observations
from conformance.report.record import Record, digest_of_record, encode_record, read_record
from conformance.report.writer import FORMATS
from conformance.tests.runs import BATCH, MAP, ORDER, failed, passed, record
from conformance.trial.check import Result

Capture = pytest.CaptureFixture[str]
SCHEMAS = schema_folder(bundled_suite())
GREEN, RED = record(passed(MAP, "a"), passed(BATCH, "b")), record(failed(MAP, "a"), passed(BATCH, "b"))


def put(file: Path, one: Record) -> str:
    file.write_bytes(encode_record(one))
    return str(file)


def report(*arguments: str) -> int:
    return status_of(["report", *arguments])


def part(*results: Result, selection: str, **changes: Any) -> Record:
    """The record of a run that tried some of four checks."""
    one = record(*results, selection=selection, **changes)
    return replace(one, members={**one.members, "counts": {**one["counts"], "loaded": 4}})


def forged(text: bytes) -> bytes:
    """Bytes with a footer that is right for them, as only somebody hostile writes it."""
    body = text[: text.rindex(b'  "whole"')]
    return body + b'  "whole": "' + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


# -- show


def test_a_stored_record_is_shown_as_the_run_showed_it(tmp_path: Path, capsys: Capture) -> None:
    assert report("show", put(tmp_path / "record.json", RED)) == 0
    shown = capsys.readouterr().out
    assert "Failure group 1 of 1 (1 check): " in shown
    assert shown.rstrip().splitlines()[-1] == RED.sentence


@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_every_format_goes_to_a_file_or_to_stdout_with_the_same_bytes(
    format_: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = put(tmp_path / "record.json", RED)
    assert report("show", file, "--format", format_, "--output", str(tmp_path / "out")) == 0
    assert capsysbinary.readouterr().out == b""
    written = (tmp_path / "out").read_bytes()
    if format_ != "text":  # in a terminal as wide as the terminal
        assert report("show", file, "--format", format_) == 0
        assert capsysbinary.readouterr().out == written
    assert report("show", file, "--format", format_, "--output", str(tmp_path / "again")) == 0
    assert (tmp_path / "again").read_bytes() == written


@pytest.mark.parametrize("name", ["show", "compare", "merge"])
def test_no_file_that_is_read_is_written_over(name: str, tmp_path: Path, capsys: Capture) -> None:
    files = [put(tmp_path / "a.json", GREEN), put(tmp_path / "b.json", GREEN)]
    (tmp_path / "link").symlink_to("b.json")
    for output in ("link", "observations.json"):
        assert report(name, *files, "--format", "html", "--output", str(tmp_path / output)) == 2
        assert "T005 it is one of the files that are read" in capsys.readouterr().err
    assert (tmp_path / "b.json").read_bytes() == encode_record(GREEN)
    assert not (tmp_path / "observations.json").exists()


def test_several_records_have_a_column_each_and_formats_of_one_record_refuse_them(
    tmp_path: Path, capsys: Capture
) -> None:
    files = [put(tmp_path / "a.json", GREEN), put(tmp_path / "b.json", RED)]
    assert report("show", *files) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(MAP))
    assert row.split()[1:] == ["1/1", "pass", "0/1", "FAIL"]
    assert report("show", *files, "--format", "ctrf") == 2
    assert "--format ctrf shows one record" in capsys.readouterr().err


def test_observations_are_used_where_they_are_those_of_the_record(tmp_path: Path, capsys: Capture) -> None:
    file, beside = put(tmp_path / "record.json", RED), tmp_path / "observations.json"
    observed = {"record": digest_of_record(RED), "seconds": 2.5, "written": "2026-03-01T10:00:02+00:00"}
    durations = []
    for content in (observed, {**observed, "record": digest_of_record(GREEN)}):
        beside.write_text(json.dumps(content))
        assert report("show", file, "--format", "ctrf") == 0
        durations.append(json.loads(capsys.readouterr().out)["results"]["summary"]["duration"])
    assert durations == [2500, 0]


@pytest.mark.parametrize(
    "content",
    [
        {"seconds": "long"},
        {"seconds": True},
        {"seconds": -1},
        {"seconds": 1e300},
        {"written": "yesterday"},
        {"written": "2026-03-01T10:00:02"},
        {"written": "0001-01-01T00:00:00+00:00"},
        {"written": 7},
        {"stderr": []}, {"durations": []}, {"durations": {"x": "1"}},
        {"stderr": {"x": 7}},
    ],
)
def test_observations_of_wrong_types_are_a_complaint(content: Any, tmp_path: Path, capsys: Capture) -> None:
    file = put(tmp_path / "record.json", RED)
    (tmp_path / "observations.json").write_text(json.dumps({"record": digest_of_record(RED), **content}))
    assert report("show", file, "--format", "junit", "--output", str(tmp_path / "out")) == 2
    assert "T015" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- files that anybody may have written


def edited(**members: Any) -> bytes:
    """A record with other members, encoded and with a right footer."""
    return encode_record(replace(RED, members={**RED.members, **members}))


def entry(**members: Any) -> bytes:
    first, *rest = RED.members["results"]
    return edited(results=[{**first, **members}, *rest])


GOOD = encode_record(RED)
HOSTILE = {
    "empty": (b"", "without its footer"),
    "no JSON": (b"\x00\xff" * 100, "without its footer"),
    "cut off": (GOOD[:-300], "without its footer"),
    "a wrong digest": (GOOD.replace(b'"verdict": "fail"', b'"verdict": "pass"', 1), "altered in results/"),
    "a key twice": (forged(GOOD.replace(b'"seed": ""', b'"seed": "", "seed": "x"')), "'seed' comes twice"),
    "no object": (forged(b'[\n  "whole": "'), "delimiter"),
    "another format": (edited(format=9), "this tally reads format 1"),
    "not a number": (forged(GOOD.replace(b'"counts": {', b'"counts": {"x": NaN,')), "NaN is no number"),
    "a digit too many": (forged(GOOD.replace(b'"loaded": 6', b'"loaded": ' + b"9" * 5000)), "digit"),
    "deep nesting": (forged(GOOD.replace(b'"244"', b"[" * 9**5 + b"]" * 9**5)), "nests too deep"),
    "a text for a count": (edited(counts={**RED["counts"], "run": "2"}), "counts.run must be integer"),
    "a number for a name": (edited(backend={**RED["backend"], "name": 7}), "backend.name must be string"),
    "results that are a map": (edited(results=[]).replace(b'"results": []', b'"results": {}'), "results must be array"),
    "an unknown kind": (entry(kind="guess"), "kind must be one of"),
    "a difference without a path": (entry(difference={"expected": 1, "actual": 2}), "must contain"),
    "guards that are texts": (entry(details={"guards": {"answered": ["x"]}}), "must be object"),
    "a trace that is a number": (entry(details={"trace": 5}), "trace must be array"),
    "figures that are texts": (edited(fuzz={MAP: {"succeeded": "all"}}), "succeeded must be integer"),
    "an unknown member": (edited(extra=1), "must not contain"),
    "a better verdict": (edited(verdict="CONFORMANT"), "its results give 'NOT CONFORMANT'"),
    "other counts": (edited(verdicts={**RED["verdicts"], "fail": 0}), "its verdicts is"),
    "more checks": (edited(counts={**RED["counts"], "run": 7}), "its counts is"),
    "more operators": (edited(scope={**RED["scope"], "operators": [BATCH, MAP, ORDER]}), "its scope is"),
    "a better sentence": (edited(sentence=GREEN.sentence), "its sentence is 'CONFORMANT: "),
    "a check twice": (edited(results=[*RED["results"], RED["results"][0]]), "comes twice"),
    "another layout": (forged(GOOD.replace(b'"seed": ""', b'"seed":  ""')), "not in the form"),
}
HOSTILE["results that are a map"] = (forged(HOSTILE["results that are a map"][0]), "results must be array")


# All commands read a file with the same function.
SOME = ("cut off", "an unknown kind", "a check twice")
READ = [("show", name) for name in sorted(HOSTILE)] + [(word, name) for word in ("merge", "compare") for name in SOME]


@pytest.mark.parametrize(("word", "name"), READ)
def test_a_file_that_is_no_record_is_one_complaint_and_nothing_is_written(
    word: str, name: str, tmp_path: Path, capsys: Capture
) -> None:
    content, said = HOSTILE[name]
    (tmp_path / "record.json").write_bytes(content)
    arguments = [word, put(tmp_path / "good.json", GREEN)] if word == "compare" else [word]
    out = tmp_path / "out"
    assert report(*arguments, str(tmp_path / "record.json"), "--format", "markdown", "--output", str(out)) == 2
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert printed.out == ""
    assert len(lines) == 2
    assert "record.json" in lines[0]
    assert ": T015 " in lines[0]
    assert said in lines[0]
    assert lines[1].startswith("    hint: ")
    assert not out.exists()


def test_what_is_no_file_or_too_large_is_not_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "gone", "."):
        assert report("show", str(tmp_path / name)) == 2
        assert "T015 it " in capsys.readouterr().err
    monkeypatch.setattr(stored, "LARGEST", 1000)
    assert report("show", put(tmp_path / "record.json", RED)) == 2
    assert "T015 it is larger than" in capsys.readouterr().err


def test_a_value_of_the_deepest_nesting_that_is_allowed_is_shown(tmp_path: Path) -> None:
    value: Any = {"int": "1"}
    for _ in range(300):
        value = {"map": [[{"text": ""}, value]]}
    deep = entry(call={"operator": MAP, "inputs": {"item": value}})
    (tmp_path / "record.json").write_bytes(deep)
    assert encode_record(read_record(deep)) == deep
    for format_ in FORMATS:
        assert report("show", str(tmp_path / "record.json"), "--format", format_, "--output", os.devnull) == 0


# -- merge


def test_parts_make_the_record_that_one_run_would_have_made(tmp_path: Path) -> None:
    checks = [passed(MAP, "a"), passed(MAP, "b"), passed(BATCH, "c"), passed(BATCH, "d")]
    whole = part(*checks, selection="")
    files = [
        put(tmp_path / "one.json", part(*checks[:3], selection="one")),
        put(tmp_path / "two.json", part(*checks[2:], selection="two")),
    ]
    assert report("merge", *files, "--output", str(tmp_path / "all.json")) == 0
    assert (tmp_path / "all.json").read_bytes() == encode_record(whole)
    assert report("merge", *reversed(files), "--output", str(tmp_path / "again.json")) == 0
    assert (tmp_path / "again.json").read_bytes() == encode_record(whole)


def test_no_warning_of_one_implementation_is_lost_where_parts_share_checks() -> None:
    checks = [passed(MAP, "a"), passed(MAP, "b"), passed(BATCH, "c"), passed(BATCH, "d")]
    parts = [part(*checks[:3], selection="one"), part(*checks[1:], selection="two")]
    warned = [replace(one, members={**one.members, "scope": {**one["scope"], "unconfirmed": 3}}) for one in parts]
    assert "warning: 4 vectors of one implementation" in merged(["one", "two"], warned).sentence


def test_what_was_observed_of_crashes_and_calls_is_joined(tmp_path: Path) -> None:
    files = []
    for number, name in enumerate(("a", "b"), start=1):
        (tmp_path / name).mkdir()
        one = part(passed(MAP, name), selection=name)
        files.append(put(tmp_path / name / "record.json", one))
        states = {f"{MAP}%{name}": {"kill": {"total": 9, "tried": number, "bad": 0}}}
        said = {"record": digest_of_record(one), "seconds": 1, "calls": number, "crash_states": states}
        (tmp_path / name / "observations.json").write_text(json.dumps(said))
    records = [stored.load(Path(file), SCHEMAS) for file in files]
    parts = [one for one in records if isinstance(one, stored.StoredRecord)]
    whole = merged(files, [one.record for one in parts])
    found = merged_observations(whole, [one.observations for one in parts])
    assert found["calls"] == 3
    assert {name: one["kill"]["tried"] for name, one in found["crash_states"].items()} == {f"{MAP}%a": 1, f"{MAP}%b": 2}
    wrong = {"record": digest_of_record(parts[0].record), "calls": "x"}
    (tmp_path / "a" / "observations.json").write_text(json.dumps(wrong))
    assert report("merge", *files) == 2


def test_the_status_of_a_merge_is_that_of_the_whole(tmp_path: Path, capsys: Capture) -> None:
    good = put(tmp_path / "good.json", part(passed(MAP, "a"), selection="a"))
    bad = put(tmp_path / "bad.json", part(failed(MAP, "b"), selection="b"))
    assert report("merge", good, bad, "--format", "badge") == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["message"].startswith("not conformant: part of ")
    assert printed.err.startswith("NOT CONFORMANT in the selected checks: 1 of 2 checks failed; ")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vectors": "f" * 64}, "their vectors differs"),
        ({"profile": "quick"}, "their profile differs"),
        ({"seed": "1"}, "their seed differs"),
        ({"backend": "node other.js"}, "their backend's text differs"),
        ({"contracts": {MAP: "1.0.0 zz"}}, "their contracts differs"),
        ({"declarable": 9}, "their number of operators differs"),
    ],
)
def test_parts_of_others_are_refused(changes: dict[str, Any], said: str, tmp_path: Path, capsys: Capture) -> None:
    files = [
        put(tmp_path / "one.json", part(passed(MAP, "a"), selection="a")),
        put(tmp_path / "two.json", part(passed(MAP, "b"), selection="b", **changes)),
    ]
    assert report("merge", *files, "--output", str(tmp_path / "out")) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_parts_that_contradict_each_other_are_refused(tmp_path: Path, capsys: Capture) -> None:
    files = [
        put(tmp_path / "one.json", part(passed(MAP, "a"), selection="a")),
        put(tmp_path / "two.json", part(failed(MAP, "a"), passed(ORDER, "b"), selection="b")),
    ]
    assert report("merge", *files, "--output", str(tmp_path / "out")) == 2
    assert f"contradict each other in check {MAP}::tail-blocks::a: pass and fail" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_merged_record_is_a_record(tmp_path: Path) -> None:
    files = [
        put(tmp_path / "one.json", part(failed(MAP, "a"), selection="a")),
        put(tmp_path / "two.json", part(passed(BATCH, "b"), selection="b")),
    ]
    assert report("merge", *files, "--output", str(tmp_path / "all.json")) == 1
    assert report("show", str(tmp_path / "all.json"), "--output", os.devnull) == 0
    assert read_record((tmp_path / "all.json").read_bytes())["selection"] == "a | b"
