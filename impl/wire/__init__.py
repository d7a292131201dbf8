"""The wire: JSON-RPC 2.0 messages as JSON lines or as a CBOR sequence, and the values inside them."""
