"""Refusals of files, with a note that says where."""

from impl.failure import ContractFailure, default_failure


def refuse(code: str, why: str) -> ContractFailure:
    """Return the failure of LoadDatabase; the note is for people."""
    failure = default_failure(code, "Batch.LoadDatabase")
    failure.add_note(why)
    return failure
