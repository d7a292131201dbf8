"""The facts of a failure: a crash, the smallest failing case, competing guards, a similar mistake."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conformance.backend.outcome import UNREGISTERED, ObservedFailure, ObservedResult
from conformance.cli.main import status_of
from conformance.contract.model import Contract
from conformance.report.failure import facts_of, group_alike, headline, reproduction_in, stderr_in
from conformance.report.mistake_shapes import looks_like
from conformance.report.record import Record
from conformance.report.terminal import show
from conformance.tests.mutant_results import cases_of, codebook
from conformance.tests.runs import BATCH, MAP, failed, lost, record
from conformance.trial.cases import competing, guard_details
from conformance.trial.check import Difference, FailedCall, Kind, Result
from conformance.vectors.case import CallStep

CASE = "UML_OS.Data.SeededBlockPermute_v1::pinned-orders::eight"
DYING = """
import json, os, sys
from impl import serve
def result(self, method, params):
    if method == "tally.hello":
        return original(self, method, params)
    for k in range(9):
        print("line", k, file=sys.stderr, flush=True)
    os._exit(7)
original, serve.Session._result = serve.Session._result, result
sys.exit(serve.main(["reference"]))
"""


def facts(*results: Result, stderr: str = "") -> list[tuple[str, str]]:
    made = record(*results)
    found = facts_of(made.entries[0], made["prose"], reproduction_in(made), stderr)
    return [(fact.label, fact.text) for fact in found]


def page(made: Record) -> str:
    file = StringIO()
    show([made], Console(file=file, width=120, color_system=None))
    return file.getvalue()


# -- a crash


def test_a_backend_that_dies_is_told_with_its_last_words_the_inputs_and_the_command_that_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = shlex.join([sys.executable, "-c", DYING])
    run = ["run", "--backend", backend, "--profile", "quick", "-k", CASE, "--output", str(tmp_path)]
    assert status_of(run) == 1
    said = capsys.readouterr().out
    assert "found       a crash: it exited with status 7" in said
    assert 'asked       UML_OS.Data.SeededBlockPermute_v1 {"epoch_seed":' in said
    assert "stderr      line 3\n            line 4\n" in said
    assert "            line 8\n" in said
    assert "line 2\n" not in said
    assert any(line.startswith("explain     tally explain --backend ") and CASE in line for line in said.splitlines())


def test_a_crash_without_a_known_call_has_no_command_that_explains_it() -> None:
    whole = facts(replace(lost(MAP, "boom"), call=FailedCall(MAP, {"block_id": "3"})), stderr="panicked\n")
    assert ("asked", f'{MAP} {{"block_id": "3"}}') in whole
    assert ("stderr", "panicked") in whole
    assert "explain" in dict(whole)
    assert not {"asked", "stderr", "explain"} & dict(facts(lost(MAP, "boom"))).keys()


# -- the case that stands for a group


def shown(*results: Result) -> str:
    head = next(line for line in page(record(*results)).splitlines() if line.startswith("Failure group"))
    return head.rsplit("::", 1)[1]


def sized(name: str, size: int, why: str = "", **changes: Any) -> Result:
    one = failed(BATCH, name, call=FailedCall(BATCH, {"block_id": "3" * size}, {"result": {}}), **changes)
    return replace(one, check=replace(one.check, why=why)) if why else one


def test_the_smallest_case_that_names_the_field_which_differs_stands_for_its_group() -> None:
    named = "The batch_sample_indices wrap at the end."
    assert shown(sized("a-large", 500, named), sized("b-small", 20, named), sized("c-unnamed", 1)) == "b-small"
    assert shown(sized("a-large", 500), sized("b-small", 20)) == "b-small"


def test_the_size_of_an_answer_does_not_make_a_case_large() -> None:
    long = FailedCall(BATCH, {"block_id": "3"}, {"result": {"batch_sample_indices": ["1"] * 500}})
    assert shown(sized("a-short-answer", 20), replace(sized("b-long-answer", 1), call=long)) == "b-long-answer"


# -- guards that compete


def two_false_guards() -> tuple[Contract, Mapping[str, Any], str]:
    """A frozen call that two guards of different codes would refuse, and the code of the later one."""
    contract = codebook()[BATCH].contract
    for case in cases_of(BATCH):
        for step in case.steps:
            if isinstance(step, CallStep) and step.operator == BATCH and "from" not in repr(step.inputs):
                native = codebook()[BATCH].inputs.to_native(step.inputs)
                bound = contract.environment.bind(native)
                false = [guard for guard in contract.requires if not guard.expression.holds(bound)]
                if len({guard.code for guard in false}) > 1:
                    return contract, native, next(one.code for one in false if one.code != false[0].code)
    raise AssertionError("no such case")


def test_guards_in_a_wrong_order_are_told_as_the_two_that_competed() -> None:
    contract, native, code = two_false_guards()
    found = competing(contract, native, ObservedFailure(code, {}))
    decides = contract.refusal(native)
    assert decides is not None
    assert found["decides"]["id"] == decides.id
    (answered,) = found["answered"]
    assert answered["code"] == code != decides.code
    result = failed(BATCH, "order", difference=Difference("error.message", decides.code, code))
    told = facts(replace(result, details={"guards": found}))
    labels = [label for label, _ in told]
    assert labels.count("guard") == labels.count("answered as") == 1
    assert dict(told)["guard"].startswith(f"{decides.id} decides with {decides.code}: ")
    assert dict(told)["answered as"].startswith(f"{answered['id']} with {code}, which comes later: ")
    cited = {text.split(" ")[0].rstrip(":") for label, text in told if label == "requirement"}
    assert cited == {*decides.requirements, *answered["requirements"]}


def test_a_refused_call_that_is_answered_names_the_guard_alone() -> None:
    contract, native, _ = two_false_guards()
    found = competing(contract, native, ObservedResult({}, {}))
    assert "decides" in found
    assert "answered" not in found


# -- known shapes


def wrong(*pairs: tuple[Any, Any], path: str = "count") -> list[Any]:
    results = [failed(BATCH, f"c{k}", difference=Difference(path, *pair)) for k, pair in enumerate(pairs)]
    return list(record(*results).entries)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("7", "8"), ("100", "101")], "off by one: one too many"),
        ([(7, 6), (100, 99)], "off by one: one too few"),
        ([("5", "-5"), ("-9", "9")], "the sign is turned round"),
        ([("258", "513"), ("1", "256")], "the 2 bytes of a number in the other order"),
        ([("300", "44"), ("513", "1")], "a number of which 8 bits are kept"),
        ([("70000", "65535"), ("65536", "65535")], "a number that stops at the largest of 16 bits"),
        ([("18446744073709551615", "-1"), (str(2**63), str(-(2**63)))], "64 bits taken for a signed number"),
        ([("9007199254740993", "9007199254740992"), ("18014398509481987", "18014398509481988")],
         "a number that went through binary64 and lost its low bits"),
        ([("0a0b", "0b0a"), ("010203", "030201")], "bytes in the other order"),
        ([("3fb999999999999a", "3fb999999999999b"), ("3ff0000000000000", "3ff0000000000001")],
         "rounding: the last bit of a float"),
        ([("a b ", "a b"), (" c", "c")], "a text without the blanks around it"),
        ([("a" * 300, "a" * 255), ("b" * 256, "b" * 255)], "a text cut after 255 bytes"),
    ],
)  # fmt: skip
def test_a_known_shape_is_offered(pairs: list[tuple[Any, Any]], words: str) -> None:
    assert looks_like(wrong(*pairs)) == words


@pytest.mark.parametrize(
    "pairs",
    [
        [("7", "8")],  # a single failure
        [("7", "8"), ("7", "8")],  # the same one twice
        [("7", "8"), ("100", "99")],  # not one shape
        [("7", "8"), ("100", "101"), ("5", "50")],  # all but one
        [("7", "8"), ("100", "x")],  # not both numbers
    ],
)
def test_what_has_not_one_shape_everywhere_is_like_nothing(pairs: list[tuple[Any, Any]]) -> None:
    assert looks_like(wrong(*pairs)) == ""


def test_codes_and_missing_answers_have_no_shape() -> None:
    pairs = [("7", "8"), ("100", "101")]
    assert looks_like(wrong(*pairs, path="error.message")) == ""
    assert looks_like(wrong(*pairs, path="outcome")) == ""


def test_a_likeness_stands_beside_the_failure_and_is_no_diagnosis() -> None:
    results = [failed(BATCH, f"c{k}", difference=Difference("count", f"{k}", f"{k + 1}")) for k in range(3)]
    said = page(record(*results))
    assert "looks like  off by one: one too many" in said
    assert "diagnosis: not explained" in said
    assert "off by one" not in said.split("diagnosis:")[1]


def test_every_answer_of_a_cut_text_fits_also_where_the_right_one_is_known_by_its_digest() -> None:
    head = "a" * 32
    marker = {"head": head, "letters": 65_537, "sha256": "0" * 64, "tail": head}
    known = [failed(BATCH, f"c{k}", difference=Difference("name", "a" * k, "a" * 64)) for k in (65, 65_535)]

    def like(actual: str) -> str:
        long = failed(BATCH, "long", difference=Difference("name", marker, actual, "known by their digests"))
        return looks_like(list(record(*known, long).entries))

    assert like("a" * 64) == "a text cut after 64 bytes"
    assert like("a" * 63) == ""
    assert like("b" * 64) == ""


@pytest.mark.parametrize(
    ("letter", "size", "kept", "words"),
    [
        ("\u00e9", 64, "\u00e9" * 64, "a text cut after 64 letters"),
        ("\U0001f600", 64, "\U0001f600" * 32, "a text cut after 64 UTF-16 units"),
        ("\u00e9", 127, "\u00e9" * 63, "a text cut after 127 bytes"),
    ],
)
def test_the_unit_in_which_a_text_is_cut_is_told(letter: str, size: int, kept: str, words: str) -> None:
    ascii_ = ("a" * 300, "a" * size)
    assert looks_like(wrong(ascii_, (letter * 400, kept))) == words


def test_a_long_text_that_is_cut_is_told_with_both_lengths() -> None:
    told = dict(facts(failed(BATCH, "cut", difference=Difference("name", "a" * 65_535, "a" * 64))))
    assert told["length"] == "64 characters instead of 65,535; the first 64 agree"
    assert "length" not in dict(facts(failed(BATCH, "other", difference=Difference("name", "a" * 64, "b" * 64))))


# -- a limit that is refused

MAPPED = "UML_OS.Data.SeededIntraBlockMap_v1"
AT_LIMIT = {"block_id": 0, "local_pos": 0, "block_size": 2**32, "cardinality": 2**32, "epoch_seed": bytes(16)}


def refused(name: str, kind: Kind = Kind.VECTOR, **changes: Any) -> Result:
    inputs = {**AT_LIMIT, **changes}
    details = guard_details(codebook()[MAPPED].contract, inputs, ObservedFailure("CONTRACT_VIOLATION", {}))
    call = FailedCall(MAPPED, codebook()[MAPPED].inputs.from_native(inputs))
    apart = Difference("outcome", "a result", "failure CONTRACT_VIOLATION")
    result = failed(MAPPED, name, difference=apart, call=call, details=details)
    return replace(result, check=replace(result.check, kind=kind))


def test_calls_that_all_lie_at_one_limit_look_like_a_limit_that_is_refused() -> None:
    first, other = refused("first"), refused("other", cardinality=2**33)
    assert [*first.details["limits"]] == ["block-exists", "modulus-limit"]
    assert looks_like(record(first, other).entries).startswith("off by one: a call at a limit is refused")
    assert "modulus-limit allows it: m <= 4294967296u" in looks_like(record(first, other).entries)
    assert looks_like(record(first).entries) == ""  # a single call
    assert looks_like(record(first, first).entries) == ""
    assert looks_like(record(first, other, refused("far", block_size=8)).entries) == ""


def test_only_a_guard_that_may_have_refused_the_call_is_named() -> None:
    labels = [label for label, _ in facts(refused("first"))]
    assert labels.count("perhaps") == 2
    assert "answered as" not in labels
    assert refused("inside", block_size=8, cardinality=100, block_id=1, local_pos=3).details == {}
    other = guard_details(codebook()[MAPPED].contract, AT_LIMIT, ObservedFailure("COUNTER_OVERFLOW", {}))
    assert other == {}


# -- what fuzzing found


def test_a_smaller_drawn_call_stands_for_large_frozen_ones_and_not_for_small_ones() -> None:
    def one(name: str, size: int, kind: Kind) -> Result:
        call = FailedCall(BATCH, {"block_id": "3" * size}, {"result": {}})
        result = failed(BATCH, name, call=call, difference=Difference("count", "7", "9"))
        return replace(result, check=replace(result.check, kind=kind))

    def first(size: int) -> str:
        made = record(one("frozen", size, Kind.VECTOR), one("drawn", 9, Kind.FUZZ))
        (alike,) = group_alike(made.entries, made["prose"])
        assert alike.size == 2
        return str(alike.first["kind"])

    assert first(60_000) == "fuzz"
    assert first(20) == "vector"


def test_a_failure_that_fuzzing_found_has_a_command_that_explains_its_operator() -> None:
    result = failed(BATCH, "drawn", call=FailedCall(BATCH, {}), difference=Difference("count", "7", "9"))
    told = facts(replace(result, check=replace(result.check, kind=Kind.FUZZ)))
    assert dict(told)["explain"] == f"tally explain {BATCH}"


def test_a_difference_that_can_be_read_comes_before_digests() -> None:
    sides = ({"sha256": "0" * 64}, {"sha256": "1" * 64})
    opaque = [failed(BATCH, f"a{k}", difference=Difference("order", *sides, "indices 0..7 agree")) for k in range(3)]
    made = record(*opaque, failed(BATCH, "b", difference=Difference("count", "7", "9")))
    assert [alike.size for alike in group_alike(made.entries, made["prose"])] == [1, 3]


def test_the_message_of_an_exception_is_told_also_where_a_long_trace_follows_it() -> None:
    calls = "".join(f"    at call{k} (a.js:{k})\n" for k in range(9))
    thrown = facts(lost(MAP, "boom"), stderr=f"a.js:7\n    ^\n\nError: no table\n{calls}\nNode.js v20\n")
    at = thrown.index(("stderr", "a.js:7"))
    said = [text for _, text in thrown[at : at + 5]]
    assert said == ["a.js:7", "    ^", "Error: no table", "    at call0 (a.js:0)", "Node.js v20"]


def test_an_exception_that_a_backend_answers_is_told_with_the_last_lines_of_its_stderr() -> None:
    apart = Difference("error.message", UNREGISTERED, "'TypeError: x'", "ill-typed")
    (entry,) = record(failed(BATCH, "thrown", difference=apart)).entries
    said = stderr_in({"stderr_tail": "TypeError: x\n    at run (build.js:41)\n"}, entry)
    assert said.splitlines()[1:] == ["TypeError: x", "    at run (build.js:41)"]
    assert "perhaps of another check" in said
    calls = [f"    at call{k} (build.js:{k})" for k in range(20)]
    long = stderr_in({"stderr_tail": "\n".join(["chatter", "TypeError: x", *calls])}, entry)
    assert long.splitlines()[1:] == ["chatter", "TypeError: x", calls[0]]
    ended = stderr_in({"stderr_tail": "\n".join([*calls, "ValueError: y"])}, entry)
    assert ended.splitlines()[-1] == "ValueError: y"
    (other,) = record(failed(BATCH, "wrong", difference=Difference("count", "7", "9"))).entries
    assert stderr_in({"stderr_tail": "chatter\n"}, other) == ""


def test_a_headline_has_null_true_and_false_as_on_the_wire() -> None:
    (entry,) = record(failed(BATCH, "flag", difference=Difference("flags", [True, False], [True, None]))).entries
    assert headline(entry) == "flags: expected [true, false], found [true, null]"
