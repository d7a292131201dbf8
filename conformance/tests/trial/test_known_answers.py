"""Known answers: a reference is not asked again, and a wrong backend gets the verdict that it gets without them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from conformance.backend.driver import Call
from conformance.backend.outcome import Crash, Lost, Observed, ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.suite import Suite
from conformance.tests.fuzz.tasks import task_of
from conformance.tests.halving import CASES, codebook
from conformance.tests.small_corpus import OPERATOR
from conformance.tests.small_spec import SHIPPED, load, spoilt
from conformance.trial.check import Verdict
from conformance.trial.client import Client, asked_of_both, walked_by_both
from conformance.trial.fuzz import fuzz_operator
from conformance.trial.known_answers import AnswerStore, answers_of
from conformance.trial.options import RunOptions
from conformance.trial.run import reference
from conformance.vectors.case import FileStep, QuestionCall, TreeStep
from conformance.vectors.conversation.exchange import AnyStep, Exchange, Transcript

STORE = AnswerStore("the digest of a reference")


class Doubles:
    """Doubles numbers without a process, `wrong` ones wrongly; notes what it is asked."""

    def __init__(self, *wrong: int, answers: AnswerStore = STORE) -> None:
        self.asked: list[int] = []
        self.wrong, self._answers = wrong, answers
        self.known = answers.of("")

    def recall(self, check: str = "check") -> Doubles:
        self.known = self._answers.of(check)
        return self

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        for call in calls:
            self.asked.append(call.inputs["number"])
            yield self.answer(call.inputs["number"])

    def answer(self, number: int) -> Observed:
        return ObservedResult({"double": 2 * number + (number in self.wrong)}, {"stream": f"handle-{id(self)}"})

    def walk_all(self, traces: Sequence[Sequence[AnyStep]]) -> list[Transcript | Lost]:
        return [self.walk(trace) for trace in traces]

    def walk(self, trace: Sequence[AnyStep]) -> Transcript | Lost:
        made = []
        for step in trace:
            if isinstance(step, QuestionCall):
                self.asked.append(step.inputs["number"])
                made.append(Exchange(step.name, step.operator, step.inputs, self.answer(step.inputs["number"])))
        return Transcript(tuple(made), {"tree": {"file": {"size": len(self.wrong)}}})


class Dies(Doubles):
    """A backend that every question kills."""

    def walk(self, trace: Sequence[AnyStep]) -> Transcript | Lost:
        return Crash("it ended")


def calls(numbers: Iterable[int]) -> list[Call]:
    return [Call("Double", {"number": number}) for number in numbers]


def asked(numbers: Iterable[int], right: Doubles, backend: Doubles) -> list[tuple[Observed, Observed]]:
    found = list(asked_of_both(calls(numbers), cast(Client, right), cast(Client, backend)))
    right.known.keep()
    return found


def trace(number: int, content: str = "") -> tuple[AnyStep, ...]:
    put = FileStep("put", {"root": "a", "path": "file", "text": content})
    return (put, QuestionCall("call", "Double", {"number": number}), TreeStep("a", ".", {}))


def walked(
    traces: Sequence[tuple[AnyStep, ...]], right: Doubles, backend: Doubles
) -> list[tuple[Transcript | Lost, Transcript | Lost]]:
    found = walked_by_both(traces, lambda one: one, cast(Client, right), cast(Client, backend))
    walks = [both for _, both in found]
    right.known.keep()
    return walks


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLY_CACHE", str(tmp_path / "cache"))


def test_a_reference_is_not_asked_again_what_a_backend_answers_as_it_did() -> None:
    first = asked(range(5), Doubles().recall(), Doubles())
    right, backend = Doubles().recall(), Doubles()
    again = asked(range(7), right, backend)
    assert (right.asked, backend.asked) == ([5, 6], [*range(7)])
    assert again[:5] == first


def test_a_wrong_answer_is_compared_with_an_answer_that_the_reference_gives_now() -> None:
    asked(range(5), Doubles().recall(), Doubles())
    right = Doubles().recall()
    found = asked(range(5), right, Doubles(3))
    assert right.asked == [3]
    assert found[3] == (ObservedResult({"double": 6}), ObservedResult({"double": 7}))
    assert all(mine == theirs for k, (mine, theirs) in enumerate(found) if k != 3)


def test_a_call_that_occurs_twice_does_not_move_the_answers_of_later_calls() -> None:
    for _ in range(2):
        found = asked([1, 1, 2, 1, 3], Doubles().recall(), Doubles())
        assert [mine for mine, _ in found] == [theirs for _, theirs in found]
        assert [mine.fields["double"] for mine, _ in found if isinstance(mine, ObservedResult)] == [2, 2, 4, 2, 6]


def test_what_a_backend_answers_is_never_taken_for_an_answer_of_the_reference() -> None:
    for _ in range(3):
        assert asked([1], Doubles().recall(), Doubles(1))[0][0] == ObservedResult({"double": 2})


def test_answers_are_known_to_the_same_check_of_the_same_reference_alone() -> None:
    asked([1], Doubles().recall(), Doubles())
    for right in (Doubles().recall("another check"), Doubles(answers=AnswerStore("another digest")).recall()):
        asked([1], right, Doubles())
        assert right.asked == [1]


def test_without_a_digest_nothing_is_known() -> None:
    for _ in range(2):
        right = Doubles(answers=AnswerStore()).recall()
        asked([1], right, Doubles())
        assert right.asked == [1]


def test_a_trace_is_known_by_all_of_its_steps_and_answers() -> None:
    walked([trace(1), trace(2)], Doubles().recall(), Doubles())
    right = Doubles().recall()
    found = walked([trace(1), trace(2, "other"), trace(2)], right, Doubles())
    assert right.asked == [2]
    assert all(mine == theirs for mine, theirs in found)
    right = Doubles().recall()
    assert [mine == theirs for mine, theirs in walked([trace(1), trace(2)], right, Doubles(2))] == [False, False]
    assert right.asked == [1, 2]  # the wrong backend left another file in both


def test_a_lost_backend_is_compared_with_the_walk_of_the_reference() -> None:
    walked([trace(1)], Doubles().recall(), Doubles())
    ((right, said),) = walked([trace(1)], Doubles().recall(), Dies())
    assert isinstance(right, Transcript)
    assert isinstance(said, Crash)


def test_an_answer_that_is_not_valid_is_never_known() -> None:
    walked([trace(1)], Dies().recall(), Doubles())
    right = Doubles().recall()
    walked([trace(1)], right, Doubles())
    assert right.asked == [1]


class Halves(Doubles):
    """Halves even numbers, a `wrong` one wrongly."""

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        for call in calls:
            whole = int(call.inputs["whole"])
            self.asked.append(whole)
            data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR}
            half = str(whole // 2 + (whole in self.wrong))
            yield ObservedFailure("CONTRACT_VIOLATION", data) if whole % 2 else ObservedResult({"half": half})


def test_a_wrong_backend_is_found_and_explained_as_without_known_answers() -> None:
    def result_of(right: Halves, backend: Halves) -> object:
        contract = codebook()[OPERATOR].contract
        found, _ = fuzz_operator(task_of(contract, CASES, backend, right, codebook()))
        right.known.keep()
        return found

    wrong = Halves(6)
    cold = result_of(Halves(answers=AnswerStore()), wrong)
    right = Halves()
    right.recall()
    result_of(right, Halves())
    warm = Halves()
    warm.recall()
    assert result_of(warm, Halves(6)) == cold
    assert getattr(cold, "verdict", None) is Verdict.FAIL
    assert len(warm.asked) < len(right.asked)


# -- which references have known answers


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Codebook:
    """A suite whose reference is a Python command, with its files in one folder."""
    root = tmp_path / "own"
    library = load(root)
    (root / "impl").mkdir()
    (root / "impl" / "reference.py").write_text("answer = 42\n")
    (root / "impl" / "tests").mkdir()
    (root / "impl" / "tests" / "test.py").write_text("a test\n")
    monkeypatch.setattr(sys, "path", [str(root)])
    sandbox = {"show": ("impl",), "hide": ("impl/tests",)}
    suite = replace(library.suite, backends={"right": "python -m impl.reference"}, sandbox=sandbox)
    return replace(codebook_of(library), suite=suite)


def test_the_answers_of_a_reference_depend_on_its_files_and_not_on_hidden_ones(own: Codebook) -> None:
    first = answers_of("right", own)
    assert first.digest
    (own.suite.root / "impl" / "tests" / "test.py").write_text("another test\n")
    assert answers_of("right", own) == first
    (own.suite.root / "impl" / "reference.py").write_text("answer = 43\n")
    assert answers_of("right", own).digest not in ("", first.digest)


def test_the_answers_of_a_reference_depend_on_the_contracts(own: Codebook, tmp_path: Path) -> None:
    changed = codebook_of(load(tmp_path / "changed", spoilt("Halve an even number.", "Halve any even number.")))
    assert answers_of("right", replace(changed, suite=own.suite)).digest not in ("", answers_of("right", own).digest)


@contextmanager
def editable(folder: Path) -> Iterator[None]:
    (folder / "__editable___thing_finder.py").write_text("")
    yield
    (folder / "__editable___thing_finder.py").unlink()


@pytest.mark.parametrize(
    "change",
    [
        lambda suite: replace(suite, backends={"right": "node reference.js"}),
        lambda suite: replace(suite, backends={}),
        lambda suite: replace(suite, sandbox={}),
        lambda suite: replace(suite, sandbox={"show": ("impl", "absent")}),
    ],
    ids=["another language", "no command of the suite", "unnamed files", "a file that is absent"],
)
def test_nothing_is_known_of_a_reference_whose_files_are_not_certain(
    own: Codebook, change: Callable[[Suite], Suite]
) -> None:
    assert answers_of("right", replace(own, suite=change(own.suite))) == AnswerStore()


def test_nothing_is_known_of_a_reference_that_may_import_from_elsewhere(
    own: Codebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with editable(own.suite.root):
        assert answers_of("right", own) == AnswerStore()
    assert answers_of("right", own).digest
    monkeypatch.setattr(sys, "path", [str(own.suite.root), str(tmp_path)])
    assert answers_of("right", own) == AnswerStore()


@pytest.mark.parametrize(
    ("changes", "known"),
    [({}, True), ({"sandbox": "bwrap"}, False), ({"seed": "7"}, False)],
    ids=["usual", "an untrusted backend", "a seed of its own"],
)
def test_a_run_uses_known_answers_of_a_trusted_backend_and_of_the_usual_calls(
    own: Codebook, changes: dict[str, str], known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[AnswerStore] = []
    monkeypatch.setattr("conformance.trial.run.Client", lambda _, answers: seen.append(answers))
    reference(RunOptions(backend="right", reference="right", **changes), own)  # type: ignore[arg-type]
    assert [bool(one.digest) for one in seen] == [known]


def test_the_bundled_reference_has_known_answers() -> None:
    assert answers_of(SHIPPED.reference, replace(codebook(), suite=SHIPPED)).digest
