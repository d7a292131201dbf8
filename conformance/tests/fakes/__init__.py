"""Backends that are named for their sin."""
