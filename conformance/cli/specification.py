"""The specification of the suite that a command works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.contract.library import Library
    from conformance.contract.model import Contract
    from conformance.contract.suite import Suite
    from conformance.vectors.corpus import Corpus
    from conformance.vectors.lock import Lock


def specification() -> Library:
    """Every contract, type, error, requirement and ruling; raises MalformedContract, Complaint."""
    from conformance.cli.console import Complaint
    from conformance.cli.suite_option import current_suite
    from conformance.contract.cache import digest_of_texts, open_cache
    from conformance.contract.lazy import files_digest
    from conformance.contract.library import load_library

    suite = current_suite()
    if not suite.spec.is_dir():
        hint = "in a checkout it is beside conformance/, in a wheel inside it: install tallystick again"
        raise Complaint(str(suite.spec), "T009", "the specification is missing", hint)
    library = load_library(suite)
    digest = files_digest(library.contracts)
    checked = digest_of_texts([digest, *suite.backends]) if digest else ""
    if open_cache().get("usable", checked) is not True:
        _known_codes(library)
        _usable_words(library)
        open_cache().put("usable", checked, True)
    return library


def _usable_words(library: Library) -> None:
    """Raise MalformedContract where the words of a contract name or hold what no case can be made of."""
    from conformance.contract.source import MalformedContract
    from conformance.vectors.expand import preflight

    if problems := preflight(library):
        raise MalformedContract(problems)


def _known_codes(library: Library) -> None:
    """Raise MalformedContract where a contract refuses with a code that errors.yaml does not have.

    Here and not where contracts are loaded, so that lint can check faulty copies with such codes by its rule L102.
    """
    from conformance.cli.console import nearest
    from conformance.contract.source import MalformedContract, Path, Problem

    problems = []
    for _, contract in sorted(library.contracts.items()):
        guards = enumerate(contract.source.value["requires"])
        refused: list[tuple[Path, str]] = [(("requires", k, "else"), guard["else"]) for k, guard in guards]
        refused += [(("refuses", k, "code"), one.code) for k, one in enumerate(contract.refuses)]
        for path, code in refused:
            if code not in library.errors:
                position = contract.source.at(path)
                hint = nearest(code, sorted(library.errors), "the codes are in spec/errors.yaml")
                problems.append(Problem(position, "C003", f"unknown failure code {code!r}", hint))
    if problems:
        raise MalformedContract(problems)


def contract_named(library: Library, operator: str) -> Contract:
    """The contract of an operator by its name or the end of it; raises Complaint."""
    from conformance.cli.console import Complaint, nearest

    names = sorted(library.contracts)
    found = [name for name in names if name == operator] or [name for name in names if name.endswith(f".{operator}")]
    if len(found) == 1:
        return library.contracts[found[0]]
    hint = nearest(operator, names, "`tally schema` without an operator lists them")
    raise Complaint(f"operator {operator!r}", "T003", "no contract has this name", hint)


def frozen_vectors(library: Library, least: int = 0) -> Corpus:
    """The corpus, every digest verified; raises Complaint where it is not what was frozen, or below `least` cases."""
    from conformance.cli.console import Complaint, parted
    from conformance.vectors.corpus import CorruptedCorpus, load_corpus

    try:
        corpus = load_corpus(library.suite)
    except CorruptedCorpus as error:
        place, said, hint = parted(str(error))
        raise Complaint(place, "T004", said, hint) from None
    place = library.suite.shown(library.suite.vectors)
    if least and (orphans := sorted(corpus.cases.keys() - library.contracts.keys())):
        hint = "restore the contract, or run `tally vectors build`"
        raise Complaint(place, "T004", f"there are cases of {orphans[0]}, but no contract", hint)
    if len(corpus) < least:
        raise Complaint(
            place, "T004", "there are no vectors here, so nothing can be judged", "run `tally vectors build`"
        )
    return corpus


def read_locked(suite: Suite) -> Lock:
    """What contracts.lock of a suite says; raises Complaint where it cannot be read."""
    from conformance.cli.console import Complaint, parted
    from conformance.vectors.lock import BadLock, read_lock

    try:
        return read_lock(suite)
    except BadLock as error:
        place, message, hint = parted(str(error))
        raise Complaint(place, "T004", message, hint) from None
