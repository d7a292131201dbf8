"""Names of files that are no UTF-8, in both implementations: the contracts' cases cannot name such files."""

import base64
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.metadata import write_meta
from impl.tests.checkpoint.checkpoint_calls import PREFIX, container, reading, written
from impl.tests.javascript.javascript_process import Backend, Value, wire_form
from impl.tests.pipeline.pipeline_queue import ROW, meta_of, names_in, put_rows

BAD = os.fsdecode(b"\xff")
CUT = os.fsdecode(b"\xe2\x82")  # the beginning of a character of three bytes
SHOWN = "\ufffd"
WRITE, READ = f"{PREFIX}WriteContainer_v1", f"{PREFIX}ReadContainer_v1"


@pytest.fixture(scope="module", params=["reference", "javascript"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    if request.param == "javascript":
        tool("node")
        backend = Backend("json")
    else:
        backend = Backend("json", [sys.executable, "-P", "-m", "impl.serve", "reference"])
    yield backend
    assert backend.finish() == 0


def ask(backend: Backend, operator: str, **params: Any) -> Any:
    return backend.call(f"Pipeline.{operator}", params)


def test_temporary_names_are_cleared_away(backend: Backend, tmp_path: Path) -> None:
    folder = tmp_path / "queue/train"
    (folder / f".tmp-{CUT}").mkdir(parents=True)
    for name in (f".tmp-{BAD}", f".tmp-{CUT}/{BAD}", f"mine{BAD}"):
        (folder / name).write_bytes(b"")
    meta = Value(meta_of(ROW, batch_size=1))
    config = {"batch_size": 1, "batches_per_file": 1, "codec": "npz", "meta": meta, "sampler": "counting"}
    ask(backend, "Provider.Open", root=str(tmp_path), config=config)
    assert names_in(folder) == [f"mine{BAD}"]


def test_legacy_files_come_in_the_order_of_their_bytes(backend: Backend, tmp_path: Path) -> None:
    write_meta(tmp_path, meta_of(ROW, batch_size=1))
    shown = {os.fsdecode(b"\x80"): SHOWN, "é": "é", CUT: SHOWN, BAD: SHOWN}
    for number, name in enumerate(shown):
        put_rows(tmp_path, f"train_batches_{name}", [2 * number, 2 * number + 1])
    handle = ask(backend, "Consumer.Open", root=str(tmp_path), config={})
    rows, files = [], []
    for _ in range(8):
        batch = ask(backend, "Consumer.GetBatch", **handle, split="train", timeout_ms=0)
        rows += np.frombuffer(base64.b64decode(batch["fields"][0]["tensor"]["data"]), "<i8").tolist()
        files.append(ask(backend, "Consumer.Stats", **handle)["splits"]["train"].get("current_file"))
    assert rows == list(range(8))
    assert files[::2] == [f"train_batches_{name}.npz" for name in shown.values()]


@pytest.mark.parametrize("name", [BAD, CUT], ids=["bad", "cut"])
def test_a_leftover_of_a_container_is_replaced(backend: Backend, tmp_path: Path, name: str) -> None:
    leftover = tmp_path / ".c.tmp"
    (leftover / name).mkdir(parents=True)
    (leftover / name / name).write_bytes(b"")
    answer = backend.ask_form(WRITE, wire_form(WRITE, container(tmp_path)))
    assert "result" in answer, answer
    assert names_in(tmp_path) == ["c"]


FOUND: dict[str, Callable[[Path], object]] = {
    "EXTRA_SHARD": lambda path: path.write_bytes(b""),
    "BAD_PATH": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("name", [BAD, CUT], ids=["bad", "cut"])
@pytest.mark.parametrize("folder", ["", BAD], ids=["above", "below"])
@pytest.mark.parametrize("reason", FOUND)
def test_an_entry_of_a_container_is_named(
    backend: Backend, tmp_path: Path, reason: str, folder: str, name: str
) -> None:
    written(tmp_path, "c")
    place = tmp_path / "c" / folder / name
    place.parent.mkdir(exist_ok=True)
    FOUND[reason](place)
    answer = backend.ask_form(READ, wire_form(READ, reading(tmp_path)))
    shown = f"{SHOWN}/{SHOWN}" if folder else SHOWN
    assert (answer["error"]["data"]["reason"], answer["error"]["data"]["field_path"]) == (reason, shown)
