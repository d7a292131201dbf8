"""Tests of what people import."""
