"""From a database to batches: the reference and the NumPy derivation."""
