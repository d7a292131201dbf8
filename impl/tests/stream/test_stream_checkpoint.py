"""The checkpoint of a stream as a library: one file, all or nothing, and what is raised."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference.stream import token_file
from impl.reference.stream.context_stream import ContextStream
from impl.reference.stream.iterator_tokens import IteratorTokens
from impl.reference.stream.restore import StreamModelMismatch, restore_checkpoint
from impl.reference.stream.stream_checkpoint import BEGINNING, Model, save_checkpoint
from impl.reference.stream.token_sources import ListedTokens


def stepped(count: int) -> ContextStream:
    stream = ContextStream(ListedTokens(list(range(10))))
    for pulse in range(1, count + 1):
        stream.next_chunk(4)
        stream.advance(pulse)
    return stream


def test_a_mismatch_carries_both_pulses_and_the_sentence(tmp_path: Path) -> None:
    save_checkpoint(stepped(2), str(tmp_path), "saved", Model(3, b""))
    with pytest.raises(StreamModelMismatch) as raised:
        restore_checkpoint(ListedTokens(list(range(10))), str(tmp_path), "saved")
    mismatch = raised.value
    assert (mismatch.stream_pulse, mismatch.model_pulse) == (2, 3)
    assert mismatch.message == "Model and stream are out of sync. Cannot resume."
    assert mismatch.data == {
        "failure_code": "STREAM_MODEL_MISMATCH",
        "failure_operator": "Stream.Restore",
        "stream_pulse": 2,
        "model_pulse": 3,
        "message": mismatch.message,
    }


@pytest.mark.parametrize("broken", ["open", "write", "fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    save_checkpoint(stepped(1), str(tmp_path), "saved", Model(1, b"old"))
    before = (tmp_path / "saved").read_bytes()

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path if broken == "replace" else os, broken, fails)
        with pytest.raises(OSError, match="No space left"):
            save_checkpoint(stepped(2), str(tmp_path), "saved", Model(2, b"new"))
    assert (tmp_path / "saved").read_bytes() == before
    save_checkpoint(stepped(2), str(tmp_path), "saved", Model(2, b"new"))
    restored = restore_checkpoint(ListedTokens(list(range(10))), str(tmp_path), "saved")
    assert restored.model == Model(2, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_the_content_of_an_iterator_is_not_checked(tmp_path: Path) -> None:
    def source() -> IteratorTokens:
        return IteratorTokens(lambda: [[0, 1, 2], [3, 4, 5, 6]])

    stream = ContextStream(source())
    stream.next_chunk(2)
    stream.advance(1)
    save_checkpoint(stream, str(tmp_path), "saved", Model(1, b""))
    restored = restore_checkpoint(source(), str(tmp_path), "saved")
    assert not restored.content_checked
    assert restored.stream.next_chunk(4) == stream.next_chunk(4)
    assert restored.stream.cursor() == stream.cursor()


def test_the_hash_is_computed_only_for_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counted(tokens: Sequence[int]) -> int:
        hashed.append(len(tokens))
        return 0

    monkeypatch.setattr("impl.reference.stream.context_stream.content_hash", counted)
    stream = stepped(3)
    assert hashed == []
    stream.cursor()
    stream.cursor()
    assert hashed == [2]


@pytest.mark.parametrize("start", ["continue", "warm", "foreign"])
def test_a_file_beyond_the_bound_is_refused_unread(ask: Callable[..., Any], tmp_path: Path, start: str) -> None:
    save_checkpoint(stepped(1), str(tmp_path), "saved", Model(1, b"model"))
    place = {"root": str(tmp_path), "name": "saved", "rank": 0, "world_size": 1, "cms_frequencies": ["1"]}
    asked = {"source": {"kind": "tokens", "tokens": list(range(10))}, **place, "start": start}
    assert "handle" in ask("Restore", **asked)
    os.truncate(tmp_path / "saved", 40 * 2**30)  # holes: it takes no place on the disk
    since = time.monotonic()
    assert ask("Restore", **asked) == "CONTRACT_VIOLATION"
    assert time.monotonic() - since < 5  # seconds; reading 40 GB takes longer, where it does not end the process


def test_of_a_foreign_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    (tmp_path / "saved").touch()
    os.truncate(tmp_path / "saved", 2**20)
    assert token_file.read_file(str(tmp_path), "saved", BEGINNING) == bytes(len(BEGINNING))


def test_nothing_beyond_the_bound_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(stepped(1), str(tmp_path), "saved", Model(1, b"old"))
    before = (tmp_path / "saved").read_bytes()
    monkeypatch.setattr(token_file, "LARGEST_FILE", len(before))
    save_checkpoint(stepped(1), str(tmp_path), "saved", Model(1, b"new"))
    assert restore_checkpoint(ListedTokens(list(range(10))), str(tmp_path), "saved").model.state == b"new"
    with pytest.raises(ContractFailure, match="CONTRACT_VIOLATION"):
        save_checkpoint(stepped(1), str(tmp_path), "saved", Model(1, b"more"))
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert restore_checkpoint(ListedTokens(list(range(10))), str(tmp_path), "saved").model.state == b"new"
