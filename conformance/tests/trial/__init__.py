"""Runs: cases, laws, behaviour rules, verdicts."""
