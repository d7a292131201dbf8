"""meta.pkl: what it must say, and that nothing in it runs."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from impl.reference.pipeline import metadata
from impl.reference.pipeline.metadata import APPLICABLE, NAME, check_meta, pickled, read_meta, unpickle, write_meta
from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline.pipeline_queue import meta_of, provider_of

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


EVERYTHING: dict[str, Any] = {
    "numbers": [0, 1, -1, 255, 256, 65535, 65536, 2**31, -(2**31) - 1, 2**70, -(2**2100), 1.5, -0.0, 1e300, 5e-324],
    "floats": [float("inf"), float("-inf")],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, (4,))],
    "texts": ["", "a", "\u00fc\u4e00\U0001f600", "a\\b\nc\0d\re\x1a", "x" * 300],
    "others": [True, False, None, {}, [], {"a": {1: [2]}}],
    "again": [["shared"] * 3] * 3,
}


def listed(value: object) -> object:
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_plain_values_of_every_protocol_are_read(protocol: int) -> None:
    assert repr(unpickle(pickle.dumps(EVERYTHING, protocol=protocol))) == repr(listed(EVERYTHING))
    assert unpickle(b"\x80\x02}r\xff\xff\xff\xff.") == {}, "a place in the memo costs nothing, whatever its number"


def test_all_that_is_wrong_is_told_at_once() -> None:
    meta = meta_of(training_type="LM", vocab_size="many", batch_size=0)
    del meta["split_info"], meta["dataset_name"]
    with pytest.raises(Refusal) as caught:
        check_meta(meta)
    for part in ("dataset_name", "split_info", "block_size", "target_size", "vocab_size is no size", "batch_size"):
        assert part in str(caught.value)


def test_what_is_missing_is_told_once() -> None:
    with pytest.raises(Refusal) as caught:
        check_meta({"batch_size": 2})
    missing = ("dataset_name", "training_type", "batch_schema", "split_info")
    assert str(caught.value) == "; ".join(f"the metadata has no {key}" for key in missing)


def test_a_provider_may_say_tuples(tmp_path: Path) -> None:
    meta = meta_of([{"name": "row", "dtype": "int64", "shape": (2, 3)}])
    provider_of(tmp_path, meta=meta).open()
    assert read_meta(tmp_path)["batch_schema"][0]["shape"] == [2, 3]
    provider_of(tmp_path, meta=meta).open()


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
