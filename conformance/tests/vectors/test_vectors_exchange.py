"""The conversation of one case, driven by hand."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conformance.backend.outcome import Failure, ObservedFailure, ObservedResult, RawResult
from conformance.codec.cbor import encode_canonical
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.family import FileFormat, FormedFile, Seal
from conformance.contract.yaml.source import Position
from conformance.tests.vectors_walk import OPERATOR, load
from conformance.vectors.case import CallStep, ExpectedResult, FileStep, QuestionCall, RestartStep, TreeStep
from conformance.vectors.conversation.exchange import (
    ConversationContext,
    Exchange,
    answered,
    exchanges,
    may_share,
    resolve,
    runs_alone,
)

STEPS = (
    QuestionCall("a", OPERATOR, {"place": {"lap": "0", "at": "5"}, "width": 1}),
    RestartStep(),
    QuestionCall("b", OPERATOR, {"place": {"from": "a.after"}, "width": 1}),
)
ANSWER = RawResult({"visited": ["5"], "after": {"lap": "0", "at": "6"}})
REFUSAL = Failure(1801, "CONTRACT_VIOLATION", {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR})


@pytest.fixture(scope="module")
def codebook(tmp_path_factory: pytest.TempPathFactory) -> Codebook:
    return codebook_of(load(tmp_path_factory.mktemp("walk")))


def finding(talk: Any, *sent: Any) -> Any:
    try:
        for outcomes in sent:
            talk.send(outcomes)
    except StopIteration as end:
        return end.value
    raise AssertionError("the talk goes on")


def test_it_ends_early_where_a_step_needs_what_is_not_there(codebook: Codebook) -> None:
    made = finding(exchanges(STEPS, codebook, DIALECTS["json"]), None, [REFUSAL], []).exchanges
    assert [one.step for one in made] == ["a"]
    assert isinstance(made[0].observed, ObservedFailure)


LATE = FileStep("rename", {"root": "a", "from": "x", "to": "y", "after_ms": 300})


def test_a_late_file_step_is_done_while_the_next_call_waits(codebook: Codebook, tmp_path: Path) -> None:
    put = FileStep("put", {"root": "a", "path": "x", "text": ""})
    places = {"a": tmp_path / "a"}
    talk = exchanges((put, LATE, STEPS[0], TreeStep("a", ".", {})), codebook, DIALECTS["json"], places=places)
    talk.send(None)  # type: ignore[arg-type]
    assert [one.name for one in places["a"].glob("*/*")] == ["x"]
    transcript = finding(talk, [ANSWER])
    assert list(transcript.trees["tree-4"]) == ["y"]


def test_a_late_file_step_that_cannot_be_done_ends_the_conversation(codebook: Codebook) -> None:
    steps = (LATE, STEPS[0], STEPS[0])
    transcript = finding(exchanges(steps, codebook, DIALECTS["json"]), None, [ANSWER])
    assert len(transcript.exchanges) == 1
    assert "'x'" in transcript.fault


def test_a_replay_goes_on_when_a_late_step_is_done(codebook: Codebook) -> None:
    from conformance.cli.replay import _take

    with ConversationContext(codebook, DIALECTS["json"]) as stage:
        stage.take(FileStep("put", {"root": "a", "path": "x", "text": ""}))
        stage.take(LATE)
        talk = _take(stage, CallStep("a", OPERATOR, STEPS[0].inputs, ExpectedResult({})))
        next(talk)
        assert finding(talk, [ANSWER]).step == "a"
        assert (stage.roots.path("a") / "y").exists()


def test_a_case_with_a_restart_or_a_late_file_step_needs_its_own_process(codebook: Codebook) -> None:
    assert runs_alone(STEPS)
    assert not runs_alone(STEPS[:1])
    assert runs_alone((LATE, STEPS[0]))
    assert not may_share((LATE, STEPS[0]), codebook)


def test_only_a_reference_to_a_step_that_was_asked_is_one() -> None:
    made = {"a": Exchange("a", OPERATOR, {}, ObservedResult({"visited": ["7", "8"]}))}
    assert resolve({"n": {"from": "a.visited.1"}}, partial(answered, made), {}) == {"n": "8"}
    assert resolve({"n": [{"from": "a.visited"}]}, partial(answered, made), {}) == {"n": [["7", "8"]]}
    assert resolve({"n": ["6", {"from": "a.visited.0"}]}, partial(answered, made), {}) == {"n": ["6", "7"]}
    for alike in ({"from": "x.visited"}, {"from": "number"}, {"from": "a.visited", "to": "b"}):
        assert resolve(alike, partial(answered, made), {}) == alike
    with pytest.raises(KeyError):
        resolve({"from": "a.after"}, partial(answered, made), {})


def test_an_answer_is_given_on_with_a_damaged_field() -> None:
    form = FileFormat(
        "sealed",
        "",
        {"whole": FormedFile(".", "cbor")},
        {"whole.0": ("changed",)},
        (Seal("whole.1", {"hash": "$whole.0"}),),
        b"",
        Position("formats.yaml", 1, 1),
    )
    blob = encode_canonical([1, sha256(encode_canonical(1)).digest()]).hex()
    made = {"a": Exchange("a", OPERATOR, {}, ObservedResult({"blob": blob}))}
    given = {"blob": {"damaged": {"from": "a.blob"}, "format": "sealed", "edit": "whole.0 changed"}}
    right = encode_canonical([2, sha256(encode_canonical(2)).digest()]).hex()
    assert resolve(given, partial(answered, made), {"sealed": form}) == {"blob": right}
    nothing = {"blob": {"damaged": {"from": "a.blob"}, "format": "sealed", "edit": "whole.7 changed"}}
    with pytest.raises(KeyError, match="nothing at"):
        resolve(nothing, partial(answered, made), {"sealed": form})
