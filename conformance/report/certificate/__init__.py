"""Certificates: a signed statement about one record, the tested artifact, and the checks of a verifier."""
