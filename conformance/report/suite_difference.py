"""In what two states of a suite differ, which certificates lapse between them, and whether the versions say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from conformance.codec.cbor import digest
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.report.certificate.statement import Statement
from conformance.report.certificate.verification import Installed, lapsed, lapses
from conformance.report.verdict import counted
from conformance.vectors.case import CallStep, Case, TreeStep, asked_of
from conformance.vectors.corpus import Corpus
from conformance.vectors.governance import ContractChange, contract_changes, machines_of
from conformance.vectors.lock import Release, release_from, release_of

CALL, EXPECTATION, BOTH, UNKNOWN = "call", "expectation", "call and expectation", "call or expectation"
ADDED, GONE, CHANGED = "added", "gone", "changed"
_SHOWN: Final = 3  # contracts in one sentence


@dataclass(frozen=True, slots=True)
class Edition:
    """A suite at one moment, under the name that the user gave it.

    A release that is known from the lock alone has no cases and no requirements' sentences. `remark` is what its
    reader should know.
    """

    name: str
    release: Release
    corpus: Corpus | None = None
    sentences: Mapping[str, str] = field(default_factory=dict)
    wholes: Mapping[str, str] = field(default_factory=dict)  # digests of the contracts with their prose
    remark: str = ""

    @property
    def contracts(self) -> dict[str, str]:
        """Version and digest of every contract, as in a certificate."""
        return {operator: f"{one.version} {one.digest}" for operator, one in self.release.contracts.items()}

    @property
    def installed(self) -> Installed:
        """The contracts as certificates are held against them."""
        return Installed(self.contracts, machines_of(self.release))

    def cases(self, operators: Iterable[str]) -> dict[str, Case]:
        """The cases of some operators by id, as far as they are known."""
        known = self.corpus.cases if self.corpus is not None else {}
        return {case.id: case for operator in operators for case in known.get(operator, ())}


def edition_of(name: str, library: Library, corpus: Corpus, locked: Mapping[str, object]) -> Edition:
    """The edition of files that are there; `locked` are the contracts of their lock."""

    def made() -> dict[str, Any]:
        rows = [row for page in library.requirements.values() for row in page.requirements]
        release = release_of(library, corpus, "")
        wholes = {operator: digest(contract.source.value) for operator, contract in library.contracts.items()}
        return {"release": asdict(release), "sentences": {row.id: row.text for row in rows}, "wholes": wholes}

    # All contracts and cases of the bundled suite take 6 s to read, and an edition is often asked for again.
    digests = [files_digest(library.contracts), files_digest(corpus.cases)]
    key = digest_of_texts(digests) if all(digests) else ""
    plain = open_cache("report").get_or_make("edition", key, made)
    release = release_from(plain["release"])
    is_built = release.contracts == locked
    remark = "" if is_built else f"{name} was edited since `tally vectors build`, which may change more vectors"
    return Edition(name, release, corpus, plain["sentences"], plain["wholes"], remark)


@dataclass(frozen=True, slots=True)
class RequirementChange:
    """One row of the requirements that was added, is gone, or changed in `parts`: its sentence, its checks."""

    id: str
    how: str
    parts: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class CertificateLapse:
    """One certificate file: its operators, those that lapse with a reason, and those that lapsed in OLD already."""

    place: str
    operators: tuple[str, ...]
    lapsing: Mapping[str, str]
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuiteDifference:
    """Everything that differs between two editions."""

    old: str
    new: str
    contracts: tuple[ContractChange, ...]
    changed: Mapping[str, str]  # what changed in a case that is in both: CALL, EXPECTATION, BOTH or UNKNOWN, by id
    tested: Mapping[str, tuple[str, ...]]  # the requirements of the cases that are not the same, by operator
    requirements: tuple[RequirementChange, ...]
    lapsing: Mapping[str, str]  # the operators of OLD whose certificates lapse, with a reason
    operators: int  # in OLD
    reworded: tuple[str, ...] = ()  # contracts in which only prose differs
    certificates: tuple[CertificateLapse, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[ContractChange, ...]:
        """The contracts whose version is not as governance asks."""
        return tuple(change for change in self.contracts if not change.is_granted)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        if self.refused:
            some = "; ".join(f"{one.operator}: {one.wanted}" for one in self.refused[:_SHOWN])
            more = f"; and {len(self.refused) - _SHOWN} more" if len(self.refused) > _SHOWN else ""
            return f"NOT AS GOVERNANCE ASKS: {some}{more}"
        if self.contracts:
            return f"AS GOVERNANCE ASKS: {counted(len(self.contracts), 'changed contract')}, every version is right"
        if self.requirements:
            return "AS GOVERNANCE ASKS: requirements changed, no contract and no vector did"
        if self.reworded:
            return "AS GOVERNANCE ASKS: only prose changed, for which no version has to rise"
        return "NO DIFFERENCE in contracts, vectors and requirements"

    @property
    def vectors(self) -> str:
        """How many cases were added, are gone and changed."""
        added, gone = (sum(len(getattr(one, name)) for one in self.contracts) for name in ("added", "removed"))
        kinds = Counter(self.changed.values())
        how = ", ".join(f"{kinds[kind]} in {kind}" for kind in (CALL, EXPECTATION, BOTH, UNKNOWN) if kinds[kind])
        return f"{added} added, {gone} gone, {len(self.changed)} changed{f' ({how})' if how else ''}"


def difference_of(old: Edition, new: Edition, certificates: Sequence[tuple[str, Statement]] = ()) -> SuiteDifference:
    """Compare two editions; the certificates are statements with the names of their files."""
    changes = contract_changes(old.release, new.release)
    names = [change.operator for change in changes]
    then, now = old.cases(names), new.cases(names)
    cases = {id_: (then.get(id_), now.get(id_)) for change in changes for id_ in _touched(change)}
    operators = sorted(old.release.contracts.keys() - machines_of(old.release).keys())
    return SuiteDifference(
        old.name,
        new.name,
        changes,
        {id_: _kind(*cases[id_]) for change in changes for id_ in change.changed},
        {change.operator: _tested(cases[id_] for id_ in _touched(change)) for change in changes},
        tuple(_rows(old, new)),
        lapses(operators, old.contracts, new.installed),
        len(operators),
        tuple(_reworded(old, new)),
        tuple(_lapse(place, statement, old, new) for place, statement in certificates),
        tuple(filter(None, (old.remark, new.remark))),
    )


def _reworded(old: Edition, new: Edition) -> Iterator[str]:
    for operator in sorted(old.wholes.keys() & new.wholes.keys()):
        is_same = old.release.contracts[operator].digest == new.release.contracts[operator].digest
        if is_same and old.wholes[operator] != new.wholes[operator]:
            yield operator


def _touched(change: ContractChange) -> Iterator[str]:
    yield from (*change.added, *change.removed, *change.changed)


def _kind(old: Case | None, new: Case | None) -> str:
    if old is None or new is None:
        return UNKNOWN
    asks, expects = _asked(old) != _asked(new), _expected(old) != _expected(new)
    return BOTH if asks and expects else CALL if asks else EXPECTATION


def _asked(case: Case) -> object:
    if case.accumulation is not None:
        return replace(case.accumulation, checkpoints=())
    return [asked_of(step) for step in case.steps]


def _expected(case: Case) -> object:
    if case.accumulation is not None:
        return case.accumulation.checkpoints
    return [step.expected for step in case.steps if isinstance(step, CallStep | TreeStep)]


def _tested(cases: Iterable[tuple[Case | None, Case | None]]) -> tuple[str, ...]:
    return tuple(sorted({id_ for pair in cases for case in pair if case is not None for id_ in case.requirements}))


_PARTS: Final = ("sentence", "checks")  # in the order of their digests


def _rows(old: Edition, new: Edition) -> Iterator[RequirementChange]:
    then, now = old.release.requirements, new.release.requirements
    for id_ in sorted(then.keys() | now.keys()):
        if id_ not in now:
            yield RequirementChange(id_, GONE, (), old.sentences.get(id_, ""))
        elif id_ not in then:
            yield RequirementChange(id_, ADDED, (), new.sentences.get(id_, ""))
        elif then[id_] != now[id_]:
            pairs = zip(_PARTS, then[id_].split(), now[id_].split(), strict=False)
            parts = tuple(name for name, before, after in pairs if before != after)
            yield RequirementChange(id_, CHANGED, parts, new.sentences.get(id_, ""))


def _lapse(place: str, statement: Statement, old: Edition, new: Edition) -> CertificateLapse:
    before = tuple(sorted(lapsed(statement, old.installed)))
    return CertificateLapse(place, statement.operators, lapsed(statement, new.installed), before)
