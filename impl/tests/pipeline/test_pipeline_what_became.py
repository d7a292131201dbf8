"""Hostile, damaged and foreign queue files, and what becomes of each: one table.

`1-0-1` is handed out, refused by file and key where it stands, or moved away for a reason; behind it waits a good file.
Other archives of NumPy are cases of `Pipeline.Consumer`.
"""

import io
import json
import logging
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline.pipeline_archives import archive, npy
from impl.tests.pipeline.pipeline_queue import consumer_of, names_in, queue_of

SCHEMA = [{"name": "row", "dtype": "int64", "shape": []}]
METADATA: dict[str, Any] = {
    "batch_size": 1, "num_batches": 1, "file_idx": 0, "split": "train", "produced_at": 0, "schema": SCHEMA,
}  # fmt: skip
ROW = npy(np.array([5], np.int64))


def npz(metadata: object = METADATA, **members: bytes) -> bytes:
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    return archive({"metadata.json": text, **{f"{name}.npy": data for name, data in (members or {"row": ROW}).items()}})


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in METADATA.items() if key not in keys}


def part(value: object) -> bytes:
    target = io.BytesIO()
    pickler = pickle.Pickler(target, protocol=2)
    pickler.fast = True
    pickler.dump(value)
    return target.getvalue()[2:-1]


def tensor(
    storage: str = "torch\nLongStorage", count: int = 1, offset: int = 0, shape: tuple[int, ...] = (1,), stride: int = 1
) -> bytes:
    sizes = b"(" + b"".join(map(part, shape)) + b"t(" + part(stride) * len(shape) + b"t"
    kept = b"((" + part("storage") + f"c{storage}\n".encode() + part("0") + part("cpu") + part(count) + b"tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + kept + part(offset) + sizes + b"\x89ccollections\nOrderedDict\n)RtR"


def pt(row: bytes | None = None, metadata: object = METADATA, order: bytes = b"little") -> bytes:
    tensors = b"}(" + part("row") + (tensor() if row is None else row) + b"u"
    content = b"\x80\x02}(" + part("metadata") + part(metadata) + part("tensors") + tensors + b"u."
    return archive({"a/data.pkl": content, "a/byteorder": order, "a/data/0": struct.pack("<q", 5), "a/version": b"3\n"})


def pickled(content: bytes) -> bytes:
    return archive({"a/data.pkl": content, "a/data/0": struct.pack("<q", 5)})


HANDED, REFUSED, MOVED = "handed out", "refused and stays", "moved away"

# What it is: its ending, its bytes, what becomes of it, and a part of what is said about it.
TABLE: dict[str, tuple[str, bytes, str, str]] = {
    "a file of npz": ("npz", npz(), HANDED, ""),
    "a file of torch": ("pt", pt(), HANDED, ""),
    "one key more": ("npz", npz({**METADATA, "host": "a"}), HANDED, "'host'"),
    "one key more, of torch": ("pt", pt(metadata={**METADATA, "host": "a"}), HANDED, "'host'"),
    "a unit in a field": ("npz", npz({"schema": [{**SCHEMA[0], "unit": "m"}]}), HANDED, "'unit' of a field"),
    "nothing said": ("npz", npz({}), HANDED, ""),
    "another number of batches": ("npz", npz({**METADATA, "num_batches": 7}), HANDED, "its name says 1"),
    "no metadata": ("npz", archive({"row.npy": ROW}), REFUSED, "metadata.json"),
    "a schema of objects": ("npz", npz({"schema": [{**SCHEMA[0], "dtype": "object"}]}), REFUSED, "'object'"),
    "another dtype": ("npz", npz(without("schema"), row=npy(np.zeros(1, np.int8))), REFUSED, "row is int8"),
    "a note among the members": ("npz", archive({"metadata.json": b"{}", "n.txt": b"x"}), REFUSED, "'n.txt'"),
    "a member above the folder": ("npz", archive({"metadata.json": b"{}", "../row.npy": ROW}), REFUSED, "'../row.npy'"),
    "bfloat16": ("pt", pt(tensor("torch\nBFloat16Storage")), REFUSED, "bfloat16"),
    "every second row": ("pt", pt(tensor(count=4, shape=(2,), stride=2)), REFUSED, "not contiguous"),
    "no batch axis": ("pt", pt(tensor(shape=())), REFUSED, "no batch axis"),
    "big-endian, of torch": ("pt", pt(order=b"big"), REFUSED, "order of bytes"),
    "a parameter": ("pt", pickled(b"\x80\x02ctorch._utils\n_rebuild_parameter\n."), REFUSED, "_rebuild_parameter"),
    "the state of a model": (
        "pt",
        pickled(b"\x80\x02ccollections\nOrderedDict\n)R}" + part("_metadata") + b"}sb."),
        REFUSED,
        "no metadata",
    ),
    "a list, of torch": ("pt", pickled(b"\x80\x02]."), REFUSED, "no map"),
    "a file of an old torch": ("pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.more", REFUSED, "before version 1.6"),
    "empty": ("npz", b"", MOVED, "it does not end like an archive"),
    "a text, of torch": ("pt", b"damaged", MOVED, "it does not end like an archive"),
    "npz under the name of torch": ("pt", npz(), MOVED, "data.pkl"),
    "half of it": ("npz", npz()[:200], MOVED, "it does not end like an archive"),
    "half of it, of torch": ("pt", pt()[:200], MOVED, "it does not end like an archive"),
    "metadata that is no JSON": ("npz", npz(b"{"), MOVED, "no JSON"),
    "an array of objects": ("npz", npz(row=npy(np.array([print], dtype=object))), MOVED, "another header"),
    "an array in column order": ("npz", npz(row=npy(np.zeros((2, 3), np.int64, order="F"))), MOVED, "another header"),
    "a terabyte": ("pt", pt(tensor(shape=(2**37,))), MOVED, "more elements than its storage"),
    "behind its storage": ("pt", pt(tensor(offset=1)), MOVED, "more elements than its storage"),
    "a command": ("pt", pickled(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."), MOVED, "os.system"),
    "a command for a storage": ("pt", pt(tensor("os\nsystem")), MOVED, "os.system"),
    "eval, by the stack": ("pt", pickled(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R."), MOVED, "eval"),
    "an extension": ("pt", pickled(b"\x80\x02\x82\x01."), MOVED, "opcode"),
    "an instance": ("pt", pickled(b"\x80\x02(ios\nsystem\n."), MOVED, "opcode"),
    "two pickles": ("pt", archive({"a/data.pkl": b"\x80\x02}.", "b/data.pkl": b"\x80\x02}."}), MOVED, "2 members"),
}


@pytest.mark.parametrize("what", TABLE)
def test_what_becomes_of_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str) -> None:
    ending, content, fate, said = TABLE[what]
    folder = queue_of(tmp_path, 1, f2_1_1=[7])
    name = f"1-0-1.{ending}"
    (folder / name).write_bytes(content)
    consumer = consumer_of(tmp_path)
    with caplog.at_level(logging.WARNING):
        if fate == REFUSED:
            with pytest.raises(Refusal) as caught:
                consumer.next_batch("train", 0, list)
            assert caught.value.code == "SCHEMA_MISMATCH"
            assert name in str(caught.value)
            assert said in str(caught.value)
        else:
            (rows,) = consumer.next_batch("train", 0, list)
            assert struct.unpack("<q", rows.data) == ((5,) if fate == HANDED else (7,))
            assert said in caplog.text
            assert not (fate == MOVED and name not in caplog.text)
    left = {HANDED: ["2-1-1.npz"], REFUSED: sorted([name, "2-1-1.npz"]), MOVED: []}
    assert names_in(folder) == left[fate]
    quarantine = tmp_path / "queue/quarantine/train"
    assert names_in(quarantine) == ([name] if fate == MOVED else [])
    if fate == MOVED:
        assert (quarantine / name).read_bytes() == content
    assert consumer.stats()["splits"]["train"]["files_quarantined"] == (fate == MOVED)
