"""What a hostile backend tries, and that the sandbox keeps it from it; each attack works without the sandbox."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.backend import sandbox
from conformance.backend.command import Process
from conformance.backend.resolve import resolve, time_zone
from conformance.backend.sandbox import NoSandbox, Sandbox, require_bwrap
from conformance.cli.main import status_of
from conformance.codec.framing import DIALECTS
from conformance.contract.suite_file import bundled_suite
from conformance.report.record import read_record
from conformance.tests.small_spec import SHIPPED
from conformance.vectors.files.temp_roots import run_folder
from conftest import not_run

LAYOUT = bundled_suite()
HEAD = """
import json, os, socket, subprocess, sys, time
def tried(attack):
    try:
        return attack()
    except BaseException as error:
        return type(error).__name__
def wrote(path):
    open(path, "w").write("x")
    return "done"
"""
TAIL = """
hello = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": {"protocol": 1, "name": "hostile", "wires": ["json"],
    "version": str(said), "operators": ["UML_OS.Data.EncodeCursors_v1"]}}), flush=True)
for line in sys.stdin:
    if "id" in (asked := json.loads(line)):
        error = {"code": 1801, "message": "CONTRACT_VIOLATION", "data": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""


@pytest.fixture(autouse=True)
def _ready(tool: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool("bwrap")
    try:
        require_bwrap()
    except NoSandbox as error:  # a container may forbid it
        not_run(str(error))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def hostile(attack: str) -> str:
    """The command of a backend that says in its version what came of an attack."""
    Path("hostile.py").write_text(f"{HEAD}\nsaid = {attack}\n{TAIL}")
    return shlex.join([sys.executable, "-S", "hostile.py"])


def started(text: str, boxed: bool, *read: Path) -> Process:
    command = resolve(text, SHIPPED)
    if boxed:
        command = Sandbox(LAYOUT, run_folder(), read).command(command)
    return Process(command.arguments, DIALECTS["json"], 20.0, command.environment)


def said(attack: str, boxed: bool = True, *read: Path) -> str:
    one = started(hostile(attack), boxed, *read)
    try:
        return one.hello().version
    finally:
        one.kill()


def attacks(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Attacks by name, each an expression that is "done" where it works."""
    for name, path in (
        ("vectors", LAYOUT.vectors / "index.json"),
        ("contracts", LAYOUT.spec / "errors.yaml"),
        ("reports", LAYOUT.reports / "floor.json"),
        ("harness", Path(sandbox.__file__)),
        ("neighbour", tmp_path / "neighbour"),
    ):
        yield f"read {name}", f"tried(lambda: open({str(path)!r}).read() and 'done')"
    for name, path in (
        ("harness", Path(sandbox.__file__).with_name("planted.py")),
        ("neighbour", tmp_path / "planted"),
        ("current folder", Path("planted")),
        ("top", Path("/planted")),
        ("program", Path(sys.executable).with_name("planted")),
    ):
        yield f"write {name}", f"tried(lambda: wrote({str(path)!r}))"
    # A signal 0 is a look: the harness must not even be seen.
    yield "signal the harness", f"tried(lambda: os.kill({os.getpid()}, 0) or 'done')"
    seen = "len([one for one in os.listdir('/proc') if one.isdigit()])"
    yield "see its processes", f"tried(lambda: 'done' if {seen} > 5 else 'few')"
    yield "import", f"tried(lambda: sys.path.append({str(LAYOUT.root)!r}) or __import__('conformance') and 'done')"


def reached(listed: dict[str, str], boxed: bool) -> set[str]:
    """The names of the attacks that work."""
    marks = said(f"''.join('+' if one == 'done' else '-' for one in [{', '.join(listed.values())}])", boxed)
    return {name for name, mark in zip(listed, marks, strict=True) if mark == "+"}


def test_no_attack_reaches_anything_and_each_would_without_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "neighbour").write_text("secret")
    listed = dict(attacks(tmp_path))
    # The neighbour lies below /tmp, of which a sandbox has one of its own.
    assert reached(listed, boxed=True) <= {"write neighbour"}
    assert not (tmp_path / "planted").exists()
    # Not those that would leave something in an installation.
    harmless = {name: one for name, one in listed.items() if not name.startswith("write") or "neighbour" in name}
    assert reached(harmless, boxed=False) == set(harmless)


def test_a_backend_reaches_no_entry_of_the_cache_even_below_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Path("cache").absolute()
    cache.mkdir()
    (cache / "one.entry").write_text("known")
    monkeypatch.setenv("TALLY_CACHE", str(cache))
    look, forge = f"tried(lambda: os.listdir({str(cache)!r}))", f"tried(lambda: wrote({str(cache / 'forged')!r}))"
    assert said(look, boxed=False) == "['one.entry']"
    assert said(look) == "[]"
    assert said(forge) != "done"
    assert [one.name for one in cache.iterdir()] == ["one.entry"]


def test_a_backend_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        attack = f"tried(lambda: socket.create_connection({address!r}, 2) and 'done')"
        assert said(attack, boxed=False) == "done"
        assert said(attack) != "done"


def test_a_backend_is_away_from_utc() -> None:
    assert said("os.environ['TZ']") == time_zone()


def test_a_backend_writes_to_its_roots_and_can_read_what_it_is_given(tmp_path: Path) -> None:
    root = run_folder() / "given"
    root.mkdir(exist_ok=True)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "data").write_text("x")
    assert said(f"tried(lambda: wrote({str(root / 'file')!r}))") == "done"
    assert (root / "file").read_text() == "x"
    data = f"tried(lambda: open({str(tmp_path / 'library' / 'data')!r}).read() and 'done')"
    assert said(data) == "FileNotFoundError"
    assert said(data, True, tmp_path / "library") == "done"


def test_a_child_that_flees_its_session_does_not_outlive_a_sandboxed_backend() -> None:
    """It would write its own record over the run's once the run is over."""
    late = {boxed: run_folder() / f"late-{boxed}" for boxed in (True, False)}
    for boxed, file in late.items():
        code = f"import time; time.sleep(1.5); open({str(file)!r}, 'w').write('forged')"
        flee = f"str(subprocess.Popen([sys.executable, '-S', '-c', {code!r}], start_new_session=True, env={{}}).pid)"
        one = started(hostile(flee), boxed)
        one.hello()
        assert one.settle()
    # The one outside the sandbox fled last: when its file is there, the other's would be, and half a second later.
    until = time.monotonic() + 30
    while not late[False].exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert late[False].exists()
    time.sleep(0.5)
    assert not late[True].exists()


@pytest.mark.parametrize("name", ["reference", "vectorized", "mutant:philox-nine-rounds"])
def test_bundled_backends_start_from_their_own_code_alone(name: str) -> None:
    one = started(name, True)
    assert one.hello().operators
    one.kill()


@pytest.mark.parametrize("way", ["{}/other", "../other", "linked", "../there"])
def test_the_vectors_are_covered_by_whatever_path_their_folder_is_shown(way: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(LAYOUT.vectors / "data", other / "suite" / "vectors" / "data")
    (other / ".git").mkdir()
    (other / ".git" / "packed").write_text("vectors as well")
    (tmp_path / "here" / "linked").symlink_to("../other")
    (tmp_path / "there").symlink_to("other")
    place = way.format(tmp_path)
    look = f"[sorted(os.listdir({place!r} + name)) for name in ('', '/suite/vectors', '/.git')]"
    command = hostile(f"tried(lambda: {look})").replace("hostile.py", f"{place}/hostile.py")
    Path("hostile.py").rename(other / "hostile.py")
    boxed = Sandbox(replace(LAYOUT, root=other / "suite"), run_folder()).command(resolve(command, SHIPPED))
    one = Process(boxed.arguments, DIALECTS["json"], 20.0, boxed.environment)
    try:
        assert one.hello().version == "[['.git', 'hostile.py', 'suite'], [], []]"
    finally:
        one.kill()


@pytest.mark.parametrize("named", ["acme.key", "link.key"])
def test_a_backend_cannot_read_the_key_that_will_sign_its_certificate(named: str) -> None:
    """It could sign what it likes with it, or put it into its version, which everybody reads."""
    Path("acme.key").write_text("private")
    Path("link.key").symlink_to("acme.key")
    command = resolve(hostile("tried(lambda: open('acme.key').read())"), SHIPPED)
    for secret, read in (((), "private"), ((Path(named),), "PermissionError")):
        boxed = Sandbox(LAYOUT, run_folder(), secret=secret).command(command)
        one = Process(boxed.arguments, DIALECTS["json"], 20.0, boxed.environment)
        try:
            assert one.hello().version == read
        finally:
            one.kill()


@pytest.mark.usefixtures("no_diagnosis")
def test_a_python_backend_has_a_worker_of_its_own_without_any_contract(capsys: pytest.CaptureFixture[str]) -> None:
    Path("looks.py").write_text(
        "import glob, os, sys\n"
        "class B:\n"
        "    def hello(self):\n"
        "        found = [p for top in sys.path + ['/tally'] for p in glob.glob(top + '/**/*.yaml', recursive=True)]\n"
        "        found += [p for p in glob.glob('/tally/**', recursive=True) if 'vectors' in p or 'trial' in p]\n"
        "        found = [p for p in found if 'UML_OS' in p or p.startswith('/tally/')]\n"
        "        return {'name': 'looks', 'version': str(len(found)),\n"
        "                'operators': ['UML_OS.Data.EncodeCursors_v1']}\n"
        "    def call(self, method, params):\n"
        "        return {'cursors_cbor': b'\\xa0'}\n"
    )
    arguments = ["run", "--profile", "quick", "--sandbox", "bwrap", "--backend", "python:looks:B"]
    assert status_of([*arguments, "-k", "EncodeCursors_v1::written-out", "--output", "out"]) == 1
    record = read_record(Path("out/record.json").read_bytes())
    assert (record["backend"]["version"], record["backend"]["sandbox"]) == ("0", "bwrap")
    assert record["verdicts"]["pass"] > 0
    assert record["verdicts"]["error"] == 0
    assert "wire json, sandbox bwrap" in capsys.readouterr().out


@pytest.mark.usefixtures("no_diagnosis")
def test_a_run_lets_a_backend_read_the_folders_that_it_names_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "data").write_text("x")
    backend = hostile(f"tried(lambda: open({str(tmp_path / 'library' / 'data')!r}).read() and 'done')")
    arguments = ["run", "--profile", "quick", "--sandbox", "bwrap", "-k", "EncodeCursors", "--backend", backend]
    seen = {}
    for name, more in (("none", []), ("given", ["--sandbox-read", str(tmp_path / "library")])):
        assert status_of([*arguments, *more, "--output", name]) == 1
        seen[name] = read_record(Path(name, "record.json").read_bytes())["backend"]["version"]
    assert seen == {"none": "FileNotFoundError", "given": "done"}


def test_folders_to_read_without_a_sandbox_are_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["run", "--profile", "quick", "--sandbox-read", str(tmp_path)]) == 2
    assert "--sandbox-read needs --sandbox bwrap" in capsys.readouterr().err


def test_where_bubblewrap_cannot_start_there_is_no_judgement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> str:
        raise NoSandbox("bwrap not found")

    monkeypatch.setattr(sandbox, "require_bwrap", missing)
    Path("out").mkdir()
    Path("out/record.json").write_text("an old verdict")
    arguments = ["run", "--profile", "quick", "--sandbox", "bwrap", "-k", "EncodeCursors", "--output", "out"]
    assert status_of(arguments) == 2
    assert "--sandbox bwrap: T014 no judgement: bwrap not found" in capsys.readouterr().err
    assert list(Path("out").iterdir()) == []


def test_a_bubblewrap_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    require_bwrap.cache_clear()
    try:
        with pytest.raises(NoSandbox, match="No permissions to create"):
            require_bwrap()
    finally:
        require_bwrap.cache_clear()


@pytest.mark.parametrize("backend", ["reference", "vectorized", "javascript"])
def test_a_bundled_backend_reads_the_numbers_that_its_contracts_prescribe(
    backend: str, tool: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without them every call with a time is wrong."""
    tool("node")
    few = ("--profile", "quick", "-k", "Batch.LinearizeCells::refused::shortest")
    assert status_of(["run", "--backend", backend, "--sandbox", "bwrap", *few]) == 0, capsys.readouterr().out
