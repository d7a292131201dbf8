"""What the requirement page pins of streams, in both derivations."""

from pathlib import Path
from typing import Any

import pytest

from impl.tests.stream_calls import Answerer, answerer, opened, step, tokens

__all__ = ["answerer"]

CORPUS = list(range(10))


@pytest.mark.parametrize(
    ("rank", "world_size", "expected"),
    [
        (0, 1, "1:0-3>4 2:4-7>8 3:8-9(T)>0 4:0-3>4"),
        (0, 2, "1:0-3>8 3:8-9(T)>4 5:4-7>0 7:0-3>8"),
        (1, 2, "2:4-7>8 4:0-3>4 6:8-9(T)>0 8:4-7>8"),
        (0, 3, "1:0-3>0 4:0-3>0 7:0-3>0 10:0-3>0"),
        (1, 3, "2:4-7>0 5:4-7>0 8:4-7>0 11:4-7>0"),
        (2, 3, "3:8-9(T)>0 6:8-9(T)>0 9:8-9(T)>0 12:8-9(T)>0"),
        (3, 4, "4:0-3>4 8:4-7>8 12:8-9(T)>0 16:0-3>4"),
    ],
)
def test_ranks_take_turns(answerer: Answerer, rank: int, world_size: int, expected: str) -> None:
    handle = opened(answerer, tokens(CORPUS), rank, world_size)
    shown = []
    for _ in range(4):
        chunk = step(answerer, handle, 4)
        served, mark = chunk["tokens"], "(T)" if chunk["document_boundary"] else ""
        position = answerer.call("Position", handle=handle)["position"]
        shown.append(f"{chunk['chunk_id']}:{served[0]}-{served[-1]}{mark}>{position}")
    assert " ".join(shown) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([1, 2, 3], 0xFD1F0F4381EB0395),
        ([0, 1, 2, 3], 0x30D77E22C5DA0365),
        ([4, 5, 6, 7], 0xCDECC98111D84EE5),
        ([8, 9], 0x00CE242F77B0E9B4),
        ([0], 0x4D25767F9DCE13F5),
        ([2**32 - 1], 0x994F76653E2A3951),
    ],
)
def test_the_content_is_hashed_as_words_of_four_bytes(answerer: Answerer, items: list[int], expected: int) -> None:
    handle = opened(answerer, tokens(items))
    assert answerer.call("Cursor", handle=handle)["cursor"]["content_hash"] == "0"
    step(answerer, handle, 4)
    assert answerer.call("Cursor", handle=handle)["cursor"]["content_hash"] == str(expected)


def test_boundaries_at_3_and_8_show_in_every_chunk_of_4(answerer: Answerer) -> None:
    handle = opened(answerer, tokens(CORPUS, boundaries=["3", "8"]))
    assert [step(answerer, handle, 4)["document_boundary"] for _ in range(3)] == [True, True, True]


def test_a_boundary_at_the_end_of_a_chunk_is_of_that_chunk(answerer: Answerer) -> None:
    handle = opened(answerer, tokens(CORPUS[:8]))
    assert [step(answerer, handle, 4)["document_boundary"] for _ in range(3)] == [False, True, False]


def test_levels_fire_by_the_token_clock(answerer: Answerer) -> None:
    def counts(clock: int, size: int, levels: list[str]) -> Any:
        answer = answerer.call("FiringCounts", clock=str(clock), chunk_size=str(size), cms_frequencies=levels)
        return [int(count) for count in answer["counts"]]

    seed = ["1", "8", "64", "512"]
    assert counts(0, 512, seed) == [512, 64, 8, 1]
    assert counts(0, 1024, seed) == [1024, 128, 16, 2]
    assert [counts(64 * k, 64, ["512"])[0] for k in range(8)] == [0, 0, 0, 0, 0, 0, 0, 1]


def test_every_code_of_the_family_is_produced(answerer: Answerer, tmp_path: Path) -> None:
    place = {"rank": 0, "world_size": 1, "cms_frequencies": ["2"], "root": str(tmp_path)}
    handle = answerer.call("Open", source=tokens(CORPUS), **place)["handle"]
    model = {"pulse_id": "1", "state": ""}

    def restored(items: list[int], name: str = "saved", **changes: Any) -> Any:
        return answerer.call("Restore", **{**place, **changes, "source": tokens(items), "name": name})

    assert answerer.call("Position", handle="nobody") == "CONTRACT_VIOLATION"
    assert answerer.call("NextChunk", handle=handle, chunk_size="1") == "CHUNK_TOO_SMALL"
    answerer.call("NextChunk", handle=handle, chunk_size="4")
    assert answerer.call("NextChunk", handle=handle, chunk_size="4") == "STEP_OPEN"
    save = {"handle": handle, "root": str(tmp_path), "name": "saved", "model": model}
    assert answerer.call("Checkpoint", **save) == "CHECKPOINT_MID_STEP"
    answerer.call("Advance", handle=handle, pulse_id="1")
    answerer.call("Checkpoint", **{**save, "name": "late", "model": {**model, "pulse_id": "2"}})
    answerer.call("Checkpoint", **save)
    assert restored(CORPUS, "late") == "STREAM_MODEL_MISMATCH"
    assert restored([*CORPUS, 10]) == "DATASET_MISMATCH"
    assert restored(CORPUS, world_size=2) == "CONFIG_MISMATCH"
    assert restored([9, *CORPUS[1:]]) == "CONTENT_MISMATCH"
    assert restored(CORPUS)["model"] == model
