"""Calls that must be refused: with two mistakes at once, in inputs or files, or with a path out of the root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, Final

from conformance.backend.outcome import ObservedFailure
from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import places_of
from conformance.trial.fuzz.file_edits import Edit, Sizes, file_step
from conformance.trial.fuzz.file_example import Base, Example, calls_among_files, evenly_chosen, names
from conformance.trial.fuzz.listings.renamings import renamed_everywhere
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, QuestionCall, TreeStep
from conformance.vectors.conversation.exchange import AnyStep, Transcript, runs_alone
from conformance.vectors.files.temp_roots import Roots
from conformance.vectors.leaf import contains_value, is_placeholder, is_root, named_roots

_MOST_STATES: Final = 3  # trees, of each operation, in which its call fails
_MOST_REFUSED: Final = 12  # refused inputs that are tried in each of them


def competing(
    contract: Contract, codebook: Codebook, bases: Sequence[Base], cases: Sequence[Case]
) -> Iterator[Example]:
    """Calls that fail because of the files there, with inputs that are refused anywhere; what names a file stays.

    The contract says which of the two reasons is reported. This finds operators that check the disk before the inputs.
    """
    calls = [(case, step) for case in sorted(cases, key=lambda one: one.id) for step in _calls(contract, case)]
    lucky = {_printed(step) for _, step in calls if not isinstance(step.expected, ExpectedFailure)}
    refused = _refused(calls, lucky)
    states: Counter[str] = Counter()
    for call in chain.from_iterable(calls_among_files(contract, base) for base in bases):
        step = call.step
        failed = isinstance(step.expected, ExpectedFailure) and _printed(step) in lucky
        if not failed or states[step.operator] >= _MOST_STATES:
            continue
        states[step.operator] += 1
        places = places_of(codebook[step.operator].contract.inputs)
        for other in refused.get(step.operator, ()):
            inputs = _crossed(step.inputs, other, places, call.files)
            # A reference to the answer of a step is valid in its own case only.
            bound = (value for name, value in inputs.items() if step.inputs.get(name) != value)
            if not any(contains_value(value, is_placeholder) for value in bound):
                looks = (one for one in call.after if isinstance(one, TreeStep))
                yield replace(call.edited(), after=(replace(step, inputs=inputs), *looks))


def _calls(contract: Contract, case: Case) -> Iterator[CallStep]:
    if case.profile == "quick":
        yield from (step for step in case.calls if contract.owns(step.operator))


def _printed(step: CallStep) -> tuple[str, str]:
    return step.operator, repr(sorted(step.inputs.items()))


def _refused(calls: Iterable[tuple[Case, CallStep]], lucky: Set[tuple[str, str]]) -> dict[str, list[Mapping[str, Any]]]:
    """Inputs that never succeed, of each operation: the first of every group of cases, spread over the groups."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for case, step in calls:
        if isinstance(step.expected, ExpectedFailure) and _printed(step) not in lucky:
            found.setdefault(step.operator, {}).setdefault(case.group, step.inputs)
    return {operator: evenly_chosen(list(some.values()), _MOST_REFUSED) for operator, some in found.items()}


def _crossed(own: Mapping[str, Any], other: Mapping[str, Any], places: Iterable[str], files: Sizes) -> dict[str, Any]:
    """The `other` inputs, but with the call's `own` roots, handles and names of files."""
    kept = {*places} | {name for name, value in own.items() if any(names(value, part) for part in _parts(files))}
    crossed = {name: value for name, value in other.items() if name not in kept}
    return crossed | {name: value for name, value in own.items() if name in kept}


def _parts(files: Sizes) -> set[str]:
    return {part for path in files for part in (path, path.partition("/")[0])}


_MOST_PAIRS: Final = 60  # of damages, of each group of cases, beside the first one of every two kinds of failure
_MOST_VALUES: Final = 20  # of a field of the failure record that tells the kind


def damaged_twice(contract: Contract, cases: Sequence[Case]) -> Iterator[Example]:
    """For cases that differ in the damage of their files alone and fail differently: two damages at once.

    The contract says which of the two reasons is reported. This finds operators that check the parts of a file in
    another order.
    """
    alike: dict[str, dict[tuple[str, str], tuple[Example, ExpectedFailure]]] = {}
    for case in sorted(cases, key=lambda one: one.id):
        damages = [one for one in case.steps if isinstance(one, FileStep) and one.action == "damage"]
        if case.profile != "quick" or runs_alone(case.steps) or len(damages) != 1:
            continue
        at = case.steps.index(damages[0])
        asked = [one for one in case.steps[at:] if isinstance(one, CallStep)]
        if asked and contract.owns(asked[0].operator) and isinstance(failed := asked[0].expected, ExpectedFailure):
            place = str(damages[0].body["edit"]).rpartition(" ")[0]
            key = repr((case.group, case.steps[:at], [(one.operator, one.inputs) for one in asked]))
            example = Example(case.steps[:at], (tuple(damages),), case.steps[at + 1 :], case.id)
            alike.setdefault(key, {}).setdefault((place, repr((failed.code, failed.data))), (example, failed))
    for some in alike.values():
        kind = kinds_of([failed for _, failed in some.values()])
        pairs: list[Example] = []
        first: dict[frozenset[str], Example] = {}
        for ((here, told), (one, failed)), ((there, said), (other, refused)) in combinations(some.items(), 2):
            if here != there and told != said:
                pairs.append(replace(other, edits=(*one.edits, *other.edits)))
                if len(kinds := frozenset((kind(failed), kind(refused)))) > 1:
                    first.setdefault(kinds, pairs[-1])
        wanted = {id(pair) for pair in (*first.values(), *evenly_chosen(pairs, _MOST_PAIRS))}
        yield from (pair for pair in pairs if id(pair) in wanted)


def kinds_of(failures: Sequence[ExpectedFailure]) -> Callable[[ExpectedFailure], str]:
    """The kind of each of these failures: its code, and the fields of its record that have few values among them.

    A reason of a closed list tells a kind, the path of a file does not.
    """
    values: dict[str, set[str]] = {}
    for one in failures:
        for name, value in one.data.items():
            values.setdefault(name, set()).add(repr(value))
    telling = sorted(name for name, some in values.items() if len(some) <= _MOST_VALUES)
    return lambda one: repr((one.code, [one.data.get(name) for name in telling]))


_AROUND: Final = "around"  # the root in which the others lie
_LINK: Final = "out"
_FOLDER: Final = "within"


def is_refused(walked: object) -> bool:
    """Whether the reference refused a way out; if a contract allows one, it does not say where it leads."""
    made = walked.exchanges if isinstance(walked, Transcript) else ()
    return bool(made) and made[-1].step == "outside" and isinstance(made[-1].observed, ObservedFailure)


def escaping_paths(contract: Contract, bases: Sequence[Base]) -> Iterator[Example]:
    """For each text of an input that is a path below a root, before or after its call: the ways out from there.

    They lead to a folder beside the root, above it, from the file system's own root, and through links. The root is
    made inside another one, so that the files beside it are known and are removed with it. Each operator is asked once
    for each place of its inputs.
    """
    tried: set[tuple[str, str]] = set()
    for case, seen in bases:
        for k, step in enumerate(case.steps):
            # If the call is refused in any case, the refusal of a path shows nothing.
            if not isinstance(step, CallStep) or not contract.owns(step.operator) or step.name not in seen.succeeded:
                continue
            for root in sorted(named_roots(step.inputs)):
                files = seen.before_calls.get(step.name, {}).get(root, {})
                known = seen.after_calls[step.name].get(root, frozenset()) | files.keys()
                for place, path in _texts(step.inputs):
                    if path in known and (step.operator, place) not in tried:
                        tried.add((step.operator, place))
                        yield from _asked_outside(contract, case.steps[:k], step, root, path, files)


def _asked_outside(
    contract: Contract, before: Sequence[AnyStep], step: CallStep, root: str, path: str, files: Sizes
) -> Iterator[Example]:
    """A call with each way out in place of one path below a root."""
    earlier = tuple(_nested(one, root) for one in before if not isinstance(one, TreeStep))
    looks = (
        TreeStep(f"{_AROUND}/{root}", ".", contract.fuzz_decode),
        TreeStep(_AROUND, _sibling_folder(root), contract.fuzz_decode),
    )
    for text, edits in _leading_out(root, path, files):
        call = _nested(QuestionCall("outside", step.operator, renamed_everywhere(step.inputs, {path: text})), root)
        yield Example(earlier, edits, (call, *looks), "a path out of the root")


def _sibling_folder(root: str) -> str:
    """A folder whose name begins like the root's."""
    return f"{root}2"


def _leading_out(root: str, path: str, files: Sizes) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Paths that lead out of a root, and the edits before each."""
    beside = _sibling_folder(root)
    planted = _planted(root, path, files, beside)
    for text in (
        f"../{beside}/{path}",
        f"./../{beside}/{path}",
        f"{Roots.placeholder(_AROUND)}/{beside}/{path}",
    ):
        yield text, planted
    within = (file_step("put", _AROUND, path=f"{root}/{_FOLDER}/beside", text=""),)
    yield f"{_FOLDER}/../../{beside}/{path}", (*planted, within)
    if path.partition("/")[0] not in (root, beside):
        yield f"../{path}", (*planted, *_planted(root, path, files, ""))
    yield f"{_LINK}/{path}", (*planted, (_link(f"{root}/{_LINK}", beside),))
    if any(_is_at(path, one) for one in files):
        own = f"{root}/{path}"
        yield path, (*planted, (file_step("delete", _AROUND, path=own), _link(own, f"{beside}/{path}")))


def _planted(root: str, path: str, files: Sizes, folder: str) -> tuple[Edit, ...]:
    """The edits that copy what a root has at a path to the same path in a folder beside the root."""
    start = f"{folder}/" if folder else ""
    own = [one for one in files if _is_at(path, one)]
    parent = f"{path.rpartition('/')[0]}/".lstrip("/")
    return (
        (file_step("put", _AROUND, path=f"{start}{parent}beside", text=""),),
        *((file_step("link", _AROUND, path=f"{start}{one}", target=f"{root}/{one}", symbolic=False),) for one in own),
    )


def _is_at(path: str, file: str) -> bool:
    """Whether a file is at a path or below it."""
    return file == path or file.startswith(f"{path}/")


def _link(path: str, target: str) -> FileStep:
    return file_step("link", _AROUND, path=path, target=target, symbolic=True)


def _nested(step: AnyStep, root: str) -> AnyStep:
    """A step about a root inside another root."""
    inner = f"{_AROUND}/{root}"
    match step:
        case CallStep() | QuestionCall():
            own = {name: {"root": inner} for name, value in step.inputs.items() if value == {"root": root}}
            return replace(step, inputs={**step.inputs, **own})
        case FileStep():
            named = {key: inner for key in ("root", "target_root") if step.body.get(key) == root}
            return replace(step, body={**step.body, **named})
    return step


def _texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """The texts of an input and where they are; all items of a list are one place."""
    match value:
        case str():
            yield place, value
        case Mapping() if not is_root(value):
            for key, one in value.items():
                yield from _texts(one, f"{place}.{key}")
        case list():
            for one in value:
                yield from _texts(one, f"{place}.*")
