"""The files of a case: where they are, how their content is written and read, and how it is damaged."""
