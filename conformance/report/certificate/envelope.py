"""The DSSE envelope: a payload, its type, and signatures over both."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from conformance.report.certificate.fault import Unreadable, plain_json
from conformance.report.certificate.keys import PublicKey, SigningKey

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MOST: Final = 8 << 20  # bytes of an envelope; one for all bundled operators has 20,000
_MOST_SIGNATURES: Final = 16


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of the signer, as claimed, and the signature."""

    keyid: str
    sig: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """What was signed, and the signatures."""

    payload: bytes
    signatures: tuple[Signature, ...]
    payload_type: str = PAYLOAD_TYPE

    @property
    def message(self) -> bytes:
        """The bytes that a signature covers: the pre-authentication encoding of DSSE v1."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def signer(self, keys: Iterable[PublicKey]) -> PublicKey | None:
        """The first of these keys that signed; None where none did. A `keyid` only says which key to try."""
        return next((key for key in keys if any(self._is_by(one, key) for one in self.signatures)), None)

    def _is_by(self, signature: Signature, key: PublicKey) -> bool:
        return signature.keyid == key.id and key.verifies(signature.sig, self.message)


def signed(payload: bytes, key: SigningKey) -> Envelope:
    """The payload in an envelope that one key signed."""
    unsigned = Envelope(payload, ())
    return Envelope(payload, (Signature(key.public.id, key.sign(unsigned.message)),))


def encode_envelope(envelope: Envelope) -> bytes:
    """The bytes of an envelope; there is one text for one envelope."""
    value = {
        "payload": b64encode(envelope.payload).decode(),
        "payloadType": envelope.payload_type,
        "signatures": [{"keyid": one.keyid, "sig": b64encode(one.sig).decode()} for one in envelope.signatures],
    }
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def read_envelope(data: bytes, place: str) -> Envelope:
    """The envelope in a file of Tallystick; raises Unreadable.

    Its bytes must be those that `encode_envelope` writes, so that every one of them counts.
    """
    if len(data) > MOST:
        raise Unreadable(place, f"it has {len(data)} bytes; at most {MOST} are read")
    value = plain_json(data, place)
    try:
        found = Envelope(
            _bytes(value["payload"]),
            tuple(Signature(_text(one["keyid"]), _bytes(one["sig"])) for one in value["signatures"]),
            _text(value["payloadType"]),
        )
        same = encode_envelope(found) == data
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(place, f"this is no DSSE envelope: {error!r:.120}") from None
    if not same:
        raise Unreadable(place, "the text is not as `tally certify` wrote it", "ask the certifier for the file itself")
    if found.payload_type != PAYLOAD_TYPE:
        raise Unreadable(place, f"the payload is {found.payload_type[:80]!r}, not {PAYLOAD_TYPE!r}")
    if not 1 <= len(found.signatures) <= _MOST_SIGNATURES:
        raise Unreadable(place, f"there are {len(found.signatures)} signatures; 1 to {_MOST_SIGNATURES} are read")
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {type(value).__name__}")
    return value


def _bytes(value: Any) -> bytes:
    return b64decode(_text(value).encode("ascii"), validate=True)
