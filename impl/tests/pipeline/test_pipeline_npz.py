"""The codec without torch: equal files are equal bytes, NumPy reads them, and damage is reported."""

import io
import re
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from impl.reference.pipeline.codecs import NpzCodec
from impl.reference.pipeline.metadata import FieldSpec
from impl.reference.pipeline.queue_folder import BatchFile, Metadata
from impl.reference.pipeline.refusal import Corrupt, Foreign
from impl.reference.pipeline.tensors import WIDTHS, NotATensor, concatenate, cut_rows, packed, tensor_of
from impl.tests.pipeline.pipeline_archives import archive, npy
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


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_the_array_is_the_one_that_numpy_writes(shape: tuple[int, ...]) -> None:
    array = np.arange(2 * int(np.prod(shape, dtype=int)), dtype=np.float32).reshape(2, *shape)
    target = io.BytesIO()
    np.lib.format.write_array(target, array, version=(1, 0))
    content = CODEC.encode(
        BatchFile(Metadata(2, 1, 0, "train", 0, (FieldSpec("f", "float32", shape),)), {"f": tensor_of(array)})
    )
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        assert made.read("f.npy") == target.getvalue()


def test_the_metadata_has_one_text() -> None:
    with zipfile.ZipFile(io.BytesIO(CODEC.encode(file_of()))) as made:
        assert made.read("metadata.json").decode() == (
            '{"batch_size":3,"num_batches":1,"file_idx":7,"split":"val","produced_at":99,'
            '"schema":[{"name":"x","dtype":"int64","shape":[2]}]}'
        )


METADATA = (
    b'{"batch_size":1,"num_batches":1,"file_idx":0,"split":"train","produced_at":0,'
    b'"schema":[{"name":"x","dtype":"int64","shape":[]}]}'
)
GOOD = npy(np.zeros(1, np.int64))
DAMAGED = {
    "no archive": b"PK nothing",
    "empty": b"",
    "metadata that is no json": archive({"metadata.json": b"{", "x.npy": GOOD}),
    "metadata that nests without end": archive({"metadata.json": b"[" * 100000, "x.npy": GOOD}),
    "a compressed member": archive({"metadata.json": METADATA, "x.npy": GOOD}, zipfile.ZIP_DEFLATED),
    "objects": archive({"metadata.json": METADATA, "x.npy": npy(np.array([print], dtype=object))}),
    "big-endian": archive({"metadata.json": METADATA, "x.npy": npy(np.zeros(1, ">i8"))}),
    "fortran order": archive({"metadata.json": METADATA, "x.npy": npy(np.zeros((2, 3), np.int64, order="F"))}),
    "a short array": archive({"metadata.json": METADATA, "x.npy": GOOD[:-1]}),
    "a long array": archive({"metadata.json": METADATA, "x.npy": GOOD + b"\0"}),
    "no batch axis": archive({"metadata.json": METADATA, "x.npy": npy(np.int64(1))}),
    "a shape that is none": archive({"metadata.json": METADATA, "x.npy": GOOD.replace(b"(1,)", b"(,1)")}),
    "a shape with a blank": archive({"metadata.json": METADATA, "x.npy": GOOD.replace(b"(1,), } ", b"( 1,), }")}),
    "a blank behind a side": archive({"metadata.json": METADATA, "x.npy": GOOD.replace(b"(1,), } ", b"(1 ,), }")}),
    "a shape that is a number": archive({"metadata.json": METADATA, "x.npy": GOOD.replace(b"(1,)", b"(1) ")}),
}
# Whole archives of somebody else, and the key that the refusal names.
FOREIGN = {
    "metadata.json": archive({"x.npy": GOOD}),
    "metadata is no map": archive({"metadata.json": b"[]", "x.npy": GOOD}),
    "num_batches": archive({"metadata.json": METADATA.replace(b'"num_batches":1', b'"num_batches":"1"')}),
    "schema": archive({"metadata.json": METADATA.replace(b"int64", b"object"), "x.npy": GOOD}),
    "../x.npy": archive({"metadata.json": METADATA, "../x.npy": GOOD}),
    "x.txt": archive({"metadata.json": METADATA, "x.txt": b"x"}),
}


@pytest.mark.parametrize("key", FOREIGN)
def test_what_is_of_another_kind_is_refused_by_its_key(key: str) -> None:
    with pytest.raises(Foreign, match=re.escape(key)):
        CODEC.decode(FOREIGN[key])


def test_keys_that_no_rule_knows_are_passed_over_and_told() -> None:
    more = METADATA.replace(b"file_idx", b"index").replace(b'"shape":[]', b'"shape":[],"unit":"m"')
    metadata = CODEC.decode(archive({"metadata.json": more, "x.npy": GOOD})).metadata
    assert metadata is not None
    assert metadata.ignored == ("'index'", "'unit' of a field")
    assert metadata.file_idx is None


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


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_no_batch_file_is_corrupt(damage: str) -> None:
    with pytest.raises(Corrupt):
        CODEC.decode(DAMAGED[damage])


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


def test_batches_are_joined_in_their_order() -> None:
    assert concatenate([Tensor("uint8", (1, 2), b"ab"), Tensor("uint8", (2, 2), b"cdef")]) == Tensor(
        "uint8", (3, 2), b"abcdef"
    )


def test_a_file_with_its_metadata_is_read_by_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "legacy.npz").write_bytes(archive({"x.npy": GOOD, "y.npy": GOOD}))
    assert CODEC.decode_legacy((tmp_path / "legacy.npz").read_bytes()).tensors.keys() == {"x", "y"}
