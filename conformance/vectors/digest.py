"""Digests of JSON wire values: SHA-256 over their canonical CBOR, without prose."""

from __future__ import annotations

import hashlib
from typing import Any

import cbor2


def digest_of(value: Any) -> str:
    """The hex SHA-256 of a JSON value (text keys, no floats) as canonical CBOR.

    cbor2 sorts keys by length and then bytewise, which for text keys is the bytewise order of their encodings; a test
    holds this fast path to `conformance.codec.canonical`.
    """
    return hashlib.sha256(cbor2.dumps(value, canonical=True)).hexdigest()
