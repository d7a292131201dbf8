"""Measure the harness's side of the wire against a backend that answers at once: `python benchmarks/wire.py`.

Absolute figures move from machine to machine, so each is shown beside a yardstick of the same run: calls beside a loop
that only writes and reads the same JSON messages, bytes of indices beside a memcpy of as many, the start of the
command beside the start of the interpreter. Each figure is the best of several rounds.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from json import dumps, loads
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.backend.command import Process
from conformance.backend.driver import Call, Conversation, Driver, Talk
from conformance.backend.outcome import ObservedResult, RawResult, observe
from conformance.backend.resolve import BackendCommand
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS
from conformance.contract.model import Contract
from conformance.contract.types import Field, ListOf, Scalar, Struct

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
CALLS = 20_000
INDICES = 1 << 20
BATCHES = 16
INPUTS = Struct((Field("position", Scalar("uint64")),))
OUTPUTS = Struct((Field("indices", ListOf(Scalar("uint64"))),))
FORMS = OperatorForms(cast(Contract, SimpleNamespace(machine=None)), form_of(INPUTS), form_of(OUTPUTS), form_of(INPUTS))
CODEBOOK = Codebook({"Indices_v1": FORMS}, {})


def instant(wire: str, count: int) -> BackendCommand:
    """The command of the backend that answers at once, with as many indices."""
    command = (sys.executable, "-S", str(ROOT / "benchmarks" / "backends" / "instant.py"), wire, str(count))
    return BackendCommand("instant", command, dict(os.environ))


def best(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The seconds of the best of several rounds."""
    fastest = float("inf")
    for _ in range(rounds):
        since = time.perf_counter()
        action()
        fastest = min(fastest, time.perf_counter() - since)
    return fastest


def calls(wire: str) -> float:
    """The seconds of one small call: held as a conversation, asked, answered, judged against its type."""
    dialect = DIALECTS[wire]

    def talk(position: int) -> Talk[bool]:
        (outcome,) = yield [Call("Indices_v1", {"position": str(position)})]
        return isinstance(observe(outcome, "Indices_v1", CODEBOOK, dialect), ObservedResult)

    def run() -> None:
        driver = Driver(instant(wire, 1), dialect, CODEBOOK, 60)
        conversations = (Conversation(str(n), lambda n=n: talk(n)) for n in range(CALLS))  # type: ignore[misc]
        assert sum(bool(finished.finding) for finished in driver.run(conversations)) == CALLS

    return best(run) / CALLS


def messages() -> float:
    """The yardstick of a call: write and read its request and its answer, four times through JSON in all."""
    request = {"jsonrpc": "2.0", "id": 1234, "method": "Indices_v1", "params": {"position": "1234"}}
    answer = {"jsonrpc": "2.0", "id": 1234, "result": {"indices": ["1000000"]}}

    def run() -> None:
        for _ in range(CALLS):
            loads(dumps(request))
            loads(dumps(answer))

    return best(run) / CALLS


def batches() -> float:
    """The seconds of one batch of indices over CBOR, from the request to its bytes."""
    dialect, command = DIALECTS["cbor"], instant("cbor", INDICES)
    process = Process(command.arguments, dialect, 60, command.environment)
    process.hello()

    def run() -> None:
        for _ in range(BATCHES):
            process.submit("Indices_v1", {"position": 0})
        received = 0
        while received < BATCHES * INDICES * 8:
            for _, outcome in process.wait():
                assert isinstance(outcome, RawResult)
                received += len(dialect.uint64_bytes(outcome.value["indices"]))

    seconds = best(run) / BATCHES
    process.kill()
    return seconds


def memcpy() -> float:
    """The yardstick of a batch: copy its bytes once."""
    source = bytes(INDICES * 8)
    return best(lambda: [bytearray(source) for _ in range(BATCHES)]) / BATCHES


def started(*arguments: str) -> float:
    """The seconds until an interpreter with these arguments has ended."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run: Any = lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)  # noqa: E731
    return best(run, 2 * ROUNDS)


def line(figure: str, value: str, ratio: float, yardstick: str, target: str, met: bool) -> bool:
    """Print one figure and return whether its target is met."""
    print(f"{figure:<34}{value:>18}{ratio:>10,.2f} x {yardstick:<28}target {target:<20}{'met' if met else 'MISSED'}")
    return met


def main() -> int:
    """Measure and print every figure; with --check 1 where a target is missed."""
    met: list[bool] = []
    yardstick = messages()
    for wire in ("json", "cbor"):
        seconds = calls(wire)
        rate = f"{1 / seconds:,.0f} calls/s"
        met.append(
            line(
                f"small calls over {wire}",
                rate,
                seconds / yardstick,
                "json there and back",
                "20,000 calls/s",
                seconds <= 5e-5,
            )
        )
    seconds, copied = batches(), memcpy()
    speed = INDICES * 8 / seconds
    met.append(
        line(
            "batches of 2^20 indices over cbor",
            f"{speed / 1e6:,.0f} MB/s",
            seconds / copied,
            "memcpy",
            "500 MB/s",
            speed >= 5e8,
        )
    )
    seconds, bare = started("-m", "conformance.cli.main", "--version"), started("-c", "pass")
    met.append(
        line("tally --version", f"{seconds * 1e3:,.0f} ms", seconds / bare, "python -c pass", "150 ms", seconds < 0.15)
    )
    return 0 if all(met) or "--check" not in sys.argv[1:] else 1


if __name__ == "__main__":
    sys.exit(main())
