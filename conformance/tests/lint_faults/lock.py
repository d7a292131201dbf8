"""Faults against a release: contracts and corpora that changed more than their versions allow, and stale locks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from conformance.lint.rule import LintTarget
from conformance.tests.lint_faults.edits import Fault, put, with_cases, with_contract
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.lock import Lock, LockedContract, lock_of, release
from conformance.vectors.frozen.vector_file import Index


def lock_faults(subject: LintTarget) -> Iterator[Fault]:
    """Every change that a release forbids, and every line of a lock that is out of date."""
    corpus = Corpus(subject.cases, Index({}))
    lock = lock_of(subject.library, corpus, None)
    released = replace(subject, lock=release(subject.library, corpus, "v1.0.0"))
    for contract in subject.contracts:
        operator, cases = contract.operator, subject.cases.get(contract.operator, ())
        older = f"{contract.major - 1}.9.9"
        edits = {"an older version": put(("version",), older), "another text": put(("edge_cases",), [])}
        for name, edit in edits.items():
            yield Fault("L501", f"{operator}: {name}", partial(with_contract, released, contract, edit))
        if cases:
            corpora = {
                "a changed vector": (replace(cases[0], digest="00" * 32), *cases[1:]),
                "a vector less": cases[1:],
                "a group more": (*cases, replace(cases[0], id=f"{operator}::later::x", group="later")),
                "no vectors": (),
            }
            for name, changed in corpora.items():
                yield Fault("L501", f"{operator}: {name}", partial(with_cases, released, operator, changed))
    for operator, locked in lock.contracts.items():
        for name, other in _stale(operator, locked):
            stale = Lock({**{k: v for k, v in lock.contracts.items() if k != operator}, **other}, {})
            only = frozenset({operator}) if other.keys() <= {operator} else None
            yield Fault("L502", f"{operator}: {name}", partial(replace, subject, lock=stale, only=only))


def _stale(operator: str, locked: LockedContract) -> Iterator[tuple[str, Mapping[str, LockedContract]]]:
    yield "not locked", {}
    yield "another digest", {operator: replace(locked, digest="00" * 32)}
    yield "another version", {operator: replace(locked, version="0.0.1")}
    yield "a group more", {operator: replace(locked, groups={**locked.groups, "lost": "00" * 32})}
    yield "a contract more", {operator: locked, f"{operator}0": locked}
