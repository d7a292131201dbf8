"""Tokens as people have them: judged when they come, served as arrays, with targets where they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from impl.failure import ContractFailure
from impl.library.stream import ContextStream, Model, restore_checkpoint, save_checkpoint
from impl.library.token_chunk import LastRule, TokenChunk, next_token_targets
from impl.library.token_sources import (
    InteractiveTokens,
    InterleavedTokens,
    IteratorTokens,
    ListedTokens,
    ShuffledTokens,
    TokenFile,
    huggingface_documents,
    prefetched,
)
from impl.reference.stream import context_stream
from impl.reference.stream.token_sources import TokenSource

DOCUMENTS = [[0, 1, 2], [], [3, 4, 5, 6, 7], [8, 9]]
LARGEST = 2**32 - 1


def served(stream: Any, size: int = 4, count: int = 5) -> list[Any]:
    """The tokens, the id and the boundary of so many steps, and the cursor after each."""
    found = []
    for pulse in range(1, count + 1):
        chunk = stream.next_chunk(size)
        stream.advance(pulse)
        found.append(chunk and (list(map(int, chunk.tokens)), chunk.chunk_id, chunk.document_boundary))
        found.append(stream.cursor())
    return found


def sources(folder: Path) -> dict[str, Callable[[], TokenSource]]:
    np.save(folder / "words.npy", np.arange(600, dtype=np.uint16))
    np.arange(600, dtype="<u4").tofile(folder / "words.bin")
    listed = ListedTokens(np.arange(600))
    return {
        "list": lambda: ListedTokens(list(range(600)), [5, 300]),
        "file": lambda: TokenFile(folder / "words.npy"),
        "wide file": lambda: TokenFile(folder / "words.bin", "u32", [7]),
        "interleaved": lambda: InterleavedTokens([listed, ListedTokens([7, 8], on_end="stop")], [0, 1, 0]),
        "shuffled": lambda: ShuffledTokens(listed, bytes(16)),
        "iterator": lambda: IteratorTokens(lambda: DOCUMENTS),
    }


@pytest.mark.parametrize("kind", ["list", "file", "wide file", "interleaved", "shuffled", "iterator"])
def test_chunks_are_arrays_and_hold_what_the_reference_serves(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    for size in (1, 7, 256, 700):
        assert served(ContextStream(source()), size) == served(context_stream.ContextStream(source()), size)
    chunk = ContextStream(source()).next_chunk(4)
    assert chunk is not None
    assert chunk.tokens.dtype == np.uint32
    assert chunk.tokens.shape == (4,)


@pytest.mark.parametrize("kind", ["list", "file", "interleaved", "iterator"])
def test_a_chunk_is_the_callers_own(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    untouched, changed = ContextStream(source()), ContextStream(source())
    for stream in (untouched, changed):
        chunk = stream.next_chunk(7)
        assert chunk is not None
        if stream is changed:
            chunk.tokens[:] = 77
        stream.advance(1)
    assert changed.cursor() == untouched.cursor()
    for stream in (untouched, changed):
        stream.reset()
    assert changed.next_chunk(7) == untouched.next_chunk(7)


def test_chunks_are_equal_where_all_three_are() -> None:
    chunk = TokenChunk(np.array([1, 2], dtype=np.uint32), 3, True)
    assert chunk == TokenChunk(np.array([1, 2], dtype=np.uint32), 3, True)
    for tokens, number, boundary in (([1, 3], 3, True), ([1], 3, True), ([1, 2], 4, True), ([1, 2], 3, False)):
        assert chunk != TokenChunk(np.array(tokens, dtype=np.uint32), number, boundary)
    assert chunk != context_stream.TokenChunk([1, 2], 3, True)


def as_numpy(document: list[int]) -> Any:
    return np.array(document, dtype=np.int64)


def as_numpy_scalars(document: list[int]) -> Any:
    return [np.uint16(token) for token in document]


@pytest.mark.parametrize("made", [as_numpy, as_numpy_scalars, tuple])
@pytest.mark.parametrize("ahead", [False, True])
def test_documents_are_lists_or_arrays(made: Callable[[list[int]], Any], ahead: bool, tmp_path: Path) -> None:
    require_same_as_lists(made, ahead, tmp_path)


def require_same_as_lists(made: Callable[[list[int]], Any], ahead: bool, folder: Path) -> None:
    """Documents of some kind give the chunks that lists of the same tokens give, also behind a restore."""

    def documents() -> Iterator[Any]:
        return (made(document) for document in DOCUMENTS)

    source = IteratorTokens(prefetched(documents, 4) if ahead else documents)
    stream, plain = ContextStream(source), ContextStream(IteratorTokens(lambda: DOCUMENTS))
    assert served(stream, 4, 7) == served(plain, 4, 7)
    save_checkpoint(stream, folder, "saved", Model(7, b""))
    restored = restore_checkpoint(IteratorTokens(documents), folder, "saved")
    assert served(restored.stream, 3) == served(plain, 3)


def wrong_documents() -> dict[str, tuple[Any, str]]:
    allowed = f"must be an integer from 0 to {LARGEST}"
    return {
        "-100": ([4, -100], f"documents[2][1] {allowed}: got -100"),
        "2^32": ([2**32], f"documents[2][0] {allowed}: got 4294967296"),
        "float": ([1, 2.0], f"documents[2][1] {allowed}: got 2.0"),
        "bool": ([True], f"documents[2][0] {allowed}: got True"),
        "text": ("words", "documents[2] must be a list of integers: got 'words'"),
        "texts": (["a"], f"documents[2][0] {allowed}: got 'a'"),
        "none": (None, "documents[2] must be a list of integers: got None"),
        "number": (7, "documents[2] must be a list of integers: got 7"),
        "negative array": (np.array([1, -1]), f"documents[2][1] {allowed}: got -1"),
        "wide array": (np.array([1, 2**40]), f"documents[2][1] {allowed}: got {2**40}"),
        "float array": (np.array([1.5]), f"documents[2][0] {allowed}: got 1.5"),
        "bool array": (np.array([True]), f"documents[2][0] {allowed}: got True"),
        "two dimensions": (np.zeros((2, 1), int), "documents[2] must have one dimension: got the shape (2, 1)"),
        "none at all": (np.array(5), "documents[2] must have one dimension: got the shape ()"),
    }


@pytest.mark.parametrize("kind", list(wrong_documents()))
@pytest.mark.parametrize("ahead", [False, True])
def test_a_wrong_document_is_refused_when_it_comes(kind: str, ahead: bool) -> None:
    document, sentence = wrong_documents()[kind]
    documents = lambda: iter([[0, 1, 2], [3], document])  # noqa: E731
    stream = ContextStream(IteratorTokens(prefetched(documents, 100) if ahead else documents))
    assert stream.next_chunk(3) is not None
    stream.advance(1)
    before = stream.cursor()
    for _ in range(2):  # it comes again and again, and is never served
        with pytest.raises(ContractFailure) as caught:
            stream.next_chunk(3)
        assert sentence in str(caught.value)
        assert caught.value.code == "CONTRACT_VIOLATION"
        assert (stream.cursor(), stream.is_mid_step) == (before, False)


class Own:
    """A source that a user wrote, whose tokens may be wrong."""

    on_end = "wrap"
    is_seekable = False
    total_tokens = None

    def __init__(self, tokens: Any) -> None:
        self._tokens = tokens

    def is_ready(self, wanted: int) -> bool:
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        return min(wanted, len(self._tokens))

    def is_over(self, pass_number: int, index: int) -> bool:
        return index >= len(self._tokens)

    def read(self, pass_number: int, start: int, end: int) -> Any:
        return self._tokens[start:end]

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        return end >= len(self._tokens)


def test_the_tokens_of_a_users_own_source_are_judged() -> None:
    own: Any = Own(np.array([1, 2, 3, -100, 5]))
    stream = ContextStream(own)
    chunk = stream.next_chunk(3)
    assert chunk is not None
    assert chunk.tokens.tolist() == [1, 2, 3]
    stream.advance(1)
    with pytest.raises(ContractFailure, match=r"tokens of source\[0\] must be an integer from 0 to .* got -100"):
        stream.next_chunk(2)
    assert stream.position() == 3


def test_pushed_tokens_may_be_an_array() -> None:
    typed = InteractiveTokens()
    typed.push(np.array([1, 2, 3], dtype=np.uint8), boundary=np.bool_(True))  # type: ignore[arg-type]
    chunk = ContextStream(typed).next_chunk(3)
    assert chunk is not None
    assert (chunk.tokens.tolist(), chunk.document_boundary) == ([1, 2, 3], True)


def test_a_list_of_tokens_is_the_sources_own() -> None:
    given = np.arange(4, dtype=np.uint32)
    source = ListedTokens(given)
    given[:] = 9
    assert source.read(0, 0, 4) == [0, 1, 2, 3]


def test_a_dataset_without_the_column_is_refused_with_those_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("datasets")
    rows = [{"text": "?", "ids": [1, 2]}]
    module.load_dataset = lambda path, **options: rows  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(ContractFailure, match=r"one of the dataset's, \['ids', 'text'\]: got 'input_ids'"):
        ContextStream(IteratorTokens(huggingface_documents("a/corpus"))).next_chunk(1)
    assert served(ContextStream(IteratorTokens(huggingface_documents("a/corpus", column="ids"))), 2, 1)[0][0] == [1, 2]


@pytest.mark.parametrize("size", [1, 3, 4, 10])
def test_carried_targets_are_every_pair_of_the_data(size: int) -> None:
    stream = ContextStream(ListedTokens(range(20, 30), on_end="stop"))
    last: int | None = None
    pairs: list[tuple[int, int]] = []
    while (chunk := stream.next_chunk(size)) is not None:
        made = next_token_targets(chunk, last_rule="carry", before=last)
        pairs += zip(made.inputs.tolist(), made.targets.tolist(), strict=True)
        last = made.last
        stream.advance(1)
    assert pairs == [(token, token + 1) for token in range(20, 29)]


@pytest.mark.parametrize(
    ("rule", "inputs", "targets"),
    [("ignore", [5, 6, 7], [6, 7, -100]), ("drop", [5, 6], [6, 7]), ("carry", [5, 6], [6, 7])],
)
def test_each_rule_for_the_last_token(rule: LastRule, inputs: Sequence[int], targets: Sequence[int]) -> None:
    given = np.array([5, 6, 7], dtype=np.uint32)
    made = next_token_targets(given, last_rule=rule)
    assert (made.inputs.tolist(), made.targets.tolist(), made.last) == (inputs, targets, 7)
    assert made.inputs.dtype == made.targets.dtype == np.int64
    made.inputs[:] = 0
    assert given.tolist() == [5, 6, 7]


def test_targets_of_one_token_and_of_the_largest_one() -> None:
    made = next_token_targets([LARGEST], last_rule="ignore", ignored=-1)
    assert (made.inputs.tolist(), made.targets.tolist(), made.last) == ([LARGEST], [-1], LARGEST)
    assert next_token_targets([3], last_rule="drop").inputs.shape == (0,)
    made = next_token_targets([3], last_rule="carry", before=LARGEST)
    assert (made.inputs.tolist(), made.targets.tolist()) == ([LARGEST], [3])


def test_a_model_goes_on_with_other_data_and_other_ranks(tmp_path: Path) -> None:
    stream = ContextStream(ListedTokens(range(50)))
    served(stream, 4, 2)
    save_checkpoint(stream, tmp_path, "saved", Model(2, b"weights"))

    def other() -> ListedTokens:
        return ListedTokens(range(100, 160))

    warm = restore_checkpoint(other(), tmp_path, "saved", start="warm")
    assert (warm.model.state, warm.content_checked, warm.stream.cursor().pulse_id) == (b"weights", False, 2)
    chunk = warm.stream.next_chunk(4)
    assert chunk is not None
    assert (chunk.tokens.tolist(), chunk.chunk_id) == ([100, 101, 102, 103], 1)
    foreign = restore_checkpoint(other(), tmp_path, "saved", rank=1, world_size=2, start="foreign")
    chunk = foreign.stream.next_chunk(4)
    assert chunk is not None
    assert (chunk.tokens.tolist(), chunk.chunk_id) == ([112, 113, 114, 115], 2)
    with pytest.raises(ContractFailure, match="POSITION_OUT_OF_BOUNDS"):
        restore_checkpoint(ListedTokens(range(8)), tmp_path, "saved", start="foreign")
