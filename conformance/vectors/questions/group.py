"""One group of a contract while it is expanded: its keys, its axes and their combinations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.cel.advice import BadExpression
from conformance.contract.cel.expression import Expression
from conformance.contract.model import Contract, Group
from conformance.contract.yaml.source import Problem, names
from conformance.vectors.case import FileStep, HarnessStep, Pin, Question, QuestionCall, slug
from conformance.vectors.compact import with_recipes
from conformance.vectors.draft import Draft, Unusable, YamlPlace, pin_of
from conformance.vectors.leaf import with_texts

_SUM: Final = re.compile(r"@[a-z0-9_]+(?:[-+*](?:@[a-z0-9_]+|[0-9]+))+")
_PART: Final = re.compile(r"([-+*]?)(@[a-z0-9_]+|[0-9]+)")


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an axis."""

    path: str
    label: str
    value: Any
    place: YamlPlace


@dataclass(frozen=True, slots=True)
class Combination:
    """One choice from every axis, in declared order."""

    choices: tuple[Choice, ...] = ()

    @property
    def slug(self) -> str:
        """`rank=1,world_size=4`."""
        return ",".join(choice.label for choice in self.choices)

    def apply(self, draft: Draft) -> None:
        """Set every choice, except those of an axis `@name`: the steps of a trace use these by name."""
        for choice in self.choices:
            if not choice.path.startswith("@"):
                draft.set(choice.path, choice.value, choice.place)


def combinations(axes: Mapping[str, Sequence[Any]], place: YamlPlace) -> Iterator[Combination]:
    """The product of the axes, the last one fastest; one empty combination if there are no axes."""
    lasts = [path.rsplit(".", 1)[-1].removeprefix("@") for path in axes]
    rows = []
    for (path, values), last in zip(axes.items(), lasts, strict=True):
        name = path if lasts.count(last) > 1 else last
        rows.append([_choice(path, name, value, place / path / k) for k, value in enumerate(values)])
    return (Combination(choices) for choices in itertools.product(*rows))


def each_once(axes: Mapping[str, Sequence[Any]], place: YamlPlace) -> Iterator[Combination]:
    """Combinations that use every value of every axis at least once; as many as the longest axis has values."""
    longest = max(map(len, axes.values()), default=0)
    columns = [list(combinations({path: values}, place)) for path, values in axes.items()]
    for k in range(longest):
        yield Combination(tuple(choice for column in columns for choice in column[k % len(column)].choices))
    if not axes:
        yield Combination()


def _choice(path: str, name: str, value: Any, place: YamlPlace) -> Choice:
    if isinstance(value, dict) and value.keys() == {"name", "value"}:
        return Choice(path, f"{name}={slug(value['name'])}", value["value"], place / "value")
    return Choice(path, f"{name}={slug(value)}", value, place)


def substituted(value: Any, combination: Combination) -> Any:
    """A step or case where every `@axis` is replaced by the combination's value on that axis, and every `@axis+1`,
    `@axis-1`, `@axis*@axis` by its number, computed from left to right."""
    chosen = {choice.path: choice.value for choice in combination.choices if choice.path.startswith("@")}
    return with_texts(value, partial(_chosen_value, chosen)) if chosen else value


def _chosen_value(chosen: Mapping[str, Any], text: str) -> Any:
    """The value that a text means: that of an axis, or a number computed from axes; else the text itself."""
    if text in chosen:
        return chosen[text]
    if not _SUM.fullmatch(text):
        return text
    found = 0
    for operation, word in _PART.findall(text):
        number = chosen.get(word) if word.startswith("@") else int(word)
        if type(number) is not int:
            return text
        found = {"": number, "+": found + number, "-": found - number, "*": found * number}[operation]
    return found


@dataclass(slots=True)
class Expansion:
    """A group under expansion; `problems` collects all mistakes, so that one run names every one."""

    contract: Contract
    group: Group
    codebook: Codebook
    problems: list[Problem] = field(default_factory=list)
    each_once: bool = False  # each value of an axis is in one combination, not in all

    @property
    def place(self) -> YamlPlace:
        """The group in its YAML source."""
        return YamlPlace(self.contract.source, self.group.path)

    @property
    def body(self) -> Mapping[str, Any]:
        """The group as the contract words it."""
        return self.group.body

    def combinations(self) -> Iterator[Combination]:
        """The combinations of the group's own axes."""
        place = self.place / "matrix"
        axes = {path: self._values(values, place / path) for path, values in self.body.get("matrix", {}).items()}
        return each_once(axes, place) if self.each_once else combinations(axes, place)

    def _values(self, values: Any, place: YamlPlace) -> Any:
        """The values of an axis; `{damages: FORMAT}` means every damage that the format declares."""
        if not isinstance(values, Mapping):
            return values
        if values["damages"] not in self.codebook.formats:
            known = ", ".join(sorted(self.codebook.formats)) or "none"
            raise place.problem("C015", f"there is no format {values['damages']!r}", f"formats: {known}")
        only, leave = values.get("of", ""), names(values, "except")
        return [
            {"name": edit.replace(" ", "-"), "value": edit}
            for edit in self.codebook.formats[values["damages"]].edits
            if edit.startswith(only) and not any(edit.startswith(one) for one in leave)
        ]

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add the problem that makes a case unusable to `problems`, once, instead of raising it."""
        try:
            yield
        except Unusable as error:
            if error.problem not in self.problems:
                self.problems.append(error.problem)

    def attempt(self, make: Callable[[], Question | None]) -> Iterator[Question]:
        """The question that `make` returns, or nothing if it raises a problem or leaves the case out."""
        question = None
        with self.noting():
            question = make()
        if question is not None:
            yield question

    def for_each(self, make: Callable[[Combination], Question | None]) -> Iterator[Question]:
        """The questions that `make` returns for the combinations of the group's own axes."""
        for combination in self.combinations():
            yield from self.attempt(partial(make, combination))

    def draft(self, body: Mapping[str, Any] | None = None, place: YamlPlace | None = None) -> Draft:
        """The group's base (or the one that `body` names), with the group's own `set` and `unset` applied."""
        draft = Draft(self.contract)
        if body is not None and place is not None and "base" in body:
            draft.base(body["base"], place / "base")
        elif "base" in self.body:
            draft.base(self.body["base"], self.place / "base")
        draft.apply(self.body, self.place)
        return draft

    def is_wanted(self, draft: Draft) -> bool:
        """Whether the group's `where` keeps these inputs."""
        return self.keeps(draft, self.group.where, self.place / "where")

    def keeps(self, draft: Draft, where: Expression | None, place: YamlPlace) -> bool:
        """Whether a condition over the inputs is true; true if there is no condition."""
        if where is None:
            return True
        native = self.codebook[self.contract.operator].inputs.to_native(draft.wire(place))
        return where.holds(self.contract.environment.bind(native))

    def expression(self, text: str, place: YamlPlace) -> Expression:
        """A CEL condition of the group over the inputs."""
        try:
            return self.contract.environment.compile(text)
        except BadExpression as error:
            raise place.problem("C004", f"{error.message} in {text!r}", error.hint) from None

    def pin(self, body: Mapping[str, Any], place: YamlPlace, operator: str) -> Pin | None:
        """The pin of a case or step."""
        return pin_of(body["pin"], place / "pin", self.codebook[operator].contract) if "pin" in body else None

    def question(
        self,
        slug: str,
        steps: tuple[QuestionCall | HarnessStep, ...],
        place: YamlPlace,
        body: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Question:
        """A question of this group; the keys of the case are added to those of the group."""
        own: Mapping[str, Any] = body or {}
        group = self.group
        return Question(
            id=f"{self.contract.operator}::{group.name}::{slug}",
            operator=self.contract.operator,
            group=group.name,
            why=own.get("why", group.why),
            requirements=tuple(dict.fromkeys((*group.requirements, *names(own, "requirement")))),
            rulings=tuple(dict.fromkeys((*group.rulings, *names(own, "ruling")))),
            profile=group.profile,
            position=place.position,
            steps=tuple(map(_frozen_form, steps)),
            **more,
        )


def _frozen_form(step: QuestionCall | HarnessStep) -> QuestionCall | HarnessStep:
    """A step as the vector file has it, with recipes for long texts."""
    match step:
        case QuestionCall():
            return replace(step, inputs=with_recipes(step.inputs))
        case FileStep():
            return replace(step, body=with_recipes(step.body))
    return step
