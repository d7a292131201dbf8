"""The conversation of one case: its calls and file steps in order, its roots, and the answers of earlier steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from conformance.backend.driver import RESTART, Call, Talk
from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult, Outcome, describe, observe
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.codec.scalar import IllTyped
from conformance.contract.family import FileFormat
from conformance.vectors.case import CallStep, FileStep, HarnessStep, QuestionCall, RestartStep, TreeStep, label
from conformance.vectors.compact import PLAIN, expanded, has_parts
from conformance.vectors.conversation.difference import Tree, tree_of
from conformance.vectors.files.damage import with_damage
from conformance.vectors.files.file_steps import Later, perform
from conformance.vectors.files.temp_roots import Roots, StepRefused
from conformance.vectors.leaf import is_reference, value_at

ANSWERED: Final = re.compile(r"\{([a-z0-9_-]+)\.([\w.]+)\}")  # inside a path: the answer of an earlier step


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call that was made: the step, its inputs, and what came back.

    References in the inputs are resolved. Roots stay {root: name} and handles {from: step.output}, as they are
    frozen, so that paths and handles appear on the wire only.
    """

    step: str
    operator: str
    inputs: Mapping[str, Any]
    observed: Observed


class ConversationContext:
    """The roots and answers of one conversation; a context manager that removes the roots."""

    def __init__(self, codebook: Codebook, dialect: Dialect, places: dict[str, Path] | None = None) -> None:
        self._codebook, self._dialect = codebook, dialect
        self.roots = Roots(places)
        self.edits = 0  # file steps that were done
        self._made: dict[str, Exchange] = {}
        self._later: list[Later] = []

    def __enter__(self) -> ConversationContext:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(StepRefused):
            self.settle()
        self.roots.__exit__()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges so far, in order."""
        return tuple(self._made.values())

    def inputs(self, step: CallStep | QuestionCall) -> Mapping[str, Any]:
        """The inputs of a step, references resolved, recipes expanded; raises KeyError if the referenced answer is
        missing or cannot be damaged in this way."""
        inputs = step.inputs
        if self._made:
            inputs = resolve(inputs, partial(answered, self._made), self._codebook.formats)
        return dict(expanded(inputs))

    def call(self, operator: str, inputs: Mapping[str, Any]) -> Call:
        """The call that puts inputs to a backend: with real directories and real handles."""
        forms = self._codebook[operator]
        if not forms.roots and not forms.handles:
            return Call(operator, inputs)
        real = dict(self.roots.unmasked(inputs))
        for name in forms.roots:
            if isinstance(real.get(name), Mapping):
                real[name] = str(self.roots.path(real[name]["root"]))
        for name in forms.handles:
            if isinstance(real.get(name), Mapping):
                step, _, output = real[name]["from"].partition(".")
                observed = self._made[step].observed
                assert isinstance(observed, ObservedResult)
                real[name] = observed.handles[output]
        return Call(operator, real)

    def note(self, step: str, operator: str, inputs: Mapping[str, Any], outcome: Outcome) -> Exchange:
        """Store the outcome under the name of the step and return it as an exchange."""
        observed = self._masked(observe(outcome, operator, self._codebook, self._dialect))
        self._made[step] = Exchange(step, operator, inputs, observed)
        return self._made[step]

    def take(self, step: FileStep | TreeStep) -> Tree | None:
        """Do a file step, or look at a tree; raises StepRefused."""
        if isinstance(step, TreeStep):
            return tree_of(replace(step, path=self._filled(step.path)), self.roots)
        body = {
            key: self._filled(value) if key in ("path", "from", "to", "target") else value
            for key, value in step.body.items()
        }
        self.edits += 1
        act = partial(perform, FileStep(step.action, body), self.roots, self._codebook.formats)
        if "after_ms" in body:
            self._later.append(Later(int(body["after_ms"]), act))
        else:
            act()
        return None

    def settle(self) -> None:
        """Wait until every late file step is done; raises StepRefused if one cannot be done."""
        while self._later:
            self._later.pop().settle()

    def _filled(self, path: str) -> str:
        """A path with every `{step.output}` replaced by what that step answered."""

        def answer(match: re.Match[str]) -> str:
            exchange = self._made.get(match[1])
            try:
                if exchange is None or not isinstance(exchange.observed, ObservedResult):
                    raise KeyError(match[1])
                return str(value_at(exchange.observed.fields, match[2]))
            except KeyError:
                raise StepRefused(f"{path!r}: the step {match[1]} did not answer {match[2]}") from None

        return ANSWERED.sub(answer, path)

    def _masked(self, observed: Observed) -> Observed:
        if not self.roots:
            return observed
        match observed:
            case ObservedResult(fields, handles):
                return ObservedResult(self.roots.masked(fields), handles)
            case ObservedFailure(code, data):
                return ObservedFailure(code, self.roots.masked(data))
            case BadAnswer(error):
                return BadAnswer(IllTyped(error.expected, self.roots.masked(error.found), error.path))
        return observed


def resolve(value: Any, answer: Callable[[Mapping[str, str]], Any], formats: Mapping[str, FileFormat]) -> Any:
    """A wire value with every reference replaced by its answer, which is damaged if the reference names a format."""
    if isinstance(value, dict):
        if is_reference(value):
            return answer(value)
        parts = {
            key: part if isinstance(part, PLAIN) else resolve(part, answer, formats) for key, part in value.items()
        }
        return with_damage(parts, formats)
    if isinstance(value, list) and has_parts(value):
        return [resolve(part, answer, formats) for part in value]
    return value


def answered(made: Mapping[str, Exchange], reference: Mapping[str, str]) -> Any:
    """The answer of an earlier step; raises KeyError if the step gave no such result.

    Only references to steps that were asked count: any other map that looks like a reference stays as it is.
    A reference to a handle stays: its value is only for the backend that gave it.
    """
    step, _, path = reference["from"].partition(".")
    if not path or step not in made:
        return reference
    observed = made[step].observed
    if not isinstance(observed, ObservedResult):
        raise KeyError(reference["from"])
    return reference if path in observed.handles else value_at(observed.fields, path)


AnyStep = CallStep | QuestionCall | HarnessStep


@dataclass(frozen=True, slots=True)
class Transcript:
    """The record of one conversation: its exchanges, the trees that it saw, by step, and why it ended early, if so."""

    exchanges: tuple[Exchange, ...]
    trees: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fault: str = ""


class CallObserver(Protocol):
    """An observer that is called before and after every call of a conversation, and may look at its roots."""

    def before(self, stage: ConversationContext, step: Any) -> None:
        """The call is about to be made."""

    def after(self, stage: ConversationContext, step: Any) -> None:
        """The call was answered."""


def exchanges(
    steps: Sequence[AnyStep],
    codebook: Codebook,
    dialect: Dialect,
    passing: bool = False,
    watch: CallObserver | None = None,
    places: dict[str, Path] | None = None,
) -> Talk[Transcript]:
    """Take every step in order; end early if a step cannot be done or needs an answer that was not given.

    With `passing`, skip file steps that cannot be done, and name them in `fault`. Conversations that are given the
    same `places` have their roots at the same paths, one after the other.
    """
    left_out: list[str] = []
    trees: dict[str, Mapping[str, Any]] = {}
    with ConversationContext(codebook, dialect, places) as stage:
        for number, step in enumerate(steps, start=1):
            match step:
                case RestartStep():
                    yield RESTART
                case FileStep() | TreeStep():
                    try:
                        tree = stage.take(step)
                    except StepRefused as refused:
                        if passing:
                            left_out.append(f"{label(step, number)}: {refused}")
                            continue
                        return Transcript(stage.exchanges, trees, f"{label(step, number)}: {refused}")
                    if tree is not None:
                        trees[label(step, number)] = tree
                case CallStep() | QuestionCall():
                    try:
                        inputs = stage.inputs(step)
                    except KeyError:
                        if passing:
                            continue
                        fault = f"step {step.name} uses what an earlier step did not answer{_failures(stage.exchanges)}"
                        return Transcript(stage.exchanges, trees, fault)
                    call = stage.call(step.operator, inputs)
                    if watch is not None:
                        watch.before(stage, step)
                    (outcome,) = yield [call]
                    stage.note(step.name, step.operator, inputs, outcome)
                    try:
                        stage.settle()
                    except StepRefused as refused:
                        left_out.append(f"{step.name}: {refused}")
                        if not passing:
                            break
                    if watch is not None:
                        watch.after(stage, step)
        return Transcript(stage.exchanges, trees, "; ".join(left_out))


def runs_alone(steps: Iterable[AnyStep]) -> bool:
    """Whether the conversation has its processes to itself: it restarts them, or a file comes while a call waits."""
    return any(isinstance(step, RestartStep) or _is_late(step) for step in steps)


def _is_late(step: AnyStep) -> bool:
    return isinstance(step, FileStep) and "after_ms" in step.body


def may_share(steps: Iterable[AnyStep], codebook: Codebook) -> bool:
    """Whether the conversation may restart its processes together with others: no handle is used after a restart.

    In a later process, another conversation may have been given a handle with the same text. Where a file comes while a
    call waits, calls of others would wait before it.
    """
    earlier, made = set[str](), set[str]()
    for step in steps:
        match step:
            case RestartStep():
                earlier |= made
            case FileStep() if _is_late(step):
                return False
            case CallStep() | QuestionCall():
                handles = (value for name, value in step.inputs.items() if name in codebook[step.operator].handles)
                if any(is_reference(one) and one["from"].partition(".")[0] in earlier for one in handles):
                    return False
                made.add(step.name)
    return True


def _failures(made: Sequence[Exchange]) -> str:
    """The failure of the last failed step, in words."""
    failed = [one for one in made if not isinstance(one.observed, ObservedResult)]
    return f" (step {failed[-1].step}: {describe(failed[-1].observed)})"[:200] if failed else ""
