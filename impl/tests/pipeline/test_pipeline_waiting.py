"""Waiting for files, on a clock that only sleeping moves."""

import time
from pathlib import Path

import pytest

from impl.failure import ContractFailure
from impl.reference.pipeline.machines import ConsumerMachine, ConsumerSettings
from impl.reference.pipeline.refusal import QueueTimeout, Refusal
from impl.tests.pipeline.pipeline_queue import Time, consumer_of, put_rows, queue_of, rows_of, take


def test_pauses_double_from_ten_milliseconds_to_one_second(tmp_path: Path) -> None:
    queue_of(tmp_path)
    time = Time()
    with pytest.raises(QueueTimeout):
        consumer_of(tmp_path, clock=time.clock).get_batch("train", timeout=10)
    assert time.slept[:8] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0]
    assert set(time.slept[8:-1]) == {1.0}
    assert time.seconds == pytest.approx(10)


def test_a_timeout_of_nothing_is_one_look(tmp_path: Path) -> None:
    queue_of(tmp_path)
    time = Time()
    consumer = consumer_of(tmp_path, clock=time.clock)
    with pytest.raises(TimeoutError):
        consumer.get_batch("train", timeout=0)
    assert not consumer.wait_for_data("train", timeout=0)
    assert time.slept == []


def test_a_file_that_arrives_at_the_last_moment_is_seen(tmp_path: Path) -> None:
    folder = queue_of(tmp_path)
    time = Time(0.25, lambda: put_rows(folder, "1-0-1", [1, 2]))
    assert consumer_of(tmp_path, clock=time.clock).wait_for_data("train", timeout=0.25)
    assert time.seconds == 0.25


def test_without_a_timeout_it_waits_on(tmp_path: Path) -> None:
    folder = queue_of(tmp_path)
    time = Time(30.0, lambda: put_rows(folder, "1-0-1", [1, 2]))
    assert rows_of(consumer_of(tmp_path, clock=time.clock).get_batch("train")) == [1, 2]


def test_ready_means_that_the_next_batch_does_not_wait(tmp_path: Path) -> None:
    folder = queue_of(tmp_path)
    consumer = consumer_of(tmp_path)
    (folder / "1-0-1.npz").write_bytes(b"damaged")
    assert not consumer.wait_for_data("train", timeout=0)
    assert consumer.stats()["splits"]["train"]["files_quarantined"] == 1
    put_rows(folder, "2-0-1", [1, 2, 3])
    assert consumer.wait_for_data("train", timeout=0)
    put_rows(folder, "1-1-1", [4, 5])
    assert take(consumer, 1) == [[4, 5]]
    assert take(consumer, 1) == [[1, 2]]
    assert consumer.wait_for_data("train", timeout=0)
    assert take(consumer, 1) == [[3, 3]]
    assert not consumer.wait_for_data("train", timeout=0)


def test_a_queue_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    folder = queue_of(tmp_path)
    folder.rmdir()
    consumer = consumer_of(tmp_path)
    assert not consumer.wait_for_data("train", timeout=0)
    folder.mkdir()
    put_rows(folder, "1-0-1", [1, 2])
    assert take(consumer, 1) == [[1, 2]]


def test_a_timeout_that_is_no_number_is_refused_and_an_endless_one_waits(tmp_path: Path) -> None:
    folder = queue_of(tmp_path)
    consumer = consumer_of(tmp_path, clock=Time().clock)
    for wait in (consumer.get_batch, consumer.wait_for_data):
        with pytest.raises(Refusal) as caught:
            wait("train", timeout=float("nan"))
        assert caught.value.code == "CONFIG_INVALID"
    put_rows(folder, "1-0-1", [1, 2])
    assert consumer.wait_for_data("train", timeout=10**400)


def test_the_machine_waits_milliseconds(tmp_path: Path) -> None:
    queue_of(tmp_path)
    machine = ConsumerMachine()
    handle = machine.open(root=str(tmp_path), config=ConsumerSettings(codec="npz")).handle
    begun = time.monotonic()
    assert not machine.wait_for_data(handle=handle, split="train", timeout_ms=50).ready
    with pytest.raises(ContractFailure) as caught:
        machine.get_batch(handle=handle, split="train", timeout_ms=50)
    assert caught.value.code == "QUEUE_TIMEOUT"
    assert 0.1 <= time.monotonic() - begun < 20
