"""Crash states, and the levels that writers reach."""
