"""Implementations of the contracts, each one a backend."""
