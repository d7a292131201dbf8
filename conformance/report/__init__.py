"""The canonical record of a run, and the writers that turn it into pages for people and machines."""
