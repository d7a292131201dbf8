"""Driving fakes: their commands, the codebook of the one operator that they know, and conversations with them."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from conformance.backend.carrier import Carrier
from conformance.backend.command import Process
from conformance.backend.driver import Call, Conversation, ConversationResult, Driver, RestartRequest
from conformance.backend.outcome import Lost, Outcome, RawResult
from conformance.backend.resolve import BackendCommand
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS
from conformance.contract.model import Contract
from conformance.contract.types import Field, Scalar, Struct
from conformance.tests.processes import environment

SOON = 0.5  # seconds until a test's timeout
START = 10.0  # seconds for a start, so that a busy machine is not taken for a bad backend
FAILURE = Struct((Field("failure_code", Scalar("string")), Field("failure_operator", Scalar("string"))))
ECHO = Struct((Field("n", Scalar("uint64")), Field("text", Scalar("string"), optional=True)))


def codebook_for(inputs: Struct, outputs: Struct, operator: str = "Echo_v1") -> Codebook:
    """A codebook that describes one operator."""
    contract = cast(Contract, SimpleNamespace(inputs=inputs, outputs=outputs, failure=FAILURE, machine=None))
    forms = OperatorForms(contract, form_of(inputs), form_of(outputs), form_of(FAILURE))
    return Codebook({operator: forms}, {"CONTRACT_VIOLATION": 1801})


CODEBOOK = codebook_for(ECHO, ECHO)


def fake(name: str, *arguments: str) -> BackendCommand:
    """The command of a fake."""
    command = (sys.executable, "-S", "-m", "conformance.tests.fakes.echo", name, *arguments)
    return BackendCommand(name, command, environment())


def process(name: str, *arguments: str, timeout: float = SOON, hello_timeout: float = START) -> Process:
    """A running fake."""
    command = fake(name, *arguments)
    return Process(command.arguments, DIALECTS["json"], timeout, command.environment, hello_timeout)


def driver(name: str, *arguments: str, timeout: float = START) -> Driver:
    """A driver of a fake."""
    return Driver(fake(name, *arguments), DIALECTS["json"], CODEBOOK, timeout, START)


def echo(n: int, text: str | None = None) -> Call:
    """The call of a number."""
    return Call("Echo_v1", {"n": str(n)} if text is None else {"n": str(n), "text": text})


Talk = Generator[Sequence[Call] | RestartRequest, Sequence[Outcome], Any]


def asking(n: int) -> Conversation[Any]:
    """A conversation that asks one number and finds what came back."""

    def talk() -> Talk:
        (outcome,) = yield [echo(n)]
        return outcome.value["n"] if isinstance(outcome, RawResult) else outcome

    return Conversation(str(n), talk)


@dataclass(frozen=True, slots=True)
class Held:
    """What became of conversations."""

    findings: Mapping[str, Any]
    lost: Mapping[str, Lost]
    finished: tuple[ConversationResult[Any], ...]


def run(by: Driver, conversations: Iterable[Conversation[Any]]) -> Held:
    """Run conversations to the end; each must be finished exactly once."""
    asked = list(conversations)
    finished = tuple(by.run(asked))
    assert sorted(one.key for one in finished) == sorted(one.key for one in asked)
    findings = {one.key: one.finding for one in finished if one.lost is None}
    return Held(findings, {one.key: one.lost for one in finished if one.lost is not None}, finished)


def run_numbers(by: Driver, count: int = 20) -> Held:
    """Ask the numbers from 0 on, one conversation each."""
    return run(by, [asking(n) for n in range(count)])


def all_but(*missing: int, count: int = 20) -> dict[str, str]:
    """The findings of `run_numbers` when everything is right but some."""
    return {str(n): str(n) for n in range(count) if n not in missing}


def ask(carrier: Carrier, n: int) -> Outcome:
    """The outcome of one call, when nothing else is open."""
    id_ = carrier.submit("Echo_v1", {"n": str(n)})
    ((answered, outcome),) = carrier.wait()
    assert answered == id_
    return outcome
