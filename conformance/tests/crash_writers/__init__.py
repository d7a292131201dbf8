"""Small writers with one deliberate mistake each, to try the crash harness on; each runs as a program of its own."""
