"""One operator that keeps files, fuzzed: its trees are edited, and the reference says what is right."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from random import Random
from typing import Any, Final

from conformance.backend.outcome import ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.bystanders import is_matched, near_misses, one_of_each_group, roots_in
from conformance.trial.check import Check, Kind, Result, Verdict, refused_step_failure, tree_failure, unjudged
from conformance.trial.client import Walked, walked_by_both
from conformance.trial.fuzz.conversation import conversation_steps
from conformance.trial.fuzz.file_edits import drawn_edit, file_is_exposed, file_step
from conformance.trial.fuzz.file_example import (
    Base,
    Example,
    Snapshots,
    calls_among_files,
    is_left_open,
    names,
    until_left_open,
)
from conformance.trial.fuzz.file_parts import ReferenceProbe, files_read_together, lacking, lengthened
from conformance.trial.fuzz.listings.files import FILE_LISTINGS, degenerate_inputs, files_of_other_calls, whole_calls
from conformance.trial.fuzz.listings.refusals import competing, damaged_twice, escaping_paths, is_refused
from conformance.trial.fuzz.listings.renamings import renamed_everywhere
from conformance.trial.fuzz.operator import SEEN_ONCE, reference_lost, with_lost_call, wrong_walk
from conformance.trial.fuzz.program import trace_lines
from conformance.trial.fuzz.shrink import RecordedChoices, random_remade, smallest_example
from conformance.trial.fuzz.task import FuzzTask
from conformance.trial.generator import Generator, Native, generator_of
from conformance.vectors.case import CallStep, Case, FileStep, QuestionCall, TreeStep, looks
from conformance.vectors.conversation.exchange import AnyStep, Transcript, runs_alone

EXAMPLES: Final = 60  # trees per operator: each is written, edited and read twice
FOUND: Final = "the fewest edits found after which the backend and the reference differ"
_BASES: Final = 24  # frozen cases that trees are taken from
_MOST_EDITS: Final = 3
_MOST: Final = 300  # examples that are asked while one is made small
_LEAST_ASKED: Final = 0.5  # share of examples in which the operator is asked after the edits
_BEFORE: Final = "before-the-edits"  # the name of a step whose call is made again after the edits
_MADE_BEFORE: Final = 0.3  # share of examples with such a call
_RENAMED: Final = 0.2  # share of examples in which a file that a call names is renamed, on disk and in the call
WHY: Final = "Answers and files equal the reference's after valid files were edited."


def files_check(contract: Contract) -> Check:
    """The check for the fuzzing of the files of one operator or one machine."""
    return Check(f"{contract.operator}?files", Kind.FUZZ, contract.operator, "files", WHY, (), ())


def keeps_files(contract: Contract, cases: Sequence[Case]) -> bool:
    """Whether the operator or machine works on files, and some case has a tree to edit or a call to vary."""
    own = contract.own_machine is not None or (contract.purity == "io" and contract.machine is None)
    return own and (bool(_bases(cases)) or any(True for _ in whole_calls(contract, cases)))


def fuzz_files(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Fuzz the files of one operator; the result and the figures for the record."""
    contract, cases, codebook, reference = task.contract, task.cases, task.codebook, task.reference
    search = FileSearch(task)
    bases = _walked_bases(task)
    generator = generator_of(contract, codebook.suite) if contract.purity == "io" else None
    if generator is not None and generator.listed is not None:
        search.try_all((_of_files(contract, codebook, generator, made), None) for made in generator.listed())
    reading = ReferenceProbe(reference)
    listings = (
        *(listing(contract, codebook, bases) for listing in FILE_LISTINGS),
        degenerate_inputs(contract, codebook, cases),
        competing(contract, codebook, bases, cases),
        damaged_twice(contract, cases),
        files_of_other_calls(contract, codebook, bases, cases),
        lacking(contract, bases, reading),
        lengthened(contract, bases, reading),
        files_read_together(contract, codebook, bases, reading),
    )
    search.try_all((listed, None) for listed in chain(*listings))
    if not bases and search.found is None:
        return Result(search.check, Verdict.PASS), search.record()  # no tree to edit
    for outside in escaping_paths(contract, bases):
        if search.found is None and is_refused(reference.walk(outside.steps)):
            search.try_one(outside)
    search.listed = Counter(search.counts)

    def drawn() -> Iterator[Asking]:
        for number in range(task.examples or contract.fuzz_examples or EXAMPLES):
            digest = hashlib.sha256(f"{contract.operator}\0files\0{task.seed}\0{number}".encode()).digest()
            random = Random(digest)  # noqa: S311
            if generator is not None and number % 4:
                generated = partial(_generated, contract, codebook, generator)
                remade = None if contract.machine is not None else partial(random_remade, generated, digest)
                yield generated(random), remade
            elif (example := _edited(contract, codebook, random, random.choice(bases))) is not None:
                yield example, None

    search.try_all(drawn())
    return search.result(), search.record()


def edited_trees(task: FuzzTask, count: int) -> Iterator[Example]:
    """Frozen cases whose files are edited before a call, as the seed of the task decides; at most so many."""
    bases = _walked_bases(task)
    for number in range(count if bases else 0):
        digest = hashlib.sha256(f"{task.operator}\0trees\0{task.seed}\0{number}".encode()).digest()
        random = Random(digest)  # noqa: S311
        if (example := _edited(task.contract, task.codebook, random, random.choice(bases))) is not None:
            yield example


def _walked_bases(task: FuzzTask) -> list[Base]:
    """The cases that trees are taken from, with the files and answers of the reference."""
    bases = [(case, Snapshots(formats=task.codebook.formats)) for case in _bases(task.cases)]
    for case, seen in bases:
        if isinstance(right := task.reference.walk(case.steps, seen), Transcript):
            seen.note(right)
    return bases


def _bases(cases: Sequence[Case]) -> list[Case]:
    """The frozen cases that trees are taken from, chosen by their digests."""
    fit = [one for one in cases if one.profile == "quick" and _may_hold_files(one) and not runs_alone(one.steps)]
    return one_of_each_group(fit, _BASES)


def _may_hold_files(case: Case) -> bool:
    """Whether there may be files before a call: the case uses a root, and the call is not its first step."""
    return bool(roots_in(case.steps)) and any(isinstance(step, CallStep) for step in case.steps[1:])


def _edited(contract: Contract, codebook: Codebook, random: Random, base: Base) -> Example | None:
    """A case with edits before one of its calls that finds files; None if no call fits or an edit is not allowed."""
    calls = [call for call in calls_among_files(contract, base) if not is_left_open(contract, call.before)]
    if not calls:
        return None
    call = random.choice(calls)
    root, files, before, after = call.root, call.files, call.before, (call.step, *call.after)
    put = {one.subject for one in before if isinstance(one, FileStep) and one.action == "put"}
    # If a backend may choose the bytes of a file, the same offset means something else in each backend's file.
    fixed = {
        path: size
        for path, size in files.items()
        if path in put or not any(fnmatchcase(path, one) for one in contract.fuzz_decode)
    }
    edits = tuple(
        drawn_edit(random, root, files, fixed, codebook.formats) for _ in range(random.randint(1, _MOST_EDITS))
    )
    if not call.fits(edits):
        return None
    if contract.machine is None and not contract.fuzz_loose and random.random() < _MADE_BEFORE:
        # This finds a backend that answers from memory. Not with `fuzz_loose`: what such a call leaves may differ.
        before = (*before, QuestionCall(_BEFORE, call.step.operator, call.step.inputs))
    if random.random() < _RENAMED and (named := sorted(path for path in files if names(call.step.inputs, path))):
        path = random.choice(named)
        other = random.choice(list(near_misses(path)))
        edits = (*edits[1:], (file_step("rename", root, **{"from": path, "to": other}),))
        after = tuple(_renamed_in(one, path, other) for one in after)
    if file_is_exposed(edits, files.keys() - fixed.keys(), contract.fuzz_decode):
        return None
    return Example(before, edits, after, base[0].id)


def _renamed_in(step: AnyStep, path: str, other: str) -> AnyStep:
    if not isinstance(step, CallStep | QuestionCall):
        return step
    return replace(step, inputs=renamed_everywhere(step.inputs, {path: other}))


def _generated(contract: Contract, codebook: Codebook, generator: Generator, random: Random) -> Example:
    """Files that a generator makes; sometimes the operator is asked about other files first."""
    keys = ("put", "inputs") if contract.machine is None else ("root", "steps")
    example = _of_files(contract, codebook, generator, generator.made(codebook.suite, random, *keys))
    if contract.machine is not None or random.random() >= _MADE_BEFORE:
        return example
    earlier = _of_files(contract, codebook, generator, generator.made(codebook.suite, random, *keys))
    asked = (replace(step, name=_BEFORE) for step in earlier.after if isinstance(step, QuestionCall))
    return replace(example, before=(*(step for edit in earlier.edits for step in edit), *asked))


def _of_files(contract: Contract, codebook: Codebook, generator: Generator, made: Native) -> Example:
    """An example that writes the made files and then makes one call, or holds the made conversation with a machine."""
    if contract.machine is not None:
        return Example((), (), conversation_steps(contract, codebook, made), generator.name)
    root = made["inputs"]["root"]
    edits = tuple((FileStep("put", {"root": root, **body}),) for body in made["put"])
    wire = dict(codebook[contract.operator].inputs.from_native(made["inputs"]))
    for name in codebook[contract.operator].roots:
        wire[name] = {"root": root}
    after = (QuestionCall("call", contract.operator, wire), TreeStep(root, ".", contract.fuzz_decode))
    return Example((), edits, after, generator.name)


Asking = tuple[Example, Callable[[], RecordedChoices] | None]  # an example, and its choices if a generator made it


class FileSearch:
    """The state of one search: what was reached, and the first example that was answered wrongly."""

    def __init__(self, task: FuzzTask) -> None:
        self.contract, self.codebook, self.check = task.contract, task.codebook, task.check
        self.backend, self.reference, self.trusted = task.backend, task.reference, task.trusted
        self.counts: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()  # of the examples that are not drawn
        self.edits: Counter[str] = Counter()
        self.found: Result | None = None

    def try_all(self, asked: Iterable[Asking]) -> None:
        """Ask both sides several examples at a time, until one is answered wrongly; later ones do not count."""
        fit = (
            (until_left_open(self.contract, example), choices)
            for example, choices in asked
            if not is_left_open(self.contract, example.before)
        )
        walks = walked_by_both(fit, lambda one: one[0].steps, self.reference, self.backend)
        while self.found is None and (walk := next(walks, None)) is not None:
            (example, choices), walked = walk
            self.try_one(example, choices, walked)

    def try_one(
        self, example: Example, choices: Callable[[], RecordedChoices] | None = None, walked: Walked | None = None
    ) -> None:
        """Ask both sides, compare and count; make a wrongly answered example small."""
        self.edits.update(edit[0].action if len(edit) < 3 else "swap" for edit in example.edits)
        self.counts["examples"] += 1
        found = self.judge(example, counted=True, walked=walked)
        if found is not None and found.verdict is Verdict.FAIL and walked is not None:
            # Asked again alone, so that its own trace shows the mistake.
            found = self.judge(example) or replace(found, message=SEEN_ONCE)
        if found is None:
            return
        if self.trusted and found.verdict is Verdict.FAIL:

            def is_wrong(other: Example) -> bool:
                again = self.judge(other)
                return again is not None and again.verdict is Verdict.FAIL

            ways: list[Callable[[Example], RecordedChoices]] = [] if choices is None else [lambda _: choices()]
            example = smallest_example(example, [*ways, lambda one: one.simpler], is_wrong, _MOST)
            found = self.judge(example) or found
        found = with_lost_call(found, example.steps, self.backend, self.reference)
        lines = example.trace_lines
        if self.contract.machine is not None and not example.edits:
            held = [step for step in example.after if isinstance(step, FileStep | QuestionCall)]
            lines = [*trace_lines(held, self.codebook, self.contract)]
        self.found = replace(found, details={"case": example.kept, "trace": lines}, steps=example.steps)

    def judge(self, example: Example, counted: bool = False, walked: Walked | None = None) -> Result | None:
        """The first difference between the walks of backend and reference; None if there is none."""
        steps = example.steps
        right = self.reference.walk(steps) if walked is None else walked[0]
        if not isinstance(right, Transcript):
            return reference_lost(self.check, right)
        if counted:
            self.count(example, right)
        said = self.backend.walk(steps) if walked is None else walked[1]
        wrong = wrong_walk(self.check, self.codebook, right, said, FOUND)
        if wrong is not None or said is right or not isinstance(said, Transcript):
            return wrong
        return refused_step_failure(self.check, right, said, FOUND) or self.first_different_file(steps, right, said)

    def first_different_file(self, steps: Sequence[AnyStep], right: Transcript, said: Transcript) -> Result | None:
        """The failure for the first file that differs; files that the contract leaves open are not compared."""
        for name, step in looks(steps):
            trees = self.bound(right.trees.get(name, {})), self.bound(said.trees.get(name, {}))
            if (wrong := tree_failure(self.check, step, name, *trees, FOUND)) is not None:
                return wrong
        return None

    def bound(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        """A tree without the files that the contract leaves open; files with an owned name are always compared."""
        loose, owned = self.contract.fuzz_loose, self.contract.bystanders.owned
        return {
            path: entry
            for path, entry in tree.items()
            if not any(fnmatchcase(path, one) for one in loose) or is_matched(path, owned)
        }

    def count(self, example: Example, right: Transcript) -> None:
        """Count whether the operator was asked after the edits, and whether the first such call succeeded."""
        names = [step.name for step in example.after if isinstance(step, CallStep | QuestionCall)]
        after = [one for one in right.exchanges if one.step in names and self.contract.owns(one.operator)]
        self.counts["asked"] += bool(after)
        self.counts["succeeded"] += bool(after) and isinstance(after[0].observed, ObservedResult)
        self.counts["refused"] += bool(after) and isinstance(after[0].observed, ObservedFailure)

    def record(self) -> dict[str, Any]:
        """The figures in the form of the record."""
        drawn = self.counts - self.listed
        figures = {name: drawn[name] for name in ("examples", "asked", "succeeded", "refused")}
        return {**figures, "listed": self.listed["examples"], "edits": dict(sorted(self.edits.items()))}

    def result(self) -> Result:
        """The verdict: the failure, an error if the examples reached too little, or a pass."""
        if self.found is not None:
            return self.found
        asked, examples = self.counts["asked"], self.counts["examples"]
        if not examples or asked < _LEAST_ASKED * examples:
            message = f"fuzzing reached too little: {asked} of {examples} examples were asked after the edits"
            return unjudged(self.check, message)
        return Result(self.check, Verdict.PASS)
