"""One run as a value: what was tested, what was judged, and the verdict. The record is written from it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from conformance.trial.check import Kind, Result, Verdict


@dataclass(frozen=True, slots=True)
class BackendIdentity:
    """What the backend said of itself, and how it was reached."""

    text: str  # the backend string
    name: str
    version: str
    language: str
    wire: str
    operators: tuple[str, ...]
    sandbox: str = "none"  # what it ran under


@dataclass(frozen=True, slots=True)
class Counts:
    """How many checks each stage had; an empty run is visible at a glance."""

    loaded: int
    selected: int
    not_applicable: int
    expected_to_fail: int
    run: int


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """One entry of an expected-failures file: a check id (or a pattern with *), the reason and the issue."""

    check: str
    reason: str
    issue: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why checks fail: the mutant that explains every failure, the one that answers a single case alike, or none."""

    explained: bool
    single: bool = False  # the mutants answer the one failing case as the backend does: too little to explain it
    mutants: tuple[str, ...] = ()  # one behaviour class
    sentence: str = ""
    requirements: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """The whole run. `results` are sorted by check id; nothing here depends on time, order, host or workers."""

    backend: BackendIdentity
    profile: str
    selection: str
    seed: str
    counts: Counts
    results: tuple[Result, ...]
    unattributed: tuple[str, ...]  # losses of the process that no check repeats alone
    fuzz: Mapping[str, Mapping[str, Any]]  # operator -> examples, succeeded, guards hit
    expected_failures: tuple[ExpectedFailure, ...]
    unexpected_passes: tuple[str, ...]  # listed as failing, but passing
    unmatched_expectations: tuple[str, ...]  # listed, but no such check
    diagnosis: Diagnosis | None
    contracts: Mapping[str, str]  # operator -> version and digest
    vectors: str  # root digest of the corpus
    harness: str  # version
    declarable: int = 0  # operators and machines that a hello can name
    missing: tuple[str, ...] = ()  # required, but not declared
    stopped: int = 0  # the run ended early, after so many failures
    crash: Mapping[str, Mapping[str, Any]] | None = None  # workload -> level reached; None where it was not tried
    obstacles: tuple[str, ...] = ()  # why nothing can be judged: the stand-in was wrong or lost
    unconfirmed: tuple[int, int] = (0, 0)  # vectors that ran, of one implementation alone; of these, by the contract
    observations: Mapping[str, Any] = field(default_factory=dict, compare=False)  # never in the record

    @property
    def tried(self) -> tuple[str, ...]:
        """The operators and machines of which any check was tried, sorted."""
        return tuple(sorted({r.check.operator for r in self.results if r.verdict is not Verdict.NOT_APPLICABLE}))

    @property
    def excused(self) -> frozenset[str]:
        """The ids of failing checks that the expected-failures file lists."""
        patterns = [entry.check for entry in self.expected_failures]
        return frozenset(
            result.check.id
            for result in self.results
            if result.verdict in (Verdict.FAIL, Verdict.ERROR)
            and any(fnmatchcase(result.check.id, pattern) for pattern in patterns)
        )

    @property
    def conformant(self) -> bool:
        """Whether nothing is red: everything that ran passed, or failed as expected, and something ran."""
        bad = [r for r in self.results if r.verdict in (Verdict.FAIL, Verdict.ERROR)]
        return (
            not self.empty
            and all(result.check.id in self.excused for result in bad)
            and not self.unattributed
            and not self.missing
            and not self.unexpected_passes
            and not self.unmatched_expectations
        )

    @property
    def empty(self) -> bool:
        """Whether nothing ran, or nothing can be judged, so that there is no judgement."""
        return self.counts.run == 0 or bool(self.obstacles)

    def count(self, verdict: Verdict, kind: Kind | None = None, operator: str | None = None) -> int:
        """How many results have this verdict, of one kind or operator where given."""
        return sum(
            result.verdict is verdict
            and kind in (None, result.check.kind)
            and operator in (None, result.check.operator)
            for result in self.results
        )
