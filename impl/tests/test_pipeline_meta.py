"""meta.pkl: what it must say, and that nothing in it runs."""

import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from impl.reference.pipeline import metadata
from impl.reference.pipeline.metadata import APPLICABLE, NAME, check_meta, pickled, read_meta, unpickle, write_meta
from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline_queue import meta_of

SIZES: dict[str, Any] = {"vocab_size": 5, "block_size": 4, "target_size": 3}


def refused(meta: object) -> str:
    with pytest.raises(Refusal) as caught:
        check_meta(meta)
    return caught.value.code


@pytest.mark.parametrize("key", ["dataset_name", "training_type", "batch_size", "batch_schema", "split_info"])
def test_every_required_key_is_required(key: str) -> None:
    meta = meta_of()
    del meta[key]
    assert refused(meta) == "META_INVALID"


@pytest.mark.parametrize("training_type", APPLICABLE)
@pytest.mark.parametrize("size", SIZES)
def test_a_size_is_required_exactly_where_it_applies(training_type: str, size: str) -> None:
    expected = {
        "vocab_size": {"LM", "MLM", "TOKEN_CLASSIFICATION"},
        "block_size": {"LM", "MLM", "TOKEN_CLASSIFICATION", "SEQUENCE_SCORING"},
        "target_size": {"LM", "MLM"},
    }
    meta = meta_of(training_type=training_type, **SIZES)
    assert check_meta(meta) == meta
    del meta[size]
    if training_type in expected[size]:
        assert refused(meta) == "META_INVALID"
    else:
        assert check_meta(meta) == meta


def test_optional_keys_pass_untouched(tmp_path: Path) -> None:
    meta = meta_of(itos={0: "a", 1: "ü"}, pad_token_id=None, ratio=0.5, big=2**70, flags=[True, {"deep": [1]}])
    write_meta(tmp_path, meta)
    assert check_meta(read_meta(tmp_path)) == meta
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


class Shell:
    """An object whose pickle runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


HOSTILE = {
    "a class": pickle.dumps(Path(), protocol=2),
    "a function": pickle.dumps(print, protocol=2),
    "a tuple": pickle.dumps((1,), protocol=2),
    "a set": pickle.dumps({1}, protocol=2),
    "bytes": pickle.dumps(b"x", protocol=2),
    "protocol 0": pickle.dumps({}, protocol=0),
    "protocol 4": pickle.dumps({}, protocol=4),
    "nothing": b"",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent object": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "a key that is a list": b"\x80\x02}]K\x01s.",
    "more after its end": pickle.dumps({}, protocol=2) + b"N.",
    "a memo of 32 GB": b"\x80\x02}r\xff\xff\xff\xff.",
    "a text longer than the file": b"\x80\x02X\xff\xff\xff\x7fa.",
    "an empty stack": b"\x80\x02.",
    "a list inside itself": b"\x80\x02]q\x00h\x00a.",
    "doubling lists": b"\x80\x02]q\x00" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(40)) + b".",
    "a million levels": b"\x80\x02" + b"]" * 1000 + b"a" * 999 + b".",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_but_plain_values_is_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAX_ITEMS", 10_000)
    with pytest.raises(Refusal) as caught:
        unpickle(HOSTILE[kind])
    assert caught.value.code == "META_INVALID"


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_in_a_hostile_pickle_runs(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "ran"
    (tmp_path / NAME).write_bytes(pickle.dumps(meta_of(evil=Shell(f"touch {marker}")), protocol=protocol))
    with pytest.raises(Refusal) as caught:
        read_meta(tmp_path)
    assert caught.value.code == "META_INVALID"
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_every_cut_of_a_pickle_is_invalid() -> None:
    content = pickled(meta_of())
    for size in range(len(content)):
        with pytest.raises(Refusal):
            unpickle(content[:size])


@pytest.mark.parametrize("key", ["training_type", "batch_size", "name", "dtype", "shape", "role"])
def test_a_number_that_cannot_be_printed_is_refused_like_any_other(tmp_path: Path, key: str) -> None:
    meta = meta_of()
    (meta if key in meta else meta["batch_schema"][0])[key] = 10**5000
    (tmp_path / NAME).write_bytes(pickled(meta))
    assert refused(read_meta(tmp_path)) == "META_INVALID"


def test_junk_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAX_OPCODES", 1000)
    with pytest.raises(Refusal, match="more than 1000 opcodes"):
        unpickle(b"\x80\x02" + b"N" * 1_000_000 + b".")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        ({"a": float("nan")}, {"a": float("nan")}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 0.0}, {"a": -0.0}, False),
        ({1: "a"}, {True: "a"}, False),
        ({"a": []}, {"a": {}}, False),
        ({"a": None}, {}, False),
        ({"a": [1]}, {"a": [1, 1]}, False),
    ],
)
def test_values_are_the_same_where_their_types_are(one: object, other: object, same: bool) -> None:
    assert metadata.is_same(one, other) is same


def test_python_reads_what_is_written() -> None:
    meta = meta_of(itos={0: "a"})
    content = pickled(meta)
    assert content[:2] == struct.pack("BB", 0x80, 2)
    assert pickle.loads(content) == unpickle(content) == meta
