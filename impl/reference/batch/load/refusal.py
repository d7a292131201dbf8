"""Refusals of a database file, with a note for the person who reads them."""

from typing import Final

from impl.failure import ContractFailure, default_failure

OPERATOR: Final = "Batch.LoadDatabase"


def refusal(code: str, why: str) -> ContractFailure:
    """Return a failure with the default record; the reason is a note on the exception, not part of the record."""
    failure = default_failure(code, OPERATOR)
    failure.add_note(why)
    return failure
