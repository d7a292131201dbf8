"""The evidence bundle: a zip that a third party checks with unzip, sha256sum and a DSSE library."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

from conformance.report.certificate.fault import Unreadable
from conformance.report.certificate.statement import INDEX, OBSERVATIONS, RECORD, sha256

CERTIFICATE: Final = "certificate.intoto.json"
SUMS: Final = "SHA256SUMS"
FILES: Final = (CERTIFICATE, OBSERVATIONS, RECORD, INDEX)  # what SHA256SUMS lists
MOST: Final = 128 << 20  # bytes of a bundle; one for all bundled operators has 5,000,000
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time of a zip
MAGIC: Final = b"PK"


def pack(files: Mapping[str, bytes]) -> bytes:
    """The bytes of a bundle; the same files give the same bytes.

    Nothing is compressed, because compressed bytes depend on the version of zlib.
    """
    whole = {**{name: files[name] for name in FILES}, SUMS: sums_of(files)}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(whole):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, whole[name])
    return target.getvalue()


def sums_of(files: Mapping[str, bytes]) -> bytes:
    """The text of SHA256SUMS, which `sha256sum -c` checks."""
    return "".join(f"{sha256(files[name])}  {name}\n" for name in FILES).encode()


def unpack(data: bytes, place: str) -> dict[str, bytes]:
    """The files of a bundle, by name; raises Unreadable.

    Its bytes must be those that `pack` makes of its files, so that every one of them counts.
    """
    if len(data) > MOST:
        raise Unreadable(place, f"it has {len(data)} bytes; at most {MOST} are read")
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
