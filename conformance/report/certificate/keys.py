"""Ed25519 keys in files that the user names: make a pair, sign with the private half, verify with the public half."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.report.untrusted import Unreadable, read_bounded

_MOST: Final = 1 << 14  # bytes of a key file; an Ed25519 key in PEM has 119
_FORM: Final = "an Ed25519 key in PEM, as `tally keys new PREFIX` writes it"
# The private half is the SHA-256 of this text, so everybody can compute it.
TEST_SEED: Final = b"The test key of Tallystick. Everybody has it: its signature says nothing about who signed."


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The half that verifies; `id` is the SHA-256 of the key as DER SubjectPublicKeyInfo."""

    id: str
    pem: bytes = field(repr=False)
    _key: Any = field(repr=False, compare=False)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key signed the message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    @property
    def is_test(self) -> bool:
        """Whether it is the test key, which anybody can sign with."""
        return self.id == _public(_test_key().public_key()).id


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The half that signs; its repr shows nothing of it."""

    public: PublicKey
    _key: Any = field(repr=False, compare=False)

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""
        signature: bytes = self._key.sign(message)
        return signature


def new_pair(prefix: Path, test: bool = False) -> PublicKey:
    """Write PREFIX.key, which only its owner can read, and PREFIX.pub; raises OSError, FileExistsError if one exists.

    `test` asks for the test key, which is always the same one.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = _test_key() if test else Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = _public(key.public_key())
    # The public half comes first, so that no private key is left without one.
    made = _write_new(prefix.with_name(f"{prefix.name}.pub"), public.pem, 0o644)
    try:
        _write_new(prefix.with_name(f"{prefix.name}.key"), secret, 0o600)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return public


def _test_key() -> Any:
    """The private half of the test key, as an object of `cryptography`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(TEST_SEED).digest())


def _write_new(file: Path, data: bytes, mode: int) -> Path:
    """Make a file with these bytes; an existing file or link is never written to."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            os.fchmod(opened.fileno(), mode)  # the umask may have removed bits
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise
    return file


def read_public(file: Path) -> PublicKey:
    """The public key in a file; raises Unreadable."""
    return public_from(read_bounded(file, _MOST), str(file))


def public_from(pem: bytes, place: str) -> PublicKey:
    """The public key in PEM text; raises Unreadable."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if b"PRIVATE KEY" in pem:
        raise Unreadable(place, "this is a private key", "name the .pub file, and keep the .key file to yourself")
    try:
        key = load_pem_public_key(pem)
    except Exception as error:  # the library raises errors of many types
        message = f"no public key: expected {_FORM} ({type(error).__name__})"
        raise Unreadable(place, message, "name the .pub file of the certifier") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Unreadable(place, f"a key of another kind: expected {_FORM}")
    return _public(key)


def read_signing(file: Path) -> SigningKey:
    """The private key in a file that only its owner can read; raises Unreadable, whose text never contains the key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = read_bounded(file, _MOST)
    if b"PUBLIC KEY" in data:
        raise Unreadable(str(file), f"this is a public key: expected {_FORM} to PREFIX.key", "name the .key file")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise Unreadable(str(file), "others can read this private key", f"run: chmod 600 {file}")
    try:
        key = load_pem_private_key(data, password=None)
    except Exception as error:
        message = f"no private key: expected {_FORM} ({type(error).__name__})"
        raise Unreadable(str(file), message, "`tally keys new PREFIX` makes a pair of keys") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Unreadable(str(file), f"a key of another kind: expected {_FORM}")
    return SigningKey(_public(key.public_key()), key)


def _public(key: Any) -> PublicKey:
    from cryptography.hazmat.primitives import serialization as form

    spki = form.PublicFormat.SubjectPublicKeyInfo
    der: bytes = key.public_bytes(form.Encoding.DER, spki)
    return PublicKey(hashlib.sha256(der).hexdigest(), key.public_bytes(form.Encoding.PEM, spki), key)
