"""Tallystick: machine-readable contracts on one side, any implementation on the other, and the verdict between."""

__version__ = "0.1.0"
