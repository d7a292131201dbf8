"""Turns YAML text into a `Contract` with types, positions, and compiled guards and postconditions."""
