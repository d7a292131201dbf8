"""One group of a contract while it is expanded: its words, its axes, and what every kind of group shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.contract.expression import BadExpression, Expression
from conformance.contract.model import Contract, Group
from conformance.contract.parse import names
from conformance.contract.position import Problem
from conformance.vectors.case import Accumulation, HarnessStep
from conformance.vectors.draft import Draft, Place, Unusable
from conformance.vectors.matrix import Combination, combinations
from conformance.vectors.pin import pin_of
from conformance.vectors.question import Asked, Pin, Question


@dataclass(slots=True)
class Expansion:
    """A group under expansion; `problems` collects what is wrong, so that one run names every mistake."""

    contract: Contract
    group: Group
    codebook: Codebook
    problems: list[Problem] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """Where the group stands."""
        return Place(self.contract.source, self.group.path)

    @property
    def body(self) -> Mapping[str, Any]:
        """The group as the contract words it."""
        return self.group.body

    def combinations(self) -> Iterator[Combination]:
        """The combinations of the group's own axes."""
        place = self.place / "matrix"
        axes = {path: self._values(values, place / path) for path, values in self.body.get("matrix", {}).items()}
        return combinations(axes, place)

    def _values(self, values: Any, place: Place) -> Any:
        """The values of an axis; `{damages: FORMAT}` stands for every damage that the format declares."""
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

    def attempt(self, make: Callable[[], Question | None]) -> Iterator[Question]:
        """What `make` answers, or nothing where it notes a problem or leaves the case out."""
        try:
            question = make()
        except Unusable as error:
            if error.problem not in self.problems:
                self.problems.append(error.problem)
            return
        if question is not None:
            yield question

    def each(self, make: Callable[[Combination], Question | None]) -> Iterator[Question]:
        """What `make` answers for every combination of the group's own axes."""
        for combination in self.combinations():
            yield from self.attempt(partial(make, combination))

    def draft(self, body: Mapping[str, Any] | None = None, place: Place | None = None) -> Draft:
        """The group's base (or the one that `body` names), with the group's own `set` and `unset` applied."""
        draft = Draft(self.contract)
        if body is not None and place is not None and "base" in body:
            draft.base(body["base"], place / "base")
        elif "base" in self.body:
            draft.base(self.body["base"], self.place / "base")
        draft.apply(self.body, self.place)
        return draft

    def wanted(self, draft: Draft) -> bool:
        """Whether the group's `where` keeps these inputs."""
        where = self.group.where
        return where is None or draft.holds(where, self.codebook[self.contract.operator].inputs, self.place / "where")

    def expression(self, text: str, place: Place) -> Expression:
        """A CEL condition over the inputs that stands inside the group."""
        try:
            return self.contract.environment.compile(text)
        except BadExpression as error:
            raise place.problem("C004", f"{error.message} in {text!r}", error.hint) from None

    def pin(self, body: Mapping[str, Any], place: Place, operator: str) -> Pin | None:
        """The pin that a case or step holds."""
        return pin_of(body["pin"], place / "pin", self.codebook[operator].contract) if "pin" in body else None

    def question(
        self,
        slug: str,
        steps: tuple[Asked | HarnessStep, ...],
        place: Place,
        body: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Question:
        """A question of this group; a case's own words add to the group's."""
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
            steps=steps,
            **more,
        )

    def accumulated(self, slug: str, accumulation: Accumulation, body: Mapping[str, Any]) -> Question:
        """A question that is one long run of calls."""
        pin = body.get("pin", {})
        return self.question(
            slug,
            (),
            self.place,
            accumulation=accumulation,
            confirm=body.get("confirm", "whole"),
            sha256_pin=pin.get("sha256", ""),
            elements_pin=pin.get("elements"),
        )
