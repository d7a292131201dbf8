"""Whatever comes out of a process, the harness ends with an answer or with the reason why there is none, and soon."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import Any

import pytest

from conformance.backend.command import Process
from conformance.backend.driver import Conversation
from conformance.backend.hello import BadHello
from conformance.backend.outcome import Crash, LostBackend, Outcome, ProtocolError, RawResult, Timeout, describe
from conformance.backend.resolve import BackendNotFound
from conformance.backend.scheduler import Pipeline
from conformance.codec.framing import DIALECTS
from conformance.tests.backends import SOON, Talk, ask, driver, echo, process, run_numbers
from conformance.tests.fakes.echo import FORMS, HELLOS, WAYS
from conformance.tests.processes import ROOT, is_alive, python


def lost_on_seven(running: Process) -> object:
    """The reason for which asking 7 loses the process."""
    try:
        running.hello()
        with pytest.raises(LostBackend) as lost:
            ask(running, 7)
        return lost.value.reason
    finally:
        running.kill()


SAID = {
    "id_as_string": "an answer with the id '1', which was never asked",
    "id_as_float": "an answer with the id 1.0, which was never asked",
    "id_true": "an answer with the id true, which was never asked",
    "id_null": "an answer with the id null, which was never asked, saying {'code': -32700, 'message': 'Parse error'}",
    "id_missing": "a message without the `id` of its request (wanted is "
    """{"jsonrpc": "2.0", "id": .., "result": ..}, found is 'jsonrpc', 'result')""",
    "byte_order_mark": "a line that begins with a byte order mark, where UTF-8 without one is wanted",
    "notification": "a notification, 'log': a backend only answers",
    "invalid_utf8": "a line that is not UTF-8 at byte 39",
    "duplicate_key": "a line that is not JSON (an object with a key twice)",
    "deep": "a line nested too deeply",
    "batch": "a line that is not a JSON object",
    "nan": "a line that is not JSON (NaN is not JSON)",
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_message_in_bad_form_is_a_protocol_error_that_can_be_printed(form: str) -> None:
    reason = lost_on_seven(process("answers_seven_in_bad_form", form, timeout=5))
    assert isinstance(reason, ProtocolError)
    assert reason.reason.startswith(SAID.get(form, "a"))
    assert reason.reason.isprintable()
    assert len(reason.reason) < 1000


@pytest.mark.parametrize("form", ["text", "empty_line", "binary", "id_missing"])
def test_what_is_printed_during_a_call_is_explained_like_a_banner_at_hello(form: str) -> None:
    reason = lost_on_seven(process("answers_seven_in_bad_form", form, timeout=5))
    assert isinstance(reason, ProtocolError)
    assert reason.reason.endswith("; stdout belongs to the protocol, prints belong on stderr")


NOT_ONE = {
    "result_and_error": "an answer with both a result and an error; it must have one of them",
    "neither": "an answer with neither a result nor an error; it must have one of them",
    "result_and_null_error": "an answer with both a result and an error; it must have one of them; "
    "leave out 'error', which is null",
}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_an_answer_that_json_rpc_does_not_know_is_a_protocol_error_of_its_call(way: str) -> None:
    running = process("answers_seven_with_a_non_answer", way, timeout=5)
    running.hello()
    answered = ask(running, 7)
    assert isinstance(answered, ProtocolError)
    assert answered.reason == NOT_ONE.get(way, answered.reason)
    assert ask(running, 8) == RawResult({"n": "8"})
    assert running.settle()


@pytest.mark.parametrize("what", ["line", "lines", "strangers", "string"])
def test_a_flood_on_stdout_is_stopped(what: str) -> None:
    reason = lost_on_seven(process("floods_stdout", what, timeout=20))
    assert isinstance(reason, ProtocolError)


def test_a_flood_grows_the_harness_by_no_more_than_a_message() -> None:
    # In a process of its own, because the high-water mark never falls.
    script = """
import resource
from conformance.backend.outcome import LostBackend
from conformance.codec.framing import MAX_MESSAGE
from conformance.tests.backends import ask, process
running = process("floods_stdout", "line", timeout=30)
running.hello()
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
try:
    ask(running, 7)
except LostBackend as lost:
    assert "a line of more than" in str(lost), lost
unit = 1 if __import__("sys").platform == "darwin" else 1024
print((peak() - before) * unit / MAX_MESSAGE)
"""
    done = python("-c", script)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.3


def test_a_flood_on_stderr_does_not_postpone_the_timeout() -> None:
    since = time.monotonic()
    running = process("floods_stderr")
    assert lost_on_seven(running) == Timeout(SOON)
    assert time.monotonic() - since < 10 * SOON
    assert len(running.stderr_tail) <= 4096


def test_a_backend_that_complains_on_stderr_between_answers_is_heard() -> None:
    by = driver("floods_stderr", "and answers")
    assert run_numbers(by, 10).lost == {}
    assert by.stderr_tail.endswith(b"deprecated! ")


def test_half_a_message_does_not_postpone_the_timeout_and_is_shown() -> None:
    running = process("hangs_at_hello", '{"jsonrpc": "2.0", "id"', hello_timeout=SOON)
    with pytest.raises(BadHello, match=r"no answer to tally.hello within 0.5 s; stdout has the beginning"):
        running.hello()


def test_half_an_answer_to_a_call_is_shown_too() -> None:
    reason = lost_on_seven(process("begins_seven"))
    begun = b'{"jsonrpc": "2.0", "id": 1, "result": {"n": "7"}}'
    assert reason == Timeout(SOON, begun)
    assert describe(reason).startswith("a timeout: no answer within 0.5 s; stdout has the beginning of a message")
    assert describe(reason).endswith(f"(is a flush missing, or the newline after JSON?): {begun!r}")


def test_megabytes_for_a_backend_that_reads_nothing_end_in_a_timeout() -> None:
    running = process("stops_reading")
    running.hello()
    for n in range(8):
        running.submit("Echo_v1", {"n": str(n), "text": "x" * 1_000_000})
    with pytest.raises(LostBackend) as lost:
        running.wait()
    assert lost.value.reason == Timeout(SOON)


def test_a_backend_that_closes_its_stdin_is_waited_for_and_lost() -> None:
    assert lost_on_seven(process("closes_stdin")) == Timeout(SOON)


def test_megabytes_cross_both_ways_at_once() -> None:
    running = process("honest", timeout=20)
    running.hello()
    texts = {running.submit("Echo_v1", {"n": "1", "text": chr(97 + k) * 1_500_000}): chr(97 + k) for k in range(6)}
    answered = 0
    while answered < 6:
        for id_, outcome in running.wait():
            answered += 1
            assert isinstance(outcome, RawResult)
            assert outcome.value["text"] == texts[id_] * 1_500_000
    assert running.settle()


def test_requests_queue_up_to_a_megabyte_whatever_is_in_flight() -> None:
    class Stuffed(Process):
        most = 0

        def wait(self) -> list[tuple[int, Outcome]]:
            self.most = max(self.most, self.backlog)
            return super().wait()

    def talk() -> Talk:
        yield [echo(1, "x" * 400_000)]

    honest = driver("honest").command
    running = Stuffed(honest.arguments, DIALECTS["json"], 20, honest.environment)
    running.hello()
    pipeline: Pipeline[Any] = Pipeline(running, lambda carrier, call: carrier.submit(call.operator, call.inputs), 64)
    waiting = deque(Conversation(str(n), talk) for n in range(20))
    assert len(list(pipeline.run(waiting))) == 20
    running.kill()
    assert 400_000 < running.most < 1_500_000


def test_time_that_the_harness_spends_elsewhere_is_not_the_backends() -> None:
    running = process("honest", timeout=0.6)
    running.hello()
    running.submit("Echo_v1", {"n": "1", "text": "x" * 2_000_000})
    running.wait()
    running.submit("Echo_v1", {"n": "2"})
    time.sleep(0.7)
    assert running.wait() == [(2, RawResult({"n": "2"}))]
    running.kill()


@pytest.mark.parametrize("how", sorted(HELLOS))
def test_a_bad_hello_is_refused_with_its_stderr(how: str) -> None:
    with pytest.raises(BadHello) as bad:
        process("says_a_bad_hello", how).hello()
    assert bad.value.stderr == "I was never good at this\n"
    assert bad.value.lost == ProtocolError(f"no valid hello: {bad.value}")


def test_a_backend_that_exits_at_hello_is_quoted() -> None:
    with pytest.raises(BadHello, match=r"the backend exited \(2\) before the handshake") as bad:
        process("exits_at_hello").hello()
    assert bad.value.stderr == "the weights are missing\n"
    assert isinstance(bad.value.lost, Crash)


def test_a_banner_on_stdout_is_explained() -> None:
    with pytest.raises(BadHello, match=r"Loading checkpoint.*prints belong on stderr\Z"):
        process("prints_a_banner").hello()


def test_silence_at_hello_has_a_timeout_of_its_own() -> None:
    since = time.monotonic()
    with pytest.raises(BadHello, match=r"no answer to tally.hello within 0.2 s; nothing came on stdout \(is a flush"):
        process("hangs_at_hello", timeout=60, hello_timeout=0.2).hello()
    assert time.monotonic() - since < 5


def test_a_command_that_cannot_be_executed_is_not_found() -> None:
    with pytest.raises(BackendNotFound, match="cannot be started"):
        Process([str(ROOT / "README-that-is-not-there")], DIALECTS["json"], 1)
    with pytest.raises(BackendNotFound, match="cannot be started: Permission denied"):
        Process([str(ROOT / "pyproject.toml")], DIALECTS["json"], 1)


def test_a_system_without_process_groups_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(BackendNotFound, match="this system has none: use Linux or macOS"):
        Process([sys.executable, "-c", ""], DIALECTS["json"], 1)


@pytest.mark.parametrize("fleeing", [(), ("fleeing",)])
def test_a_child_that_holds_stdout_does_not_hold_back_the_end(fleeing: tuple[str, ...]) -> None:
    since = time.monotonic()
    assert lost_on_seven(process("leaves_a_child_on_seven", *fleeing, timeout=20)) == Crash("it exited with status 4")
    assert time.monotonic() - since < 4


def test_the_children_of_a_lost_process_end_with_it() -> None:
    running = process("leaves_a_child_on_seven", timeout=20)
    lost_on_seven(running)
    child, until = int(running.stderr_tail), time.monotonic() + 4
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_alive(child)
