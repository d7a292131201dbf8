"""Keys, envelopes and artifacts: what strangers hand over is read strictly, and every byte of it counts."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from types import ModuleType

import pytest

import conformance.cli.certify as certify_module
from conformance.backend.resolve import BackendCommand
from conformance.backend.sandbox import WORKER
from conformance.report.certificate.artifact import NoArtifact, StartedArtifact, artifact_of, started_by
from conformance.report.certificate.evidence import (
    Envelope,
    encode_envelope,
    read_envelope,
    read_evidence,
    signed,
)
from conformance.report.certificate.keys import new_pair, public_from, read_public, read_signing
from conformance.report.certificate.statement import (
    SCHEMA,
    canonical,
    crash_level,
    digest_of_json,
    read_statement,
)
from conformance.report.certificate.verification import trusted_signer
from conformance.report.untrusted import Unreadable
from conformance.tests.certificates import Certifier
from conformance.tests.small_spec import SHIPPED

SCHEMA_FILE = SHIPPED.spec / "schema" / SCHEMA
PEM = "-----BEGIN PUBLIC KEY-----"
EXAMPLE = (b"hello world", "http://example.com/HelloWorld")


# -- keys


def test_a_private_key_is_its_owner_s_alone_and_never_overwritten(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = new_pair(tmp_path / "mine")
    finally:
        os.umask(before)
    key = tmp_path / "mine.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert read_signing(key).public == public == read_public(tmp_path / "mine.pub")
    text = key.read_bytes()
    for name in ("mine.pub", "mine.key"):
        (tmp_path / name).rename(tmp_path / "aside")
        with pytest.raises(FileExistsError):
            new_pair(tmp_path / "mine")
        assert not (tmp_path / name).exists(), "half a pair is no pair"
        (tmp_path / "aside").rename(tmp_path / name)
    assert key.read_bytes() == text


def test_a_key_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        new_pair(tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.key"]


def test_no_message_contains_a_private_key(acme: Certifier) -> None:
    secret = (acme.folder / "acme.key").read_text().splitlines()[1]
    said = repr(acme.key) + str(acme.key)
    with pytest.raises(Unreadable) as refused:
        read_public(acme.folder / "acme.key")
    assert secret not in said + repr(refused.value) + str(refused.value)
    assert "private" in refused.value.message


@pytest.mark.parametrize("text", ["", "no key", f"{PEM}\nAAAA\n{PEM.replace('BEGIN', 'END')}\n", "\0" * 99])
def test_what_is_no_key_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.pub").write_text(text)
    (tmp_path / "bad.pub").chmod(0o600)
    for read in (read_public, read_signing):
        with pytest.raises(Unreadable, match="expected an Ed25519 key"):
            read(tmp_path / "bad.pub")


def test_keys_of_other_kinds_huge_files_pipes_and_open_private_keys_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    other = generate_private_key(SECP256R1()).public_key()
    pem = other.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(Unreadable, match="another kind"):
        public_from(pem, "p")
    (tmp_path / "huge.pub").write_bytes(b"x" * 20_000)
    os.mkfifo(tmp_path / "pipe.pub")
    for name, said in (("huge.pub", "at most"), ("pipe.pub", "regular"), ("gone.pub", "No such"), ("a\0b", "null")):
        with pytest.raises(Unreadable, match=said):
            read_public(tmp_path / name)
    new_pair(tmp_path / "open")
    with pytest.raises(Unreadable, match="this is a public key"):
        read_signing(tmp_path / "open.pub")
    (tmp_path / "open.key").chmod(0o640)
    with pytest.raises(Unreadable, match="others can read"):
        read_signing(tmp_path / "open.key")


# -- the envelope


def test_the_signed_bytes_are_those_of_the_dsse_specification() -> None:
    """The example of its protocol page."""
    message = Envelope(EXAMPLE[0], (), EXAMPLE[1]).message
    assert message == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_a_public_library_verifies_the_envelope(acme: Certifier, package: Callable[[str], ModuleType]) -> None:
    dsse, signer = package("securesystemslib.dsse"), package("securesystemslib.signer")
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    envelope = dsse.Envelope.from_dict(json.loads(acme.certificate))
    key = signer.SSlibKey.from_crypto(load_pem_public_key(acme.public.pem), keyid=acme.public.id)
    assert envelope.verify([key], 1) == {acme.public.id: key}
    assert envelope.payload_type == "application/vnd.in-toto+json"
    envelope.payload = envelope.payload.replace(b"PASSED", b"FAILED")
    with pytest.raises(Exception, match=r"threshold|verif"):
        envelope.verify([key], 1)


def test_every_byte_of_a_certificate_counts(acme: Certifier) -> None:
    data = acme.certificate
    believed = []
    for place, flip in zip(range(len(data)), cycle((1, 0x20, 0x80))):
        changed = data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :]
        try:
            if read_envelope(changed, "x").signer([acme.public]) is not None:
                believed.append((place, flip))
        except Unreadable:
            continue
    assert believed == []
    assert read_envelope(data, "x").signer([acme.public]) == acme.public


def test_the_same_meaning_in_other_bytes_is_unreadable(acme: Certifier) -> None:
    """White space, unknown members, and the bits of base64 that mean nothing."""
    data, value = acme.certificate, json.loads(acme.certificate)
    (one,) = value["signatures"]
    end = one["sig"][-3]  # before the two signs that fill it up; its last four bits are not used
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    sloppy = one["sig"][:-3] + letters[letters.index(end) + 1] + "=="
    assert b64decode(sloppy) == b64decode(one["sig"])
    more = json.dumps({**value, "more": 1}, indent=1).encode() + b"\n"
    bits = data.replace(one["sig"].encode(), sloppy.encode())
    for changed in (data + b" ", data.replace(b"\n", b"\r\n"), bits, more):
        with pytest.raises(Unreadable, match="not as"):
            read_envelope(changed, "x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "strict JSON"),
        (b"\xff\xfe", "strict JSON"),
        (b"[" * 100_000, "strict JSON"),
        (b'{"payload": "", "payload": ""}', "comes twice"),
        (b'{"payload": NaN}', "no number"),
        (b"[]", "no DSSE envelope"),
        (b'{"payload": 3, "payloadType": "", "signatures": []}', "no DSSE envelope"),
        (b'{"payload": "!!", "payloadType": "", "signatures": []}', "no DSSE envelope"),
        (b'{"payload": "", "payloadType": "", "signatures": []}', "not as `tally certify` wrote it"),
        (encode_envelope(Envelope(b"", (), "text/plain")), "the payload is"),
        (encode_envelope(Envelope(b"", ())), "0 signatures"),
    ],
)
def test_what_is_no_certificate_is_refused_in_one_sentence(text: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read_envelope(text, "x")


SPOILT = (
    *("type", "twice", "digest", "nonce", "operators", "deep", "missing", "issued", "wire", "version"),
    *("passed", "content", "order"),
)


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_signed_statement_of_another_form_is_unreadable(spoil: str, acme: Certifier) -> None:
    """A trusted key may sign nonsense as well."""
    assert read_statement(read_envelope(acme.certificate, "x").payload, "x", SCHEMA_FILE).operators
    value = json.loads(read_envelope(acme.certificate, "x").payload)
    rows = value["predicate"]["configuration"]
    named = {row["name"]: row for row in rows}
    match spoil:
        case "type":
            value["_type"] = "https://in-toto.io/Statement/v0"
        case "twice":
            rows.append(rows[0])
        case "digest":
            named["scope"]["digest"]["sha256"] = "0" * 64
        case "nonce":
            named["nonce"]["annotations"]["hex"] = "00"
        case "operators":
            named["scope"]["annotations"]["operators"] = [3]
        case "deep":
            value["predicate"]["more"] = json.loads("[" * 300 + "]" * 300)
            value["subject"] = 3
        case "missing":
            rows[:] = [row for row in rows if row["name"] != "contracts"]
        case "issued":
            named["environment"]["annotations"]["issued"] = "yesterday"
        case "wire":
            named["scope"]["annotations"]["backend"]["wire"] = ["json"]
        case "version":
            named["contracts"]["annotations"] = {"A": 3}
        case "passed":  # other readers believe this list
            value["predicate"]["passedTests"].append("Another_v1")
        case "content":
            named["nonce"]["content"] = "AAAA"
        case "order":
            rows.reverse()
    for row in rows:
        if "annotations" in row and spoil != "digest" and row["name"] != "nonce":
            row["digest"]["sha256"] = digest_of_json(row["annotations"])
    with pytest.raises(Unreadable):
        read_statement(canonical(value), "x", SCHEMA_FILE)


# -- the artifact


def test_a_folder_has_the_digest_that_public_tools_give_it(tmp_path: Path, tool: Callable[[str], str]) -> None:
    whole = tmp_path / "a"
    for name in ("b/c.txt", "b.txt", "B/x", "ü.txt", "b/d/e", "z z"):
        (whole / name).parent.mkdir(parents=True, exist_ok=True)
        (whole / name).write_text(name)
    (whole / "link").symlink_to("b/c.txt")
    script = "find -L . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    said = subprocess.run([tool("bash"), "-c", script], cwd=whole, capture_output=True, text=True, check=True).stdout
    found = artifact_of(str(whole))
    assert (found.kind, found.algorithm, found.digest) == ("folder", "dirHash", said.split()[0])
    (whole / "b" / "d" / "e").write_text("other")
    assert artifact_of(str(whole)).digest != found.digest


def test_a_file_and_an_image_have_their_digests(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    found = artifact_of(str(tmp_path / "f"))
    assert (found.name, found.kind, found.algorithm, found.digest) == ("f", "file", "sha256", digest)
    assert artifact_of(f"oci:sha256:{digest}").digest == digest


def test_what_cannot_be_named_for_sure_is_no_artifact(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("x")
    spoilt: dict[str, Callable[[Path], object]] = {
        "leads out": lambda folder: (folder / "l").symlink_to(outside / "f"),
        "leads nowhere": lambda folder: (folder / "l").symlink_to("gone"),
        "leads to no file": lambda folder: (folder / "l").symlink_to("."),
        "neither a file": lambda folder: os.mkfifo(folder / "p"),
        "escapes": lambda folder: (folder / "a\nb").write_text("x"),
        "no file in": lambda folder: (folder / "f").unlink(),
    }
    for k, (said, spoil) in enumerate(spoilt.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / "f").write_text("x")
        artifact_of(str(folder))
        spoil(folder)
        with pytest.raises(NoArtifact, match=said):
            artifact_of(str(folder))
    for text in (str(tmp_path / "gone"), "", "a\0b", "oci:sha256:00", "oci:latest", "/dev/null"):
        with pytest.raises(NoArtifact):
            artifact_of(text if text else str(tmp_path / "nothing"))


def test_a_signature_of_another_key_is_not_believed(acme: Certifier, tmp_path: Path) -> None:
    other = new_pair(tmp_path / "other")
    (tmp_path / "c.json").write_bytes(acme.certificate)
    found = read_evidence(tmp_path / "c.json")
    assert "no signature by a trusted key" in str(trusted_signer(found, [other], None))
    # A thief who names the trusted key signs with his own.
    stolen = signed(found.envelope.payload, read_signing(tmp_path / "other.key"))
    (one,) = stolen.signatures
    forged = Envelope(stolen.payload, (type(one)(acme.public.id, one.sig),))
    assert forged.signer([acme.public]) is None
    assert b64encode(one.sig) in encode_envelope(forged)


# -- whether a command starts the artifact


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an artifact in it, and a program outside it."""
    artifact = tmp_path / "acme"
    (artifact / "inner").mkdir(parents=True)
    for name in ("main.js", "run", "__init__.py", "serve.py", "inner/__init__.py", "inner/__main__.py"):
        (artifact / name).write_text("x")
    (artifact / "run").chmod(0o755)
    (tmp_path / "other.js").write_text("x")
    (tmp_path / "link.js").symlink_to(artifact / "main.js")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (("acme/run",), StartedArtifact("program", "run")),
        (("./acme/run", "other.js"), StartedArtifact("program", "run")),
        (("node", "acme/main.js"), StartedArtifact("named", "main.js")),
        (("node", "link.js"), StartedArtifact("named", "main.js")),
        (("node", "--entry=acme/main.js"), StartedArtifact("named", "main.js")),
        (("go", "run", "acme"), StartedArtifact("named", "acme")),
        (("python3", "-m", "acme.serve"), StartedArtifact("named", "serve.py")),
        (("python3", "-X", "dev", "-m", "acme.inner"), StartedArtifact("named", "inner/__main__.py")),
        (("python3", "-P", "-m", "acme.serve"), StartedArtifact()),
        (("python3", "other.py", "-m", "acme.serve"), StartedArtifact()),
        (("python3", "-P", "-m", WORKER, "acme:Backend", "spec"), StartedArtifact("named", "__init__.py")),
        (("node", "other.js"), StartedArtifact()),
        (("node", "acme/missing.js"), StartedArtifact()),
        (("node", "--entry"), StartedArtifact()),
    ],
)
def test_what_a_command_says_of_the_artifact(words: tuple[str, ...], how: StartedArtifact, place: Path) -> None:
    program = str(place / words[0]) if "/" in words[0] else words[0]
    command = BackendCommand("acme", (program, *words[1:]), {}, folder=place)
    assert started_by(command, place / "acme") == how
    assert started_by(command, None) == StartedArtifact()


def test_a_module_is_looked_for_where_the_command_looks(place: Path) -> None:
    words = ("python3", "-P", "-m", "acme.serve")
    there = BackendCommand("acme", words, {"PYTHONPATH": str(place)}, folder=place)
    assert started_by(there, place / "acme") == StartedArtifact("named", "serve.py")
    elsewhere = place / "copy" / "acme"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("x")
    assert started_by(there, elsewhere) == StartedArtifact()


# -- a certificate says


def test_the_crash_level_is_the_lowest_that_a_workload_reached() -> None:
    assert crash_level("not tried") == "not tried"
    assert crash_level({}) == "no workload"
    assert crash_level({"a": {"reached": "posix"}, "b": {"reached": "kill"}}) == "kill"
    assert crash_level({"a": {"reached": "posix"}, "b": {"reached": ""}}) == "unknown"


def test_the_default_sandbox_is_bubblewrap() -> None:
    (option,) = [one for one in certify_module.command.params if one.name == "sandbox"]
    assert option.default == "bwrap"
