"""One example of files that are fuzzed: steps before the edits, the edits, and what comes behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.contract.model import Contract
from conformance.trial.fuzz.file_edits import Edit, Sizes
from conformance.trial.fuzz.shrink import Choices, fixed, some_of
from conformance.trial.generator import valid
from conformance.vectors.case import CallStep, Case, FileStep
from conformance.vectors.exchange import AnyStep, Stage
from conformance.vectors.leaf import anywhere


@dataclass(slots=True)
class Snapshots:
    """The regular files of every root before each call of a walk, and all paths behind it, by the call's step."""

    before_calls: dict[str, Mapping[str, Sizes]] = field(default_factory=dict)
    after_calls: dict[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)  # steps

    def before(self, stage: Stage, step: CallStep) -> None:
        """Note what is there before a call."""
        self.before_calls[step.name] = {
            name: {
                path.relative_to(root).as_posix(): path.stat().st_size
                for path in sorted(root.rglob("*"))
                if path.is_file() and not path.is_symlink()
            }
            for name in stage.roots.names
            for root in (stage.roots.path(name),)
        }

    def after(self, stage: Stage, step: CallStep) -> None:
        """Note what is there behind a call."""
        self.after_calls[step.name] = {
            name: frozenset(path.relative_to(root).as_posix() for path in root.rglob("*"))
            for name in stage.roots.names
            for root in (stage.roots.path(name),)
        }


@dataclass(frozen=True, slots=True)
class Example:
    """Steps before the edits, the edits, and what comes behind; `kept` is the case that it was made of."""

    before: tuple[AnyStep, ...]
    edits: tuple[Edit, ...]
    behind: tuple[AnyStep, ...]
    kept: str

    @property
    def steps(self) -> tuple[AnyStep, ...]:
        """All of it as a trace."""
        return (*self.before, *(step for edit in self.edits for step in edit), *self.behind)

    @property
    def simpler(self) -> Choices:
        """The choices of examples with some of the edits, and some statements of a database."""
        edits = some_of([_simpler_edit(edit) for edit in self.edits])
        return edits.map(lambda made: replace(self, edits=tuple(made)))

    @property
    def told(self) -> list[str]:
        """The edits as lines of a contract's trace."""
        steps = (step for edit in self.edits for step in edit)
        return [f"- {{{step.action}: {json.dumps(dict(step.body), ensure_ascii=False)}}}" for step in steps]


def _simpler_edit(edit: Edit) -> Choices:
    if len(edit) == 1 and isinstance(statements := edit[0].body.get("sqlite"), list):
        some, body = some_of([fixed(one) for one in statements]), edit[0].body
        # No statement at all makes no file, nor does one about a table that is gone.
        return some.map(lambda made: (FileStep("put", {**body, "sqlite": valid(made) or statements[:1]}),))
    return fixed(edit)


Base = tuple[Case, Snapshots]


def places_asked(contract: Contract, steps: Sequence[AnyStep], seen: Snapshots) -> list[tuple[int, str]]:
    """The calls of the operator before which there are files, by their number, each with the root of the files."""
    return [
        (k, root)
        for k, step in enumerate(steps)
        if isinstance(step, CallStep) and contract.owns(step.operator)
        for root, files in sorted(seen.before_calls.get(step.name, {}).items())
        if files
    ]


def left_open(contract: Contract, before: Sequence[AnyStep]) -> bool:
    """Whether a call has left what the contract leaves open: an edit behind it may make that count."""
    asked = any(isinstance(step, CallStep) and contract.owns(step.operator) for step in before)
    return bool(contract.fuzz_loose) and asked


def in_use(contract: Contract, edit: Edit, before: Sequence[AnyStep]) -> bool:
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
    return anywhere(value, lambda part: part == path)
