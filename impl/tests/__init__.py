"""Tests of the bundled backends."""
