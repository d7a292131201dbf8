"""Contracts and backends become frozen cases: expanded, derived twice, compared, hashed, written and read back."""
