"""Checkpoints, containers, runs and their recovery."""
