"""Whether a command starts the artifact, as far as its words say."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backend.resolve import BackendCommand
from conformance.backend.sandbox import WORKER
from conformance.report.certificate.artifact import Started, started_by


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
        (("acme/run",), Started("program", "run")),
        (("./acme/run", "other.js"), Started("program", "run")),
        (("node", "acme/main.js"), Started("named", "main.js")),
        (("node", "link.js"), Started("named", "main.js")),
        (("node", "--entry=acme/main.js"), Started("named", "main.js")),
        (("go", "run", "acme"), Started("named", "acme")),
        (("python3", "-m", "acme.serve"), Started("named", "serve.py")),
        (("python3", "-X", "dev", "-m", "acme.inner"), Started("named", "inner/__main__.py")),
        (("python3", "-P", "-m", "acme.serve"), Started()),
        (("python3", "other.py", "-m", "acme.serve"), Started()),
        (("python3", "-P", "-m", WORKER, "acme:Backend", "spec"), Started("named", "__init__.py")),
        (("node", "other.js"), Started()),
        (("node", "acme/missing.js"), Started()),
        (("node", "--entry"), Started()),
    ],
)
def test_what_a_command_says_of_the_artifact(words: tuple[str, ...], how: Started, place: Path) -> None:
    program = str(place / words[0]) if "/" in words[0] else words[0]
    command = BackendCommand("acme", (program, *words[1:]), {}, folder=place)
    assert started_by(command, place / "acme") == how
    assert started_by(command, None) == Started()


def test_a_module_is_looked_for_where_the_command_looks(place: Path) -> None:
    words = ("python3", "-P", "-m", "acme.serve")
    there = BackendCommand("acme", words, {"PYTHONPATH": str(place)}, folder=place)
    assert started_by(there, place / "acme") == Started("named", "serve.py")
    elsewhere = place / "copy" / "acme"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("x")
    assert started_by(there, elsewhere) == Started()
