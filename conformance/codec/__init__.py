"""Values on the wire: JSON and CBOR forms of every type, strict canonical CBOR, digests.

The JSON wire form is also how the harness holds, compares and freezes values: two outcomes are equal exactly when
their JSON wire forms are.
"""
