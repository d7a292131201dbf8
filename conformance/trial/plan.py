"""The plan of a run: every check that a profile asks for, and the conversation that tries it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.backend.driver import Conversation, Talk
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.family import LawDeclaration
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.model import Contract, LawUse
from conformance.contract.yaml.source import MalformedContract, Position, Problem
from conformance.trial.cases import CaseRunner, check_of
from conformance.trial.check import Check, Kind, Result
from conformance.trial.options import RunOptions
from conformance.vectors.case import CallStep, Case
from conformance.vectors.frozen.corpus import Corpus, outline_of

# Laws, behaviour, fuzzing and crash testing cost 100 ms to import, and a quick run does without them.
if TYPE_CHECKING:
    from conformance.trial.crash.workload import CrashWorkload
    from conformance.trial.fuzz import Fuzzing
    from conformance.trial.law import Instance, Law


@dataclass(frozen=True, slots=True)
class CheckIds:
    """The ids of one contract's checks of behaviour and of fuzzing, and the laws that it names."""

    behaviour: tuple[str, ...]
    fuzzed: tuple[str, ...]
    laws: tuple[LawUse, ...]


def check_ids_of_all(library: Library, corpus: Corpus, codebook: Codebook, challenge: bool) -> Mapping[str, CheckIds]:
    """The check ids of every contract by operator, from the cache where the files have not changed.

    `challenge` adds the challenges of a certification.
    """
    digests = (files_digest(library.contracts), files_digest(corpus.cases))
    key = digest_of_texts((*digests, str(challenge))) if all(digests) else ""


    def plain() -> dict[str, tuple[Any, ...]]:
        return {
            operator: astuple(check_ids_of(contract, corpus.cases.get(operator, ()), codebook, challenge))
            for operator, contract in sorted(library.contracts.items())
        }

    found = open_cache("trial").get_or_make("outlines", key, plain)
    return {operator: _from_plain(rows) for operator, rows in found.items()}


def check_ids_of(contract: Contract, cases: Sequence[Case], codebook: Codebook, challenge: bool) -> CheckIds:
    """The check ids of one contract."""
    # A command that finds them in the cache does without these imports.
    from conformance.trial.behaviour import BehaviourRules
    from conformance.trial.fuzz import fuzzings_of

    rules = BehaviourRules(codebook, DIALECTS["json"])
    behaviour = [check.id for checks, _ in rules.trials(contract, cases) for check in checks]
    fuzzed = [one.check.id for one in fuzzings_of(contract, cases)]
    if challenge:
        from conformance.trial.challenge import challenges_of

        fuzzed += [one.check.id for one in challenges_of(contract, cases)]
    return CheckIds(tuple(behaviour), tuple(fuzzed), contract.laws)


def _from_plain(rows: Sequence[Any]) -> CheckIds:
    behaviour, fuzzed, laws = rows
    uses = (
        LawUse(law, over, tuple(requirements), tuple(rulings), profile, Position(*position))
        for law, over, requirements, rulings, profile, position in laws
    )
    return CheckIds(tuple(behaviour), tuple(fuzzed), tuple(uses))


@dataclass(frozen=True, slots=True)
class Trial:
    """The checks that one conversation tries, all of one operator."""

    checks: tuple[Check, ...]
    conversation: Conversation[Sequence[Result]]
    calls: tuple[CallStep, ...] = ()  # of a frozen case

    @property
    def operator(self) -> str:
        """The operator under test."""
        return self.checks[0].operator

    @property
    def ids(self) -> Iterator[str]:
        """The ids of the checks."""
        return (check.id for check in self.checks)


@dataclass(frozen=True)
class Plan:
    """What a run could try, whether or not a backend declares it."""

    library: Library
    corpus: Corpus
    options: RunOptions
    codebook: Codebook

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial of the profile but fuzzing, which needs the reference beside the backend."""
        return (*self.case_trials(self.case_ids), *self.rule_trials(self.ids))

    @cached_property
    def case_ids(self) -> tuple[str, ...]:
        """The ids of the profile's cases, which are known before a case is read."""
        outlines = (outline_of(self.corpus.cases, operator) for operator in self.corpus.cases)
        return tuple(id_ for some in outlines for id_, profile in some if self.options.includes(profile))

    def case_trials(self, ids: Collection[str]) -> Iterator[Trial]:
        """The trials of these cases; only their operators are read."""
        runner, wanted = CaseRunner(self.codebook, DIALECTS[self.options.wire]), frozenset(ids)
        for operator in self.corpus.cases:
            for case in self.corpus.some(operator, wanted):
                yield Trial((check_of(case),), runner.conversation(case), case.calls)

    def rule_trials(self, ids: Iterable[str]) -> Iterator[Trial]:
        """The trials of behaviour and laws that try any of these checks; other contracts are not read."""
        wanted = frozenset(ids)
        behaving = [name for name, one in self._beside_cases.items() if not wanted.isdisjoint(one.behaviour)]
        if behaving:
            from conformance.trial.behaviour import BehaviourRules

            rules = BehaviourRules(self.codebook, DIALECTS[self.options.wire])
            found = (Trial(*one) for contract, cases in self._read(behaving) for one in rules.trials(contract, cases))
            yield from (trial for trial in found if not wanted.isdisjoint(trial.ids))
        for check, instance, declared in self._laws():
            if check.id in wanted:
                pure = self._pure({check.operator, *declared.calls})
                yield Trial((check,), _law_conversation(check, instance, pure))

    @cached_property
    def fuzzed(self) -> tuple[Fuzzing, ...]:
        """The fuzzings of the profile."""
        return self.fuzzings(self.ids)

    def fuzzings(self, ids: Iterable[str]) -> tuple[Fuzzing, ...]:
        """How these checks fuzz; other contracts are not read."""
        wanted = frozenset(ids)
        chosen = [name for name, one in self._beside_cases.items() if not wanted.isdisjoint(one.fuzzed)]
        if not chosen:
            return ()
        from conformance.trial.fuzz import fuzzings_of

        ways = [one for contract, cases in self._read(chosen) for one in fuzzings_of(contract, cases)]
        if self.options.challenge:
            from conformance.trial.challenge import challenges_of

            ways += [one for contract, cases in self._read(chosen) for one in challenges_of(contract, cases)]
        return tuple(one for one in ways if one.check.id in wanted)

    @cached_property
    def workloads(self) -> tuple[CrashWorkload, ...]:
        """The crash workloads, if the options ask for them."""
        if not self.options.crash:
            return ()
        from conformance.trial.crash.trial import workloads

        return workloads(self.library, self.codebook)

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of every check of the profile."""
        found = list(self.case_ids)
        found += (id_ for one in self._beside_cases.values() for id_ in (*one.behaviour, *one.fuzzed))
        found += (check.id for check, _, _ in self._laws())
        return frozenset((*found, *(workload.id for workload in self.workloads)))

    def _pure(self, operators: Iterable[str]) -> bool:
        """Whether a conversation keeps no state, so that it may restart its processes together with others."""
        return all(name in self.codebook and self.codebook[name].contract.purity == "pure" for name in operators)

    @cached_property
    def _beside_cases(self) -> Mapping[str, CheckIds]:
        """The check ids of the profile that are not cases, by operator."""
        if not self.options.includes("standard"):
            return {}
        options = self.options
        if options.select or options.last_failed:
            return check_ids_of_all(self.library, self.corpus, self.codebook, options.challenge)
        # A run of everything reads every contract anyway, and believes no cache about the list of checks.
        made = ((one, check_ids_of(one, cases, self.codebook, options.challenge)) for one, cases in self._read())
        return {contract.operator: found for contract, found in made}

    def _read(self, operators: Iterable[str] | None = None) -> Iterator[tuple[Contract, Sequence[Case]]]:
        """These contracts, or all, by their operators' names, each with its cases."""
        for name in sorted(self.library.contracts if operators is None else operators):
            yield self.library.contracts[name], self.corpus.cases.get(name, ())

    def _laws(self) -> Iterator[tuple[Check, Instance, LawDeclaration]]:
        if not any(one.laws for one in self._beside_cases.values()):
            return
        from conformance.trial.law import Tools

        tools = Tools(self.codebook, DIALECTS[self.options.wire])
        for operator, found in self._beside_cases.items():
            for use in found.laws:
                if not self.options.includes(use.profile):
                    continue
                law, declared = _known_law(use, self.library)
                for instance in law.instances(tools, use):
                    id_ = f"{operator}#{law.name}::{instance.slug}"
                    about = (declared.sentence, use.requirements, use.rulings)
                    yield Check(id_, Kind.LAW, operator, law.name, *about), instance, declared


def _known_law(use: LawUse, library: Library) -> tuple[Law, LawDeclaration]:
    from conformance.trial.law import known_laws

    known = known_laws(library.suite)
    for there, hint in ((library.laws, "declare it in laws.yaml"), (known, "add it to LAWS in a module of [suite]")):
        if use.law not in there:
            raise MalformedContract([Problem(use.position, "C004", f"there is no law {use.law!r}", hint)])
    return known[use.law], library.laws[use.law]


def _law_conversation(check: Check, instance: Instance, pure: bool) -> Conversation[Sequence[Result]]:
    from conformance.trial.law import judged

    def start() -> Talk[Sequence[Result]]:
        return [(yield from judged(check, instance.start()))]

    return Conversation(check.id, start, instance.alone, in_step=pure)
