"""Sources that only come one token after the other, and reading ahead of them."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference.stream.context_stream import ContextStream
from impl.reference.stream.iterator_tokens import IteratorTokens, OpenDocuments, huggingface_documents, prefetched
from impl.reference.stream.restore import restore_checkpoint
from impl.reference.stream.stream_checkpoint import Model, save_checkpoint
from impl.reference.stream.token_sources import InterleavedTokens, ListedTokens, OnEnd, ShuffledTokens, TokenSource

DOCUMENTS = [[0, 1, 2], [], [3, 4, 5, 6, 7], [8, 9]]
ENDS = [3, 8, 10]
PATIENCE = 20.0  # seconds, never waited where the code is right


def taken(source: TokenSource, size: int, count: int, rank: int = 0, world_size: int = 1) -> list[Any]:
    stream = ContextStream(source, rank=rank, world_size=world_size)
    found = []
    for pulse in range(count):
        found.append((stream.next_chunk(size), stream.position()))
        stream.advance(pulse)
    return found


@pytest.mark.parametrize("on_end", ["wrap", "stop"])
@pytest.mark.parametrize("size", [1, 3, 4, 10, 25])
@pytest.mark.parametrize(("rank", "world_size"), [(0, 1), (1, 2), (2, 3)])
def test_an_iterator_serves_the_chunks_of_a_list(on_end: OnEnd, size: int, rank: int, world_size: int) -> None:
    listed = ListedTokens(list(range(10)), ENDS, on_end)
    for documents in (lambda: DOCUMENTS, prefetched(lambda: DOCUMENTS, 4)):
        streamed = IteratorTokens(documents, on_end)
        assert taken(streamed, size, 7, rank, world_size) == taken(listed, size, 7, rank, world_size)


def test_an_iterator_of_nothing_has_no_chunk() -> None:
    assert taken(IteratorTokens(list), 4, 2) == [(None, 0), (None, 0)]


def test_a_reset_begins_the_iterator_anew() -> None:
    stream = ContextStream(IteratorTokens(lambda: DOCUMENTS))
    stream.next_chunk(7)
    stream.advance(1)
    stream.reset()
    chunk = stream.next_chunk(4)
    assert chunk is not None
    assert (chunk.tokens, chunk.chunk_id) == ([0, 1, 2, 3], 2)


def test_no_more_is_held_than_a_chunk_and_a_document() -> None:
    def documents() -> Iterator[Sequence[int]]:
        for start in range(0, 100_000, 100):
            yield list(range(start, start + 100))

    source = IteratorTokens(documents, "stop")
    source.resume(0, 99_000)
    assert source.read(0, 99_000, 99_003) == [99_000, 99_001, 99_002]
    assert source._held.end - source._held.start <= 103


def test_the_reader_runs_ahead_within_its_bound() -> None:
    drawn: list[int] = []
    reached, may_end = Event(), Event()

    def documents() -> Iterator[Sequence[int]]:
        for number in range(50):
            drawn.append(number)
            if number == 4:
                reached.set()
            yield [number] * 10
        may_end.set()

    ahead = iter(prefetched(documents, 40)())
    assert next(ahead) == [0] * 10
    assert reached.wait(PATIENCE)  # without anybody asking, up to the bound
    assert len(drawn) <= 6  # and not beyond it
    assert [document[0] for document in ahead] == list(range(1, 50))
    assert may_end.is_set()


@pytest.mark.parametrize("on_end", ["wrap", "stop"])
@pytest.mark.parametrize(("rank", "world_size"), [(0, 1), (1, 2), (0, 3)])
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("failing", range(1, 8))
def test_an_error_leaves_no_gap(failing: int, ahead: bool, rank: int, world_size: int, on_end: OnEnd) -> None:
    drawn = [0]

    def documents() -> Iterator[Sequence[int]]:
        for document in DOCUMENTS:
            drawn[0] += 1
            if drawn[0] == failing:
                raise OSError("the network is gone")
            yield document

    source = IteratorTokens(prefetched(documents, 1) if ahead else documents, on_end)
    stream = ContextStream(source, rank=rank, world_size=world_size)
    found: list[Any] = []
    errors = 0
    while len(found) < 6:
        before = (stream.position(), stream.cursor(), stream.is_mid_step)
        try:
            chunk = stream.next_chunk(3)
        except OSError:
            errors += 1
            assert (stream.position(), stream.cursor(), stream.is_mid_step) == before
            continue
        found.append((chunk, stream.position()))
        stream.advance(len(found) - 1)
    assert found == taken(ListedTokens(list(range(10)), ENDS, on_end), 3, 6, rank, world_size)
    assert errors == 1 or (errors == 0 and drawn[0] < failing)


def test_an_iterator_that_does_not_begin_is_begun_again() -> None:
    opened = [0]

    def documents() -> list[list[int]]:
        opened[0] += 1
        if opened[0] == 2:
            raise OSError("the network is gone")
        return DOCUMENTS

    stream = ContextStream(IteratorTokens(documents))
    stream.next_chunk(10)
    stream.advance(1)
    with pytest.raises(OSError, match="the network is gone"):
        stream.next_chunk(3)
    chunk = stream.next_chunk(3)
    assert chunk is not None
    assert (chunk.tokens, chunk.document_boundary, stream.position()) == ([0, 1, 2], True, 3)


def test_what_is_skipped_again_after_an_error_is_not_held() -> None:
    drawn = [0]

    def documents() -> Iterator[Sequence[int]]:
        for start in range(0, 50_000, 100):
            drawn[0] += 1
            if drawn[0] == 400:
                raise OSError("the network is gone")
            yield list(range(start, start + 100))

    source = IteratorTokens(documents, "stop")
    for start in range(0, 39_900, 100):
        source.read(0, start, start + 100)
    with pytest.raises(OSError, match="the network is gone"):
        source.reach(0, 40_000)
    assert source.reach(0, 40_000) == 40_000
    assert source._held.end - source._held.start <= 300


def test_an_exit_in_the_reader_reaches_whoever_waits() -> None:
    def documents() -> Iterator[Sequence[int]]:
        yield [1]
        raise SystemExit(3)

    ahead = iter(prefetched(documents, 10)())
    assert next(ahead) == [1]
    with pytest.raises(SystemExit):
        next(ahead)


@pytest.mark.parametrize(
    ("on_end", "length", "fits"),
    [("wrap", 7, True), ("wrap", 6, False), ("stop", 6, True), ("stop", 5, False), ("stop", 0, False)],
)
def test_a_shorter_iterator_has_no_such_place(tmp_path: Path, on_end: OnEnd, length: int, fits: bool) -> None:
    stream = ContextStream(IteratorTokens(lambda: DOCUMENTS, on_end))
    stream.next_chunk(6)
    stream.advance(1)
    save_checkpoint(stream, str(tmp_path), "saved", Model(1, b""))
    shorter = IteratorTokens(lambda: [list(range(length))], on_end)
    if fits:
        assert restore_checkpoint(shorter, str(tmp_path), "saved").stream.position() == 6
        return
    with pytest.raises(ContractFailure, match="POSITION_OUT_OF_BOUNDS"):
        restore_checkpoint(shorter, str(tmp_path), "saved")


def test_an_iterator_is_no_part_of_another_source() -> None:
    iterator, listed = IteratorTokens(lambda: DOCUMENTS), ListedTokens([1, 2])
    with pytest.raises(ValueError, match="finite"):
        InterleavedTokens([iterator], [0])
    with pytest.raises(ValueError, match="finite"):
        ShuffledTokens(iterator, bytes(16))
    for pattern in ([], [1], [0, -1]):
        with pytest.raises(ValueError, match="pattern"):
            InterleavedTokens([listed], pattern)
    assert taken(InterleavedTokens([listed], [0], "stop"), 2, 1)[0][0].tokens == [1, 2]


def test_an_abandoned_reader_stops() -> None:
    closed = Event()

    def documents() -> Iterator[Sequence[int]]:
        try:
            while True:
                yield [0]
        finally:
            closed.set()

    ahead = iter(prefetched(documents, 3)())
    next(ahead)
    ahead.close()  # type: ignore[attr-defined]
    assert closed.wait(PATIENCE)


def test_a_dataset_is_streamed_by_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load_dataset(path: str, **options: Any) -> list[dict[str, Any]]:
        asked.append((path, options))
        return [{"input_ids": document, "text": "?"} for document in DOCUMENTS]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    documents: OpenDocuments = huggingface_documents("a/corpus", split="part")
    assert taken(IteratorTokens(documents), 4, 5) == taken(ListedTokens(list(range(10)), ENDS), 4, 5)
    assert asked[0] == ("a/corpus", {"streaming": True, "split": "part"})
    assert len(asked) == 2  # once for each pass
