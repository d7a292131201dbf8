"""`tally certify` from end to end, in the small house: what is certified, what is refused, and a replay."""

from __future__ import annotations

import json
import os
import shutil
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import conformance.cli.certify as certify_module
from conformance.backend.sandbox import NoSandbox, require_bwrap
from conformance.cli.main import status_of
from conformance.contract.library import load_library
from conformance.report.certificate.artifact import Artifact, artifact_of
from conformance.report.certificate.statement import refusals
from conformance.report.record import read_record, record_of
from conformance.tests.certificates import NONCE
from conformance.tests.processes import ROOT, python
from conformance.tests.runs import MAP, passed
from conformance.tests.small_house import BAD, OPERATOR
from conformance.tests.small_spec import suite_at
from conformance.trial.challenge import challenge
from conformance.trial.check import KnownFailure, Result, RunResult, Verdict
from conformance.trial.fuzz import operator
from conformance.trial.options import RunOptions
from conftest import not_run

Capture = pytest.CaptureFixture[str]
NOON = "2026-11-23T12:00:00Z"
FEW = 12  # drawn calls of an operator; a certification asks more


class Desk:
    """A certifier at work: a folder with a key, an artifact, and what became of the last run."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        self.run: RunResult | None = None
        self.first: RunResult | None = None  # of the certificate that all tests share
        self.options: RunOptions | None = None

    def certify(self, *more: str, backend: str = "reference", name: str = "acme", sandbox: str = "none") -> int:
        artifact, key = str(self.folder / "sampler"), str(self.folder / "acme.key")
        out = ["--output", str(self.folder / f"{name}.intoto.json"), "--time", NOON, "--sandbox", sandbox]
        return status_of(["certify", "--backend", backend, "--artifact", artifact, "--key", key, *out, *more])

    def verify(self, file: str, *more: str) -> int:
        return status_of(["verify", str(self.folder / file), "--key", str(self.folder / "acme.pub"), *more])

    @property
    def written(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture(scope="module")
def desk(built_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One certificate of the reference, under the nonce of the tests."""
    house = tmp_path_factory.mktemp("house") / "house"
    shutil.copytree(built_once, house)
    # What a sandboxed reference needs of its suite.
    shutil.copytree(ROOT / "impl", house / "impl", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    made = Desk(tmp_path_factory.mktemp("desk"), house)
    (made.folder / "sampler").mkdir()
    (made.folder / "sampler" / "main.py").write_text("print('sampler')\n")
    patch = pytest.MonkeyPatch()
    patch.setattr("conformance.contract.suite_file.find_suite", lambda named, here: suite_at(house))
    # The small house has no requirements, which lint asks for.
    patch.setattr(certify_module, "require_clean_contracts", lambda *_: None)
    real = certify_module.challenged

    def noted(library: Any, options: RunOptions) -> RunResult:
        made.options, made.run = options, real(library, options)
        return made.run

    patch.setattr(certify_module, "challenged", noted)
    patch.setattr("conformance.cli.verify.challenged", noted)
    # A few calls are enough to see what becomes of them.
    for name, number in (("_CALLS", FEW), ("DEFAULT_EXAMPLES", FEW), ("_PROGRAMS", FEW // 3)):
        patch.setattr(challenge, name, number)
    patch.setattr(operator, "DEFAULT_EXAMPLES", FEW)
    assert status_of(["keys", "new", str(made.folder / "acme")]) == 0
    assert made.certify("--nonce", NONCE, "--bundle", str(made.folder / "acme.zip")) == 0
    made.first = made.run
    yield made
    patch.undo()


def statement(desk: Desk, name: str = "acme") -> dict[str, Any]:
    envelope = json.loads((desk.folder / f"{name}.intoto.json").read_text())
    found: dict[str, Any] = json.loads(b64decode(envelope["payload"]))
    return found


def configuration(desk: Desk, name: str = "acme") -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in statement(desk, name)["predicate"]["configuration"]}


def test_a_certificate_says_what_was_tried_and_on_what_it_rests(desk: Desk) -> None:
    said, rows = statement(desk), configuration(desk)
    digest = artifact_of(str(desk.folder / "sampler")).digest
    assert said["subject"] == [{"name": "sampler", "digest": {"dirHash": digest}, "annotations": {"kind": "folder"}}]
    assert said["predicate"]["result"] == "PASSED"
    assert said["predicate"]["passedTests"] == [OPERATOR]
    scope = rows["scope"]["annotations"]
    assert (scope["operators"], scope["profile"], scope["crash"]) == ([OPERATOR], "standard", "not tried")
    assert rows["nonce"]["annotations"] == {"hex": NONCE}
    assert b64decode(rows["nonce"]["content"]).hex() == NONCE
    assert rows["sandbox"]["annotations"]["kind"] == "none"
    assert rows["environment"]["annotations"]["issued"] == "2026-11-23T12:00:00+00:00"
    assert {"contracts", "vectors", "harness", "mutants", "record.json", "observations.json", "judged"} <= rows.keys()


def test_the_record_has_the_challenge_and_no_time(desk: Desk) -> None:
    import zipfile

    with zipfile.ZipFile(desk.folder / "acme.zip") as archive:
        record = read_record(archive.read("record.json"))
    ids = {entry["id"] for entry in record.entries}
    assert {f"{OPERATOR}?{way}" for way in ("fuzz", "again", "laws")} <= ids
    assert record["seed"] == NONCE
    assert record["fuzz"][f"{OPERATOR}?again"]["unforeseen"] >= FEW // 3
    assert "2026" not in json.dumps(dict(record.members))


def test_a_stranger_verifies_it_without_tallystick(desk: Desk) -> None:
    script = ROOT / "docs" / "verify_certificate.py"
    assert len(script.read_text().splitlines()) < 40
    assert "conformance" not in script.read_text()
    assert "impl" not in script.read_text()
    files = [str(desk.folder / name) for name in ("acme.intoto.json", "acme.pub", "sampler")]
    done = python("-I", str(script), *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == OPERATOR
    for options in (("-I",), ("-I", "-O")):  # -O leaves out what an `assert` checks
        another = python(*options, str(script), *files[:2], str(desk.folder / "acme.key"))
        assert another.returncode == 1
        assert another.stderr.startswith("NOT VALID: the certificate is about another artifact")
    (desk.folder / "spoilt.json").write_text((desk.folder / "acme.intoto.json").read_text().replace("ey", "ez", 1))
    assert "InvalidSignature" in python("-I", str(script), str(desk.folder / "spoilt.json"), files[1]).stderr


def test_another_nonce_gives_another_record(desk: Desk) -> None:
    assert desk.certify(name="fresh") == 0
    one, other = (configuration(desk, name) for name in ("acme", "fresh"))
    assert one["record.json"] != other["record.json"]
    assert other["nonce"]["annotations"]["hex"] not in (NONCE, "0" * 64)


def test_a_reproducible_certificate_has_the_same_bytes_again_and_nothing_of_the_machine(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record is also that of the certificate with times, because the nonce is the same."""
    assert desk.certify("--nonce", NONCE, "--reproducible", name="first") == 0
    monkeypatch.setattr(certify_module, "challenged", lambda *_: desk.first)
    assert desk.certify("--nonce", NONCE, "--reproducible", name="second") == 0
    one, two = ((desk.folder / f"{name}.intoto.json").read_bytes() for name in ("first", "second"))
    assert one == two
    rows = configuration(desk, "first")
    assert rows["record.json"] == configuration(desk)["record.json"]
    assert rows["environment"]["annotations"].keys() == {"tally", "issued", "reproducible"}
    assert rows["sandbox"]["annotations"].keys() == {"kind"}
    assert "observations.json" not in rows
    assert desk.verify("first.intoto.json", "--time", NOON) == 0


@pytest.mark.parametrize("backend", [BAD, "python:conformance.tests.fakes.spoilt:LiesTheSecondTime"])
def test_a_wrong_backend_and_a_liar_are_refused_and_nothing_is_written(
    backend: str, desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    before = desk.written
    capsys.readouterr()
    assert desk.certify(backend=backend, name="bad") == 1
    printed = capsys.readouterr()
    assert "not certified: T022 the verdict is: NOT CONFORMANT" in printed.err
    assert "CERTIFIED:" not in printed.out
    assert desk.written == before
    assert desk.run is not None
    if backend != BAD:
        assert f"{OPERATOR}?again" in {one.check.id for one in desk.run.results if one.verdict is Verdict.FAIL}


def test_a_replay_repeats_the_challenge(desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    artifact = ["--artifact", str(desk.folder / "sampler"), "--replay"]
    assert desk.verify("acme.zip", *artifact, "--backend", "reference") == 0
    said = capsys.readouterr().out
    assert "replay      NOT ESTABLISHED: the command names nothing in the artifact; sandbox none" in said
    assert desk.options is not None
    assert (desk.options.seed, desk.options.challenge) == (NONCE, True)
    capsys.readouterr()
    assert desk.verify("acme.zip", *artifact, "--backend", BAD) == 1
    assert "NOT VALID: replay: the verdict is: NOT CONFORMANT" in capsys.readouterr().out
    # Right as well, but not what was certified.
    assert desk.verify("acme.zip", *artifact, "--backend", "python:conformance.tests.fakes.spoilt:Honest") == 1
    assert "NOT VALID: replay: the same questions gave another record" in capsys.readouterr().out
    assert desk.verify("acme.zip", "--replay", "--backend", "reference") == 2


def test_an_artifact_that_changes_during_the_run_is_refused(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = desk.folder / "sampler" / "cache"

    def busy(library: Any, options: RunOptions) -> RunResult:
        cached.write_text("x")
        assert desk.run is not None
        return desk.run

    monkeypatch.setattr(certify_module, "challenged", busy)
    try:
        assert desk.certify("--nonce", NONCE, name="dirty") == 1
    finally:
        cached.unlink()
    said = capsys.readouterr().err
    assert "T022 the artifact changed during the run" in said
    assert "; cache is new\n" in said
    assert "dirty.intoto.json" not in desk.written


def test_what_changed_in_an_artifact_is_named(desk: Desk) -> None:
    assert desk.first is not None
    assert desk.options is not None
    record = record_of(desk.first, load_library(suite_at(desk.root)))
    before = Artifact("b", "folder", "dirHash", "00", {"a": "1", "b": "2", "c": "3", "d": "4"})
    after = Artifact("b", "folder", "dirHash", "01", {"a": "1", "b": "0", "d": "0", "x/__pycache__/m.pyc": "5"})
    first, *_ = refusals(desk.first, record, desk.options, before, after)
    assert "; b has other bytes, c is gone, d has other bytes and 1 more; Python writes compiled modules" in first


SERVED = """import sys
sys.path.insert(0, {root!r})
from conformance.backend.worker import main

main(["impl.reference:backend", {spec!r}])
"""


def test_a_python_backend_writes_no_compiled_modules_into_its_artifact(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    folder = tmp_path / "backend"
    folder.mkdir()
    (folder / "main.py").write_text("import served\n")
    (folder / "served.py").write_text(SERVED.format(root=str(ROOT), spec=str(suite_at(desk.root).spec)))
    given = ["--backend", f"{sys.executable} {folder / 'main.py'}", "--artifact", str(folder), "--sandbox", "none"]
    given += ["--key", str(desk.folder / "acme.key"), "--output", str(tmp_path / "c.json")]
    assert status_of(["certify", *given]) == 0
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_under_bubblewrap_the_certificate_says_so_and_without_it_there_is_no_judgement(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], str]
) -> None:
    def missing() -> str:
        raise NoSandbox("bwrap not found")

    with monkeypatch.context() as patch:
        patch.setattr("conformance.backend.sandbox.require_bwrap", missing)
        assert desk.certify(name="boxed", sandbox="bwrap") == 2
    assert "--sandbox bwrap: T014 no judgement: bwrap not found" in capsys.readouterr().err
    assert "boxed.intoto.json" not in desk.written
    tool("bwrap")
    try:
        require_bwrap()
    except NoSandbox as error:
        not_run(str(error))
    sampler = str(desk.folder / "sampler")
    assert desk.certify(name="boxed", sandbox="bwrap") == 2
    assert "T021 no file of it is readable in the backend's sandbox" in capsys.readouterr().err
    assert desk.certify("--sandbox-read", sampler, name="boxed", sandbox="bwrap") == 0
    assert desk.verify("boxed.intoto.json", "--time", NOON) == 0
    assert "nonce       fresh\n" in capsys.readouterr().out
    assert desk.verify("acme.intoto.json", "--time", NOON) == 0
    assert "nonce       given: it may have been known before the run\n" in capsys.readouterr().out
    assert configuration(desk, "boxed")["sandbox"]["annotations"]["kind"] == "bwrap"
    assert configuration(desk, "boxed")["scope"]["annotations"]["started"] == {"how": "not established"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-k", "x"), "no such option"),
        (("--same-process",), "no such option"),
        (("--expected-failures", "x"), "no such option"),
        (("--fuzz-examples", "1"), "no such option"),
        (("--nonce", "00"), "64 hex digits"),
        (("--reproducible",), "--reproducible needs --nonce and --time"),
        (("--nonce", "G" * 64), "64 hex digits"),
        (("--time", "noon"), "is no time"),
        (("--artifact", "/gone"), "T021"),
        (("--key", "/gone.key"), "T020"),
        (("--crash", "--sandbox", "bwrap"), "--crash traces system calls"),
        (("--profile", "quick"), "is not one of"),
        (("--require", "Nothing"), "T003"),
        (("--backend", "no-such-program"), "T001"),
        (("--backend", "true"), "T002"),
        (("--bundle", "/gone/x.zip"), "T011"),
        (("--artifact", ""), "T006 invalid value for '--artifact': a path is empty"),
        (("--output", "same", "--bundle", "./same"), "T006 --output and --bundle name one file"),
        (("--bundle", "ARTIFACT/x.zip"), "T011 it would be in the artifact"),
        (("--artifact", "ARTIFACT/.."), "T020 the private key is in the artifact"),
    ],
)
def test_what_cannot_be_certified_is_no_judgement(
    more: tuple[str, ...], said: str, desk: Desk, capsys: Capture
) -> None:
    before = desk.written
    more = tuple(one.replace("ARTIFACT", str(desk.folder / "sampler")) for one in more)
    assert desk.certify(*more, name="no") == 2
    assert said in capsys.readouterr().err
    assert desk.written == before


def test_a_certificate_is_never_overwritten(desk: Desk, capsys: Capture) -> None:
    before = (desk.folder / "acme.intoto.json").read_bytes()
    assert desk.certify() == 2
    assert "T005 the file is in the way" in capsys.readouterr().err
    assert (desk.folder / "acme.intoto.json").read_bytes() == before


@pytest.mark.parametrize("late", ["late.intoto.json", "late.zip"])
def test_a_file_that_appears_during_the_run_is_not_overwritten_and_nothing_is_written_beside_it(
    late: str, desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(library: Any, options: RunOptions) -> RunResult:
        (desk.folder / late).write_text("precious")
        assert desk.run is not None
        return desk.run

    monkeypatch.setattr(certify_module, "challenged", slow)
    before = desk.written
    try:
        assert desk.run is not None
        more = ("--nonce", desk.run.seed, "--bundle", str(desk.folder / "late.zip"))
        assert desk.certify(*more, name="late") == 2
        assert "T011 cannot be written" in capsys.readouterr().err
        assert (desk.folder / late).read_text() == "precious"
        assert desk.written == {*before, late}
    finally:
        (desk.folder / late).unlink()


# -- why a run is not certified


def refused(desk: Desk, run: RunResult, **options: Any) -> list[str]:
    library, artifact = load_library(suite_at(desk.root)), artifact_of(str(desk.folder / "sampler"))
    assert desk.options is not None
    chosen = replace(desk.options, seed=run.seed, **options)
    return list(refusals(run, record_of(run, library), chosen, artifact, artifact))


@pytest.fixture
def good(desk: Desk) -> RunResult:
    """A run that is certified."""
    assert desk.first is not None
    assert refused(desk, desk.first) == []
    return desk.first


def test_each_reason_alone_refuses_a_certificate(desk: Desk, good: RunResult) -> None:
    untried = Result(passed(MAP, "a").check, Verdict.NOT_APPLICABLE)
    excuse = (KnownFailure("nothing", "because it is so", "https://example.org/1"),)
    silent = {name: {**figures, "unforeseen": 0} for name, figures in good.fuzz.items()}
    short = replace(good.counts, selected=good.counts.loaded - 1)
    wrong: dict[str, tuple[RunResult, dict[str, Any]]] = {
        "expected failures": (replace(good, expected_failures=excuse, unmatched_expectations=()), {}),
        "not every applicable check": (replace(good, results=(*good.results, untried)), {}),
        "could not be foreseen": (replace(good, fuzz=silent), {}),
        "checks were selected": (replace(good, counts=short), {}),
        "were selected": (replace(good, selection="x"), {}),
        "was not challenged": (replace(good, seed="1"), {}),
        "not challenged": (good, {"challenge": False}),
        "in the process of the harness": (good, {"same_process": True}),
        "number of fuzzed calls": (good, {"examples": 5}),
        "the verdict is": (replace(good, missing=("Other",)), {}),
    }
    for said, (run, options) in wrong.items():
        reasons = refused(desk, run, **options)
        assert len(reasons) == 1, (said, reasons)
        assert said in reasons[0]
