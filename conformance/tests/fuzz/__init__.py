"""Fuzzing: what is listed, what is drawn, and how examples are shrunk."""
