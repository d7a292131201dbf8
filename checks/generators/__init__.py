"""Generators of whole inputs for the fuzzing of the bundled suite."""
