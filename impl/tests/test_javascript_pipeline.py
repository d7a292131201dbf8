"""The file queue in JavaScript: files that it and the reference leave each other, hostile ones, and waiting."""

import base64
import io
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.tests.javascript_process import Backend, Value
from impl.tests.pipeline_queue import ROW, consumer_of, meta_of, names_in, provider_of, put_rows, queue_of
from impl.tests.test_pipeline_meta import HOSTILE
from impl.tests.test_pipeline_npz import DAMAGED

PROVIDER, CONSUMER = "Pipeline.Provider.", "Pipeline.Consumer."
INTEGERS = [f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64"]
EVERY_DTYPE = [{"name": dtype, "dtype": dtype, "shape": [3]} for dtype in DTYPES]
# Integers on both sides of every opcode that a pickle has for them, and one object that stands at several places.
NUMBERS = [sign * (2**bits + more) for bits in (0, 7, 8, 15, 16, 31, 32, 63) for more in (-1, 0) for sign in (1, -1)]
OPTIONAL = {"numbers": NUMBERS, "again": [NUMBERS, NUMBERS], "itos": {0: "a", 1: "ü"}, "ratio": 0.5, "flag": True}


@pytest.fixture(params=["json", "cbor"])
def process(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    """A process of its own, over each wire; it must end whatever it still waits for."""
    tool("node")
    backend = Backend(request.param)
    yield backend
    assert backend.finish() == 0


def open_provider(backend: Backend, root: Path, meta: dict[str, Any]) -> str:
    config = {"batch_size": 2, "batches_per_file": 2, "codec": "npz", "meta": Value(meta), "sampler": "counting"}
    return str(backend.call(PROVIDER + "Open", {"root": str(root), "config": config})["handle"])


def open_consumer(backend: Backend, root: Path, **config: Any) -> str:
    return str(backend.call(CONSUMER + "Open", {"root": str(root), "config": {"codec": "npz", **config}})["handle"])


def asked(handle: str, **inputs: Any) -> dict[str, Any]:
    return {"handle": handle, "split": "train", **inputs}


def contents(answer: dict[str, Any]) -> list[bytes]:
    """Return the bytes of every field of a batch, from either wire."""
    data = [field["tensor"]["data"] for field in answer["fields"]]
    return [base64.b64decode(text) if isinstance(text, str) else text for text in data]


def take(backend: Backend, handle: str) -> list[int]:
    """Return the rows of the next batch of one field, `row`."""
    (data,) = contents(backend.call(CONSUMER + "GetBatch", asked(handle, timeout_ms=0)))
    return [int(row) for row in np.frombuffer(data, "<i8")]


def test_the_reference_reads_what_javascript_writes(process: Backend, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    meta = meta_of(EVERY_DTYPE, **OPTIONAL)
    handle = open_provider(process, ours, meta)
    produced = process.call(PROVIDER + "Produce", asked(handle, now_ms=2**64 - 1))
    provider = provider_of(theirs, meta=meta)
    provider.open()
    path = provider.turn("train", 2**64 - 1)
    assert path is not None
    assert produced == {"produced": True, "path": str(path.relative_to(theirs))}
    left, right = consumer_of(ours), consumer_of(theirs)
    assert left.meta == right.meta
    for _ in range(2):
        mine, other = left.get_batch("train", timeout=0), right.get_batch("train", timeout=0)
        assert isinstance(mine, dict)
        assert isinstance(other, dict)
        assert {name: mine[name].tobytes() for name in DTYPES} == {name: other[name].tobytes() for name in DTYPES}
    assert names_in(ours / "queue/train") == []


def test_javascript_reads_what_the_reference_writes(process: Backend, tmp_path: Path) -> None:
    provider = provider_of(tmp_path, meta=meta_of(EVERY_DTYPE, **OPTIONAL))
    provider.open()
    provider.turn("train", 1)
    expected = consumer_of(tmp_path).get_batch("train", timeout=0)
    assert isinstance(expected, dict)
    batch = process.call(CONSUMER + "GetBatch", asked(open_consumer(process, tmp_path), timeout_ms=0))
    assert [field["name"] for field in batch["fields"]] == DTYPES
    assert contents(batch) == [expected[name].tobytes() for name in DTYPES]
    # The metadata of the one is the metadata of the other; a single number more is not.
    open_provider(process, tmp_path, meta_of(EVERY_DTYPE, **OPTIONAL))
    config = {"batch_size": 2, "codec": "npz", "meta": Value(meta_of(EVERY_DTYPE)), "sampler": "counting"}
    assert process.refuse(PROVIDER + "Open", {"root": str(tmp_path), "config": config})["message"] == "META_INVALID"


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_metadata_is_refused_and_stays(javascript: Backend, tmp_path: Path, kind: str) -> None:
    (tmp_path / "meta.pkl").write_bytes(HOSTILE[kind])
    refused = javascript.refuse(CONSUMER + "Open", {"root": str(tmp_path), "config": {"codec": "npz"}})
    assert refused["message"] == "META_INVALID"
    assert (tmp_path / "meta.pkl").read_bytes() == HOSTILE[kind]


def test_metadata_is_no_link_and_no_folder(javascript: Backend, tmp_path: Path) -> None:
    queue_of(tmp_path)
    opening = {"root": str(tmp_path), "config": {"codec": "npz"}}
    path = tmp_path / "meta.pkl"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    assert javascript.refuse(CONSUMER + "Open", opening)["message"] == "META_INVALID"
    path.unlink()
    path.mkdir()
    assert javascript.refuse(CONSUMER + "Open", opening)["message"] == "META_INVALID"
    path.rmdir()
    assert javascript.refuse(CONSUMER + "Open", opening)["message"] == "META_MISSING"


def test_metadata_that_holds_itself_is_refused(javascript: Backend, tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append({"again": [endless]})
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps(meta_of(endless=endless), protocol=2))
    refused = javascript.refuse(CONSUMER + "Open", {"root": str(tmp_path), "config": {"codec": "npz"}})
    assert refused["message"] == "META_INVALID"


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_no_batch_file_is_moved_away(javascript: Backend, tmp_path: Path, damage: str) -> None:
    folder = queue_of(tmp_path, 1, f2_1_1=[7])
    (folder / "1-0-1.npz").write_bytes(DAMAGED[damage])
    handle = open_consumer(javascript, tmp_path)
    assert take(javascript, handle) == [7]
    assert (tmp_path / "queue/quarantine/train/1-0-1.npz").read_bytes() == DAMAGED[damage]


def test_a_file_cut_or_flipped_anywhere_gives_its_own_rows_or_none(javascript: Backend, tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 2, f1_0_1=[5, 6])
    whole = (folder / "1-0-1.npz").read_bytes()
    handle = open_consumer(javascript, tmp_path)
    spoilt = [whole[:size] for size in range(len(whole))]
    spoilt += [whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :] for at in range(len(whole))]
    for content in spoilt:
        (folder / "1-0-1.npz").write_bytes(content)
        put_rows(folder, "2-1-1", [7, 8])
        rows = take(javascript, handle)
        if rows == [5, 6]:
            assert len(content) == len(whole), "a file that is cut is none"
            rows = take(javascript, handle)
        assert rows == [7, 8]


def test_what_cannot_be_moved_is_passed_over(javascript: Backend, tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 1, f2_1_1=[7])
    (folder / "1-0-1.npz").write_bytes(b"damaged")
    (tmp_path / "queue/quarantine").touch()
    handle = open_consumer(javascript, tmp_path)
    assert take(javascript, handle) == [7]
    assert javascript.call(CONSUMER + "Stats", {"handle": handle})["warnings"] == ["QUARANTINE_FAILED"]
    assert names_in(folder) == ["1-0-1.npz"]


def test_the_baselines_archives_are_read_in_a_circle(javascript: Backend, tmp_path: Path) -> None:
    for name, rows in {"train_batches_1": [3], "train_batches_0": [1, 2]}.items():
        target = io.BytesIO()
        np.savez(target, row=np.array(rows, dtype=np.int64))
        (tmp_path / f"{name}.npz").write_bytes(target.getvalue())
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps(meta_of(ROW), protocol=2))
    handle = open_consumer(javascript, tmp_path)
    assert [take(javascript, handle) for _ in range(3)] == [[1, 2], [3, 3], [1, 2]]


def test_waiting_holds_up_no_other_call_and_no_end(process: Backend, tmp_path: Path) -> None:
    provider = open_provider(process, tmp_path, meta_of(ROW))
    consumer = open_consumer(process, tmp_path)
    begun = time.monotonic()
    assert process.call(CONSUMER + "WaitForData", asked(consumer, timeout_ms=50)) == {"ready": False}
    assert process.refuse(CONSUMER + "GetBatch", asked(consumer, timeout_ms=50))["message"] == "QUEUE_TIMEOUT"
    assert time.monotonic() - begun >= 0.1
    process.send(process.request(900, CONSUMER + "GetBatch", asked(consumer)))
    process.send(process.request(901, PROVIDER + "Produce", asked(provider, now_ms=1)))
    answers = {answer["id"]: answer["result"] for answer in (process.receive(), process.receive())}
    assert answers[901]["produced"]
    assert len(contents(answers[900])[0]) == 2 * 8
    other = open_consumer(process, tmp_path)
    process.call(CONSUMER + "GetBatch", asked(consumer, timeout_ms=0))
    process.send(process.request(902, CONSUMER + "GetBatch", asked(other)))
    process.call(CONSUMER + "Stats", {"handle": other})
    process.send(process.request(903, CONSUMER + "Close", {"handle": other}))
    answers = {answer["id"]: answer for answer in (process.receive(), process.receive())}
    assert answers[902]["error"]["message"] == "CONTRACT_VIOLATION", "a consumer that is closed hands out nothing"
    process.send(process.request(904, CONSUMER + "GetBatch", asked(consumer)))


def test_a_large_file_of_nothing_is_moved_away(javascript: Backend, tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 1, f2_1_1=[7])
    with (folder / "1-0-1.npz").open("wb") as file:
        file.truncate(2**35)
    assert take(javascript, open_consumer(javascript, tmp_path)) == [7]
    assert names_in(tmp_path / "queue/quarantine/train") == ["1-0-1.npz"]


def test_folders_of_temporary_names_are_cleared_away(javascript: Backend, tmp_path: Path) -> None:
    for name in (".tmp-meta.pkl/inside", "queue/train/.tmp-1-000000.npz/inside"):
        (tmp_path / name).mkdir(parents=True)
    open_provider(javascript, tmp_path, meta_of(ROW))
    assert names_in(tmp_path) == ["meta.pkl", "queue"]
    assert names_in(tmp_path / "queue/train") == []
