"""`tally verify`: what is valid, what a policy asks for, what has lapsed, and what cannot be read."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.report.certificate.artifact import artifact_of
from conformance.report.certificate.evidence import CERTIFICATE, pack, read_evidence
from conformance.report.certificate.keys import new_pair, read_signing
from conformance.report.certificate.statement import read_statement
from conformance.report.certificate.verification import SCHEMA, Installed, lapsed, read_policy
from conformance.report.untrusted import Unreadable
from conformance.tests.certificates import NOW, Certifier, evidence, policy
from conformance.tests.runs import MAP
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.vectors.frozen.lock import contract_digests

Capture = pytest.CaptureFixture[str]
SCHEMAS = SHIPPED.spec / "schema"


def verify(acme: Certifier, file: str | Path, *more: str | Path, key: bool = True, now: str = NOW.isoformat()) -> int:
    keys = ["--key", str(acme.folder / "acme.pub")] if key else []
    return status_of(["verify", str(acme.folder / file), *keys, "--time", now, *map(str, more)])


def test_the_artifact_that_was_certified_is_valid_and_another_one_is_not(
    acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    assert verify(acme, "acme.intoto.json", "--artifact", acme.folder / "sampler") == 0
    assert capsys.readouterr().out.startswith("VALID: folder sampler (dirHash:")
    assert verify(acme, "acme.zip") == 0
    assert "not compared: no --artifact" in capsys.readouterr().out
    (tmp_path / "other").write_text("other")
    assert verify(acme, "acme.zip", "--artifact", tmp_path / "other") == 1
    assert "NOT VALID: the certificate is about another artifact: folder sampler" in capsys.readouterr().out


def test_whom_to_trust_must_be_said(acme: Certifier, capsys: Capture) -> None:
    assert verify(acme, "acme.zip", key=False) == 2
    assert "no key that you trust is named: give --key FILE.pub" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--backend", "reference"), ("--sandbox", "bwrap"), ("--sandbox-read", ".")])
def test_nothing_is_valid_where_only_replay_was_forgotten(
    option: tuple[str, str], acme: Certifier, capsys: Capture
) -> None:
    assert verify(acme, "acme.zip", *option) == 2
    assert f"{option[0]} is for --replay" in capsys.readouterr().err


# -- policies


def judged(acme: Certifier, tmp_path: Path, text: str, capsys: Capture, now: str = NOW.isoformat()) -> str:
    """What a policy makes of the certificate: empty where it is valid."""
    (tmp_path / "policy.yaml").write_text(text)
    capsys.readouterr()
    status = verify(acme, "acme.zip", "--policy", tmp_path / "policy.yaml", key=False, now=now)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("NOT VALID: ")]
    assert status == bool(said)
    return "; ".join(said)


def test_a_policy_says_who_may_certify_what(acme: Certifier, tmp_path: Path, capsys: Capture) -> None:
    assert judged(acme, tmp_path, policy(acme.public), capsys) == ""
    assert judged(acme, tmp_path, policy(acme.public, '["UML_OS.Data.*"]'), capsys) == ""
    said = judged(acme, tmp_path, policy(acme.public, '["UML_OS.Checkpoint.*"]'), capsys)
    assert said == f"NOT VALID: the policy does not let this key certify {MAP}"
    other = new_pair(tmp_path / "other")
    assert "no signature by a trusted key" in judged(acme, tmp_path, policy(other), capsys)
    (tmp_path / "other.yaml").write_text(policy(other))
    assert verify(acme, "acme.zip", "--policy", tmp_path / "other.yaml") == 1
    assert f"the policy does not name the key {acme.public.id}" in capsys.readouterr().out
    (tmp_path / "both.yaml").write_text(policy(acme.public))
    assert verify(acme, "acme.zip", "--policy", tmp_path / "both.yaml") == 0
    key = tmp_path / "other.pub"
    assert verify(acme, "acme.zip", "--policy", tmp_path / "both.yaml", "--key", key, key=False) == 1
    assert "not the one that --key names" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("required", "said"),
    [
        (f'operators: ["{MAP}"]', ""),
        ('operators: ["UML_OS.Checkpoint.*"]', "the policy requires UML_OS.Checkpoint.*, which is not certified"),
        ("profile: standard", ""),
        ("profile: golden", "the policy requires the profile golden, the certificate has standard"),
        ("sandbox: none", ""),
        ("sandbox: bwrap", "the policy requires the sandbox bwrap, the certificate has none"),
        ("crash: kill", "the policy requires the crash level kill, the certificate has not tried"),
        ("started: not established", ""),
        ("started: named", "the policy requires the start named, the certificate has not established"),
        ("nonce: given", ""),
        ("nonce: fresh", "the policy requires the nonce fresh, the certificate has given"),
        ("maximum_age_days: 30", ""),
    ],
)
def test_a_policy_says_what_a_certificate_must_show(
    required: str, said: str, acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    found = judged(acme, tmp_path, policy(acme.public, more=f"require:\n  {required}\n"), capsys)
    assert found == (f"NOT VALID: {said}" if said else "")


def test_a_certificate_grows_too_old_and_none_comes_from_the_future(
    acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    text = policy(acme.public, more="require: {maximum_age_days: 30}\n")
    later, too_late, before = (NOW + timedelta(days=days, hours=1) for days in (29, 30, -1))
    assert judged(acme, tmp_path, text, capsys, later.isoformat()) == ""
    said = judged(acme, tmp_path, text, capsys, too_late.isoformat())
    assert "older than the policy accepts: 30 days, and it was issued 2026-11-23T12" in said
    assert "issued in the future" in judged(acme, tmp_path, text, capsys, before.isoformat())


def test_a_certificate_from_the_future_is_marked_where_no_policy_asks(acme: Certifier, capsys: Capture) -> None:
    for time, marked in ((NOW, False), (NOW - timedelta(days=1), True)):
        assert verify(acme, "acme.intoto.json", now=time.isoformat()) == 0
        assert (f"issued      {NOW.isoformat()}, which is in the future" in capsys.readouterr().out) is marked


def test_keys_and_certificates_are_revoked_by_listing_them(acme: Certifier, tmp_path: Path, capsys: Capture) -> None:
    certificate = read_evidence(acme.folder / "acme.zip").id
    for what, id_ in (("keys", acme.public.id), ("certificates", certificate)):
        text = policy(acme.public, more=f'revoked: {{{what}: ["{id_}"]}}\n')
        assert "NOT VALID: the policy revokes th" in judged(acme, tmp_path, text, capsys)
        harmless = policy(acme.public, more=f'revoked: {{{what}: ["{"0" * 64}"]}}\n')
        assert judged(acme, tmp_path, harmless, capsys) == ""


def test_a_policy_may_be_toml(acme: Certifier, tmp_path: Path) -> None:
    keys = f'policy = 1\n[[keys]]\nname = "Acme"\noperators = ["*"]\npublic = """\n{acme.public.pem.decode()}"""\n'
    (tmp_path / "p.toml").write_text(keys + '[require]\nprofile = "golden"\n')
    (tmp_path / "p.yaml").write_text(policy(acme.public, more="require: {profile: golden}\n"))
    one, other = (read_policy(tmp_path / name, SCHEMAS / SCHEMA) for name in ("p.toml", "p.yaml"))
    assert one == other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("policy: 2\nkeys: []\n", "policy.yaml:1:9"),
        ("policy: 1\nkeys: []\n", "keys"),
        ("policy: 1\npolicy: 1\n", "duplicate key"),
        ("a: &a [1]\nb: [*a, *a]\n", "anchors and aliases are refused"),
        ("policy: 1\nkeys: [{name: A, operators: ['*'], public: none}]\n", "expected an Ed25519 key"),
        ("policy: 1\nkeys: [{name: A, operators: ['*'], public: [1]}]\n", "public"),
        ("policy: 1\nkeys: [{name: A, operators: ['*'], public: x}]\nfoo: 1\n", "unknown key 'foo'"),
        ("policy: 1\nkeys: [{name: A, operators: '*', public: x}]\n", "operators"),
        ("[" * 5000, "in one another"),
        ("x" * (2 << 20), "at most"),
        ("\0", "bad YAML"),
    ],
)
def test_a_hostile_policy_is_refused_in_one_line(
    text: str, said: str, acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    assert verify(acme, "acme.zip", "--policy", tmp_path / "policy.yaml") == 2
    printed = capsys.readouterr()
    first, *rest = printed.err.splitlines()
    assert said in first
    assert "T020" in first
    assert len(rest) <= 1
    assert printed.out == ""


def test_hostile_toml_is_refused(tmp_path: Path) -> None:
    for text in ("[" * 5000, "a = 1\na = 2\n", "\xff"):
        (tmp_path / "p.toml").write_text(text, encoding="latin-1")
        with pytest.raises(Unreadable):
            read_policy(tmp_path / "p.toml", SCHEMAS / SCHEMA)


# -- what has lapsed


def test_a_certificate_lapses_where_its_contract_changed_and_says_for_which_operator(
    acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    contracts = contract_digests(shipped_library())
    files = evidence(acme.key, acme.artifact, contracts={**contracts, MAP: f"1.0.0 {'0' * 64}"})
    (tmp_path / "old.zip").write_bytes(pack(files))
    assert verify(acme, tmp_path / "old.zip") == 1
    printed = capsys.readouterr().out
    assert printed.startswith("LAPSED: changed contracts of 1 of 1 operator\n")
    assert "lapsed: the contract 1.0.0 was changed" in printed
    assert "VALID:" not in printed


def test_only_the_operators_whose_contracts_changed_lapse(acme: Certifier) -> None:
    found = read_evidence(acme.folder / "acme.zip")
    statement = read_statement(found.envelope.payload, "x", SCHEMAS / "certificate.schema.json")
    certified = {"A": "1.0.0 a", "M": "1.0.0 m", "M.Open": "1.0.0 o", "M.Own": "1.0.0 p", "Mine": "1.0.0 x"}
    scope = {**statement.scope, "operators": ["A", "M"]}
    both = replace(statement, annotations={**statement.annotations, "scope": scope, "contracts": certified})

    def now(contracts: dict[str, str] = certified) -> dict[str, str]:
        return lapsed(both, Installed(contracts, {"M.Open": "M", "M.Close": "M"}))

    assert now() == {}
    assert now({**certified, "M.Own": "2.0.0 an operator beside the machine"}) == {}
    assert now({**certified, "Mine": "2.0.0 y", "New": "1.0.0 n"}) == {}
    assert now({**certified, "M.Open": "1.0.0 other"}) == {"M": "the contract 1.0.0 was changed"}
    assert now({**certified, "M.Close": "1.0.0 new"}).keys() == {"M"}
    newer = {"A": "certified for version 1.0.0, the contract is 2.0.0 now"}
    assert now({**certified, "A": "2.0.0 z"}) == newer
    assert now({name: said for name, said in certified.items() if name != "A"}) == {
        "A": "there is no such contract now"
    }


# -- what cannot be read


@pytest.mark.parametrize("name", ["gone", "empty", "folder", "pipe", "text", "zip", "huge", "deep"])
def test_what_is_no_certificate_gets_one_line_and_nothing_is_written(
    name: str, acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / name
    match name:
        case "empty" | "text" | "zip" | "deep":
            file.write_bytes({"empty": b"", "text": b"hello", "zip": b"PK\x03\x04", "deep": b"[" * 99_999}[name])
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case "huge":
            with file.open("wb") as opened:
                opened.truncate(1 << 40)  # holes: it takes no room
    before = sorted(tmp_path.rglob("*"))
    assert verify(acme, file) == 2
    printed = capsys.readouterr()
    assert f"{file}: T020" in printed.err
    assert len(printed.err.splitlines()) <= 2
    assert printed.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_text_of_a_stranger_cannot_steer_the_terminal(acme: Certifier, tmp_path: Path, capsys: Capture) -> None:
    """A trusted key may have signed a hostile name."""
    name = "x\x1b[2J\nVALID: everything"
    (tmp_path / name).write_text("x")
    artifact = artifact_of(str(tmp_path / name))
    files = evidence(acme.key, artifact, contracts=contract_digests(shipped_library()))
    (tmp_path / "h.zip").write_bytes(pack(files))
    assert verify(acme, tmp_path / "h.zip") == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert sum(line.startswith("VALID") for line in printed.splitlines()) == 1


# -- the test key


def test_the_test_key_is_always_the_same_one_and_is_named_as_such(tmp_path: Path, capsys: Capture) -> None:
    for name in ("one", "two"):
        assert status_of(["keys", "new", "--test", str(tmp_path / name)]) == 0
        assert "THE TEST KEY: everybody has it" in capsys.readouterr().out
    assert (tmp_path / "one.key").read_bytes() == (tmp_path / "two.key").read_bytes()
    assert (tmp_path / "one.pub").read_bytes() == (tmp_path / "two.pub").read_bytes()
    assert (tmp_path / "one.key").stat().st_mode & 0o077 == 0
    assert not new_pair(tmp_path / "own").is_test


def test_a_certificate_by_the_test_key_is_marked_and_a_policy_refuses_it(
    acme: Certifier, tmp_path: Path, capsys: Capture
) -> None:
    public = new_pair(tmp_path / "test", test=True)
    contracts = contract_digests(shipped_library())
    made = evidence(read_signing(tmp_path / "test.key"), acme.artifact, contracts=contracts)
    (tmp_path / "test.intoto.json").write_bytes(made[CERTIFICATE])
    file = tmp_path / "test.intoto.json"
    assert verify(acme, file, "--key", tmp_path / "test.pub", key=False) == 0
    assert "TEST KEY: everybody can sign with it" in capsys.readouterr().out
    for more, status in (("", 1), ("accept_test_key: false\n", 1), ("accept_test_key: true\n", 0)):
        (tmp_path / "policy.yaml").write_text(policy(public, more=more))
        assert verify(acme, file, "--policy", tmp_path / "policy.yaml", key=False) == status
        assert ("NOT VALID: it is signed with the test key" in capsys.readouterr().out) is bool(status)
