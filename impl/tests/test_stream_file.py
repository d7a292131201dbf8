"""Files of tokens."""

import io
import mmap
from array import array
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_what_numpy_writes_is_read(tmp_path: Path, dtype: str, version: tuple[int, int]) -> None:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.array(WORDS, dtype), version)
    file = tmp_path / "words.npy"
    file.write_bytes(content.getvalue())
    source = TokenFile(file)
    assert source.read(0, 0, 5) == WORDS
    assert source.total_tokens == 5


@pytest.mark.parametrize(
    "values", [np.zeros((2, 2), "<u2"), np.zeros(3, "<i4"), np.zeros(3, ">u2"), np.zeros(3, "<u8")]
)
def test_other_arrays_are_refused(tmp_path: Path, values: "np.ndarray[tuple[int, ...], np.dtype[np.integer]]") -> None:
    file = tmp_path / "words.npy"
    np.save(file, values)
    with pytest.raises(UnusableFile):
        TokenFile(file)


@pytest.mark.parametrize("cut", range(0, 136, 9))
def test_a_cut_array_is_refused(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "words.npy"
    np.save(file, np.array(WORDS, "<u2"))
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(UnusableFile):
        TokenFile(file)


@pytest.mark.parametrize(
    "header", ["{", "[]", "{'descr': '<u2'}", "('x',)", "{'descr': '<u2', 'shape': 5}", "1" * 5000]
)
def test_a_header_that_says_nothing_is_refused(tmp_path: Path, header: str) -> None:
    file = tmp_path / "words.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(10))
    with pytest.raises(UnusableFile):
        TokenFile(file)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnusableFile):
        TokenFile(tmp_path / "pipe", "u16")
