"""A file is there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.tests.processes import python
from conformance.vectors.jsontext import write_whole

FULL = """
import resource, signal, sys
from pathlib import Path
from conformance.vectors.jsontext import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_whole(Path(sys.argv[1]), "x" * 10000)
except OSError:
    sys.exit(7)
"""


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_whole(file, "first")
    file.chmod(0o640)
    write_whole(file, b"second")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"second", 0o640)
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("good")
    assert python("-c", FULL, str(file)).returncode == 7
    assert file.read_text() == "good"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_and_a_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "target").write_text("old")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    write_whole(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", "x")
    assert list(tmp_path.iterdir()) == []
