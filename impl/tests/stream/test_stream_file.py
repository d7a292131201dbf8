"""Files of tokens."""

import mmap
import os
from array import array
from pathlib import Path

import pytest

from impl.reference.stream.token_file import TokenFile, UnusableFile
from impl.tests.stream.stream_calls import Answerer, answerer, opened, step

__all__ = ["answerer"]  # a fixture

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


DESCR, ORDER, SHAPE = "'descr': '<u2'", "'fortran_order': False", "'shape': (2,)"
HEADERS = {
    f"{{{DESCR}, {ORDER}, {SHAPE}, }}     \n": True,
    f"{{{SHAPE},{DESCR},{ORDER}}}": True,
    f"{{  {ORDER} , {SHAPE}  ,  {DESCR}  ,  }}\n": True,
    f'{{"descr":"<u2",{ORDER},"shape" : ( 2 , )}}': True,
    f"{{{DESCR}, 'fortran_order': True, {SHAPE}}}": True,
    f"{{{DESCR}, {ORDER}, {SHAPE}, , }}": False,
    f"{{{DESCR}, {ORDER}, {SHAPE}}}\n\n": False,
    f"{{{DESCR}, {ORDER}, {SHAPE}}}\n ": False,
    f"{{{DESCR}, {ORDER}, {SHAPE}}}#": False,
    f" {{{DESCR}, {ORDER}, {SHAPE}}}": False,
    f"{{{DESCR},\t{ORDER}, {SHAPE}}}": False,
    f"{{{DESCR}, {ORDER} {SHAPE}}}": False,
    f"{{{DESCR}, {SHAPE}}}": False,
    f"{{{DESCR}, {ORDER}}}": False,
    f"{{{DESCR}, {DESCR}, {SHAPE}}}": False,
    f"{{{DESCR}, {DESCR}, {ORDER}, {SHAPE}}}": False,
    f"{{{DESCR}, {ORDER}, {SHAPE}, 'more': 1}}": False,
    f"{{'descr\": '<u2', {ORDER}, {SHAPE}}}": False,
    f"{{'descr': '<u2\", {ORDER}, {SHAPE}}}": False,
    f"{{'descr': '<u8', {ORDER}, {SHAPE}}}": False,
    f"{{'descr': ('<u2'), {ORDER}, {SHAPE}}}": False,
    f"{{'de' 'scr': '<u2', {ORDER}, {SHAPE}}}": False,
    f"{{{DESCR}, 'fortran_order': 0, {SHAPE}}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (02,)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (+2,)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (2L,)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (0x2,)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (2)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': [2]}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': (2,1)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': ({'2' * 5000},)}}": False,
    f"{{{DESCR}, {ORDER}, 'shape': ({'0' * 5000}2,)}}": False,
    f"{{{DESCR}, {ORDER}, {SHAPE}{' ' * 60_000}": False,
}


@pytest.mark.parametrize("number", range(len(HEADERS)))
def test_one_small_grammar_of_headers(answerer: Answerer, tmp_path: Path, number: int) -> None:
    header, is_one = list(HEADERS.items())[number]
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (tmp_path / "words.npy").write_bytes(start + header.encode() + bytes([5, 0, 6, 0]))
    source = {"kind": "file", "path": "words.npy"}
    if is_one:
        handle = opened(answerer, source, root=str(tmp_path))
        assert step(answerer, handle, 9)["tokens"] == [5, 6]
        return
    place = {"rank": 0, "world_size": 1, "cms_frequencies": ["1"], "root": str(tmp_path)}
    assert answerer.call("Open", source=source, **place) == "CONTRACT_VIOLATION"


def test_a_root_is_a_path(answerer: Answerer) -> None:
    place = {"rank": 0, "world_size": 1, "cms_frequencies": ["1"], "root": "/tmp\0"}
    assert answerer.call("Open", source={"kind": "file", "path": "a", "dtype": "u16"}, **place) == "CONTRACT_VIOLATION"


def test_a_root_is_not_known_by_its_letters(answerer: Answerer, tmp_path: Path) -> None:
    for name in ("a", "ab"):
        (tmp_path / name).mkdir()
    (tmp_path / "ab" / "words.bin").write_bytes(bytes(2))
    (tmp_path / "a" / "words.bin").symlink_to(tmp_path / "ab" / "words.bin")
    place = {"rank": 0, "world_size": 1, "cms_frequencies": ["1"], "root": str(tmp_path / "a")}
    source = {"kind": "file", "path": "words.bin", "dtype": "u16"}
    assert answerer.call("Open", source=source, **place) == "CONTRACT_VIOLATION"
