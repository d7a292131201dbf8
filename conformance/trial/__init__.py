"""Tests of a backend: cases, laws, behaviour, fuzzing, crashes, and the verdict."""
