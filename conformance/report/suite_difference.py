"""The differences of two states of a suite, the certificates that lapse, and whether the versions follow the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from textwrap import wrap
from typing import Any, Final

from conformance.codec.cbor import digest
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.report.certificate.statement import Statement
from conformance.report.certificate.verification import Installed, lapsed, lapses
from conformance.report.markdown import code, table
from conformance.report.untrusted import one_line
from conformance.vectors.case import CallStep, Case, TreeStep, asked_of
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.governance import ContractChange, Level, contract_changes, machines_of
from conformance.vectors.frozen.lock import Release, release_from, release_of
from conformance.vectors.jsontext import document_text

CALL, EXPECTATION, BOTH, UNKNOWN = "call", "expectation", "call and expectation", "call or expectation"
ADDED, GONE, CHANGED = "added", "gone", "changed"
_NAMED: Final = 3  # contracts in one sentence


@dataclass(frozen=True, slots=True)
class Edition:
    """A suite at one moment, under the name that the user gave it."""

    name: str
    release: Release
    corpus: Corpus | None = None  # a release that is known from the lock alone has none, and no sentences
    sentences: Mapping[str, str] = field(default_factory=dict)  # of the requirements
    wholes: Mapping[str, str] = field(default_factory=dict)  # digests of the contracts, prose included
    remark: str = ""  # for the reader

    @property
    def contracts(self) -> dict[str, str]:
        """Version and digest of every contract, as in a certificate."""
        return {operator: f"{one.version} {one.digest}" for operator, one in self.release.contracts.items()}

    @property
    def installed(self) -> Installed:
        """The contracts with which certificates are compared."""
        return Installed(self.contracts, machines_of(self.release))

    def cases(self, operators: Iterable[str]) -> dict[str, Case]:
        """The known cases of some operators, by id."""
        known = self.corpus.cases if self.corpus is not None else {}
        return {case.id: case for operator in operators for case in known.get(operator, ())}


def edition_of(name: str, library: Library, corpus: Corpus, locked: Mapping[str, object]) -> Edition:
    """The edition of existing files; `locked` are the contracts of their lock."""

    def compute() -> dict[str, Any]:
        rows = [row for page in library.requirements.values() for row in page.requirements]
        release = release_of(library, corpus, "")
        wholes = {operator: digest(contract.source.value) for operator, contract in library.contracts.items()}
        return {"release": asdict(release), "sentences": {row.id: row.text for row in rows}, "wholes": wholes}

    # All contracts and cases of the bundled suite take 6 s to read, and the same edition is often needed again.
    digests = [files_digest(library.contracts), files_digest(corpus.cases)]
    key = digest_of_texts(digests) if all(digests) else ""
    plain = open_cache("report").get_or_make("edition", key, compute)
    release = release_from(plain["release"])
    is_built = release.contracts == locked
    remark = "" if is_built else f"{name} was edited since `tally vectors build`, which may change more vectors"
    return Edition(name, release, corpus, plain["sentences"], plain["wholes"], remark)


@dataclass(frozen=True, slots=True)
class RequirementChange:
    """A requirement row that was added, removed, or changed in `parts` (its sentence, its checks)."""

    id: str
    how: str
    parts: tuple[str, ...] = ()
    sentence: str = ""

    @property
    def in_words(self) -> str:
        """The change in words."""
        return f"{self.how} ({' and '.join(self.parts)})" if self.parts else self.how


@dataclass(frozen=True, slots=True)
class CertificateLapse:
    """One certificate file: its operators, those that lapse with a reason, and those that lapsed in OLD already."""

    place: str
    operators: tuple[str, ...]
    lapsing: Mapping[str, str]
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuiteDifference:
    """All differences between two editions."""

    old: str
    new: str
    contracts: tuple[ContractChange, ...]
    changed: Mapping[str, str]  # what changed in a case of both editions: CALL, EXPECTATION, BOTH or UNKNOWN, by id
    tested: Mapping[str, tuple[str, ...]]  # the requirements of the cases that differ, by operator
    requirements: tuple[RequirementChange, ...]
    lapsing: Mapping[str, str]  # the operators of OLD whose certificates lapse, with a reason
    operators: int  # in OLD
    reworded: tuple[str, ...] = ()  # contracts that differ only in prose
    certificates: tuple[CertificateLapse, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[ContractChange, ...]:
        """The contracts whose version breaks the governance rules."""
        return tuple(change for change in self.contracts if not change.is_granted)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        if self.refused:
            some = "; ".join(f"{one.operator}: {one.advice}" for one in self.refused[:_NAMED])
            more = f"; and {len(self.refused) - _NAMED} more" if len(self.refused) > _NAMED else ""
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
        """The numbers of cases that were added, removed and changed."""
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

    def requirements(change: ContractChange) -> tuple[str, ...]:
        touched = (case for id_ in _touched(change) for case in cases[id_] if case is not None)
        return tuple(sorted({id_ for case in touched for id_ in case.requirements}))

    operators = sorted(old.release.contracts.keys() - machines_of(old.release).keys())
    return SuiteDifference(
        old.name,
        new.name,
        changes,
        {id_: _kind(*cases[id_]) for change in changes for id_ in change.changed},
        {change.operator: requirements(change) for change in changes},
        tuple(_rows(old, new)),
        lapses(operators, old.contracts, new.installed),
        len(operators),
        tuple(_reworded(old, new)),
        tuple(
            CertificateLapse(
                place,
                statement.operators,
                lapsed(statement, new.installed),
                tuple(sorted(lapsed(statement, old.installed))),
            )
            for place, statement in certificates
        ),
        tuple(filter(None, (old.remark, new.remark))),
    )


def _reworded(old: Edition, new: Edition) -> Iterator[str]:
    then, now = old.release.contracts, new.release.contracts
    for operator in sorted(old.wholes.keys() & new.wholes.keys()):
        if then[operator].digest == now[operator].digest and old.wholes[operator] != new.wholes[operator]:
            yield operator


def _touched(change: ContractChange) -> Iterator[str]:
    yield from (*change.added, *change.removed, *change.changed)


def _kind(old: Case | None, new: Case | None) -> str:
    if old is None or new is None:
        return UNKNOWN
    (asked, expected), (asks, expects) = _halves(old), _halves(new)
    return BOTH if asked != asks and expected != expects else CALL if asked != asks else EXPECTATION


def _halves(case: Case) -> tuple[object, object]:
    if case.accumulation is not None:
        return replace(case.accumulation, checkpoints=()), case.accumulation.checkpoints
    expected = [step.expected for step in case.steps if isinstance(step, CallStep | TreeStep)]
    return [asked_of(step) for step in case.steps], expected


def _rows(old: Edition, new: Edition) -> Iterator[RequirementChange]:
    then, now = old.release.requirements, new.release.requirements
    for id_ in sorted(then.keys() | now.keys()):
        sentence = (new if id_ in now else old).sentences.get(id_, "")
        if id_ not in now or id_ not in then:
            yield RequirementChange(id_, ADDED if id_ in now else GONE, (), sentence)
        elif then[id_] != now[id_]:
            pairs = zip(("sentence", "checks"), then[id_].split(), now[id_].split(), strict=False)
            parts = tuple(name for name, before, after in pairs if before != after)
            yield RequirementChange(id_, CHANGED, parts, sentence)


_WIDTH: Final = 80
_WHOLE_WORDS: Final[dict[str, Any]] = {"break_long_words": False, "break_on_hyphens": False}
_SHOWN: Final = 20  # cases and requirements in one list, unless all are asked for


def as_text(difference: SuiteDifference, every: bool = False) -> str:
    """Lines of at most 80 columns; `every` lists all cases."""
    lines = list(_wrapped(f"{difference.old} -> {difference.new}: {difference.sentence}", 0))
    for remark in difference.remarks:
        lines += _wrapped(f"warning: {remark}", 0)
    for label, said in _counts(difference):
        lines += _wrapped(f"{label:<13} {said}", 2, 16)
    for change in difference.contracts:
        lines += ["", *_wrapped(f"{change.operator}  {_versions(change)}", 0)]
        for label, said in _facts(change, difference):
            lines += _wrapped(f"{label:<7} {said}", 4, 12)
        cases = list(_cases(change, difference, every))
        for id_, how in cases if every else cases[:_SHOWN]:
            lines += _wrapped(f"{id_} {how}", 4, 8)
        lines += _hidden(len(cases), every)
    if difference.requirements:
        lines += ["", "requirements"]
        for row in difference.requirements if every else difference.requirements[:_SHOWN]:
            lines += _wrapped(f"{row.id} {row.in_words}{f': {row.sentence}' if row.sentence else ''}", 4, 8)
        lines += _hidden(len(difference.requirements), every)
    if difference.certificates:
        lines += ["", "certificates (their signatures are not looked at; `tally verify` does that)"]
        lines += [line for one in difference.certificates for line in _wrapped(_certificate(one), 4, 8)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: int, further: int | None = None) -> list[str]:
    first, behind = " " * indent, " " * (indent + 4 if further is None else further)
    return wrap(one_line(text), _WIDTH, initial_indent=first, subsequent_indent=behind, **_WHOLE_WORDS)


def _hidden(count: int, every: bool) -> list[str]:
    hidden = count - _SHOWN
    return [f"    and {hidden} more; --cases and --format json show them all"] if hidden > 0 and not every else []


def _counts(difference: SuiteDifference) -> Iterator[tuple[str, str]]:
    yield "vectors", difference.vectors
    hows = [row.how for row in difference.requirements]
    yield "requirements", ", ".join(f"{hows.count(how)} {how}" for how in (ADDED, GONE, CHANGED))
    if difference.reworded:
        yield "prose", f"differs in {', '.join(difference.reworded)}"
    yield "certificates", f"lapse for {len(difference.lapsing)} of {counted(difference.operators, 'operator')}"


def _versions(change: ContractChange) -> str:
    if not change.then:
        successor = f", the successor of {change.predecessor}" if change.predecessor else ""
        return f"new, version {change.now}{successor}"
    if not change.now:
        return f"{change.then}, gone"
    return f"{change.then} -> {change.now}  asked: {_word(change.asked_level)}, given: {_word(change.given_level)}"


def _word(level: Level) -> str:
    return level.name if level else "nothing"


def _facts(change: ContractChange, difference: SuiteDifference) -> Iterator[tuple[str, str]]:
    for reason in change.reasons:
        yield reason.level.name, reason.text
    if not change.then:
        yield "", f"{counted(len(change.added), 'vector')} added"
    if tested := difference.tested.get(change.operator, ()):
        yield "tests", ", ".join(tested)
    if change.operator in difference.lapsing:
        yield "lapsed", f"certificates: {difference.lapsing[change.operator]}"
    if change.advice:
        yield "next", change.advice


def _cases(change: ContractChange, difference: SuiteDifference, added: bool) -> Iterator[tuple[str, str]]:
    """The ids of changed and removed cases with their change; of new ones if `added` is true."""
    yield from ((id_, "is gone") for id_ in change.removed)
    yield from ((id_, f"changed in {difference.changed[id_]}") for id_ in change.changed)
    yield from ((id_, "was added") for id_ in change.added if added)


def _certificate(one: CertificateLapse) -> str:
    if not one.lapsing:
        return f"{one.place}: stays valid for {counted(len(one.operators), 'operator')}"
    before = dict.fromkeys(one.before, "; lapsed before")
    lapsing = [f"{operator} ({why}{before.get(operator, '')})" for operator, why in sorted(one.lapsing.items())]
    rest = len(one.operators) - len(lapsing)
    stay = f"; {counted(rest, 'other operator')} as certified" if rest else ""
    return f"{one.place}: LAPSES for {', '.join(lapsing)}{stay}"


def as_markdown(difference: SuiteDifference, every: bool = False) -> str:
    """A section of a page."""
    blocks = [f"## {code(difference.old)} to {code(difference.new)}", code(difference.sentence)]
    blocks += [f"- warning: {code(remark)}" for remark in difference.remarks]
    blocks.append(table(["", ""], [[label, said] for label, said in _counts(difference)]))
    if difference.contracts:
        rows = []
        for change in difference.contracts:
            reasons = "; ".join(f"{reason.level.name}: {reason.text}" for reason in change.reasons)
            rows.append([code(said) for said in (change.operator, _versions(change), reasons, change.advice)])
        blocks.append(table(["contract", "version", "why", "next"], rows))
    if every and difference.contracts:
        cases = [[code(id_), how] for one in difference.contracts for id_, how in _cases(one, difference, every)]
        blocks.append(table(["case", "what"], cases))
    if difference.requirements:
        rows = [[code(row.id), row.how, " and ".join(row.parts), code(row.sentence)] for row in difference.requirements]
        blocks.append(table(["requirement", "what", "in", "it says"], rows))
    if difference.certificates:
        lapsing = [(one.place, ", ".join(sorted(one.lapsing))) for one in difference.certificates]
        rows = [[code(place), "lapses" if said else "stays", code(said)] for place, said in lapsing]
        blocks.append(table(["certificate", "", "lapses for"], rows))
    return "\n\n".join(blocks) + "\n"


def as_json(difference: SuiteDifference, every: bool = True) -> str:
    """A JSON object with everything."""
    contracts = [
        {
            "operator": change.operator,
            "old_version": change.then or None,
            "new_version": change.now or None,
            "asked": _word(change.asked_level),
            "given": _word(change.given_level),
            "granted": change.is_granted,
            "next": change.advice,
            "predecessor": change.predecessor or None,
            "reasons": [{"level": reason.level.name, "what": reason.text} for reason in change.reasons],
            "vectors": {
                "added": change.added,
                "removed": change.removed,
                "changed": {id_: difference.changed[id_] for id_ in change.changed},
            },
            "requirements": difference.tested.get(change.operator, ()),
        }
        for change in difference.contracts
    ]
    value: dict[str, Any] = {
        "old": difference.old,
        "new": difference.new,
        "governed": not difference.refused,
        "sentence": difference.sentence,
        "contracts": contracts,
        "requirements": [
            {"id": row.id, "what": row.how, "in": row.parts, "says": row.sentence} for row in difference.requirements
        ],
        "reworded": difference.reworded,
        "lapsing": difference.lapsing,
        "certificates": [
            {"file": one.place, "operators": one.operators, "lapsing": one.lapsing, "lapsed_before": one.before}
            for one in difference.certificates
        ],
        "remarks": difference.remarks,
    }
    return document_text(value)


def as_entry(difference: SuiteDifference, tag: str) -> str:
    """An entry of a changelog about a release, in Markdown; before the first release, `old` has no name."""
    lines = [f"## {tag}", ""]
    for change in difference.contracts:
        successor = f", the successor of {code(change.predecessor)}" if change.predecessor else ""
        versions = f"{change.then} to {change.now}" if change.then else f"{change.now}, new{successor}"
        lines.append(f"- {code(change.operator)} {versions}")
        lines += [f"  - {reason.level.name}: {code(reason.text)}" for reason in change.reasons]
        if not change.then:
            lines.append(f"  - {counted(len(change.added), 'vector')}")
    if not difference.old:
        lines.append(f"- {counted(len(difference.requirements), 'requirement')}")
    for row in difference.requirements if difference.old else ():
        lines.append(f"- requirement {code(row.id)} {row.in_words}: {code(row.sentence)}")
    if difference.lapsing:
        lines.append(f"- certificates lapse for {', '.join(map(code, sorted(difference.lapsing)))}")
    return "\n".join(lines) + "\n"
