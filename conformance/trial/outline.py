"""The ids and laws of a contract's checks, known from the cache before the contract and its cases are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.contract.cache import MISSING, digest_of_texts, open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.model import Contract, LawUse
from conformance.contract.source import Position
from conformance.vectors.case import Case
from conformance.vectors.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Outline:
    """The ids of one contract's checks of behaviour and of fuzzing, and the laws that it names."""

    behaviour: tuple[str, ...]
    fuzzed: tuple[str, ...]
    laws: tuple[LawUse, ...]


def outlines_of(library: Library, corpus: Corpus, codebook: Codebook, challenge: bool) -> Mapping[str, Outline]:
    """The outline of every contract by operator; made now, or by an earlier command over the same files.

    `challenge` adds the challenges of a certification.
    """
    digests = (files_digest(library.contracts), files_digest(corpus.cases))
    key = digest_of_texts((*digests, str(challenge))) if all(digests) else ""
    cache = open_cache("trial")
    plain = cache.get("outlines", key)
    if plain is not MISSING:
        return {operator: _from_plain(rows) for operator, rows in plain.items()}
    cases = corpus.cases
    made = {
        operator: outline_of(contract, cases.get(operator, ()), codebook, challenge)
        for operator, contract in sorted(library.contracts.items())
    }
    cache.put("outlines", key, {operator: _as_plain(outline) for operator, outline in made.items()})
    return made


def outline_of(contract: Contract, cases: Sequence[Case], codebook: Codebook, challenge: bool) -> Outline:
    """The outline of a contract that is read."""
    # A command that finds the outlines in the cache does without these imports.
    from conformance.trial.behaviour import BehaviourRules, behaviour_check
    from conformance.trial.fuzz import fuzzings_of

    rules = BehaviourRules(codebook, DIALECTS["json"])
    behaviour = rules.checks(contract) if rules.conversation(contract, cases) is not None else ()
    if rules.among_bystanders(contract, cases) is not None:
        behaviour = (*behaviour, behaviour_check(contract, "bystanders"))
    fuzzed = fuzzings_of(contract, cases)
    if challenge:
        from conformance.trial.challenge import challenges_of

        fuzzed = (*fuzzed, *challenges_of(contract, cases))
    return Outline(tuple(check.id for check in behaviour), tuple(one.check.id for one in fuzzed), contract.laws)


def _as_plain(outline: Outline) -> list[Any]:
    laws = [
        [use.law, use.over, use.requirements, use.rulings, use.profile, astuple(use.position)] for use in outline.laws
    ]
    return [outline.behaviour, outline.fuzzed, laws]


def _from_plain(rows: Sequence[Any]) -> Outline:
    behaviour, fuzzed, laws = rows
    uses = (
        LawUse(law, over, tuple(requirements), tuple(rulings), profile, Position(*position))
        for law, over, requirements, rulings, profile, position in laws
    )
    return Outline(tuple(behaviour), tuple(fuzzed), tuple(uses))
