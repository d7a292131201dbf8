"""The challenge of a certification: checks that depend on its nonce, beside the fuzzing with that nonce as seed.

A backend that is a table of all public answers fails them: the reference answers calls during the run that the
author of the backend could not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.trial.challenge.challenge import fuzz_again, fuzz_calls, fuzz_long_runs, long_runs, takes_files
from conformance.trial.challenge.laws import fuzz_laws
from conformance.trial.check import Check, Kind, Result
from conformance.trial.fuzz import Fuzzing, FuzzTask
from conformance.vectors.case import Case

Way = Callable[[FuzzTask], tuple[Result, Mapping[str, Any]]]
UNFORESEEN: Final = "unforeseen"  # the figure that counts what no earlier run asked


def challenges_of(contract: Contract, cases: Sequence[Case]) -> Iterator[Fuzzing]:
    """The challenges of one operator, or of one machine; none for the operations of a machine."""
    if contract.purity == "pure" or contract.own_machine is not None:
        why = "Asked a second time, calls that were drawn for this run get the same right answers."
        yield _way(contract, "again", why, fuzz_again)
    if takes_files(contract):
        why = "Answers and files equal the reference's where the inputs of frozen cases were changed."
        yield _way(contract, "calls", why, fuzz_calls)
    if contract.laws:
        yield _way(contract, "laws", "The laws are true with parameters that were drawn for this run.", fuzz_laws)
    if long_runs(cases):
        why = "Long runs with new inputs and seeds come to the reference's running hashes."
        yield _way(contract, "series", why, fuzz_long_runs)


def _way(contract: Contract, name: str, why: str, challenge: Way) -> Fuzzing:
    check = Check(f"{contract.operator}?{name}", Kind.FUZZ, contract.operator, name, why, (), ())
    return Fuzzing(check, contract, challenge, check.id)


def newly_asked_share(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """By operator, how many calls of its challenge no earlier run asked, from the figures of a record."""
    found: dict[str, int] = {}
    for name, counted in figures.items():
        operator = name.partition("?")[0]
        found[operator] = found.get(operator, 0) + int(counted.get(UNFORESEEN, 0))
    return found
