"""Files of tokens."""

import mmap
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.reference.stream.token_file import TokenFile, UnusableFile

WORDS = [0, 1, 255, 256, 65_535]


def test_a_file_is_mapped_and_serves_its_words(tmp_path: Path) -> None:
    file = tmp_path / "words.bin"
    file.write_bytes(array("H", WORDS).tobytes())
    source = TokenFile(file, "u16")
    assert isinstance(source._words.obj, mmap.mmap)
    assert source.total_tokens == 5
    assert source.read(0, 1, 4) == WORDS[1:4]
    assert source.read(0, 4, 9) == WORDS[4:]


def test_a_file_that_becomes_shorter_does_not_end_the_process(tmp_path: Path) -> None:
    file = tmp_path / "words.bin"
    file.write_bytes(array("H", WORDS * 4000).tobytes())
    source = TokenFile(file, "u16")
    os.truncate(file, 10)
    with pytest.raises(UnusableFile, match="shorter"):
        source.read(0, 19_000, 19_010)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnusableFile):
        TokenFile(tmp_path / "pipe", "u16")


def test_a_root_is_a_path_and_not_known_by_its_letters(ask: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("a", "ab"):
        (tmp_path / name).mkdir()
    (tmp_path / "ab" / "words.bin").write_bytes(bytes(2))
    (tmp_path / "a" / "words.bin").symlink_to(tmp_path / "ab" / "words.bin")
    source = {"kind": "file", "path": "words.bin", "dtype": "u16"}
    for root in (str(tmp_path / "a"), "/tmp\0"):
        place = {"rank": 0, "world_size": 1, "cms_frequencies": ["1"], "root": root}
        assert ask("Open", source=source, **place) == "CONTRACT_VIOLATION"
