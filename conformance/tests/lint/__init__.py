"""Lint: rules, their faults, and their messages."""
