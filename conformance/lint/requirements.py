"""L401 and L403: every requirement is tested or excluded with a reason, and prose is prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from conformance.contract.coverage import Passage
from conformance.contract.model import Contract
from conformance.contract.position import Position
from conformance.contract.requirement import Requirement
from conformance.lint.finding import Finding
from conformance.lint.reference import check_of, check_text, claimable
from conformance.lint.subject import Subject


class RequirementsTested:
    """Every requirement rests on a check that runs, or is excluded with a reason and claimed by nothing."""

    code, name, level = "L401", "requirements-tested", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Untested requirements, requirements excluded and tested, and ids that stand twice."""
        live = _live(subject)
        claimed = {
            id_: check_text(contract, kind, name)
            for contract in subject.library.contracts.values()
            for kind, name, requirements, _ in claimable(contract)
            for id_ in requirements or ()
        }
        seen: set[str] = set()
        for family in subject.library.requirements.values():
            for row in family.requirements:
                if row.id in seen:
                    yield Finding(row.position, self.code, f"{row.id} stands twice", row.id, "renumber one")
                seen.add(row.id)
                if row.excluded and row.id in claimed:
                    message = f"{row.id} is excluded, but {claimed[row.id]!r} carries it"
                    yield Finding(row.position, self.code, message, row.id, "list its checks instead")
                elif not row.excluded and not any(self._tests(row, text, live) for text in row.checks):
                    message = f"{row.id} is untested: {_why(row)}"
                    hint = "add a group, law or test that carries it, or exclude it with a reason"
                    yield Finding(row.position, self.code, message, row.id, hint)

    def _tests(self, row: Requirement, text: str, live: frozenset[str]) -> bool:
        kind = check_of(text).kind
        if kind == "lint":
            return row.kind == "L"
        if kind == "bench":
            return row.kind == "T"
        return kind == "test" or text in live


def _why(row: Requirement) -> str:
    return "none of its checks runs" if row.checks else "it names no check"


def _live(subject: Subject) -> frozenset[str]:
    """The check strings behind which frozen cases or laws stand."""
    live: set[str] = set()
    for contract in subject.library.contracts.values():
        bearer = contract.machine.name if contract.machine is not None else contract.operator
        groups = {case.group for case in subject.cases.get(bearer, ())}
        for kind, name, _, _ in claimable(contract):
            if kind == "group":
                runs = name in groups
            elif kind == "law":
                runs = name in subject.known_laws
            else:
                runs = bool(groups)
            if runs:
                live.add(check_text(contract, kind, name))
    return frozenset(live)


class ProseIsProse:
    """A purpose, a `why`, a reason for an exclusion and an error message are sentences of at least three words."""

    code, name, level = "L403", "prose-is-prose", "warning"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Explanations that are no sentences, and groups that give the same one."""
        for contract in subject.contracts:
            yield from self._judged(contract.source.at(("purpose",)), "purpose", contract.purpose, contract.operator)
            for refusal in contract.refuses:
                where = f"`when` of refusal {refusal.id!r}"
                yield from self._judged(refusal.position, where, refusal.when, contract.operator)
            yield from self._groups(contract)
        for family in subject.library.requirements.values():
            passages = coverage.passages if (coverage := subject.library.coverage.get(family.family)) else ()
            entries: list[Requirement | Passage] = [*family.requirements, *passages]
            for entry in entries:
                if entry.excluded:
                    yield from self._judged(entry.position, "reason for the exclusion", entry.excluded, family.seed)
        for error in subject.library.errors.values():
            yield from self._judged(error.position, "message", error.message, error.code)

    def _groups(self, contract: Contract) -> Iterator[Finding]:
        said: dict[str, str] = {}
        for group in contract.groups:
            where = contract.source.at((*group.path, "why"))
            yield from self._judged(where, f"why of group {group.name!r}", group.why, contract.operator)
            if group.why in said:
                message = f"groups {said[group.why]!r} and {group.name!r} exist for the same reason"
                yield Finding(where, self.code, message, contract.operator, "say what each one adds, or join them")
            said[group.why] = group.name
            for k, case in enumerate(group.body.get("cases", ())):
                if "why" in case:
                    place = contract.source.at((*group.path, "cases", k, "why"))
                    yield from self._judged(place, f"why of case {case['id']!r}", case["why"], contract.operator)

    def _judged(self, where: Position, what: str, text: str, about: str) -> Iterator[Finding]:
        if not _SENTENCE.match(text.strip()):
            message = f"the {what} is no sentence: {text!r:.60}"
            yield Finding(where, self.code, message, about, "a capital, words, a full stop")
        elif _EMPTY.search(text):
            message = f"the {what} is a placeholder: {text!r:.60}"
            yield Finding(where, self.code, message, about, "say the reason itself")


_SENTENCE: Final = re.compile(r"[^a-z\s.]\S*(?:\s+\S+){2,}[.?]\)?\Z", re.DOTALL)
_EMPTY: Final = re.compile(r"\b(?:TODO|TBD|FIXME|XXX|lorem)\b", re.IGNORECASE)
