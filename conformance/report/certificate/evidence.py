"""The files of a certificate: the DSSE envelope with its signatures, and the evidence bundle, a zip."""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.report.certificate.artifact import sums_of
from conformance.report.certificate.keys import PublicKey, SigningKey
from conformance.report.certificate.statement import INDEX, OBSERVATIONS, RECORD, sha256
from conformance.report.untrusted import Unreadable, plain_json, read_bounded
from conformance.vectors.files.stored_archive import zipped

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_EXPECTED: Final = "name the .intoto.json or the .zip that `tally certify` wrote"
_MOST_ENVELOPE: Final = 8 << 20  # bytes; one for all bundled operators has 20,000
_MOST_SIGNATURES: Final = 16


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of the signer, as claimed, and the signature."""

    keyid: str
    sig: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """The signed bytes, and the signatures."""

    payload: bytes
    signatures: tuple[Signature, ...]
    payload_type: str = PAYLOAD_TYPE

    @property
    def message(self) -> bytes:
        """The bytes that a signature covers: the pre-authentication encoding of DSSE v1."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def signer(self, keys: Iterable[PublicKey]) -> PublicKey | None:
        """The first of these keys that signed; None if none did. A `keyid` is only a hint which key to try."""
        return next((key for key in keys if any(self._is_by(one, key) for one in self.signatures)), None)

    def _is_by(self, signature: Signature, key: PublicKey) -> bool:
        return signature.keyid == key.id and key.verifies(signature.sig, self.message)


def signed(payload: bytes, key: SigningKey) -> Envelope:
    """The payload in an envelope that one key signed."""
    unsigned = Envelope(payload, ())
    return Envelope(payload, (Signature(key.public.id, key.sign(unsigned.message)),))


def encode_envelope(envelope: Envelope) -> bytes:
    """The bytes of an envelope; an envelope has only one text."""
    value = {
        "payload": b64encode(envelope.payload).decode(),
        "payloadType": envelope.payload_type,
        "signatures": [{"keyid": one.keyid, "sig": b64encode(one.sig).decode()} for one in envelope.signatures],
    }
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def read_envelope(data: bytes, place: str) -> Envelope:
    """The envelope in a file of Tallystick; raises Unreadable.

    Its bytes must be those that `encode_envelope` writes, so that no byte can be changed unnoticed.
    """
    if len(data) > _MOST_ENVELOPE:
        raise Unreadable(place, f"it has {len(data)} bytes; at most {_MOST_ENVELOPE} are read")
    value = plain_json(data, place)
    try:
        found = Envelope(
            _bytes(value["payload"]),
            tuple(Signature(_text(one["keyid"]), _bytes(one["sig"])) for one in value["signatures"]),
            _text(value["payloadType"]),
        )
        same = encode_envelope(found) == data
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else f"{error!r:.120}"
        raise Unreadable(place, f"this is no DSSE envelope: {said}", _EXPECTED) from None
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


CERTIFICATE: Final = "certificate.intoto.json"
SUMS: Final = "SHA256SUMS"
FILES: Final = (CERTIFICATE, OBSERVATIONS, RECORD, INDEX)  # listed in SHA256SUMS
_MOST_BUNDLE: Final = 128 << 20  # bytes of a bundle; one for all bundled operators has 5,000,000
MAGIC: Final = b"PK"


def pack(files: Mapping[str, bytes]) -> bytes:
    """The bytes of a bundle; the same files give the same bytes."""
    whole = {**{name: files[name] for name in FILES}, SUMS: sums_of({name: sha256(files[name]) for name in FILES})}
    return zipped(sorted(whole.items()), 0o100644)


def unpack(data: bytes, place: str) -> dict[str, bytes]:
    """The files of a bundle, by name; raises Unreadable.

    Its bytes must be those that `pack` makes of its files, so that no byte can be changed unnoticed.
    """
    if len(data) > _MOST_BUNDLE:
        raise Unreadable(place, f"it has {len(data)} bytes; at most {_MOST_BUNDLE} are read")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = sorted(entry.filename for entry in entries)
            if names != sorted((*FILES, SUMS)):
                raise Unreadable(place, f"no evidence bundle: it has {len(names)} files, {', '.join(names)[:120]!r}")
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
                raise Unreadable(place, "a file in it is compressed or encrypted, which no evidence bundle has")
            if sum(entry.file_size for entry in entries) > len(data):
                raise Unreadable(place, "its files are larger than itself")
            files = {entry.filename: archive.read(entry) for entry in entries}
    # A damaged zip makes zipfile raise almost anything.
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise Unreadable(place, f"this is no whole zip: {str(error)[:120]}") from None
    if pack(files) != data:
        raise Unreadable(place, "it is not as `tally certify` wrote it: a file and its digest differ")
    return files


@dataclass(frozen=True, slots=True)
class Evidence:
    """The content of a certificate file: the envelope, and the files of the bundle if it is a bundle."""

    place: str
    envelope: Envelope
    files: Mapping[str, bytes]

    @property
    def id(self) -> str:
        """The SHA-256 of the statement, by which a policy revokes the certificate."""
        return sha256(self.envelope.payload)


def read_evidence(file: Path) -> Evidence:
    """The envelope or the bundle in a file; raises Unreadable."""
    data = read_bounded(file, _MOST_BUNDLE)
    if not data.startswith(MAGIC):
        return Evidence(str(file), read_envelope(data, str(file)), {})
    files = unpack(data, str(file))
    return Evidence(str(file), read_envelope(files[CERTIFICATE], f"{file}: {CERTIFICATE}"), files)
