"""Long runs of calls, summed up by one running hash in constant memory (DESIGN 5).

The hash is SHA-256 over the named output of every call in order: the little-endian bytes of a uint64 or a list of
uint64, or the canonical CBOR of a struct. There is a checkpoint after every power of two of calls and at the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.backend.driver import Call, Talk
from conformance.backend.outcome import BadAnswer, Observed, ObservedResult, Outcome, RawResult, observe
from conformance.codec.cbor import encode_canonical
from conformance.codec.codebook import Codebook
from conformance.codec.form import form_of
from conformance.codec.framing import Dialect
from conformance.codec.scalar import IllTyped
from conformance.contract.model import Contract
from conformance.contract.types import ListOf, Scalar, Struct, lasting
from conformance.vectors.case import Accumulation
from conformance.vectors.draft import to_wire
from conformance.vectors.leaf import replaced, type_at, value_at


def inputs_of(accumulation: Accumulation, contract: Contract, call: int) -> Mapping[str, Any]:
    """The inputs of a call of a sweep or random accumulation; calls count from 0."""
    inputs: Any = accumulation.inputs
    for path in sorted(accumulation.parameters):
        number = _number(accumulation, path, call)
        inputs = replaced(inputs, path, to_wire(type_at(contract.inputs, path), number))
    return dict(inputs)


def _number(accumulation: Accumulation, path: str, call: int) -> int:
    parameter = accumulation.parameters[path]
    if accumulation.generator == "sweep":
        return int(parameter["start"]) + int(parameter["step"]) * call
    return random_number(accumulation.seed, path, call, int(parameter["below"]))


def random_number(seed: str, path: str, call: int, below: int) -> int:
    """SHA-256 of the lines seed, path and call number, as one big-endian number, modulo `below`.

    The hash has 256 bits, so the modulus biases a uint64 by less than 2^-192. Any language can compute it.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}\n{path}\n{call}".encode()).digest(), "big") % below


_MOST_CALLS: Final = 256  # independent calls asked for at a time
_BATCH_BYTES: Final = 1 << 20  # hashed bytes per batch, so that few long answers are in memory at a time


@dataclass(frozen=True, slots=True)
class HashFailure:
    """A call, counted from 1, whose answer could not be hashed."""

    call: int
    inputs: Mapping[str, Any]
    observed: Observed


@dataclass(frozen=True, slots=True)
class CallWindow:
    """One call out of the run: its inputs and the SHA-256 of its hashed bytes alone."""

    inputs: Mapping[str, Any]
    sha256: str


@dataclass(frozen=True, slots=True)
class AccumulatedRun:
    """The result of a run: checkpoints (calls done, hex SHA-256), elements hashed, and why it stopped early, if so."""

    checkpoints: tuple[tuple[int, str], ...]
    elements: int
    windows: Mapping[int, CallWindow]
    stop: HashFailure | None = None


@dataclass(frozen=True, slots=True)
class RunGap:
    """A run differs from the expected one in the calls after `agreed`, up to and including `differs` (from 1)."""

    agreed: int
    differs: int

    def __str__(self) -> str:
        return f"the first difference lies in the calls {self.agreed + 1}..{self.differs}"


def gap(expected: Collection[tuple[int, str]], observed: Collection[tuple[int, str]]) -> RunGap | None:
    """The gap between checkpoints where an observed run first differs; None if it does not differ."""
    found = dict(observed)
    agreed = 0
    for calls, digest in expected:
        if found.get(calls) != digest:
            return RunGap(agreed, calls)
        agreed = calls
    return None


@dataclass(slots=True)
class _Run:
    """The running hash of one accumulation."""

    accumulation: Accumulation
    read: Callable[[Outcome], tuple[bytes, int]]
    keep: Collection[int]
    expected: Mapping[int, str]
    hasher: Any = field(default_factory=hashlib.sha256)
    calls: int = 0
    elements: int = 0
    size: int = 0  # hashed bytes of the last call
    checkpoints: list[tuple[int, str]] = field(default_factory=list)
    windows: dict[int, CallWindow] = field(default_factory=dict)

    def add(self, inputs: Mapping[str, Any], outcome: Outcome) -> bool:
        """Hash one answer; return whether the run still agrees with the expected one. Raises IllTyped."""
        raw, elements = self.read(outcome)
        self.hasher.update(raw)
        if self.calls in self.keep:
            self.windows[self.calls] = CallWindow(inputs, hashlib.sha256(raw).hexdigest())
        self.calls += 1
        self.elements += elements
        self.size = len(raw)
        if self.calls & (self.calls - 1) and self.calls != self.accumulation.count:
            return True
        digest = self.hasher.hexdigest()
        self.checkpoints.append((self.calls, digest))
        return bool(self.expected.get(self.calls, digest) == digest)

    def done(self, stop: HashFailure | None = None) -> AccumulatedRun:
        return AccumulatedRun(tuple(self.checkpoints), self.elements, self.windows, stop)


def accumulate(
    accumulation: Accumulation,
    codebook: Codebook,
    dialect: Dialect,
    keep: Collection[int] = (),
) -> Talk[AccumulatedRun]:
    """Make the calls of an accumulation. The run ends early at its first checkpoint that differs from the expected one.

    `keep` names calls, counted from 0, whose windows are kept.
    """
    reader = _Reader(accumulation, codebook, dialect)
    run = _Run(accumulation, reader.hashed, keep, dict(accumulation.checkpoints))
    inputs = accumulation.inputs
    contract = codebook[accumulation.operator].contract
    while run.calls < accumulation.count:
        if accumulation.generator == "chain":
            asked = [inputs]
        else:
            end = min(run.calls + _batch(run), accumulation.count)
            asked = [inputs_of(accumulation, contract, call) for call in range(run.calls, end)]
        outcomes = yield [Call(accumulation.operator, one) for one in asked]
        for one, outcome in zip(asked, outcomes, strict=True):
            number = run.calls + 1
            try:
                if not run.add(one, outcome):
                    return run.done()
                inputs = reader.next_inputs(one, outcome)
            except IllTyped as error:
                observed = observe(outcome, accumulation.operator, codebook, dialect)
                if isinstance(observed, ObservedResult):
                    observed = BadAnswer(error)
                return run.done(HashFailure(number, one, observed))
    return run.done()


def window_of(accumulation: Accumulation, inputs: Mapping[str, Any], codebook: Codebook, dialect: Dialect) -> Talk[str]:
    """Ask one call of a run; return the SHA-256 of its hashed bytes, or nothing if the answer is no result."""
    single = replace(accumulation, inputs=inputs, generator="sweep", parameters={}, count=1, checkpoints=())
    found = yield from accumulate(single, codebook, dialect)
    return found.checkpoints[0][1] if found.checkpoints else ""


def _batch(run: _Run) -> int:
    if not run.calls:
        return 1
    return max(1, min(_MOST_CALLS, _BATCH_BYTES // max(run.size, 1)))


class _Reader:
    """Reads from an answer the hashed output and the inputs of the next call; checks the types of the other outputs."""

    def __init__(self, accumulation: Accumulation, codebook: Codebook, dialect: Dialect) -> None:
        outputs = codebook[accumulation.operator].contract.outputs
        self.dialect = dialect
        self.output = accumulation.output
        self.type = type_at(outputs, accumulation.output)
        self.form = form_of(self.type)
        self.lasting = form_of(lasting(self.type))
        # A long list is checked while it is turned into bytes; decoding it twice would halve the speed.
        self.apart = isinstance(self.type, ListOf) and "." not in self.output
        rest = Struct(tuple(one for one in outputs.fields if not (self.apart and one.name == self.output)))
        self.rest = form_of(rest)
        chain = accumulation.generator == "chain"
        self.feed = dict(sorted(accumulation.parameters.items())) if chain else {}
        self.feed_forms = {path: form_of(type_at(outputs, output)) for path, output in self.feed.items()}

    def hashed(self, outcome: Outcome) -> tuple[bytes, int]:
        """The bytes of an answer that go into the hash, and how many elements they are; raises IllTyped."""
        if not isinstance(outcome, RawResult):
            raise IllTyped("a result", outcome)
        value = outcome.value
        if not isinstance(value, dict):
            raise IllTyped("an object", value)
        others = {key: part for key, part in value.items() if not (self.apart and key == self.output)}
        self.dialect.incoming(self.rest, others)
        part = _part(value, self.output)
        if isinstance(self.type, ListOf):
            raw = self.dialect.uint64_bytes(part)
            return raw, len(raw) // 8
        wire = self.dialect.incoming(self.form, part)
        if isinstance(self.type, Scalar):
            return int(wire).to_bytes(8, "little"), 1
        return encode_canonical(self.lasting.to_native(wire)), 1

    def next_inputs(self, inputs: Mapping[str, Any], outcome: Outcome) -> Mapping[str, Any]:
        assert isinstance(outcome, RawResult)
        following: Any = inputs
        for path, output in self.feed.items():
            part = self.dialect.incoming(self.feed_forms[path], _part(outcome.value, output))
            following = replaced(following, path, part)
        return dict(following)


def _part(value: Any, path: str) -> Any:
    try:
        return value_at(value, path)
    except KeyError:
        raise IllTyped("this field, which is missing", "nothing", tuple(path.split("."))) from None
