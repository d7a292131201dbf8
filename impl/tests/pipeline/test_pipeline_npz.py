"""The codec without torch: equal files are equal bytes, NumPy reads them, and damage is reported."""

import io
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from impl.reference.pipeline.codecs import NpzCodec
from impl.reference.pipeline.metadata import FieldSpec
from impl.reference.pipeline.queue_folder import BatchFile, Metadata
from impl.reference.pipeline.refusal import Corrupt
from impl.reference.pipeline.tensors import WIDTHS, NotATensor, cut_rows, packed, tensor_of
from impl.types import Tensor

CODEC = NpzCodec()


def file_of(dtype: str = "int64") -> BatchFile:
    field = FieldSpec("x", dtype, (2,))
    return BatchFile(Metadata(3, 1, 7, "val", 99, (field,)), {"x": packed(dtype, (3, 2), range(3 * 2))})


@pytest.mark.parametrize("dtype", WIDTHS)
def test_every_dtype_comes_back_and_numpy_reads_it(dtype: str) -> None:
    file = file_of(dtype)
    content = CODEC.encode(file)
    assert CODEC.decode(content) == file
    loaded = np.load(io.BytesIO(content))
    assert loaded.files == ["metadata.json", "x"]
    np.testing.assert_array_equal(loaded["x"], np.arange(6).reshape(3, 2).astype(dtype))


def test_the_metadata_has_one_text() -> None:
    with zipfile.ZipFile(io.BytesIO(CODEC.encode(file_of()))) as made:
        assert made.read("metadata.json").decode() == (
            '{"batch_size":3,"num_batches":1,"file_idx":7,"split":"val","produced_at":99,'
            '"schema":[{"name":"x","dtype":"int64","shape":[2]}]}'
        )


def test_members_that_share_bytes_are_not_unfolded() -> None:
    # Each member holds the next one whole, header and all: 40 members of half a megabyte are 20 in a file of one half.
    names = [f"m{number}.npy" for number in range(40)]
    content, entries = bytes(2**19), []
    for name in reversed(names):
        size, checksum = len(content), zlib.crc32(content)
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0x21, checksum, size, size, len(name), 0)
        entries.append((name, fields, size + 30 + len(name)))
        content = b"PK\3\4" + fields + name.encode() + content
    directory = b"".join(
        b"PK\1\2\x14\3" + fields + bytes(10) + struct.pack("<I", len(content) - below) + name.encode()
        for name, fields, below in entries
    )
    end = struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(directory), len(content), 0)
    bomb = content + directory + b"PK\5\6" + end
    tracemalloc.start()
    try:
        with pytest.raises(Corrupt, match="has no place"):
            CODEC.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


def test_every_cut_and_every_flipped_byte_is_corrupt_or_harmless() -> None:
    content = CODEC.encode(file_of("uint8"))
    for size in range(len(content)):
        with pytest.raises(Corrupt):
            CODEC.decode(content[:size])
    for at in range(len(content)):
        flipped = content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]
        try:
            CODEC.decode(flipped)
        except Corrupt:
            continue
        # The archive's own notes (dates, versions, attributes) are not the file's content.
        assert CODEC.decode(flipped) == file_of("uint8")


def test_short_rows_repeat_in_a_circle() -> None:
    data = memoryview(bytes(range(10)))
    assert bytes(cut_rows(data, 1, 6, 10, 6)) == bytes([6, 7, 8, 9, 6, 7])
    assert bytes(cut_rows(memoryview(b"012"), 1, 0, 3, 8)) == b"01201201"
    assert bytes(cut_rows(data, 2, 1, 3, 2)) == bytes([2, 3, 4, 5])


def test_arrays_of_any_kind_become_tensors() -> None:
    strided = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::2]
    assert tensor_of(strided) == Tensor("int16", (3, 2), np.ascontiguousarray(strided).tobytes())
    assert tensor_of(np.array([True, False])) == Tensor("bool", (2,), b"\1\0")
    assert tensor_of(np.ones(1, np.float16)).dtype == "float16"
    for strange in (np.zeros(1, ">i4"), np.zeros(1, np.complex64), np.array([None]), "text", 5):
        with pytest.raises(NotATensor):
            tensor_of(strange)
