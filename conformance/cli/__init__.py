"""`tally`: one small module per command, imported when it is asked for."""
