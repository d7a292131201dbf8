"""Certificates: a signed statement about one record and one artifact, and how it is verified."""
