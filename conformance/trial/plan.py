"""The plan of a run: every check that a profile asks for, and the conversation that tries it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.backend.driver import Conversation
from conformance.codec.codebook import Codebook
from conformance.codec.framing import DIALECTS
from conformance.contract.family import LawDeclaration
from conformance.contract.library import Library
from conformance.contract.model import Contract, LawUse
from conformance.contract.source import MalformedContract, Problem
from conformance.trial.cases import CaseRunner, check_of
from conformance.trial.check import Check, Kind, Result, Verdict
from conformance.trial.options import PROFILES, RunOptions
from conformance.vectors.case import CallStep
from conformance.vectors.corpus import Corpus, outline_of

# Laws, behaviour, fuzzing and crash testing cost 100 ms to import, and a quick run does without them.
if TYPE_CHECKING:
    from conformance.trial.crash.workload import CrashWorkload
    from conformance.trial.fuzz import Fuzzing
    from conformance.trial.law import Instance, Law


@dataclass(frozen=True, slots=True)
class Trial:
    """The checks that one conversation tries, all of one operator."""

    checks: tuple[Check, ...]
    conversation: Conversation[Sequence[Result]]
    calls: tuple[CallStep, ...] = ()  # of a frozen case

    @property
    def operator(self) -> str:
        """The operator on trial."""
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

    @property
    def contracts(self) -> list[Contract]:
        """Every contract by its operator's name."""
        return [contract for _, contract in sorted(self.library.contracts.items())]

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial of the profile but fuzzing, which needs the reference beside the backend."""
        return (*self.case_trials(self.case_ids), *self.rule_trials)

    @cached_property
    def case_ids(self) -> tuple[str, ...]:
        """The ids of the profile's cases, which are known before a case is read."""
        outlines = (outline_of(self.corpus.cases, operator) for operator in self.corpus.cases)
        return tuple(id_ for some in outlines for id_, profile in some if self.options.includes(profile))

    def case_trials(self, ids: Collection[str]) -> Iterator[Trial]:
        """The trials of these cases; an operator of which none is asked for is not read."""
        runner, wanted = CaseRunner(self.codebook, DIALECTS[self.options.wire]), frozenset(ids)
        for operator in self.corpus.cases:
            if any(id_ in wanted for id_, _ in outline_of(self.corpus.cases, operator)):
                for case in self.corpus.cases[operator]:
                    if case.id in wanted:
                        conversation = replace(runner.conversation(case), in_step=self._pure(case.operators))
                        yield Trial((check_of(case),), conversation, case.calls)

    @cached_property
    def rule_trials(self) -> tuple[Trial, ...]:
        """The trials of behaviour and laws."""
        if not self.options.includes("standard"):
            return ()
        from conformance.trial.behaviour import BehaviourRules, behaviour_check

        dialect = DIALECTS[self.options.wire]
        cases = [case for case in self.corpus if self.options.includes(case.profile)]
        rules = BehaviourRules(self.codebook, dialect)
        trials = [
            Trial(rules.checks(one), conversation)
            for one in self.contracts
            if (conversation := rules.conversation(one, cases)) is not None
        ]
        trials += [
            Trial((behaviour_check(one, "bystanders"),), crowded)
            for one in self.contracts
            if (crowded := rules.among_bystanders(one, cases)) is not None
        ]
        return (*trials, *self._laws())

    @cached_property
    def fuzzed(self) -> tuple[Fuzzing, ...]:
        """The contracts that the profile fuzzes, and how."""
        if not self.options.includes("standard"):
            return ()
        from conformance.trial.fuzz import fuzzings_of

        cases = self.corpus.cases
        ways = [fuzzings_of(contract, cases.get(contract.operator, ())) for contract in self.contracts]
        if self.options.challenge:
            from conformance.trial.challenge import challenges_of

            ways += [challenges_of(contract, cases.get(contract.operator, ())) for contract in self.contracts]
        return tuple(fuzzing for some in ways for fuzzing in some)

    @cached_property
    def workloads(self) -> tuple[CrashWorkload, ...]:
        """The crash workloads, where they are asked for."""
        if not self.options.crash:
            return ()
        from conformance.trial.crash_checks import workloads

        return workloads(self.library, self.codebook)

    @property
    def ids(self) -> Iterator[str]:
        """The ids of every check of the profile."""
        yield from self.case_ids
        for trial in self.rule_trials:
            yield from trial.ids
        yield from (fuzzing.check.id for fuzzing in self.fuzzed)
        yield from (workload.id for workload in self.workloads)

    def whole(self) -> Plan:
        """The plan of the largest profile."""
        return replace(self, options=replace(self.options, profile=PROFILES[-1]))

    def _pure(self, operators: Iterable[str]) -> bool:
        """Whether a conversation keeps no state: it may then restart its processes together with others."""
        return all(name in self.codebook and self.codebook[name].contract.purity == "pure" for name in operators)

    def _laws(self) -> Iterator[Trial]:
        from conformance.trial.law import Tools

        tools = Tools(self.codebook, DIALECTS[self.options.wire])
        for contract in self.contracts:
            for use in contract.laws:
                if not self.options.includes(use.profile):
                    continue
                law, declared = _known_law(use, self.library)
                for instance in law.instances(tools, use):
                    id_ = f"{contract.operator}#{law.name}::{instance.slug}"
                    kind, operator = Kind.LAW, contract.operator
                    check = Check(id_, kind, operator, law.name, declared.sentence, use.requirements, use.rulings)
                    yield Trial((check,), _law_conversation(check, instance, self._pure({operator, *declared.calls})))


def _known_law(use: LawUse, library: Library) -> tuple[Law, LawDeclaration]:
    from conformance.trial.law import known_laws

    known = known_laws(library.suite)
    for there, hint in ((library.laws, "declare it in laws.yaml"), (known, "add it to LAWS in a module of [suite]")):
        if use.law not in there:
            raise MalformedContract([Problem(use.position, "C004", f"there is no law {use.law!r}", hint)])
    return known[use.law], library.laws[use.law]


def _law_conversation(check: Check, instance: Instance, pure: bool) -> Conversation[Sequence[Result]]:
    from conformance.trial.law import LawBroken

    def start() -> Any:
        try:
            yield from instance.start()
        except LawBroken as broken:
            return [Result(check, Verdict.FAIL, "result", message=broken.message, call=broken.answered())]
        return [Result(check, Verdict.PASS)]

    return Conversation(check.id, start, instance.alone, in_step=pure)
