"""Seed 000: deterministic batches of sample indices."""
