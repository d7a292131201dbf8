"""L108 to L110: groups have cases and cases have groups, nothing is declared in vain, and names are well formed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from conformance.contract.model import Contract
from conformance.contract.syntax import dotted_names
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject


class GroupsHaveCases:
    """Every group has frozen cases, every frozen case has its group, and each fits the contract's types."""

    code, name, level = "L108", "groups-have-cases", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Groups and cases that have lost each other, and cases that cannot be read."""
        hint = "build the vectors again: tally vectors build"
        for contract in subject.contracts:
            cases = subject.cases.get(contract.operator, ())
            frozen = {case.group for case in cases}
            for group in contract.groups:
                if group.name not in frozen:
                    message = f"group {group.name!r} has no frozen case"
                    yield Finding(group.position, self.code, message, contract.operator, hint)
            for name in sorted(frozen - {group.name for group in contract.groups}):
                message = f"frozen cases of group {name!r}, which the contract does not have"
                yield Finding(contract.position, self.code, message, contract.operator, hint)
            yield from self._misplaced(subject, contract, hint)
        for error in subject.unreadable():
            if error.case.operator in subject.library.contracts:
                position = subject.library.contracts[error.case.operator].position
                message = f"case {error.case.id} does not fit the contract's types: {error.reason}"
                yield Finding(position, self.code, message, error.case.operator, hint)

    def _misplaced(self, subject: Subject, contract: Contract, hint: str) -> Iterator[Finding]:
        groups = {group.name: group for group in contract.groups}
        seen: set[str] = set()
        for case in subject.cases.get(contract.operator, ()):
            position = groups[case.group].position if case.group in groups else contract.position
            if case.id in seen:
                yield Finding(position, self.code, f"two cases are called {case.id}", contract.operator, hint)
            seen.add(case.id)
            if not case.id.startswith(f"{contract.operator}::{case.group}::"):
                message = f"case {case.id} is not named after its operator and group"
                yield Finding(position, self.code, message, contract.operator, hint)


class NamesUsed:
    """Every base and every let of a contract is used somewhere."""

    code, name, level = "L109", "names-used", "warning"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """What is declared in vain."""
        for contract in subject.contracts:
            for name in contract.bases:
                if name not in _named_bases(contract, subject):
                    yield self._finding(contract, ("bases", name), f"no case starts from base {name!r}")
            used = _names_in(contract)
            lets = list(contract.source.value.get("let", {}))
            for name in lets:
                if name not in used:
                    yield self._finding(contract, ("let", name), f"nothing uses let {name!r}")

    def _finding(self, contract: Contract, path: tuple[str, ...], message: str) -> Finding:
        return Finding(contract.source.key_at(path), self.code, message, contract.operator, "use it or remove it")


def _named_bases(contract: Contract, subject: Subject) -> set[str]:
    named: set[str] = set()
    groups = contract.groups
    if contract.machine is not None and contract.machine.name in subject.library.contracts:
        groups = subject.library.contracts[contract.machine.name].groups
    for group in groups:
        for body in (group.body, *group.body.get("cases", ()), *group.body.get("trace", ())):
            if "base" in body:
                named.add(body["base"])
    return named


def _names_in(contract: Contract) -> set[str]:
    texts = [
        *(expression.text for expression in contract.domain),
        *(guard.expression.text for guard in contract.requires),
        *(clause.expression.text for clause in contract.ensures),
        *(edge.when.text for edge in contract.edge_cases),
        *(text.text for variable in contract.state for u in variable.updates for text in (u.when, u.becomes)),
        *(group.where.text for group in contract.groups if group.where),
        *contract.source.value.get("let", {}).values(),
        *contract.mentions.becomes.values(),
    ]
    # A let that holds a map or a struct is used through what follows its dot.
    return {name.split(".")[0] for text in texts for name in dotted_names(text)}


class NamesWellFormed:
    """An operator's number is its MAJOR version, its file bears its name, and fields and lets are snake_case words."""

    code, name, level = "L110", "names-well-formed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Numbers, file names, field names and empty names that break the rule."""
        for contract in subject.contracts:
            at, operator = contract.source.at, contract.operator
            number = re.search(r"_v(\d+)\Z", operator)
            named = int(number[1]) if number else 1
            if named != contract.major:
                message = f"{operator} has version {contract.version}: the operator's number says MAJOR {named}"
                hint = "a new MAJOR is a new operator with a new number"
                yield Finding(at(("version",)), self.code, message, operator, hint)
            file = PurePosixPath(contract.position.file).name
            bearer = contract.machine.name if contract.machine is not None else operator
            if file != f"{bearer}.yaml":
                message = f"{operator} stands in {file}"
                yield Finding(contract.position, self.code, message, operator, f"call the file {bearer}.yaml")
            for key in ("inputs", "outputs", "let"):
                for name in contract.source.value.get(key, {}):
                    if not _WORDS.match(name):
                        message = f"{name!r} is not a snake_case word"
                        where = contract.source.key_at((key, name))
                        yield Finding(where, self.code, message, operator, "lower-case words joined by _")
            yield from self._empty_names(contract)

    def _empty_names(self, contract: Contract) -> Iterator[Finding]:
        named = [
            *((guard.id, guard.position) for guard in contract.requires),
            *((refusal.id, refusal.position) for refusal in contract.refuses),
            *((clause.id, clause.position) for clause in contract.ensures),
            *((edge.id, edge.position) for edge in contract.edge_cases),
            *((clause.id, clause.position) for clause in contract.invariants),
            *((group.name, group.position) for group in contract.groups),
        ]
        for name, position in named:
            if re.sub(r"-?\d+\Z", "", name) in _EMPTY:
                message = f"{name!r} says nothing about what it stands for"
                yield Finding(position, self.code, message, contract.operator, "name it after the behaviour it pins")


_WORDS: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_EMPTY: Final = frozenset(
    {"", "case", "cases", "check", "edge", "ensures", "foo", "group", "guard", "misc", "other", "requires", "rule",
     "sanity", "test", "tests", "tmp", "todo", "various", "vector", "vectors"}
)  # fmt: skip
