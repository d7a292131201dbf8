"""The repository: its rooms, its pages, its packages."""
