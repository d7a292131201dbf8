"""The axes of a group and their combinations, each with its slug."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.vectors.draft import Draft, Place
from conformance.vectors.slug import slug

_SUM: Final = re.compile(r"@[a-z0-9_]+(?:[-+*](?:@[a-z0-9_]+|[0-9]+))+")
_PART: Final = re.compile(r"([-+*]?)(@[a-z0-9_]+|[0-9]+)")


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


def substituted(value: Any, combination: Combination) -> Any:
    """A step, or the words of a case, with every `@axis` in it replaced by what the combination chose on that axis, and
    every `@axis+1`, `@axis-1`, `@axis*@axis` by the number that it comes to, from left to right."""
    chosen = {choice.path: choice.value for choice in combination.choices if choice.path.startswith("@")}
    return _substituted(value, chosen) if chosen else value


def _substituted(value: Any, chosen: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return chosen[value] if value in chosen else _number(value, chosen)
    if isinstance(value, dict):
        return {key: _substituted(part, chosen) for key, part in value.items()}
    if isinstance(value, list):
        return [_substituted(part, chosen) for part in value]
    return value


def _number(text: str, chosen: Mapping[str, Any]) -> Any:
    if not _SUM.fullmatch(text):
        return text
    found = 0
    for operation, word in _PART.findall(text):
        number = chosen.get(word) if word.startswith("@") else int(word)
        if type(number) is not int:
            return text
        found = {"": number, "+": found + number, "-": found - number, "*": found * number}[operation]
    return found
