"""The operators of canonical CBOR itself."""
