"""Suites of other people."""
