"""The operators as people call them: arguments of any usual type, and a sentence with every refusal.

Each module wraps one family of `impl.reference` or `impl.vectorized`, which stay as literal or as fast as they are.
`tallystick` gives these names; import them from there.
"""
