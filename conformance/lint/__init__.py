"""Rules over contracts, their requirements and their frozen cases; one class per rule (docs/lint-rules.md)."""
