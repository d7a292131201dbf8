"""The file queue: provider, consumer, and their files."""
