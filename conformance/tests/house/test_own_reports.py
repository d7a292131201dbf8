"""What CI finds wrong with committed reports of the bundled backends, shown on reports made by hand."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from conformance.report.certificate.artifact import artifact_of
from conformance.report.certificate.evidence import CERTIFICATE
from conformance.report.certificate.keys import new_pair, read_signing
from conformance.report.record import encode_record
from conformance.tests.certificates import evidence
from conformance.tests.processes import ROOT
from conformance.tests.runs import MAP, failed, passed, record
from conformance.tests.shipped import shipped_library
from conformance.vectors.frozen.lock import contract_digests


@pytest.fixture
def chore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`.ci/reports.py`, which looks at a folder of reports of its own."""
    spec = spec_from_file_location("own_reports", ROOT / ".ci" / "reports.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "own_reports", module)
    spec.loader.exec_module(module)
    reports = tmp_path / "reports"
    (reports / "acme").mkdir(parents=True)
    for name, place in (("ROOT", tmp_path), ("REPORTS", reports), ("RAN", reports / "last")):
        monkeypatch.setattr(module, name, place)
    return module


def test_a_record_that_is_not_that_of_the_run_is_stale_and_the_difference_is_named(chore: Any) -> None:
    backend = chore.Backend("acme", "json", "acme", "acme")
    (backend.folder / "record.json").write_bytes(encode_record(record(passed(MAP, "a"))))
    with pytest.raises(chore.Stale, match=r"acme\.json is missing: the run of this backend comes first"):
        chore.require_same_record(backend, None)
    chore.RAN.mkdir()
    (chore.RAN / "acme.json").write_bytes(encode_record(record(passed(MAP, "a"))))
    chore.require_same_record(backend, None)
    (chore.RAN / "acme.json").write_bytes(encode_record(record(failed(MAP, "a"))))
    with pytest.raises(chore.Stale, match="they differ in results, sentence, verdict, verdicts"):
        chore.require_same_record(backend, None)


def test_a_certificate_about_something_else_is_stale(chore: Any, tmp_path: Path) -> None:
    library = shipped_library()
    backend = chore.Backend("acme", "json", "acme", "acme")
    chore.ROOT = ROOT
    new_pair(tmp_path / "test", test=True)
    (tmp_path / "test.pub").rename(chore.REPORTS / "test-key.pub")
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "main.py").write_text("print('acme')\n")
    artifact = artifact_of(str(tmp_path / "acme"))
    vectors = json.loads((library.suite.vectors / "index.json").read_bytes())["digest"]

    def said(**changes: Any) -> Any:
        key, given = read_signing(tmp_path / "test.key"), {"vectors": vectors, "seed": chore.NONCE}
        contracts = {"contracts": contract_digests(library)}
        made = evidence(key, artifact, **{**given, **contracts, **changes})
        (backend.folder / "certificate.intoto.json").write_bytes(made[CERTIFICATE])
        return chore.certified(backend)[0]

    chore.require_current(backend, said(), library, tmp_path)
    older = {**contract_digests(library), MAP: "1.0.0 bb"}
    for changes, reason in (
        ({"contracts": older}, f"has lapsed: the contracts of {MAP} have changed"),
        ({"vectors": "c0ffee00" * 8}, "is about other vectors"),
        ({"seed": "00" * 32}, "has another nonce"),
    ):
        with pytest.raises(chore.Stale, match=reason):
            chore.require_current(backend, said(**changes), library, tmp_path)
    whole = said()
    (tmp_path / "acme" / "main.py").write_text("print('other')\n")
    with pytest.raises(chore.Stale, match="the certificate is about another artifact"):
        chore.require_current(backend, whole, library, tmp_path)
    file = backend.folder / "certificate.intoto.json"
    file.write_bytes(file.read_bytes().replace(b"ey", b"ez", 1))
    with pytest.raises(chore.Stale):
        chore.certified(backend)


def test_an_interrupted_session_goes_on_with_the_run_that_it_has(
    chore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, runs = chore.Backend("acme", "json", "acme", "acme"), []

    def tally(home: Path, tree: Path, *words: str) -> None:
        runs.append(words)
        Path(words[-1].removeprefix("json=")).write_text(f"run {len(runs)}")

    monkeypatch.setattr(chore, "tally", tally)
    said = [chore.run_of(backend, tmp_path, tmp_path, 1, inputs) for inputs in ("one", "one", "two", "")]
    assert said == [b"run 1", b"run 1", b"run 2", b"run 3"]
    assert chore.run_of(backend, tmp_path, tmp_path, 1, "two") == b"run 4"


def test_what_is_current_is_made_again_if_asked(chore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = chore.Backend("acme", "json", "acme", "acme")
    for name, found in (("copied", tmp_path), ("read_suite", None), ("load_library", None), ("is_current", True),
                        ("run_of", b"run"), ("certificate_of", b"certificate"), ("pages", {})):  # fmt: skip
        monkeypatch.setattr(chore, name, lambda *_, found=found: found)
    for again, files in ((False, []), (True, ["certificate.intoto.json", "record.json"])):
        assert chore.make([backend], 1, again) == 0
        assert sorted(file.name for file in backend.folder.iterdir()) == files
