"""Edits that are tried before any drawn one. Each listing finds one kind of mistake in operators that keep files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, combinations, islice, repeat
from math import ceil
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.contract.types import Scalar, Struct, places_of, without_places
from conformance.trial.bystanders import is_large, is_matched, near_misses, with_harness_reads, written_out
from conformance.trial.fuzz.file_edits import Edit, Sizes, file_step, reshapes
from conformance.trial.fuzz.file_example import (
    Base,
    Example,
    calls_among_files,
    evenly_chosen,
    is_left_open,
)
from conformance.trial.fuzz.listings.growth import grown, near_long
from conformance.trial.fuzz.listings.inputs import changed_leaves, leaf_origins
from conformance.trial.fuzz.listings.near_frozen import LISTINGS, Origins
from conformance.trial.fuzz.seed import ACCEPTED, InputLimits, longest_of, printed, vocabulary_of
from conformance.trial.generator import Native
from conformance.vectors.case import CallStep, Case, ExpectedFailure, FileStep, TreeStep
from conformance.vectors.compact import holds_recipe
from conformance.vectors.conversation.exchange import AnyStep, runs_alone
from conformance.vectors.leaf import contains_value, is_placeholder, named_roots, spots

_MOST_KINDS: Final = 3  # trees of different names that lose files while temporary ones are planted


def _with_leftovers(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """Every case with temporary files, such as a killed writer leaves, planted before each of its calls. The first of
    each kind of tree also loses files, unless its case is large.

    This finds operators that remove such files in one branch of their code and not in another.
    """
    kinds: set[tuple[str, ...]] = set()
    for call in chain.from_iterable(calls_among_files(contract, base) for base in bases):
        if not (planted := leftovers(contract, call.root, call.files, (*call.before, *call.after))):
            continue
        yield call.edited(*planted)
        kind = (call.step.operator, *sorted(call.files))
        failed = isinstance(call.step.expected, ExpectedFailure)
        unfit = failed or is_left_open(contract, call.before) or is_large(call.base[0])
        if kind not in kinds and len(kinds) < _MOST_KINDS and not unfit:
            kinds.add(kind)
            some = (lost for lost in losses(call.root, call.files) if call.fits(lost))
            yield from (call.edited(*lost, *planted) for lost in some)


_TEMPORARY: Final = re.compile(r"\.?[^/]+\.tmp")
_CLASS: Final = re.compile(r"\[(.)[^]]*\]")
_CONTENTS: Final = ("00", "")
_MOST: Final = 8  # planted at once
_MOST_LOST: Final = 40  # trees with one file or folder deleted, or two, of one call


def leftovers(contract: Contract, root: str, files: Sizes, steps: Iterable[AnyStep]) -> tuple[Edit, ...]:
    """The edits that plant temporary files in a root: those that the contract lets its operator clear away, and those
    of names that the frozen steps plant themselves."""
    known = {one.subject for one in steps if isinstance(one, FileStep) and one.body.get("root") == root}
    planted = {path for path in known if _TEMPORARY.fullmatch(path.rpartition("/")[2])}
    paths = [path for path in sorted({*_owned(contract.bystanders.owned, files), *planted}) if path not in files]
    return tuple(
        (file_step("put", root, path=path, bytes=_CONTENTS[number % 2]),)
        for number, path in enumerate(evenly_chosen(paths, _MOST))
    )


def losses(root: str, files: Sizes) -> Iterator[tuple[Edit, ...]]:
    """The deletions of one file or folder, then of two."""
    ordered = sorted({*files, *_folders(files)})
    some: Iterator[Sequence[str]] = (pair for count in (1, 2) for pair in combinations(ordered, count))
    for gone in islice(some, _MOST_LOST):
        if not gone[-1].startswith(f"{gone[0]}/"):
            yield tuple((file_step("delete", root, path=path),) for path in gone)


def _folders(paths: Iterable[str]) -> set[str]:
    return {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}


def _owned(patterns: Mapping[str, str], files: Sizes) -> Iterator[str]:
    """Names that fit the patterns, beside existing files and folders, and made from each pattern alone."""
    folders = _folders(files)
    for path in (*files, *folders):
        yield from (other for other in near_misses(path) if is_matched(other, patterns))
    for folder in ("", *sorted(folders)):
        yield from made_in(patterns, folder)


def made_in(patterns: Mapping[str, str], folder: str) -> Iterator[str]:
    """The name in a folder that each pattern which fits there gives."""
    for pattern in patterns:
        above, _, name = pattern.rpartition("/")
        made = _CLASS.sub(lambda one: one[1], written_out(name)).replace("*", "left").replace("?", "x")
        if bool(above) == bool(folder) and fnmatchcase(folder, written_out(above)):
            yield f"{folder}/{made}" if folder else made


_MOST_PLANTED: Final = 12  # files in one example
_MOST_CALLS: Final = 8  # of one operator, that get such files


def files_of_other_calls(
    contract: Contract, codebook: Codebook, bases: Sequence[Base], cases: Sequence[Case]
) -> Iterator[Example]:
    """Examples for a few calls with different inputs: every folder that any case has gets a file under an owned name.

    This finds operators that delete every file with such a name, and not only those in their own folder.
    """
    if not contract.bystanders.owned:
        return
    layout = layout_of(bases)
    for case, k in calls_of_each_input(contract, codebook, cases):
        steps = with_harness_reads(case.steps[: k + 1], contract.fuzz_decode)
        step = case.steps[k]
        assert isinstance(step, CallStep)
        at = steps.index(step)
        (root,) = named_roots(step.inputs)
        if planted := planted_in(contract.bystanders.owned, layout, root, steps[:at]):
            yield Example(steps[:at], planted, steps[at:], case.id)


def layout_of(bases: Sequence[Base]) -> dict[str, bool]:
    """Every path that the cases have in any root, and whether it is a folder with files."""
    seen = [tree for _, one in bases for roots in one.after_calls.values() for tree in roots.values()]
    paths = sorted({path for tree in seen for path in tree})
    folders = _folders(paths)
    return {path: path in folders for path in paths}


def calls_of_each_input(contract: Contract, codebook: Codebook, cases: Iterable[Case]) -> list[tuple[Case, int]]:
    """Cases that together have every place of the inputs of the operations with one root, each with a step number.

    The shortest case is taken whose first call of the operator has the place and succeeds. If there are more than
    `_MOST_CALLS` cases, they are thinned out evenly.
    """
    found: dict[tuple[str, str], tuple[Case, int]] = {}
    for case in sorted(cases, key=lambda one: (len(one.steps), one.id)):
        own = (k for k, step in enumerate(case.steps) if isinstance(step, CallStep) and contract.owns(step.operator))
        for k in islice(own, 1) if case.profile == "quick" else ():
            step = case.steps[k]
            assert isinstance(step, CallStep)
            if len(named_roots(step.inputs)) == 1 and not isinstance(step.expected, ExpectedFailure):
                places = {spot.place for spot in spots(codebook[step.operator].contract.inputs, step.inputs)}
                for place in sorted(places):
                    found.setdefault((step.operator, place), (case, k))
    chosen = list({case.id: (case, k) for case, k in found.values()}.values())
    return evenly_chosen(chosen, _MOST_CALLS)


def planted_in(
    owned: Mapping[str, str], layout: Mapping[str, bool], root: str, before: Iterable[AnyStep]
) -> tuple[Edit, ...]:
    """The edits that put a file with an owned name into each folder of a layout, and beside each path at its top.

    A path is left out if an earlier step wrote there.
    """
    taken = {step.subject for step in before if isinstance(step, FileStep)}
    paths: dict[str, None] = {}
    for path, is_folder in layout.items():
        inside = made_in(owned, path) if is_folder else iter(())
        beside = (one for one in near_misses(path) if "/" not in one and is_matched(one, owned))
        paths |= dict.fromkeys([*islice(inside, 1), *islice(beside, 1)])
    free = [path for path in paths if path not in layout and not any(_meet(path, one) for one in taken)]
    return tuple((file_step("put", root, path=path, bytes="00"),) for path in evenly_chosen(free, _MOST_PLANTED))


def _meet(one: str, other: str) -> bool:
    """Whether two paths are equal, or one is below the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


_MOST_RESHAPED: Final = 4  # cases whose arrays get other axes


def _reshaped(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """Some cases with an array in a file that keeps its size and has other axes or another type."""
    found: list[tuple[int, list[Example]]] = []
    for base in bases:
        for call in calls_among_files(contract, base)[:1]:
            reshaped = reshapes(call.root, call.files, codebook.formats)
            if edits := [edit for edit in reshaped if call.fits([edit])]:
                largest = max(call.files[edit[0].subject] for edit in edits)
                found.append((largest, [call.edited(edit) for edit in edits]))
    # What was cut off has nothing to edit: the largest come first.
    for _, examples in sorted(found, key=lambda one: -one[0])[:_MOST_RESHAPED]:
        yield from examples


_TOLD: Final = re.compile(r"\bat most ([0-9]{1,3}(?:,[0-9]{3})*|[0-9]+) (bytes|characters)\b", re.IGNORECASE)
_LETTERS: Final = ("a", "\u00e9", "\U0001f600")
_LARGEST: Final = 1 << 16


def limits_in_words(doc: str) -> Iterator[tuple[int, str]]:
    """Every limit in a description, with its unit: `at most 200 bytes`, `at most 64 characters`."""
    for number, unit in _TOLD.findall(doc):
        if (most := int(number.replace(",", ""))) <= _LARGEST:
            yield most, unit.lower()


def inputs_at_limits(type_: Struct, inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The inputs of a call with each text whose description has a limit, at lengths around it in letters and bytes.

    Letters of one, two and four bytes show whether a backend counts bytes, letters or UTF-16 units.
    """
    for member in type_.fields:
        if member.type != Scalar("string") or not isinstance(inputs.get(member.name), str):
            continue
        for most, unit in limits_in_words(member.doc):
            for letter in _LETTERS:
                width = len(letter.encode()) if unit == "bytes" else 1
                # A backend that counts letters or UTF-16 units instead of bytes accepts a text that is too long.
                for count in dict.fromkeys((most // width, most // width + 1, most // 2 + 1, most)):
                    short = most - count * width if count == most // width else 0
                    yield {**inputs, member.name: letter * count + "a" * short}
                yield {**inputs, member.name: letter * (most + 1)}


def _at_limits(contract: Contract, codebook: Codebook, bases: Sequence[Base]) -> Iterator[Example]:
    """The first call of every operation that succeeds, with texts on both sides of the limits in their descriptions."""
    tried: set[str] = set()
    for case, _ in bases:
        steps = with_harness_reads(case.steps, contract.fuzz_decode)
        for k, step in enumerate(steps):
            if not isinstance(step, CallStep) or not contract.owns(step.operator) or step.operator in tried:
                continue
            if not isinstance(step.expected, ExpectedFailure):
                tried.add(step.operator)
                looks = tuple(one for one in steps[k:] if isinstance(one, TreeStep))
                for inputs in inputs_at_limits(codebook[step.operator].contract.inputs, step.inputs):
                    yield Example(steps[:k], (), (replace(step, inputs=inputs), *looks), case.id)


_MOST_DEGENERATE: Final = 300  # inputs of an operator
_MOST_OTHER: Final = 60  # inputs with neighbours exchanged, with other names, near a long one
_ANYWHERE: Final = "/"  # for a root while the inputs are native


def degenerate_inputs(contract: Contract, codebook: Codebook, cases: Iterable[Case]) -> Iterator[Example]:
    """Calls of an operator that succeed, and these with each degenerate value of every leaf, with neighbours exchanged
    and with other names; and inputs near the longest one. A machine is asked such inputs elsewhere."""
    forms, bounds = codebook[contract.operator], InputLimits(contract)
    roots = places_of(contract.inputs)
    plain = without_places(contract.inputs)
    found: dict[str, Native] = {}
    alike: dict[str, list[Native]] = {}  # inputs that need the same steps before them, and the same roots
    origin: dict[int, tuple[Example, CallStep]] = {}
    for before, step, id_ in whole_calls(contract, cases):
        native = forms.inputs.to_native({**step.inputs, **dict.fromkeys(roots, _ANYWHERE)})
        own = {name: value for name, value in native.items() if name not in roots}
        if found.setdefault(printed(own), own) is own:
            alike.setdefault(repr((before, [step.inputs.get(name) for name in roots])), []).append(own)
            origin[id(own)] = Example(before, (), (), id_), step
    words = vocabulary_of(replace(contract, inputs=plain), [*found.values()])
    listed: list[Iterable[tuple[Native, Native]]] = [((one, one) for one in leaf_origins(words.inside, found.values()))]
    listed.append(islice(changed_leaves(words.inside, found.values()), _MOST_DEGENERATE))
    if (native := longest_of(found.values())) is not None:
        listed.append(zip(repeat(native), islice(near_long(words.inside, native), _MOST_OTHER), strict=False))
    seen: set[str] = set()
    for one in found.values():
        long = grown(words.inside, [one], words.numbers, partial(_accepted, bounds), lambda _: True, seen)
        listed.append(zip(repeat(one), long, strict=False))
    for natives in alike.values():
        share = ceil(_MOST_OTHER * len(natives) / len(found))
        origins = Origins(words, {ACCEPTED: natives}, bounds.side)
        some = (islice(listing.inputs(origins), share) for listing in LISTINGS)
        listed.append(zip(repeat(natives[0]), chain(*some), strict=False))
    for start, own in chain(*listed):
        if bounds.side(own) is not None:
            example, step = origin[id(start)]
            inputs = forms.inputs.from_native({**own, **dict.fromkeys(roots, _ANYWHERE)})
            inputs |= {name: step.inputs[name] for name in roots if name in step.inputs}
            looks = with_harness_reads((step,), contract.fuzz_decode)[1:]
            yield replace(example, after=(replace(step, inputs=inputs), *looks))


def _accepted(bounds: InputLimits, native: Native) -> Native | None:
    return native if bounds.side(native) == ACCEPTED else None


def whole_calls(contract: Contract, cases: Iterable[Case]) -> Iterator[tuple[tuple[AnyStep, ...], CallStep, str]]:
    """The first call of an operator of files in each of its cases: the steps before it, and the case.

    It succeeds, and all of its inputs but the roots are written in it, not taken from an answer or made by a recipe.
    """
    if contract.own_machine is not None or contract.machine is not None or contract.purity != "io":
        return
    roots = places_of(contract.inputs)
    quick = (case for case in cases if case.profile == "quick")
    for case in sorted(quick, key=lambda one: (len(repr(one.steps)), one.id)):
        steps = with_harness_reads(case.steps, contract.fuzz_decode)
        for k, step in enumerate(() if runs_alone(steps) else steps):
            if isinstance(step, CallStep) and step.operator == contract.operator:
                if _is_whole(step, roots) and not isinstance(step.expected, ExpectedFailure):
                    yield steps[:k], step, case.id
                break


def _is_whole(step: CallStep, roots: tuple[str, ...]) -> bool:
    own = {name: value for name, value in step.inputs.items() if name not in roots}
    return not contains_value(own, is_placeholder) and not holds_recipe(own)


FILE_LISTINGS: Final = (_with_leftovers, _reshaped, _at_limits)
