"""The operators of the checkpoint family (seed 002)."""
