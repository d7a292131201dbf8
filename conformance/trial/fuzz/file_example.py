"""One example of fuzzed files: the steps before the edits, the edits, and the steps after them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from conformance.backend.outcome import ObservedResult
from conformance.contract.family import FileFormat
from conformance.contract.model import Contract
from conformance.trial.bystanders import is_large, with_harness_reads
from conformance.trial.check import comparable_answer
from conformance.trial.fuzz.file_edits import Edit, Sizes, places_of
from conformance.trial.fuzz.shrink import RecordedChoices, fixed_value, some_of
from conformance.trial.generator import valid
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, QuestionCall, TreeStep
from conformance.vectors.conversation.exchange import AnyStep, ConversationContext, Transcript
from conformance.vectors.files.formed import FormedFiles
from conformance.vectors.files.temp_roots import StepRefused
from conformance.vectors.leaf import contains_value, is_reference

T = TypeVar("T")
SMALL: Final = 4_096  # bytes of a file whose content is noted


@dataclass(frozen=True, slots=True)
class ExampleFiles:
    """Files of a declared format as a walk found them: where, their paths below the root, and their items."""

    form: FileFormat
    place: str
    paths: tuple[str, ...]
    items: Mapping[str, Any] = field(repr=False)


@dataclass(slots=True)
class Snapshots:
    """The regular files of every root before each call of a walk, and all paths after it, by the call's step.

    Of small files it has the content and, where they have one of the `formats`, the items, as they were before the
    first call that found them; both by root.
    """

    before_calls: dict[str, Mapping[str, Sizes]] = field(default_factory=dict)
    after_calls: dict[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)  # steps
    answers: dict[str, str] = field(default_factory=dict)  # by step, in words
    formats: Mapping[str, FileFormat] = field(default_factory=dict)
    contents: dict[str, dict[str, bytes]] = field(default_factory=dict)
    formed: dict[str, dict[tuple[str, str], ExampleFiles]] = field(default_factory=dict)

    def before(self, stage: ConversationContext, step: CallStep) -> None:
        """Note the files before a call."""
        found = self.before_calls[step.name] = {
            name: {
                path.relative_to(root).as_posix(): path.stat().st_size
                for path in sorted(root.rglob("*"))
                if path.is_file() and not path.is_symlink()
            }
            for name in stage.roots.names
            for root in (stage.roots.path(name),)
        }
        for name, files in found.items():
            self._read(name, stage.roots.path(name), files)

    def _read(self, name: str, root: Path, files: Sizes) -> None:
        """Note the small files that were not there before an earlier call."""
        known = self.contents.setdefault(name, {})
        fresh = [path for path, size in files.items() if size <= SMALL and path not in known]
        known |= {path: (root / path).read_bytes() for path in fresh}
        formed = self.formed.setdefault(name, {})
        for form in self.formats.values() if fresh else ():
            for place in places_of(form, {path: files[path] for path in fresh}):
                try:
                    found = FormedFiles(form, root, place)
                except StepRefused:
                    continue  # damaged, or of another form: there is nothing in it
                paths = tuple(found.paths.values())
                formed.setdefault((form.name, place), ExampleFiles(form, place, paths, found.items))

    def note(self, walked: Transcript) -> None:
        """Note the answers to the calls of the walk."""
        self.answers |= {one.step: repr(comparable_answer(one.observed)) for one in walked.exchanges}
        self.succeeded |= {one.step for one in walked.exchanges if isinstance(one.observed, ObservedResult)}

    def after(self, stage: ConversationContext, step: CallStep) -> None:
        """Note the paths after a call."""
        self.after_calls[step.name] = {
            name: frozenset(path.relative_to(root).as_posix() for path in root.rglob("*"))
            for name in stage.roots.names
            for root in (stage.roots.path(name),)
        }


@dataclass(frozen=True, slots=True)
class Example:
    """Steps before the edits, the edits, and the steps after them; `kept` is the id of the case it was made from."""

    before: tuple[AnyStep, ...]
    edits: tuple[Edit, ...]
    after: tuple[AnyStep, ...]
    kept: str

    @property
    def steps(self) -> tuple[AnyStep, ...]:
        """All of it as a trace."""
        return (*self.before, *(step for edit in self.edits for step in edit), *self.after)

    @property
    def simpler(self) -> RecordedChoices:
        """The choices of examples with some edits and some statements of a database; without edits, with some steps."""
        if not self.edits:
            return some_of([fixed_value(step) for step in self.after]).map(self._with_steps)
        edits = some_of([_simpler_edit(edit) for edit in self.edits])
        return edits.map(lambda made: replace(self, edits=tuple(made)))

    def _with_steps(self, after: Sequence[AnyStep]) -> Example:
        """The example with other steps after it, but for calls on what no step gives."""
        known = {step.name for step in self.before if isinstance(step, CallStep | QuestionCall)}
        kept: list[AnyStep] = []
        for step in after:
            if isinstance(step, CallStep | QuestionCall):
                needed = {one["from"].partition(".")[0] for one in step.inputs.values() if is_reference(one)}
                if not needed <= known:
                    continue
                known.add(step.name)
            kept.append(step)
        return replace(self, after=tuple(kept))

    @property
    def trace_lines(self) -> list[str]:
        """The edits as lines of a contract's trace."""
        return [file_step_line(step) for edit in self.edits for step in edit]


def file_step_line(step: FileStep) -> str:
    """A file step as a line of a contract's trace."""
    return f"- {{{step.action}: {json.dumps(dict(step.body), ensure_ascii=False)}}}"


def _simpler_edit(edit: Edit) -> RecordedChoices:
    if len(edit) == 1 and isinstance(statements := edit[0].body.get("sqlite"), list):
        some, body = some_of([fixed_value(one) for one in statements]), edit[0].body
        # No statement at all makes no file, nor does one about a table that is gone.
        return some.map(lambda made: (FileStep("put", {**body, "sqlite": valid(made) or statements[:1]}),))
    return fixed_value(edit)


Base = tuple[Case, Snapshots]


@dataclass(frozen=True, slots=True)
class CallAmongFiles:
    """A call of a case before which a root has files."""

    contract: Contract
    base: Base
    before: tuple[AnyStep, ...]
    step: CallStep
    after: tuple[AnyStep, ...]  # with a look at every root at the end; there are no others
    root: str
    files: Sizes

    def edited(self, *edits: Edit) -> Example:
        """The case with these edits made before the call."""
        return Example(self.before, edits, (self.step, *self.after), self.base[0].id)

    def fits(self, edits: Iterable[Edit]) -> bool:
        """Whether no edit changes a file that an earlier call may keep open."""
        return not any(edits_file_in_use(self.contract, edit, self.before) for edit in edits)


def calls_among_files(contract: Contract, base: Base) -> list[CallAmongFiles]:
    """The calls of the operator before which there are files, once for each root."""
    case, seen = base
    steps = with_harness_reads(case.steps, contract.fuzz_decode)
    return [
        CallAmongFiles(contract, base, steps[:k], step, steps[k + 1 :], root, files)
        for k, step in enumerate(steps)
        if isinstance(step, CallStep) and contract.owns(step.operator)
        for root, files in sorted(seen.before_calls.get(step.name, {}).items())
        if files
    ]


def evenly_chosen(some: Sequence[T], most: int) -> list[T]:
    """At most so many of some, taken evenly."""
    return list(some[:: max(1, -(-len(some) // most))])


def ranked(contract: Contract, bases: Sequence[Base]) -> list[Base]:
    """The bases of which every call succeeds first, of these the ones with the most operations; large ones left out."""

    def rank(base: Base) -> tuple[int, int]:
        own = [step for step in base[0].calls if contract.owns(step.operator)]
        failing = any(isinstance(step.expected, ExpectedFailure) for step in own)
        return failing, -len({step.operator for step in own})

    return sorted((base for base in bases if not is_large(base[0])), key=rank)


def is_left_open(contract: Contract, before: Sequence[AnyStep]) -> bool:
    """Whether an earlier call may have left files that the contract leaves open; a later edit may make them matter."""
    return bool(contract.fuzz_loose) and any(_asks(contract, step) for step in before)


def until_left_open(contract: Contract, example: Example) -> Example:
    """An example that ends with the first call after its edits if that may leave files that the contract leaves open:
    such a file decides what later steps do. The looks at the trees stay."""
    own = (k for k, step in enumerate(example.after) if _asks(contract, step))
    if not contract.fuzz_loose or (first := next(own, None)) is None:
        return example
    looks = (step for step in example.after[first + 1 :] if isinstance(step, TreeStep))
    return replace(example, after=(*example.after[: first + 1], *looks))


def _asks(contract: Contract, step: AnyStep) -> bool:
    return isinstance(step, CallStep | QuestionCall) and contract.owns(step.operator)


def edits_file_in_use(contract: Contract, edit: Edit, before: Sequence[AnyStep]) -> bool:
    """Whether an edit changes a file of the case that an earlier call of a machine names.

    A machine may keep it open, and no contract says what it then reads: the old bytes, the new ones, or nothing.
    """
    if contract.own_machine is None:
        return False
    put = {step.subject for step in before if isinstance(step, FileStep) and step.action == "put"}
    calls = [step for step in before if isinstance(step, CallStep)]
    edited = {path for path in put for one in edit if f"{path}/".startswith(f"{one.subject}/")}
    return any(names(step.inputs, path) for path in edited for step in calls)


def names(value: Any, path: str) -> bool:
    """Whether a path is one of the texts of an input."""
    return contains_value(value, lambda part: part == path)
