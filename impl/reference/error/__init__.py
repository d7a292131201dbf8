"""The error registry and the record of an error."""
