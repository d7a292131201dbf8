"""The axes of a group and their combinations, each with its slug."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.vectors.draft import Draft, Place
from conformance.vectors.slug import slug


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an axis."""

    path: str
    label: str
    value: Any
    place: Place


@dataclass(frozen=True, slots=True)
class Combination:
    """One choice from every axis, in declared order."""

    choices: tuple[Choice, ...] = ()

    @property
    def slug(self) -> str:
        """`rank=1,world_size=4`."""
        return ",".join(choice.label for choice in self.choices)

    def apply(self, draft: Draft) -> None:
        """Set every choice; what is chosen on an axis called `@name` stands in the steps of a trace, by that name."""
        for choice in self.choices:
            if choice.path.startswith("@"):
                continue
            draft.set(choice.path, choice.value, choice.place)


def combinations(axes: Mapping[str, Sequence[Any]], place: Place) -> Iterator[Combination]:
    """The product of the axes, the last one fastest; one empty combination where there is none."""
    lasts = [path.rsplit(".", 1)[-1].removeprefix("@") for path in axes]
    rows = []
    for path, values in axes.items():
        last = path.rsplit(".", 1)[-1].removeprefix("@")
        name = path if lasts.count(last) > 1 else last
        rows.append([_choice(path, name, value, place / path / k) for k, value in enumerate(values)])
    return (Combination(choices) for choices in itertools.product(*rows))


def _choice(path: str, name: str, value: Any, place: Place) -> Choice:
    if isinstance(value, dict) and value.keys() == {"name", "value"}:
        return Choice(path, f"{name}={slug(value['name'])}", value["value"], place / "value")
    return Choice(path, f"{name}={slug(value)}", value, place)
