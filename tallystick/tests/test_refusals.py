"""Every wrong call of the library gets its sentence, and what is right in other types is accepted."""

from __future__ import annotations

import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallystick
from tallystick import ContractFailure, Cursor
from tallystick.stream import ListedTokens, Model, TokenFile
from tallystick.tests.wrong_calls import FILES, NAMED, WRONG, builder, commit, header, mid_step, provider, read, sampler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of everything that is right."""
    made = tmp_path_factory.mktemp("library")
    (made / "words.bin").write_bytes(b"\x01\x00")
    np.save(made / "signed.npy", np.arange(3))
    (made / "huge").touch()
    os.truncate(made / "huge", 2**40)  # holes: it takes no place on the disk
    for name, statement in (("shop", "orders (id INTEGER PRIMARY KEY, total REAL)"), ("doubt", "people (sure INT)")):
        connection = sqlite3.connect(made / f"{name}.db")
        connection.execute(f"CREATE TABLE {statement}")
        connection.executemany(f"INSERT INTO {statement.split()[0]} VALUES ({'NULL, ?' if name == 'shop' else '?'})",
                               [(1,), (0,), (1,)])  # fmt: skip
        connection.commit()
        connection.close()
    tallystick.write_container(made, "7", header=header(), files=FILES, manifest=NAMED)
    for name in ("committed", "fresh"):
        (made / name).mkdir()
    commit(made / "committed")
    saved = mid_step()
    saved.advance(1)
    tallystick.save_checkpoint(saved, made, "saved", Model(1, b"weights"))
    queue = provider(made / "queue")
    queue.run(["train"], until=lambda: queue.produced == 1)
    return made


@pytest.mark.parametrize(("call", "sentence"), WRONG, ids=[sentence[:60] for _, sentence in WRONG])
def test_a_wrong_call_gets_its_sentence(
    call: Callable[[], object], sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(ContractFailure) as caught:
        call()
    failure = caught.value
    assert sentence in str(failure)
    assert str(failure).endswith(f" ({failure.code})")
    assert failure.data["failure_code"] == failure.code
    assert failure.data["failure_operator"]
    again = pickle.loads(pickle.dumps(failure))
    assert type(again) is type(failure)
    assert (str(again), again.code, again.data) == (str(failure), failure.code, failure.data)


def test_numbers_of_numpy_and_paths_of_any_kind_are_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    plain = sampler(rank=1, world_size=2)
    given = sampler(cardinality=np.int32(10), rank=np.uint8(1), world_size=np.int64(2), seed_token=bytearray(32))
    assert given == plain
    assert type(given.cardinality) is int
    assert [list(batch) for batch in given] == [list(batch) for batch in plain]
    assert Cursor(np.uint64(0), np.int16(4)) == Cursor(0, 4)
    for place in (".", Path(), str(folder), folder):
        assert read("7").files == tallystick.read_container(place, "7", stage="eval").files
        restored = tallystick.restore_checkpoint(ListedTokens(np.arange(50)), place, "saved", cms_frequencies=[4])
        assert restored.model == Model(1, b"weights")
    assert TokenFile("words.bin", "u16").read(0, 0, 1) == TokenFile(Path("words.bin"), "u16").read(0, 0, 1) == [1]
    batch = tallystick.DatasetConsumer(Path("queue"), cache_files=np.int64(1)).get_batch("train", timeout=5)
    assert batch["x"].shape == (2, 2)
    assert builder(sequence_length=np.int64(4)).batch(np.array([0, 2])).is_target.shape == (2, 4)


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_sampler_is_iterated_from_its_cursor_to_the_end_of_the_epoch(place: int) -> None:
    for drop_last in (False, True):
        one = sampler(cursor=Cursor(3, place), drop_last=drop_last)
        batches = list(one)
        assert len(batches) == len(one)
        assert {batch.cursor_next.epoch for batch in batches[:-1]} <= {3}
        assert batches[-1].cursor_next == Cursor(4, 0)
        assert all(type(index) is int for batch in batches for index in batch)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"profile": "quik"}, "profile must be one of quick, standard, golden: got 'quik'; did you mean 'quick'?"),
        ({"wire": "xml"}, "wire must be one of json, cbor: got 'xml'"),
        ({"sandbox": True}, "sandbox must be one of none, bwrap: got True"),
        ({"backend": 7}, "backend must be a str: got 7; python:module:object names a Python object"),
        ({"jobs": 0}, "jobs must be an integer from 1 up: got 0"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0: got 0"),
        ({"select": "Emit"}, "select must be a list of texts: got 'Emit'; write ['Emit']"),
        ({"require": ["Batch.Bild"]}, "got 'Batch.Bild'; did you mean 'Batch.Build'?"),
        ({"profile": "quick", "select": ["no-such-check"]}, "select must match a check: got ['no-such-check']; `tally"),
    ],
)
def test_a_trial_with_wrong_arguments_gets_its_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        tallystick.run_trial(**given)
    assert sentence in str(caught.value)
