"""Files of others beside those of an operator: where they are put, and whether they change an answer or are harmed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.backend.driver import Talk
from conformance.backend.outcome import ObservedResult
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.model import Contract
from conformance.trial.check import Check, Difference, Result, Verdict, tree_failure, unjudged, walk_failure
from conformance.trial.path_content import (
    ABSENT,
    FILE,
    LINK,
    OTHERS,
    Content,
    below,
    content_and_mode,
    content_at,
    copied,
    shown_content,
)
from conformance.vectors.case import CallStep, Case, FileStep, Step, TreeStep, looks
from conformance.vectors.compact import holds_recipe
from conformance.vectors.conversation.difference import readable_name
from conformance.vectors.conversation.exchange import ConversationContext, Exchange, Transcript, exchanges
from conformance.vectors.files.temp_roots import fault_of
from conformance.vectors.leaf import named_roots
from conformance.vectors.place import OTHER_DIGITS

_MOST, _MOST_NAMES = 1 << 16, 255  # bytes of a file, and names below a folder, that are copied
_PLACED: Final = 180  # bystanders in one root
_MANY: Final = 24  # steps of a case
_SHORT: Final = 40  # characters of a text that may be the name of a file
_LONGEST: Final = 255  # bytes of a name
_NO_UTF_8: Final = os.fsdecode(b"\xff")
_TIMES: Final = re.compile(r"(\[[^]]*\])\{([0-9]+)\}")
_TWIN, _HARD = ".twin", ".hard"  # endings of the names of links to a file
Paths = Mapping[str, frozenset[str]]  # of every root: what an operator's own cases have in it at some time


@cache
def near_misses(path: str) -> tuple[str, ...]:
    """The names of bystanders beside one path: with a suffix, a number, a letter, another case, other digits."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    stem, dot = (stem, dot) if stem else (name, "")
    ending = ending if dot else ""
    names = [f"{name}.backup", f"{name}~", f"{name}{dot}{ending}", f"{stem}2{dot}{ending}", f"0{name}", name[:-1]]
    names += [f"{head}2{dot}{ending}" for head, mark, _ in (stem.rpartition("_"), stem.rpartition("-")) if mark]
    names += [name.swapcase(), name.translate(OTHER_DIGITS), f"x{name}", f"{name} "]
    names += [f".{name}.tmp", f"{name}.tmp", f"{stem}.tmp"]
    # Leftovers of almost the same name belong to somebody else.
    short = re.sub("[0-9]{2,}", lambda digits: digits[0][1:], name, count=1)
    names += [f".{other}.tmp" for other in (short, f"0{name}", name.swapcase()) if other != name]
    named = [one for one in dict.fromkeys(names) if one not in ("", ".", "..", name)]
    return tuple(f"{folder}/{one}" if folder else one for one in named if len(os.fsencode(one)) <= _LONGEST)


@dataclass(slots=True)
class PathCollector:
    """Notes every path below every root, before and after each call, and the texts of calls that could be one."""

    seen: dict[str, set[str]]

    def before(self, stage: ConversationContext, step: CallStep) -> None:
        """Note the paths and texts before a call."""
        for name in stage.roots.names:
            root = stage.roots.path(name)
            named = (text for text in step.inputs.values() if isinstance(text, str) and len(text) <= _SHORT)
            self.seen.setdefault(name, set()).update(
                (path for path, _ in below(str(root))), (text for text in named if not fault_of(text))
            )

    def after(self, stage: ConversationContext, step: CallStep) -> None:
        """Note the paths after a call."""
        self.before(stage, step)


@dataclass(frozen=True, slots=True)
class Names:
    """The names that bystanders may have: those that neither the cases of the operator nor its contract use."""

    contract: Contract
    paths: Paths
    _free: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def near_names(self, root: str, path: str) -> Sequence[str]:
        """The near misses of a path, a name that is no UTF-8, and the names of a symbolic and of a hard link to it."""
        if (root, path) not in self._free:
            names = (*near_misses(path), f"{path}{_NO_UTF_8}", f"{path}{_TWIN}", f"{path}{_HARD}")
            self._free[root, path] = [
                name
                for name in names
                if name not in self.paths[root] and not is_matched(name, self.contract.bystanders.none)
            ]
        return self._free[root, path]


def _left_beside(stage: ConversationContext, step: CallStep) -> Iterator[tuple[str, str, str, str]]:
    """The paths beside a root that the harness did not put there: step, path, content before and now."""
    for root in stage.roots.names:
        top = stage.roots.path(root)
        for other in stage.roots.beside(root):
            if other != top.name:
                yield step.name, f"{root}/../{other}", ABSENT, shown_content(content_at(f"{top.parent}/{other}"))


@dataclass(slots=True)
class PlacedBystanders:
    """The bystanders of one walk: put in place before every call of the operator, looked at after every call."""

    names: Names
    own: Paths  # of this walk alone: no bystander may take a path that the walk itself creates
    known: dict[tuple[str, str], Content] = field(default_factory=dict)  # by root and path: the content of a bystander
    modes: dict[tuple[str, str], int] = field(default_factory=dict)  # the mode of each
    folders: set[tuple[str, str]] = field(default_factory=set)  # that were made for bystanders
    harmed: tuple[str, str, str, str] | None = None
    strayed: tuple[str, str, str, str] | None = None  # the first thing that a call left beside a root
    _edits: int = 0  # edits by the harness, so far

    def before(self, stage: ConversationContext, step: CallStep) -> None:
        """Put bystanders beside every path that exists or may be made; changes by the harness are no harm."""
        if self._edits != stage.edits:
            self._edits = stage.edits
            self._look_again(stage)
        if self.names.contract.owns(step.operator):
            for root in named_roots(step.inputs) & self.names.paths.keys():
                self._place(root, str(stage.roots.path(root)))

    def after(self, stage: ConversationContext, step: CallStep) -> None:
        """Note the first bystander that a call changed, and the first thing that it left outside its root."""
        if self.strayed is None:
            self.strayed = next(_left_beside(stage, step), None)
        for root, path, was, now in self._look_again(stage):
            if self.harmed is None and not is_matched(path, self.names.contract.bystanders.owned):
                self.harmed = (step.name, f"{root}/{path}", was, now)

    def _look_again(self, stage: ConversationContext) -> list[tuple[str, str, str, str]]:
        """The bystanders that changed: root, path, old and new content or mode. The new state becomes the known one."""
        changed = []
        tops = {root: str(stage.roots.path(root)) for root in dict.fromkeys(root for root, _ in self.known)}
        # Every file is read, because a write through a memory mapping may leave the time stamps unchanged.
        for (root, path), was in list(self.known.items()):
            place, earlier = f"{tops[root]}/{path}", self.modes[root, path]
            now, mode = _looked_at(place)
            self.modes[root, path] = mode
            if now != was:
                self.known[root, path] = now
                if now == ABSENT:
                    del self.known[root, path]
                changed.append((root, path, shown_content(was), shown_content(now)))
            elif mode != earlier:
                changed.append((root, path, f"mode {earlier:04o}", f"mode {mode:04o}"))
        return changed

    def without_bystanders(self, root: str, tree: Mapping[str, Any], alone: Mapping[str, Any]) -> dict[str, Any]:
        """A tree without bystanders and without the folders that were made for them alone."""
        own = {readable_name(path) for at, path in self.known if at == root}
        made = {path for at, path in self.folders if at == root and path not in alone}
        return {
            path: entry
            for path, entry in tree.items()
            if path not in own | made and own.isdisjoint(_folders_above(path))
        }

    def _place(self, name: str, root: str) -> None:
        room = _PLACED - sum(1 for at, _ in self.known if at == name)
        own, ready = self.own.get(name, frozenset()), dict[str, bool]()
        # Paths that exist now come first, then those that exist in other cases.
        for path in sorted(self.names.paths[name], key=lambda path: (not os.path.lexists(f"{root}/{path}"), path)):
            if room <= 0:
                return
            original: Content | None = None
            folder = path.rpartition("/")[0]
            for other in self.names.near_names(name, path):
                if room <= 0 or (name, other) in self.known or other in own or os.path.lexists(f"{root}/{other}"):
                    continue
                if folder not in ready:
                    ready[folder] = self._folder(name, root, other)
                if not ready[folder]:
                    break
                original = content_at(f"{root}/{path}") if original is None else original
                if (put := _put_bystander(root, path, original, other)) is not None:
                    self.known[name, other], self.modes[name, other] = put, _looked_at(f"{root}/{other}")[1]
                    room -= 1

    def _folder(self, name: str, root: str, path: str) -> bool:
        """Whether the folder of a bystander exists or can be made."""
        said = self.names.contract.bystanders
        for part in reversed(_folders_above(path)):
            place = f"{root}/{part}"
            if os.path.isdir(place) and not os.path.islink(place):
                continue
            if os.path.lexists(place):
                return False
            if any(is_matched(one, patterns) for one in (part, f"{part}/") for patterns in (said.none, said.owned)):
                return False  # what the operator makes there itself is a file
            os.mkdir(place)
            self.folders.add((name, part))
        return True


def _put_bystander(root: str, path: str, original: Content, other: str) -> Content | None:
    """The content put at another path beside an original; None if the file system refuses the name or link."""
    place = f"{root}/{other}"
    try:
        if other in (f"{path}{_TWIN}", f"{path}{_HARD}"):
            if not (isinstance(original, bytes) or str(original).startswith(FILE)):
                return None
            if other.endswith(_HARD):
                os.link(f"{root}/{path}", place, follow_symlinks=False)
                return original
            os.symlink(os.path.basename(path), place)
            return f"{LINK}{os.path.basename(path)}"
        most = _MOST if isinstance(original, bytes) else _MOST_NAMES
        return copied(OTHERS if isinstance(original, str) or len(original) > most else original, place)
    except OSError:
        return None


def _looked_at(path: str) -> tuple[Content, int]:
    """The content and the mode of a bystander; the mode of a hard link is 0, because it may lead to an own file."""
    content, mode = content_and_mode(path)
    return content, 0 if path.endswith(_HARD) else mode


def is_matched(path: str, patterns: Mapping[str, str]) -> bool:
    """Whether a pattern fits a path; `[0-9]{20}` in one means twenty digits, so that no near miss fits by chance."""
    return any(fnmatchcase(path, written_out(pattern)) for pattern in patterns)


@cache
def written_out(pattern: str) -> str:
    """A pattern as fnmatch reads it: a counted class is repeated."""
    return _TIMES.sub(lambda one: one[1] * int(one[2]), pattern)


def _folders_above(path: str) -> list[str]:
    """The folders of a path below its root, the nearest first."""
    return [path[:at] for at in range(len(path) - 1, 0, -1) if path[at] == "/"]


def one_of_each_group(cases: Sequence[Case], most: int) -> list[Case]:
    """Up to `most` cases of different groups, chosen by their digests, so that rules of one group alone are tested.

    A large case is chosen only if all are large.
    """
    first: dict[str, Case] = {}
    for case in sorted([case for case in cases if not is_large(case)] or cases, key=lambda case: case.digest):
        first.setdefault(case.group, case)
    return list(first.values())[:most]


def is_large(case: Case) -> bool:
    """Whether a case has many steps, or a value too long to be written out: to take it again and again costs much."""
    return len(case.steps) > _MANY or any(
        holds_recipe(step.inputs if isinstance(step, CallStep) else dict(step.body))
        for step in case.steps
        if isinstance(step, CallStep | FileStep)
    )


def with_harness_reads(steps: Sequence[Step], decode: Mapping[str, str]) -> tuple[Step, ...]:
    """The steps of a case with a look at every whole root at the end and none before."""
    reads = (TreeStep(root, ".", decode) for root in roots_in(steps))
    return (*(step for step in steps if not isinstance(step, TreeStep)), *reads)


def roots_in(steps: Sequence[Step]) -> list[str]:
    """The names of the roots that frozen steps mention."""
    return sorted({name for step in steps for name in _roots(step)})


def _roots(step: Step) -> Iterator[str]:
    if isinstance(step, CallStep):
        yield from named_roots(step.inputs)
    elif isinstance(step, FileStep):
        yield from (step.body[key] for key in ("root", "target_root") if key in step.body)
    elif isinstance(step, TreeStep):
        yield step.root


ANSWER: Final = "with files of others beside its own the same steps got another answer"
LEFT: Final = "with files of others beside its own the same steps left other files"
HARMED: Final = "a file of others, beside the operator's own, did not stay what it was"
REUSED: Final = "in a root at the path of an earlier case's the same steps got another answer or left other files"
STRAYED: Final = "a call left something outside its root, in the folder above"


@dataclass(frozen=True, slots=True)
class AmongBystanders:
    """Asks the cases of an operator alone, then each once more among bystanders, all at the same paths.

    So it also finds backends that remember a file by its path.
    """

    codebook: Codebook
    dialect: Dialect
    contract: Contract

    def judge(self, check: Check, traces: Sequence[Sequence[Step]]) -> Talk[Result]:
        """A failure if a walk among bystanders differs from the walk alone or harms a bystander, else a pass."""
        alone: list[Transcript] = []
        walked: list[Paths] = []
        seen: dict[str, Counter[str]] = {}
        for steps in traces:
            watch = PathCollector({})
            alone.append((yield from exchanges(steps, self.codebook, self.dialect, watch=watch)))
            walked.append({root: frozenset(found) for root, found in watch.seen.items()})
            for root, found in watch.seen.items():
                seen.setdefault(root, Counter()).update(found)
        # What one case alone has is often a bystander itself, or in the way on purpose.
        least = min(2, sum(any(one.values()) for one in walked))
        paths = {root: frozenset(path for path in found if found[path] >= least) for root, found in seen.items()}
        names = Names(self.contract, paths)
        placed = 0
        places: dict[str, Path] = {}
        for steps, before, own in zip(traces, alone, walked, strict=True):
            crowd = PlacedBystanders(names, own)
            held = yield from exchanges(steps, self.codebook, self.dialect, watch=crowd, places=places)
            placed += len(crowd.known)
            if (wrong := self._wrong(check, steps, before, held, crowd)) is not None:
                if wrong.message not in (ANSWER, LEFT):
                    return wrong
                crowd = PlacedBystanders(names, own)
                held = yield from exchanges(steps, self.codebook, self.dialect, watch=crowd)
                again = self._wrong(check, steps, before, held, crowd)
                return replace(wrong, message=REUSED) if again is None else again
        if not placed:
            return unjudged(check, "no bystander could be put beside any file of the cases")
        return Result(check, Verdict.PASS)

    def _wrong(
        self, check: Check, steps: Sequence[Step], alone: Transcript, among: Transcript, crowd: PlacedBystanders
    ) -> Result | None:
        for found, message in ((crowd.strayed, STRAYED), (crowd.harmed, HARMED)):
            if found is not None:
                step, path, was, now = found
                return Result(check, Verdict.FAIL, "result", step, message, Difference(path, was, now))
        both = self._silent(alone), self._silent(among)
        if (parted := walk_failure(check, (), *both, ANSWER)) is not None:
            return parted
        for name, look in looks(steps):
            before = alone.trees.get(name, {})
            after = crowd.without_bystanders(look.root, among.trees.get(name, {}), before)
            if (wrong := tree_failure(check, look, name, before, after, LEFT)) is not None:
                return wrong
        return None

    def _silent(self, held: Transcript) -> Transcript:
        """A walk without the outputs that may mention bystanders."""
        told = self.contract.bystanders.told
        return replace(held, exchanges=tuple(_without(exchange, told) for exchange in held.exchanges))


def _without(exchange: Exchange, outputs: Mapping[str, str]) -> Exchange:
    observed = exchange.observed
    if not isinstance(observed, ObservedResult):
        return exchange
    left = {name: value for name, value in observed.fields.items() if name not in outputs}
    return replace(exchange, observed=ObservedResult(left, observed.handles))
