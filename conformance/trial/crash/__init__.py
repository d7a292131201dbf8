"""Crash tests: record one run of a backend, build the trees that a crash could leave, and let it recover each.

The number of trees is bounded: a bad state is always real, but a clean test is no proof. `docs/crash-testing.md`
describes the models and what they leave out.
"""
