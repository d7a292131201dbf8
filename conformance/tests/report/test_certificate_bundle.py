"""The evidence bundle: deterministic, read by public tools, and refused where any byte of it is another one."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.report.certificate.evidence import CERTIFICATE, FILES, SUMS, pack, read_evidence, unpack
from conformance.report.certificate.statement import SCHEMA, read_statement
from conformance.report.certificate.verification import bundle_faults, trusted_signer
from conformance.report.untrusted import Unreadable
from conformance.tests.certificates import Certifier
from conformance.tests.small_spec import SHIPPED

SCHEMA_FILE = SHIPPED.spec / "schema" / SCHEMA


def test_a_bundle_is_deterministic_and_public_tools_read_it(
    acme: Certifier, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    assert acme.bundle == acme.bundle
    with zipfile.ZipFile(io.BytesIO(acme.bundle)) as archive:
        archive.extractall(tmp_path)
    done = subprocess.run([tool("sha256sum"), "-c", "--strict", SUMS], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "record.json").write_bytes(b"{}")
    done = subprocess.run([tool("sha256sum"), "-c", SUMS], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1


def test_every_byte_of_a_bundle_counts(acme: Certifier) -> None:
    """All bytes outside the record, of which every seventeenth."""
    data = acme.bundle
    start = data.index(acme.files["record.json"])
    inside = range(start, start + len(acme.files["record.json"]))
    places = [place for place in range(len(data)) if place not in inside or place % 17 == 0]
    believed = []
    for place in places:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        try:
            unpack(changed, "x")
        except Unreadable:
            continue
        believed.append(place)
    assert believed == []
    assert unpack(data, "x")["record.json"] == acme.files["record.json"]


@pytest.mark.parametrize("name", [name for name in FILES if name != CERTIFICATE])
def test_a_bundle_with_another_file_and_right_sums_is_not_what_was_signed(
    name: str, acme: Certifier, tmp_path: Path
) -> None:
    (tmp_path / "b.zip").write_bytes(pack({**acme.files, name: acme.files[name] + b" "}))
    found = read_evidence(tmp_path / "b.zip")
    key = trusted_signer(found, [acme.public], None)
    assert not isinstance(key, str)
    statement = read_statement(found.envelope.payload, "x", SCHEMA_FILE)
    assert list(bundle_faults(found, statement)) == [f"{name} in the bundle is not the file that was signed"]


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return target.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_bundles_are_refused_before_anything_is_unfolded(acme: Certifier) -> None:
    files = {**acme.files, SUMS: b""}
    whole = list(files.items())
    bomb = zipped(*whole[:-1], (SUMS, b"\0" * (64 << 20)), method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    hostile = {
        "compressed": bomb,
        "6 files": zipped(*whole, whole[0]),
        "no evidence bundle": zipped(*whole[:-1], ("../../etc/passwd", b"")),
        "not as": zipped(*whole),
        "no whole zip": b"PK" + b"\0" * 100,
    }
    for said, data in hostile.items():
        with pytest.raises(Unreadable, match=said):
            unpack(data, "x")
