"""Streams, cursors and conductors."""
