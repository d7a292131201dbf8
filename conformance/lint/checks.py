"""L106 and L107: requirements.yaml and the contracts say the same about which check carries which requirement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from conformance.lint.finding import Finding
from conformance.lint.reference import Check, check_of, check_text, claimable, requirement_checks
from conformance.lint.subject import Subject


class ChecksResolve:
    """Every check that a requirement names exists in the contract, the rules, the tests or the benchmarks."""

    code, name, level = "L106", "checks-resolve", "error"

    def __init__(self, rules: frozenset[str]) -> None:
        self.rules = rules

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Checks that point at nothing, and checks named twice by one requirement."""
        existing = {
            check_text(contract, kind, name)
            for contract in subject.library.contracts.values()
            for kind, name, _, _ in claimable(contract)
        }
        for family in subject.library.requirements.values():
            for k, row in enumerate(family.requirements):
                for n, text in enumerate(row.checks):
                    where = family.source.at(("requirements", k, "checks", n))
                    reason = self._missing(check_of(text), existing, subject)
                    if reason:
                        message = f"{row.id} rests on {text!r}: {reason}"
                        yield Finding(
                            where, self.code, message, row.id, "correct the check, or bring back what it names"
                        )
                    elif text in row.checks[:n]:
                        yield Finding(where, self.code, f"{row.id} names {text!r} twice", row.id, "remove one")

    def _missing(self, check: Check, existing: set[str], subject: Subject) -> str:
        if check.kind == "lint":
            return "" if check.operator in self.rules else "no such lint rule"
        if check.kind in ("test", "bench"):
            return _missing_document(check, subject)
        if check.operator not in subject.library.contracts:
            return "no such contract"
        return "" if check.text in existing else f"the contract has no such {_WORDS[check.kind]}"


_WORDS = {
    "guard": "guard",
    "refuses": "refusal",
    "ensures": "postcondition",
    "state": "state variable",
    "edge": "edge case",
    "invariant": "invariant",
    "law": "law",
    "group": "group",
    "workload": "workload",
}


def _missing_document(check: Check, subject: Subject) -> str:
    if subject.documents is None:
        return ""
    text = subject.documents.get(check.operator)
    if text is None:
        return "no such file"
    if check.kind == "bench":
        return "" if not check.name or check.name in text else "the benchmark prints no such line"
    last = check.name.rsplit("::", 1)[-1].split("[", 1)[0]
    return "" if last in _defined(text) else "the file has no such test"


@cache
def _defined(text: str) -> frozenset[str]:
    """The names that a file of tests defines; a deletion test asks 1,500 times for the same files."""
    return frozenset(re.findall(r"\b(?:def|class)\s+(\w+)", text))


class ChecksMutual:
    """A check and the requirement that it carries name each other, and no part of a contract is without one."""

    code, name, level = "L107", "checks-mutual", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """One-sided relations between contracts and requirements.yaml, from both sides."""
        claims = requirement_checks(subject.library)
        for contract in subject.contracts:
            for kind, name, requirements, position in claimable(contract):
                text = check_text(contract, kind, name)
                claimed = claims.get(text, set())
                for id_ in sorted(set(requirements or ()) - claimed):
                    message = f"{kind} {name!r} names {id_}, whose row does not name it"
                    yield Finding(
                        position, self.code, message, contract.operator, f"add {text!r} to the checks of {id_}"
                    )
                for id_ in sorted(claimed - set(claimed if requirements is None else requirements)):
                    message = f"{id_} rests on {kind} {name!r}, which does not name {id_}"
                    yield Finding(position, self.code, message, contract.operator, f"add {id_} to its `requirement`")
                if not claimed and not requirements:
                    message = f"no requirement rests on {kind} {name!r}"
                    yield Finding(
                        position, self.code, message, contract.operator, f"name {text!r} in requirements.yaml"
                    )
