"""Crash trials: one recorded run of a backend, every tree that a crash could have left, and what it makes of each.

A bounded set of states is tried, so a clean trial is evidence, no proof: a bad state is always real, a missing one may
exist. `docs/crash-testing.md` says what the models are and what they leave out.
"""
