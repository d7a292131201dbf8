"""The reference with one deliberate mistake, served like any other backend."""


class UnusableMutant(Exception):
    """The mutant does not exist, or its patch cannot be applied."""
