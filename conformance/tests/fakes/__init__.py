"""Backends that are named for their sin: each runs as `python -S -m conformance.tests.fakes.NAME`."""
