"""Contracts: YAML, expressions, suites, and the errors in them."""
