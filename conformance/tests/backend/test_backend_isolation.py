"""However a backend is lost, every conversation that is not to blame keeps its finding."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.backend import driver as drive
from conformance.backend.carrier import Carrier
from conformance.backend.command import Process
from conformance.backend.driver import RESTART, Call, Conversation, Driver
from conformance.backend.outcome import Crash, ProtocolError, RawResult, Timeout
from conformance.tests.backends import Talk, all_but, asking, driver, echo, run, run_numbers


def test_an_honest_backend_loses_nothing() -> None:
    by = driver("honest")
    assert run_numbers(by, 100).findings == all_but(count=100)
    assert (by.unattributed, by.calls) == ([], 100)


@pytest.mark.parametrize(
    ("name", "arguments", "lost"),
    [
        ("crashes_on_seven", (), Crash("it exited with status 3")),
        ("killed_on_seven", (), Crash("it was ended by SIGKILL")),
        ("leaves_a_child_on_seven", (), Crash("it exited with status 4")),
        ("leaves_a_child_on_seven", ("fleeing",), Crash("it exited with status 4")),
        ("answers_seven_twice", (), ProtocolError("a second answer to the request 1")),
        ("answers_seven_twice", ("0.05",), ProtocolError("a second answer to the request 1")),
    ],
)
def test_a_crash_on_one_input_costs_one_finding(name: str, arguments: tuple[str, ...], lost: object) -> None:
    by = driver(name, *arguments)
    held = run_numbers(by)
    # What comes late may be noticed when its conversation is over; then nobody is blamed and the run is red.
    if held.lost or name != "answers_seven_twice":
        assert held.lost == {"7": lost}
        assert held.findings == all_but(7)
        assert by.unattributed == []
    else:
        assert held.findings == all_but()
        assert len(by.unattributed) == 1


@pytest.mark.parametrize("name", ["hangs_on_seven", "forgets_seven"])
def test_silence_on_one_input_costs_one_finding(name: str) -> None:
    by = driver(name, timeout=0.6)
    held = run_numbers(by)
    assert held.lost == {"7": Timeout(0.6)}
    assert held.findings == all_but(7)
    assert by.unattributed == []


def test_a_backend_that_closes_its_stdout_and_runs_on_costs_one_finding() -> None:
    held = run_numbers(driver("closes_stdout_on_seven", timeout=0.6))
    assert held.lost == {"7": Crash("it closed its stdout and went on running")}
    assert held.findings == all_but(7)


@pytest.mark.parametrize("form", ["invalid_utf8", "id_as_string"])
def test_garbage_in_answer_to_one_input_costs_one_finding(form: str) -> None:
    held = run_numbers(driver("answers_seven_in_bad_form", form), 10)
    assert held.findings == all_but(7, count=10)
    assert isinstance(held.lost["7"], ProtocolError)


def test_a_framed_message_that_is_no_answer_is_an_outcome_and_the_process_goes_on() -> None:
    by = driver("answers_seven_with_a_non_answer", "neither")
    held = run_numbers(by, 10)
    assert held.findings == {
        **all_but(7, count=10),
        "7": ProtocolError("an answer with neither a result nor an error; it must have one of them"),
    }
    assert (held.lost, by.unattributed) == ({}, [])


def test_the_observation_of_a_lost_conversation_holds_what_the_backend_said_on_stderr() -> None:
    held = run_numbers(driver("crashes_on_seven"))
    (lost,) = [one for one in held.finished if one.lost is not None]
    assert lost.stderr == "seven is too much for me\n"
    assert "seven" not in str(lost.lost)


def test_a_crash_that_no_conversation_repeats_alone_is_unattributed_and_loses_nothing() -> None:
    by = driver("crashes_every_tenth_call")
    held = run_numbers(by)
    assert held.findings == all_but()
    assert set(by.unattributed) == {Crash("it exited with status 1")}


def test_a_backend_that_crashes_at_random_answers_right_or_is_lost() -> None:
    held = run_numbers(driver("crashes_at_random"))
    assert held.findings.items() <= all_but().items()
    assert all(lost == Crash("it exited with status 1") for lost in held.lost.values())
    assert len(held.findings) > 10


def test_a_backend_that_dies_after_hello_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "GIVE_UP_AFTER", 5)
    held = run_numbers(driver("dies_after_hello"), 40)
    assert held.findings == {}
    asked = [lost for lost in held.lost.values() if lost == Crash("it exited with status 0")]
    assert len(asked) == 5
    assert set(held.lost.values()) - set(asked) == {
        ProtocolError("not asked: the backend was lost in 5 conversations in a row")
    }


def test_a_backend_that_is_always_silent_is_given_up_on() -> None:
    held = run_numbers(driver("stops_reading", timeout=0.05), 40)
    assert held.findings == {}
    silent = [lost for lost in held.lost.values() if lost == Timeout(0.05)]
    assert len(silent) == 5
    assert set(held.lost.values()) - set(silent) == {
        ProtocolError("not asked: the backend was silent until the timeout in 5 conversations in a row")
    }


def test_a_backend_that_is_often_silent_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "GIVE_UP_AFTER", 3)
    held = [one.lost for one in driver("forgets_seven", timeout=0.2).run([asking(n) for n in (7, 1, 7, 2, 7)])]
    assert Timeout(0.2) in held
    assert ProtocolError("not asked: the backend was silent until the timeout 3 times") in held


def test_a_backend_that_stops_starting_is_given_up_on(tmp_path: Path) -> None:
    by = driver("starts_only", f"{tmp_path / 'count'}:0")
    held = run_numbers(by)
    assert set(held.lost.values()) == {ProtocolError("not asked: 3 processes in a row said no valid hello")}
    assert by.stderr_tail == b"no more today\n"


def restarting(key: str) -> Conversation[Any]:
    def talk() -> Talk:
        (first,) = yield [echo(1)]
        yield RESTART
        second, third = yield [echo(2), echo(3)]
        return [outcome.value["n"] for outcome in (first, second, third) if isinstance(outcome, RawResult)]

    return Conversation(key, talk, alone=True)


def test_a_conversation_restarts_its_process(tmp_path: Path) -> None:
    held = run(driver("starts_only", f"{tmp_path / 'count'}:9"), [restarting("a"), restarting("b")])
    assert held.findings == {"a": ["1", "2", "3"], "b": ["1", "2", "3"]}
    assert (tmp_path / "count").read_text() == "4"


def test_a_restart_that_fails_loses_its_conversation_alone(tmp_path: Path) -> None:
    held = run(driver("starts_only", f"{tmp_path / 'count'}:2"), [asking(1), restarting("a")])
    assert held.findings == {"1": "1"}
    assert held.lost == {"a": Crash("it exited with status 5 before it answered tally.hello")}


def test_a_backend_that_ignores_bye_is_ended() -> None:
    by = driver("ignores_bye", timeout=0.5)
    by._grace = 0.2  # a test has less patience
    assert run(by, [restarting("a"), restarting("b")]).findings == {"a": ["1", "2", "3"], "b": ["1", "2", "3"]}
    assert by._grace < 0.2


@pytest.mark.parametrize("end", ["\n", ""])
def test_words_after_bye_lose_the_conversation_or_stay_unattributed(end: str) -> None:
    by = driver("talks_after_bye", end)
    held = run(by, [asking(1), restarting("a")])
    assert held.findings == {"1": "1"}
    assert "Goodbye" in str(held.lost["a"])
    assert len(by.unattributed) == 1


def test_conversations_of_many_calls_keep_the_order_of_their_outcomes() -> None:
    def talk() -> Talk:
        yield []
        found = []
        for begin in (0, 20):
            outcomes = yield [echo(n) for n in range(begin, begin + 20)]
            found += [outcome.value["n"] for outcome in outcomes if isinstance(outcome, RawResult)]
        return found

    held = run(driver("answers_backwards"), [Conversation(key, talk) for key in "abc"])
    assert set(map(tuple, held.findings.values())) == {tuple(str(n) for n in range(40))}


def counting(base: int, exclusive: bool) -> Conversation[Any]:
    """A conversation that asks for a number, then for two at a time, then for another."""

    def talk() -> Talk:
        for numbers in ([base], [base + 1, base + 2], [base + 3]):
            yield [echo(n) for n in numbers]
        return base

    return Conversation(str(base), talk, exclusive=exclusive)


def test_no_call_of_another_comes_between_those_of_an_exclusive_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    by, submit = driver("honest"), Driver.submit

    def noting(self: Driver, carrier: Carrier, call: Call) -> int:
        asked.append(call.inputs["n"])
        return submit(self, carrier, call)

    monkeypatch.setattr(Driver, "submit", noting)
    plans = [(0, False), (10, True), (20, True), (30, False), (40, True), (50, False)]
    held = run(by, [counting(base, exclusive) for base, exclusive in plans])
    assert sorted(held.findings.values()) == [base for base, _ in plans]
    for base, exclusive in plans:
        first = asked.index(str(base))
        together = asked[first : first + 4] == [str(base + k) for k in range(4)]
        assert together == exclusive, (base, asked)


def test_an_exclusive_conversation_that_cannot_be_sent_holds_up_no_other() -> None:
    by = driver("honest")
    held = run(by, [replace(unsendable("bad", 1), exclusive=True), counting(10, exclusive=True), asking(1)])
    assert held.findings.keys() == {"10", "1"}


def test_two_conversations_may_have_one_key() -> None:
    assert [one.finding for one in driver("honest").run([asking(1), asking(1)])] == ["1", "1"]


def test_an_operator_that_no_contract_describes_may_be_listed() -> None:
    by = driver("claims_an_unknown_operator")
    carrier, hello = by.start()
    carrier.kill()
    assert hello.operators == {"Echo_v1", "Nobody_v9"}
    assert run_numbers(by, 3).findings == all_but(count=3)


def test_an_operator_without_a_contract_cannot_be_asked() -> None:
    def talk() -> Talk:
        yield [Call("Unknown_v1", {})]

    with pytest.raises(KeyError, match="no contract describes Unknown_v1"):
        list(driver("honest").run([Conversation("a", talk)]))


def test_a_consumer_that_stops_early_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Process] = []

    class Recorded(Process):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    monkeypatch.setattr(drive, "Process", Recorded)
    for finished in driver("honest").run([asking(n) for n in range(100)]):
        assert finished.lost is None
        break
    gc.collect()
    assert [process.closed for process in started] == [True]


def unsendable(key: str, before: int = 0) -> Conversation[Any]:
    """A conversation that asks for 1 so many times, then together with what no message can hold, and then nothing."""

    def talk() -> Talk:
        for _ in range(before):
            yield [echo(1)]
        yield [echo(1), Call("Echo_v1", {"n": "1", "text": object()}), echo(1)]
        return "never"

    return Conversation(key, talk)


def test_a_request_that_cannot_be_sent_costs_its_own_conversation_alone() -> None:
    by = driver("honest")
    odd = [unsendable("first"), unsendable("second", 3), replace(unsendable("alone"), alone=True)]
    held = run(by, [odd[0], *(asking(n) for n in range(20)), *odd[1:]])
    assert held.findings == all_but()
    assert by.unattributed == []
    assert held.lost.keys() == {"first", "second", "alone"}
    (reason,) = set(held.lost.values())
    assert isinstance(reason, ProtocolError)
    assert reason.reason.startswith("the request to Echo_v1 cannot be sent: ")
