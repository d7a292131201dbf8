"""Certificates: a signed statement about one record, the artifact that was tried, and who believes it."""
