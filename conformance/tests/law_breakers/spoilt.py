"""A wrong backend for the tests of laws: it changes the answers of the reference."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from conformance.backend.driver import Call, Conversation, Driver, RestartRequest
from conformance.backend.outcome import Outcome, RawResult
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.model import LawUse
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.trial.law import LawBroken, LawTalk, Tools, known_laws

JSON = DIALECTS["json"]
BATCH = "UML_OS.Data.NextBatch_v2"
_FEW = 3  # instances of a law for a backend of which nothing is expected; no code that reads answers is in others alone
_TOGETHER = 100  # calls of a law; with more, it would be noticed later that enough was said
Native = dict[str, Any]
Memory = dict[Any, Any]
Known = dict[tuple[str, str], Outcome]  # what the reference answered, by operator and inputs


def _as_asked(inputs: Native, memory: Memory) -> Native:
    return inputs


@dataclass
class Wrong:
    """One wrong behaviour: what it makes of a question, what it makes of the right answer to that, and its memory."""

    question: Callable[[Native, Memory], Native] = _as_asked
    answer: Callable[[Native, Native, Memory], Native] = lambda inputs, result, memory: result
    operator: str = BATCH
    memory: Memory = field(default_factory=dict)

    def fresh(self) -> Wrong:
        return replace(self, memory={})


Sin = tuple[str, str, Wrong, str]  # the law it breaks, its name, the behaviour, what the law then says


@cache
def codebook() -> Codebook:
    return codebook_of(shipped_library())


def changed(fields: Native, **others: Any) -> Native:
    return {**fields, **others}


def spoilt(
    talk: LawTalk, wrong: Wrong, known: Known, is_enough: Callable[[], bool]
) -> Generator[Sequence[Call], Sequence[Outcome], str]:
    """A law's talk held with a wrong backend, of which the reference is a part; the broken law's message, or ''."""
    outcomes: Any = None
    while True:
        try:
            request = talk.send(outcomes)
        except StopIteration:
            return ""
        except LawBroken as broken:
            return broken.message
        if isinstance(request, RestartRequest):
            wrong, outcomes = wrong.fresh(), []
            continue
        outcomes = []
        for start in range(0, len(request), _TOGETHER):
            if is_enough():
                talk.close()
                return ""
            some = request[start : start + _TOGETHER]
            came = yield from _answered([_rewritten(call, wrong) for call in some], known)
            outcomes += [_spoilt_outcome(call, outcome, wrong) for call, outcome in zip(some, came, strict=True)]


def _answered(calls: Sequence[Call], known: Known) -> Generator[Sequence[Call], Sequence[Outcome], list[Outcome]]:
    """What the reference answers; the same call of a pure operator it is asked once for all wrong backends."""
    keys = [(call.operator, repr(call.inputs)) for call in calls]
    new = [k for k, key in enumerate(keys) if key not in known]
    came = dict(zip(new, (yield [calls[k] for k in new]), strict=True)) if new else {}
    for k, outcome in came.items():
        if codebook()[calls[k].operator].contract.purity == "pure":
            known[keys[k]] = outcome
    return [came[k] if k in came else known[key] for k, key in enumerate(keys)]


def _rewritten(call: Call, wrong: Wrong) -> Call:
    if call.operator != wrong.operator or wrong.question is _as_asked:
        return call
    inputs = codebook()[call.operator].inputs
    return Call(call.operator, inputs.from_native(wrong.question(inputs.to_native(call.inputs), wrong.memory)))


def _spoilt_outcome(call: Call, outcome: Outcome, wrong: Wrong) -> Outcome:
    if not isinstance(outcome, RawResult) or call.operator != wrong.operator:
        return outcome
    forms = codebook()[call.operator]
    native = wrong.answer(forms.inputs.to_native(call.inputs), forms.outputs.to_native(outcome.value), wrong.memory)
    return RawResult(forms.outputs.from_native(native))


def told(law: str, wrongs: Sequence[tuple[Wrong, str]]) -> list[list[str]]:
    """What the law, with its own parameters, says of each wrong backend, until it says what is expected of it.

    All are asked through one process of the reference.
    """
    messages: list[list[str]] = [[] for _ in wrongs]
    known: Known = {}

    def has_said(number: int) -> bool:
        return any(wrongs[number][1] in message for message in messages[number])

    def talk(number: int, start: Callable[[], LawTalk]) -> Generator[Sequence[Call], Sequence[Outcome], None]:
        if has_said(number):
            return
        if message := (yield from spoilt(start(), wrongs[number][0].fresh(), known, partial(has_said, number))):
            messages[number].append(message)

    use = LawUse(law, {}, (), (), "standard", codebook()[BATCH].contract.position)
    instances = list(known_laws(SHIPPED)[law].instances(Tools(codebook(), JSON), use))
    asked = [
        Conversation(f"{number}::{one.slug}", partial(talk, number, one.start))
        for place, one in enumerate(instances)  # one of each backend first: most say at once what is expected
        for number, (_, said) in enumerate(wrongs)
        if said or place < _FEW
    ]
    driver = Driver(resolve("reference", SHIPPED), JSON, codebook(), timeout=30.0)
    for _ in driver.run(asked):  # whoever is lost over a wrong question has said nothing
        pass
    return messages


def answers(law: str, name: str, operator: str, wrong: Callable[[Native, Native, Memory], Native], said: str) -> Sin:
    """A backend that answers one operator wrongly."""
    return law, name, Wrong(answer=wrong, operator=operator), said


def asks(
    law: str,
    name: str,
    operator: str,
    wrong: Callable[[Native, Memory], Native],
    said: str,
    answer: Callable[[Native, Native, Memory], Native] = lambda inputs, result, memory: result,
) -> Sin:
    """A backend that answers one operator as if it had been asked something else, and may spoil the answer as well."""
    return law, name, Wrong(wrong, answer, operator), said
