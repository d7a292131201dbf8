"""Records, reports and certificates."""
