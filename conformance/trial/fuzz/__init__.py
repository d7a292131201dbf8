"""Differential fuzzing: inputs derived from the contract alone, answers held to the reference's."""

from conformance.trial.fuzz.judgement import fuzz_check
from conformance.trial.fuzz.operator import fuzz_operator

__all__ = ["fuzz_check", "fuzz_operator"]
