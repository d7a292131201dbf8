"""What the reader of a page has before its first block."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from conformance.backend.sandbox import NoSandbox, require_bwrap
from conformance.cli.main import status_of
from conformance.tests.processes import ROOT
from conformance.tests.released_suite import OPERATOR, edit
from conformance.tests.sliced_house import OPERATORS
from conftest import not_run
from examples.batch.shop import write_shop

# Right about two small operators.
OWN_BACKEND: Final = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from impl.backend import Backend
from impl.reference import backend
from impl.serve import serve

serve(Backend("mine", {{name: backend.operators[name] for name in {tuple(OPERATORS.values())!r}}}))
"""
# The skeleton's one function, written.
NOT_WRITTEN: Final = {
    "operators.py": '    raise NotImplementedError("not written yet: clamp in operators.py")\n',
    "operators.js": '  throw notWritten("clamp");\n',
}
WRITTEN: Final = {
    "operators.py": f"""\
    low, high, value = (int(params[name]) for name in ("low", "high", "value"))
    if high < low:
        record = {{"failure_code": "CONTRACT_VIOLATION", "failure_operator": "{OPERATOR}"}}
        raise Refused("CONTRACT_VIOLATION", 1801, record)
    return {{"clamped": str(min(max(value, low), high))}}
""",
    "operators.js": f"""\
  const [low, high, value] = ["low", "high", "value"].map((name) => BigInt(params[name]));
  if (high < low) {{
    const record = {{ failure_code: "CONTRACT_VIOLATION", failure_operator: "{OPERATOR}" }};
    throw new Refused("CONTRACT_VIOLATION", 1801, record);
  }}
  return {{ clamped: String(value < low ? low : value > high ? high : value) }};
""",
}


@dataclass(frozen=True)
class Desk:
    """Where a reader sits, and what tests share: a fixture by its name."""

    folder: Path
    fixture: Callable[[str], Any]

    def need(self, *tools: str) -> None:
        """End the test where a tool outside Python is missing."""
        for tool in tools:
            self.fixture("tool")(tool)

    def need_a_sandbox(self) -> None:
        """End the test where bubblewrap is missing or cannot start."""
        self.need("bwrap")
        try:
            require_bwrap()
        except NoSandbox as error:
            not_run(str(error))

    def clear(self) -> None:
        """Take everything away that is the checkout's."""
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def begin(self, suite: str) -> None:
        """Put the suite of a fixture here, instead of everything of the checkout."""
        self.clear()
        shutil.copytree(self.fixture(suite), self.folder, dirs_exist_ok=True)


# -- backends of the reader's own


def clamping(folder: Path, language: str = "python") -> None:
    """A skeleton in a folder, with its one operator written."""
    assert status_of(["new-backend", "--language", language, str(folder)]) == 0
    for name, old in NOT_WRITTEN.items():
        if (folder / name).exists():
            edit(folder / name, old, WRITTEN[name])


def program(file: Path, text: str) -> None:
    """A program of one file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(0o755)


def own(file: Path) -> None:
    """A program that is right about the two operators."""
    program(file, f"#!{sys.executable}\n{OWN_BACKEND}")


def serving(file: Path) -> None:
    """A program that is right about everything, since it starts the reference."""
    started = f'exec env PYTHONPATH="{ROOT}" "{sys.executable}" -P -m impl.serve reference'
    program(file, f"#!/bin/sh\n{started}\n")


def with_the_backends(folder: Path) -> None:
    """The bundled ones, in the suite itself."""
    shutil.copytree(ROOT / "impl", folder / "impl", ignore=shutil.ignore_patterns("tests", "__pycache__"))


# -- before the first block


def of_the_project(desk: Desk) -> None:
    desk.need("node")
    desk.begin("sliced")
    with_the_backends(desk.folder)


def of_two_operators(desk: Desk) -> None:
    """Sessions of nox run in the environment of this test, with a cache of their own."""
    desk.need("node")
    desk.need_a_sandbox()
    for name, value in (("NOX_DEFAULT_VENV_BACKEND", "none"), ("XDG_CACHE_HOME", str(desk.folder.parent / "cache"))):
        desk.fixture("monkeypatch").setenv(name, value)
    desk.begin("sliced")
    own(desk.folder / "my-backend")


def of_a_contract(desk: Desk) -> None:
    desk.begin("sliced")
    own(desk.folder / "my-program")


def of_the_command_line(desk: Desk) -> None:
    """The reader's backend still gives the lower bound for the upper one."""
    desk.begin("new_suite")
    clamping(desk.folder / "my-backend")
    edit(desk.folder / "my-backend" / "operators.py", "max(value, low)", "max(value, high)")


def of_pytest(desk: Desk) -> None:
    """Where nothing is installed, there is no entry point that registers the plugin."""
    desk.begin("new_suite")
    desk.fixture("monkeypatch").setenv("PYTEST_PLUGINS", "conformance.pytest_plugin")
    clamping(desk.folder / "my-backend")


def of_certificates(desk: Desk) -> None:
    desk.need("node", "unzip", "sha256sum")
    desk.need_a_sandbox()
    desk.begin("new_suite")
    clamping(desk.folder / "backend", "javascript")
    (desk.folder / "backend" / "backend.js").rename(desk.folder / "backend" / "main.js")
    shutil.copy(ROOT / "docs" / "verify_certificate.py", desk.folder)


def of_versions(desk: Desk) -> None:
    desk.need("git")
    desk.begin("new_suite")


def of_crashes(desk: Desk) -> None:
    desk.need("strace")
    serving(desk.folder / "my-backend")


def of_backends(desk: Desk) -> None:
    """The CI of the page is that of a repository with a suite of its own."""
    desk.need("jq")
    shutil.copytree(desk.fixture("sliced"), desk.folder.parent / "suite")


def of_html(desk: Desk) -> None:
    own(desk.folder / "my-backend" / "backend.py")
    asked = ["--backend", "python my-backend/backend.py", "-k", "Stream", "--output", "reports/last", "-q"]
    assert status_of(["run", *asked]) == 0


def of_streams(desk: Desk) -> None:
    (desk.folder / "words.bin").write_bytes(bytes(4096))
    (desk.folder / "checkpoints").mkdir()


def of_the_queue(desk: Desk) -> None:
    """Metadata as the script that came before wrote them."""
    old = desk.folder / "data" / "shakespeare_char"
    old.mkdir(parents=True)
    (old / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 2, "itos": {0: "a", 1: "b"}, "stoi": {"a": 0, "b": 1}}))


def of_batches(desk: Desk) -> None:
    write_shop(desk.folder / "shop.db")


def of_contributors(desk: Desk) -> None:
    (desk.folder / "noxfile.py").symlink_to(ROOT / "noxfile.py")


HAD: Final[Mapping[str, Callable[[Desk], None]]] = MappingProxyType(
    {
        "CONTRIBUTING.md": of_contributors,
        "README.md": of_the_project,
        "docs/batches.md": of_batches,
        "docs/certificates.md": of_certificates,
        "docs/command-line.md": of_the_command_line,
        "docs/context-streams.md": of_streams,
        "docs/crash-testing.md": of_crashes,
        "docs/html-report.md": of_html,
        "docs/pipeline.md": of_the_queue,
        "docs/pytest.md": of_pytest,
        "docs/reports.md": of_two_operators,
        "docs/versions.md": of_versions,
        "docs/writing-a-backend.md": of_backends,
        "spec/README.md": of_a_contract,
    }
)
