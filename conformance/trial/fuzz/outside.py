"""Paths out of a root: to a folder beside it, above it, from the file system's own root, and through links.

Such a root is made inside another folder, so that the files beside it are known and are removed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.backend.outcome import ObservedFailure
from conformance.contract.model import Contract
from conformance.trial.fuzz.file_edits import Edit, Sizes, file_step
from conformance.vectors.case import Asked, CallStep, FileStep, TreeStep
from conformance.vectors.exchange import AnyStep, Transcript
from conformance.vectors.leaf import is_root
from conformance.vectors.temp_roots import Roots

AROUND: Final = "around"  # the root in which the others lie
_LINK: Final = "out"
_FOLDER: Final = "within"


@dataclass(frozen=True, slots=True)
class WayOut:
    """Steps before the edits, the edits that put something outside, and the call whose path leads there."""

    before: tuple[AnyStep, ...]
    edits: tuple[Edit, ...]
    behind: tuple[AnyStep, ...]

    def is_refused(self, right: object) -> bool:
        """Whether the reference refused it; a contract that lets a path out of the root leaves open where to."""
        made = right.exchanges if isinstance(right, Transcript) else ()
        return bool(made) and made[-1].step == "outside" and isinstance(made[-1].observed, ObservedFailure)


def ways_out(
    contract: Contract,
    steps: Sequence[AnyStep],
    before: Mapping[str, Mapping[str, Sizes]],
    after: Mapping[str, Mapping[str, frozenset[str]]],
    tried: set[tuple[str, str]],
) -> Iterator[WayOut]:
    """For each text of an input that is a path below a root, before or behind its call: the ways out from there.

    `before` and `after` have the files and the paths of every root at each call, by its step; a call that `after` does
    not have is left out. Each operator is asked once for each place of its inputs; `tried` has those that were.
    """
    for k, step in enumerate(steps):
        if not isinstance(step, CallStep) or not contract.owns(step.operator) or step.name not in after:
            continue
        for root in sorted({value["root"] for value in step.inputs.values() if is_root(value)}):
            files = before.get(step.name, {}).get(root, {})
            known = after[step.name].get(root, frozenset()) | files.keys()
            for place, path in _texts(step.inputs):
                if path in known and (step.operator, place) not in tried:
                    tried.add((step.operator, place))
                    earlier = tuple(_nested(one, root) for one in steps[:k] if not isinstance(one, TreeStep))
                    for text, edits in _leading_out(root, path, files):
                        inputs = renamed(step.inputs, path, text)
                        call = _nested(Asked("outside", step.operator, inputs), root)
                        looks = (
                            TreeStep(Roots.within(AROUND, root), ".", contract.fuzz_decode),
                            TreeStep(AROUND, _beside(root), contract.fuzz_decode),
                        )
                        yield WayOut(earlier, edits, (call, *looks))


def renamed(value: Any, path: str, other: str) -> Any:
    """An input in which one text is another."""
    match value:
        case Mapping():
            return {key: renamed(one, path, other) for key, one in value.items()}
        case list():
            return [renamed(one, path, other) for one in value]
    return other if value == path else value


def _beside(root: str) -> str:
    """A folder whose name begins like the root's."""
    return f"{root}2"


def _leading_out(root: str, path: str, files: Sizes) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Paths that lead out of a root, and the edits before each."""
    beside = _beside(root)
    planted = _planted(root, path, files, beside)
    for text in (
        f"../{beside}/{path}",
        f"./../{beside}/{path}",
        f"{Roots.shown(AROUND)}/{beside}/{path}",
    ):
        yield text, planted
    within = (file_step("put", AROUND, path=f"{root}/{_FOLDER}/beside", text=""),)
    yield f"{_FOLDER}/../../{beside}/{path}", (*planted, within)
    if path.partition("/")[0] not in (root, beside):
        yield f"../{path}", (*planted, *_planted(root, path, files, ""))
    yield f"{_LINK}/{path}", (*planted, (_link(f"{root}/{_LINK}", beside),))
    if any(_is_at(path, one) for one in files):
        own = f"{root}/{path}"
        yield path, (*planted, (file_step("delete", AROUND, path=own), _link(own, f"{beside}/{path}")))


def _planted(root: str, path: str, files: Sizes, folder: str) -> tuple[Edit, ...]:
    """The edits that put what is at a path below a root at the same path below a folder beside it."""
    start = f"{folder}/" if folder else ""
    own = [one for one in files if _is_at(path, one)]
    parent = f"{path.rpartition('/')[0]}/".lstrip("/")
    return (
        (file_step("put", AROUND, path=f"{start}{parent}beside", text=""),),
        *((file_step("link", AROUND, path=f"{start}{one}", target=f"{root}/{one}", symbolic=False),) for one in own),
    )


def _is_at(path: str, file: str) -> bool:
    """Whether a file is at a path or below it."""
    return file == path or file.startswith(f"{path}/")


def _link(path: str, target: str) -> FileStep:
    return file_step("link", AROUND, path=path, target=target, symbolic=True)


def _nested(step: AnyStep, root: str) -> AnyStep:
    """A step about a root that lies in another."""
    inner = Roots.within(AROUND, root)
    match step:
        case CallStep() | Asked():
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
