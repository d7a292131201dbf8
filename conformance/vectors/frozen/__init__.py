"""Questions become vectors: derived twice, compared, frozen, written, read back, and compared with a release."""
