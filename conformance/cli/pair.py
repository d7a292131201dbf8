"""The reference and a backend, each in one lasting process, asked the same questions one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from conformance.backend.driver import Call
from conformance.backend.hello import BadHello
from conformance.backend.outcome import (
    Lost,
    Observed,
    ObservedFailure,
    ObservedResult,
    ProtocolError,
    RawResult,
    describe,
)
from conformance.backend.resolve import BackendNotFound
from conformance.cli.console import Complaint
from conformance.codec.codebook import Codebook
from conformance.trial.client import Asker, driver_of
from conformance.vectors.call_sequence import Inputs
from conformance.vectors.case import Expected, ExpectedFailure, ExpectedResult
from conformance.vectors.difference import Difference, difference


@dataclass(frozen=True, slots=True)
class Witness:
    """One who answers; `declared` is what its hello names, and `explains` whether it derives its answers."""

    name: str
    asker: Asker
    declared: frozenset[str]
    explains: bool = False

    def ask(self, operator: str, inputs: Inputs) -> Observed:
        """What it makes of one call; a loss is an answer too, and the next call finds a new process.

        Raises Complaint where the driver has given it up.
        """
        return next(self.ask_all(operator, [inputs]))

    def ask_all(self, operator: str, many: Sequence[Inputs]) -> Iterator[Observed]:
        """The same of many calls, which may be open at the same time."""
        for found in self.asker.ask([Call(operator, inputs) for inputs in many]):
            if isinstance(found, ProtocolError) and found.reason.startswith("not asked"):
                raise Complaint(self.name, "T007", found.reason, "shorten --timeout, or ask for one --position", 1)
            yield found

    def derivation(self, operator: str, inputs: Inputs, path: str, index: int | None) -> list[str]:
        """The lines in which it derives one output itself, none where it does not; raises LostBackend."""
        if not self.explains:
            return []
        params: dict[str, Any] = {"method": operator, "params": inputs, "path": path}
        if index is not None:
            params["index"] = str(index)
        outcome = self.asker.request("tally.explain", params)
        if isinstance(outcome, RawResult) and isinstance(outcome.value, dict):
            return list(map(str, outcome.value.get("lines", [])))
        return []


@dataclass(frozen=True, slots=True)
class Pair:
    """The reference, and the backend where one was named."""

    codebook: Codebook
    reference: Witness
    backend: Witness | None

    def required(self, operator: str) -> None:
        """Raise Complaint where the backend does not declare what is asked."""
        if self.backend is not None and operator not in self.backend.declared:
            hint = "name a backend that declares the operator in its hello"
            message = f"it does not declare what is asked: {operator}"
            raise Complaint(f"--backend {self.backend.name!r}", "T008", message, hint)

    def first_apart(self, operator: str, many: Sequence[Inputs]) -> tuple[int, Difference] | None:
        """The first of some calls that the backend answers otherwise than the reference, and where."""
        assert self.backend is not None
        contract = self.codebook[operator].contract
        answers = zip(self.reference.ask_all(operator, many), self.backend.ask_all(operator, many), strict=True)
        for number, (mine, theirs) in enumerate(answers):
            expected = expected_of(self.reference.name, mine)
            found = difference(expected, theirs, contract.outputs, contract.failure)
            if found is not None:
                return number, found
        return None


def expected_of(reference: str, observed: Observed) -> Expected:
    """What the reference said, as what is expected; raises Complaint where it said nothing."""
    match observed:
        case ObservedResult(fields):
            return ExpectedResult(fields)
        case ObservedFailure(code, data):
            return ExpectedFailure(code, data)
    said = describe(observed) if isinstance(observed, Lost) else str(observed)
    raise Complaint(reference, "T007", f"it gave no answer: {said}", "`tally run` with this backend says more")


@contextmanager
def pair_of(codebook: Codebook, backend: str | None, timeout: float) -> Iterator[Pair]:
    """Start both; raises Complaint where one cannot be started."""
    with ExitStack() as stack:

        def witness(name: str, place: str) -> Witness:
            try:
                driver = driver_of(name, codebook, timeout)
            except BackendNotFound as error:
                raise Complaint(place, "T001", str(error)) from None
            driver.tolerant = True  # a search may meet any number of calls that the backend does not survive
            try:
                hello = driver.connect()
            except BadHello as error:
                stderr = driver.stderr_tail.decode("utf-8", "replace").strip()
                status = 1 if error.begun else 2
                raise Complaint(place, "T002", str(error), "is the command right?", status, stderr) from None
            return Witness(name, stack.enter_context(Asker(driver)), hello.operators, hello.explains)

        reference = witness(codebook.suite.reference, codebook.suite.reference)
        other = None if backend is None else witness(backend, f"--backend {backend!r}")
        yield Pair(codebook, reference, other)
