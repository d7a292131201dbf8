"""Files of torch.save as the harness writes and reads them, without torch."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conformance.vectors.files.filecodec import Undecodable, Unencodable, decode_file, encode_file

ROOT = Path(__file__).parents[3]
DTYPES = {
    "bool": "AQA=",
    "uint8": "AQI=",
    "int8": "/wI=",
    "uint16": "AQACAA==",
    "int16": "//8CAA==",
    "float16": "ADwAQA==",
    "uint32": "AQAAAAIAAAA=",
    "int32": "/////wIAAAA=",
    "float32": "AACAPwAAAEA=",
    "uint64": "AQAAAAAAAAACAAAAAAAAAA==",
    "int64": "//////////8CAAAAAAAAAA==",
    "float64": "AAAAAAAA8D8AAAAAAAAAQA==",
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_put_is_found(dtype: str) -> None:
    tensor = {"dtype": dtype, "shape": [2, 1], "data": DTYPES[dtype]}
    metadata = {"map": [[{"text": "n"}, {"int": "7"}], [{"text": "l"}, {"array": [None, True]}]]}
    entries = [
        {"name": "metadata", "value": metadata},
        {"name": "tensors", "tensors": [{"name": "x", "tensor": tensor}, {"name": "y", "tensor": tensor}]},
        {"name": "flat", "tensor": tensor},
    ]
    content = encode_file("pt", entries)
    assert content == encode_file("pt", entries)
    assert decode_file("pt", content) == entries


def test_a_file_that_torch_saved_is_found_as_it_is() -> None:
    vectors = json.loads((ROOT / "vectors/pipeline/Pipeline.Consumer.json").read_text("utf-8"))
    (case,) = [case for case in vectors["cases"] if case["id"] == "Pipeline.Consumer::torch-file-of-torch::trace"]
    (content,) = [step["put"]["bytes"] for step in case["steps"] if "bytes" in step.get("put", {})]
    metadata, tensors = decode_file("pt", bytes.fromhex(content))
    assert metadata["name"] == "metadata"
    assert tensors == {
        "name": "tensors",
        "tensors": [{"name": "row", "tensor": {"dtype": "uint8", "shape": [2], "data": "BQY="}}],
    }


EMPTY = b"\x80\x02}."
WRONG: dict[str, dict[str, bytes | None]] = {
    "a list": {"a/data.pkl": b"\x80\x02]."},
    "a command": {"a/data.pkl": b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."},
    "a reference": {"a/data.pkl": b"\x80\x02X\x01\x00\x00\x00aQ."},
    "protocol 4": {"a/data.pkl": b"\x80\x04}."},
    "an opcode of protocol 4": {"a/data.pkl": b"\x80\x02}\x94."},
    "no pickle": {"a/data.pkl": None},
    "two pickles": {"b/data.pkl": EMPTY},
    "another folder": {"b/note": b""},
    "big endian": {"a/byteorder": b"big"},
    "no version": {"a/version": None},
}


def archive_of(members: dict[str, bytes | None], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in {"a/data.pkl": EMPTY, "a/version": b"3\n", **members}.items():
            if data is not None:
                archive.writestr(name, data)
    return target.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", archive_of({}, zipfile.ZIP_DEFLATED), *map(archive_of, WRONG.values())],
    ids=["nothing", "compressed", *WRONG],
)
def test_what_is_no_such_file_runs_nothing_and_is_told(content: bytes) -> None:
    assert decode_file("pt", archive_of({})) == []
    with pytest.raises(Undecodable):
        decode_file("pt", content)


@pytest.mark.parametrize("value", [[{}], [{"name": "x"}], [{"name": "x", "tensor": 5}], 5])
def test_what_has_no_bytes_is_told(value: Any) -> None:
    with pytest.raises(Unencodable):
        encode_file("pt", value)
