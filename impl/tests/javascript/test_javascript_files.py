"""Files in JavaScript that `tally run` cannot make: pipes, sparse files, odd pickles, every cut. And waiting."""

import base64
import io
import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.machines import native
from impl.tests.checkpoint.checkpoint_calls import PREFIX, container, reading, rewrite, written
from impl.tests.javascript import javascript_process
from impl.tests.javascript.javascript_process import Backend, Value, wire_form
from impl.tests.pipeline.pipeline_queue import ROW, meta_of, names_in, put_hole, queue_of
from impl.tests.pipeline.test_pipeline_meta import EVERYTHING, listed

PROVIDER, CONSUMER = "Pipeline.Provider.", "Pipeline.Consumer."
WRITE, READ = f"{PREFIX}WriteContainer_v1", f"{PREFIX}ReadContainer_v1"
SHARD = "tensors/rank=0/shard=0.bin"
MANIFEST, HEADER = "checkpoint_manifest.cbor", "checkpoint_header.cbor"


def refusal(backend: Backend, method: str, params: dict[str, Any]) -> tuple[str, str]:
    """Return the reason and the field path of a refused container."""
    data = backend.ask_form(method, wire_form(method, params))["error"]["data"]
    return data["reason"], data["field_path"]


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "longer": (lambda folder: os.truncate(folder / SHARD, 2**40), "SHARD_MISMATCH"),
    "pipe": (lambda folder: pipe(folder / SHARD), "BAD_PATH"),
    "pipe-as-manifest": (lambda folder: pipe(folder / MANIFEST), "BAD_PATH"),
    "long-header": (lambda folder: os.truncate(folder / HEADER, 65_537), "LIMIT_EXCEEDED"),
    "long-manifest": (lambda folder: os.truncate(folder / MANIFEST, 2**24 + 1), "LIMIT_EXCEEDED"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_container_of_pipes_or_of_endless_files_is_refused(javascript: Backend, tmp_path: Path, kind: str) -> None:
    damage, reason = DAMAGE[kind]
    written(tmp_path, "c")
    damage(tmp_path / "c")
    assert refusal(javascript, READ, reading(tmp_path))[0] == reason


@pytest.mark.parametrize("size", [2**60, 2**64 - 1, 2**31])
def test_a_size_beyond_everything_allocates_nothing(javascript: Backend, tmp_path: Path, size: int) -> None:
    written(tmp_path, "c")
    rewrite(tmp_path / "c" / MANIFEST, shards=[{"path": SHARD, "sha256": bytes(32), "size_bytes": size}])
    assert refusal(javascript, READ, reading(tmp_path))


def test_a_root_that_cannot_be_used_is_refused(javascript: Backend, tmp_path: Path) -> None:
    for root in (tmp_path / "missing", Path("relative"), Path("/dev/null"), Path("/" + "a" * 300)):
        assert refusal(javascript, WRITE, container(root)) == ("BAD_PATH", "root")
        assert refusal(javascript, READ, reading(root)) == ("BAD_PATH", "root")


@pytest.fixture(params=["json", "cbor"])
def process(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    """A process of its own, over each wire; it must end whatever it still waits for."""
    tool("node")
    backend = Backend(request.param)
    yield backend
    assert backend.finish() == 0


def open_provider(backend: Backend, root: Path, meta: object) -> str:
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


def test_a_key_that_comes_twice_in_the_metadata_has_the_later_value(javascript: Backend, tmp_path: Path) -> None:
    twice = meta_of() | {"split_info": (("train", {}), ("val", {}), ("train", {"rows": 3}))}
    (tmp_path / "javascript").mkdir()
    open_provider(javascript, tmp_path / "javascript", tuple(twice.items()))
    as_the_reference = native(tuple(twice.items()))
    assert as_the_reference == meta_of(split_info={"train": {"rows": 3}, "val": {}})
    assert pickle.loads((tmp_path / "javascript" / "meta.pkl").read_bytes()) == as_the_reference


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


def most_memory(backend: Backend) -> int:
    """Return the most bytes of memory that the process has had; 0 where the system does not tell."""
    told = Path(f"/proc/{backend.process.pid}/status")
    status = told.read_text("utf-8") if told.exists() else "VmHWM: 0"
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(peak)


# The whole file of a terabyte is beyond every limit; the others are not, and one has a whole file behind its hole.
@pytest.mark.parametrize(("size", "has_end"), [(2**40, False), (2**35, False), (3 * 2**30, False), (3 * 2**30, True)])
def test_a_hole_is_seen_before_it_is_read(process: Backend, tmp_path: Path, size: int, has_end: bool) -> None:
    queue_of(tmp_path, 1, f2_1_1=[7])
    put_hole(tmp_path / "queue/train", "1-0-1", size, has_end)
    assert take(process, open_consumer(process, tmp_path)) == [7]
    assert most_memory(process) < 2**28
    assert names_in(tmp_path / "queue/quarantine/train") == ["1-0-1.npz"]


@pytest.mark.parametrize("process", ["json"], indirect=True)  # the file is large, and has nothing to do with the wire
def test_a_large_file_that_is_no_archive_is_not_read_whole(process: Backend, tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 1, f2_1_1=[7])
    (folder / "1-0-1.pt").write_bytes(b"x" * (2**28 + 1))
    assert take(process, open_consumer(process, tmp_path)) == [7]
    assert most_memory(process) < 2**28
    assert names_in(tmp_path / "queue/quarantine/train") == ["1-0-1.pt"]


FLAGS = "const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;"
NO_FOLDER_OPENS = """
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const openSync = fs.openSync;
fs.openSync = (path, ...how) => {
  if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Error("EPERM: a folder");
  return openSync(path, ...how);
};
syncBuiltinESMExports();
"""


def test_a_queue_needs_no_flags_of_posix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The constants of Node cannot be taken away, so a copy of the backend is made that does not ask for them.
    copy = tmp_path / "copy"
    shutil.copytree(javascript_process.BACKEND, copy)
    durable = copy / "checkpoint/durable.js"
    text = durable.read_text("utf-8")
    assert text.count(FLAGS) == 1
    without = "const { O_RDONLY } = constants, [O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK] = [];"
    durable.write_text(text.replace(FLAGS, without))
    (copy / "preload.mjs").write_text(NO_FOLDER_OPENS)
    monkeypatch.setenv("NODE_OPTIONS", f"--import={copy / 'preload.mjs'}")
    monkeypatch.setattr(javascript_process, "BACKEND", copy)
    backend = Backend("json")
    root = tmp_path / "root"
    root.mkdir()
    provider = open_provider(backend, root, meta_of(ROW))
    assert backend.call(PROVIDER + "Produce", asked(provider, now_ms=1))["produced"]
    consumer = open_consumer(backend, root)
    assert len(take(backend, consumer) + take(backend, consumer)) == 4
    assert names_in(root / "queue/train") == []
    assert backend.finish() == 0


def test_folders_of_temporary_names_are_cleared_away(javascript: Backend, tmp_path: Path) -> None:
    for name in (".tmp-meta.pkl/inside", "queue/train/.tmp-1-000000.npz/inside"):
        (tmp_path / name).mkdir(parents=True)
    open_provider(javascript, tmp_path, meta_of(ROW))
    assert names_in(tmp_path) == ["meta.pkl", "queue"]
    assert names_in(tmp_path / "queue/train") == []


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_metadata_of_every_protocol_is_the_same_to_both(javascript: Backend, tmp_path: Path, protocol: int) -> None:
    meta = meta_of(everything=EVERYTHING)
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps(meta, protocol=protocol))
    open_consumer(javascript, tmp_path)
    # A provider of the same metadata finds nothing to complain of, so JavaScript has read exactly these values.
    open_provider(javascript, tmp_path, listed(meta))
    content = pickle.dumps({**meta, "everything": {**EVERYTHING, "others": []}}, protocol=protocol)
    (tmp_path / "meta.pkl").write_bytes(content)
    sizes = {"batch_size": 2, "batches_per_file": 2}
    config = {**sizes, "codec": "npz", "meta": Value(listed(meta)), "sampler": "counting"}
    assert javascript.refuse(PROVIDER + "Open", {"root": str(tmp_path), "config": config})["message"] == "META_INVALID"
