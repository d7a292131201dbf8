"""Traces walked twice: in two fresh roots, and among files of others that the operator must not touch."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from conformance.backend.driver import Call, Restart
from conformance.backend.outcome import ObservedResult, Outcome
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.model import Contract
from conformance.trial.check import (
    Check,
    Difference,
    FailedCall,
    Result,
    Verdict,
    answer_of,
    faults_apart,
    outcome_name,
    shown,
    tree_apart,
)
from conformance.vectors.case import CallStep, Case, FileStep, Step, TreeStep, label
from conformance.vectors.exchange import Exchange, Stage, Transcript, exchanges
from conformance.vectors.leaf import is_root
from conformance.vectors.temp_roots import fault_of

SAMPLE: Final = 8  # cases per operator; every one is asked twice
Walk = Generator[Sequence[Call] | Restart, Sequence[Outcome], Transcript]


def walks_apart(
    check: Check, steps: Sequence[Step], first: Transcript, second: Transcript, said: str = ""
) -> Result | None:
    """Where the second walk of a trace parts from the first, None where it does not; `said` is the sentence for it."""
    for one, other in zip(first.exchanges, second.exchanges, strict=False):
        if shown(one.observed) != shown(other.observed):
            call = FailedCall(other.operator, other.inputs, answer_of(other.observed))
            where = Difference("answer", shown(one.observed), shown(other.observed))
            outcome = outcome_name(other.observed)
            return Result(check, Verdict.FAIL, outcome, other.step, said or _ANSWER, where, call)
    for number, step in enumerate(steps, start=1):
        if isinstance(step, TreeStep):
            name = label(step, number)
            trees = first.trees.get(name, {}), second.trees.get(name, {})
            if (wrong := tree_apart(check, step, name, *trees, said or _TREE)) is not None:
                return wrong
    return faults_apart(check, first, second, said or _ANSWER)


_ANSWER: Final = "the same steps in a second fresh root got another answer"
_TREE: Final = "the same steps in a second fresh root left other files"


def sample_traces(contract: Contract, cases: Sequence[Case]) -> list[tuple[Step, ...]]:
    """Up to SAMPLE cases of an operator, chosen by their digests, each with a look at every root at its end."""
    quick = [case for case in cases if case.operator == contract.operator and case.profile == "quick" and case.steps]
    chosen = sorted(quick, key=lambda case: case.digest)[:SAMPLE]
    return [(*case.steps, *(TreeStep(root, ".", {}) for root in roots_in(case.steps))) for case in chosen]


def one_of_each_group(cases: Sequence[Case], most: int) -> list[Case]:
    """Up to `most` cases of different groups, chosen by their digests: a rule that is one group's alone is met."""
    first: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: case.digest):
        first.setdefault(case.group, case)
    return list(first.values())[:most]


def with_looks(steps: Sequence[Step], decode: Mapping[str, str]) -> tuple[Step, ...]:
    """The steps of a case with a look at every whole root at the end and none before."""
    looks = (TreeStep(root, ".", decode) for root in roots_in(steps))
    return (*(step for step in steps if not isinstance(step, TreeStep)), *looks)


def roots_in(steps: Sequence[Step]) -> list[str]:
    """The names of the roots that frozen steps mention."""
    return sorted({name for step in steps for name in _roots(step)})


def _roots(step: Step) -> Iterator[str]:
    if isinstance(step, CallStep):
        yield from (value["root"] for value in step.inputs.values() if is_root(value))
    elif isinstance(step, FileStep):
        yield from (step.body[key] for key in ("root", "target_root") if key in step.body)
    elif isinstance(step, TreeStep):
        yield step.root


ANSWER: Final = "with files of others beside its own the same steps got another answer"
LEFT: Final = "with files of others beside its own the same steps left other files"
HARMED: Final = "a file of others, beside the operator's own, did not stay what it was"
_MOST: Final = 1 << 16  # bytes of a file, and names of a folder, that are copied
_PLACED: Final = 180  # bystanders in one root
_SHORT: Final = 40  # characters of a text that may be the name of a file
_LONGEST: Final = 255  # bytes of a name
_TIMES: Final = re.compile(r"(\[[^]]*\])\{([0-9]+)\}")
Judgement = Generator[Sequence[Call] | Restart, Sequence[Outcome], Result]
Paths = Mapping[str, frozenset[str]]  # of every root: what an operator's own cases have in it at some time


def near_misses(path: str) -> Iterator[str]:
    """The names of bystanders for one path, beside it: a suffix, a number, one letter, another case, leftovers."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    stem, dot = (stem, dot) if stem else (name, "")
    ending = ending if dot else ""
    names = [f"{name}.backup", f"{name}~", f"{name}{dot}{ending}", f"{stem}2{dot}{ending}", f"0{name}", name[:-1]]
    names += [f"{head}2{dot}{ending}" for head, mark, _ in (stem.rpartition("_"), stem.rpartition("-")) if mark]
    names += [name.swapcase(), f"x{name}", f"{name} ", f".{name}.tmp", f"{name}.tmp", f"{stem}.tmp"]
    # The leftovers of names that are nearly this one: those of somebody else.
    short = re.sub("[0-9]{2,}", lambda digits: digits[0][1:], name, count=1)
    names += [f".{other}.tmp" for other in (short, f"0{name}", name.swapcase()) if other != name]
    for other in dict.fromkeys(names):
        if other not in ("", ".", "..", name) and len(os.fsencode(other)) <= _LONGEST:
            yield f"{folder}/{other}" if folder else other


@dataclass(frozen=True, slots=True)
class AmongBystanders:
    """Asks the cases of an operator alone, then each once more among bystanders."""

    codebook: Codebook
    dialect: Dialect
    contract: Contract

    def judge(self, check: Check, traces: Sequence[Sequence[Step]]) -> Judgement:
        """Where a walk among bystanders parts from the one alone, or harms one of them; a pass where none does."""
        alone: list[Transcript] = []
        walked: list[Paths] = []
        seen: dict[str, Counter[str]] = {}
        for steps in traces:
            watch = Harvest({})
            alone.append((yield from exchanges(steps, self.codebook, self.dialect, watch=watch)))
            walked.append({root: frozenset(found) for root, found in watch.seen.items()})
            for root, found in watch.seen.items():
                seen.setdefault(root, Counter()).update(found)
        # What one case alone has is often a bystander itself, or in the way on purpose.
        least = min(2, len(traces))
        paths = {root: frozenset(path for path in found if found[path] >= least) for root, found in seen.items()}
        placed = 0
        for steps, before, own in zip(traces, alone, walked, strict=True):
            crowd = Crowd(self.contract, paths, own)
            held = yield from exchanges(steps, self.codebook, self.dialect, watch=crowd)
            placed += len(crowd.known)
            if (wrong := self._wrong(check, steps, before, held, crowd)) is not None:
                return wrong
        if not placed:
            return Result(check, Verdict.ERROR, message="no bystander could be put beside any file of the cases")
        return Result(check, Verdict.PASS)

    def _wrong(
        self, check: Check, steps: Sequence[Step], alone: Transcript, among: Transcript, crowd: Crowd
    ) -> Result | None:
        if crowd.harmed is not None:
            step, path, was, now = crowd.harmed
            return Result(check, Verdict.FAIL, "result", step, HARMED, Difference(path, was, now))
        both = self._silent(alone), self._silent(among)
        if (parted := walks_apart(check, (), *both, ANSWER)) is not None:
            return parted
        last = len(steps) - len(roots_in(steps))
        for number, look in list(enumerate(steps, start=1))[last:]:
            assert isinstance(look, TreeStep)
            name = label(look, number)
            before = alone.trees.get(name, {})
            after = crowd.without_bystanders(look.root, among.trees.get(name, {}), before)
            if (wrong := tree_apart(check, look, name, before, after, LEFT)) is not None:
                return wrong
        return None

    def _silent(self, held: Transcript) -> Transcript:
        """A walk without the outputs that may tell of bystanders."""
        told = self.contract.bystanders.told
        return replace(held, exchanges=tuple(_without(exchange, told) for exchange in held.exchanges))


@dataclass(slots=True)
class Harvest:
    """Notes every path below every root, before and after each call, and the texts of calls that could be one."""

    seen: dict[str, set[str]]

    def before(self, stage: Stage, step: CallStep) -> None:
        """What is there before a call."""
        for name in stage.roots.names:
            root = stage.roots.path(name)
            named = (text for text in step.inputs.values() if isinstance(text, str) and len(text) <= _SHORT)
            self.seen.setdefault(name, set()).update(_below(root), (text for text in named if not fault_of(text)))

    def after(self, stage: Stage, step: CallStep) -> None:
        """What is there after a call."""
        self.before(stage, step)


@dataclass(slots=True)
class Crowd:
    """The bystanders of one walk: put in place before every call of the operator, looked at after every call."""

    contract: Contract
    paths: Paths
    own: Paths  # of this walk alone: no bystander may take a path that the walk itself creates
    known: dict[tuple[str, str], str] = field(default_factory=dict)  # by root and path: what a bystander is
    folders: set[tuple[str, str]] = field(default_factory=set)  # made for them
    harmed: tuple[str, str, str, str] | None = None

    def before(self, stage: Stage, step: CallStep) -> None:
        """Put bystanders beside all that is there or may come; what the harness did to some since is no harm."""
        for (root, path), was in list(self.known.items()):
            now = _look(stage.roots.path(root) / path)
            if now == "absent" and was != now:
                del self.known[root, path]
            else:
                self.known[root, path] = now
        if self.contract.owns(step.operator):
            for root in {value["root"] for value in step.inputs.values() if is_root(value)} & self.paths.keys():
                self._place(root, stage.roots.path(root))

    def after(self, stage: Stage, step: CallStep) -> None:
        """Note the first bystander that a call changed."""
        for (root, path), was in self.known.items():
            now = _look(stage.roots.path(root) / path)
            if now != was and self.harmed is None and not _matches(path, self.contract.bystanders.owned):
                self.harmed = (step.name, f"{root}/{path}", was, now)

    def without_bystanders(self, root: str, tree: Mapping[str, Any], alone: Mapping[str, Any]) -> dict[str, Any]:
        """A tree without them, and without the folders that were made for them alone."""
        own = {path for at, path in self.known if at == root}
        made = {path for at, path in self.folders if at == root and path not in alone}
        return {
            path: entry
            for path, entry in tree.items()
            if path not in own | made and not any(path.startswith(f"{one}/") for one in own)
        }

    def _place(self, name: str, root: Path) -> None:
        # Paths that exist now come first, then those that exist in other cases.
        for path in sorted(self.paths[name], key=lambda path: (not os.path.lexists(root / path), path)):
            original = root / path
            for other in near_misses(path):
                self._put(name, root, other, original)
            if original.is_file() and not original.is_symlink():
                for twin in (f"{path}.twin", f"{path}.hard"):
                    self._put(name, root, twin, original, twin=True)

    def _put(self, name: str, root: Path, path: str, original: Path, twin: bool = False) -> None:
        place = root / path
        full = sum(1 for at, _ in self.known if at == name) >= _PLACED
        taken = path in self.paths[name] or path in self.own.get(name, ())
        if full or (name, path) in self.known or taken or os.path.lexists(place):
            return
        if _matches(path, self.contract.bystanders.none) or not self._folder(name, root, path):
            return
        try:
            if path.endswith(".twin") and twin:
                place.symlink_to(original.name)
            elif twin:
                os.link(original, place, follow_symlinks=False)
            elif original.is_dir() and not original.is_symlink() and len(list(original.rglob("*"))) < _MOST >> 8:
                shutil.copytree(original, place, symlinks=True)
            elif original.is_file() and not original.is_symlink() and original.stat().st_size <= _MOST:
                place.write_bytes(original.read_bytes())
            else:
                place.write_bytes(b"a file of others")
        except OSError:
            return  # a name or a link that this file system does not take
        self.known[name, path] = _look(place)

    def _folder(self, name: str, root: Path, path: str) -> bool:
        """Whether the folder of a bystander is there, or can be made where nothing is in the way."""
        above = path.split("/")[:-1]
        for depth in range(1, len(above) + 1):
            part = "/".join(above[:depth])
            place = root / part
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                return False
            if not place.exists():
                if any(_matches(one, self.contract.bystanders.none) for one in (part, f"{part}/")):
                    return False
                place.mkdir()
                self.folders.add((name, part))
        return True


def _without(exchange: Exchange, outputs: Mapping[str, str]) -> Exchange:
    observed = exchange.observed
    if not isinstance(observed, ObservedResult):
        return exchange
    left = {name: value for name, value in observed.fields.items() if name not in outputs}
    return replace(exchange, observed=ObservedResult(left, observed.handles))


def _matches(path: str, patterns: Mapping[str, str]) -> bool:
    """Whether a pattern fits; `[0-9]{20}` in one means twenty digits, so that no near miss fits by chance."""
    return any(fnmatchcase(path, _TIMES.sub(lambda one: one[1] * int(one[2]), pattern)) for pattern in patterns)


def _below(root: Path) -> Iterator[str]:
    for folder, below, files in os.walk(root):
        for name in (*below, *files):
            yield Path(folder, name).relative_to(root).as_posix()


def _look(path: Path) -> str:
    """A text for what is at a path: equal for equal files, links and folders."""
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        inner = sorted(path.rglob("*"))
        parts = [f"{one.relative_to(path)}={_look(one) if not one.is_dir() else 'dir'}" for one in inner]
        return "dir " + hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    if path.is_file():
        return "file " + hashlib.sha256(path.read_bytes()).hexdigest()
    return "special" if os.path.lexists(path) else "absent"
