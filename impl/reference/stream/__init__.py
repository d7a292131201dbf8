"""The context stream: tokens in the order of their source, chunk by chunk (seed 003)."""
