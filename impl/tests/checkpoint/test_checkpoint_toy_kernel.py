"""The toy kernel of the examples, checkpointed and restored: afterwards it does what it would have done."""

from pathlib import Path

import pytest

from examples.checkpoint.toy_kernel import START, load, main, run, save, step
from impl.failure import ContractFailure


@pytest.mark.parametrize("saved_after", [0, 1, 7, 8, 9, 15])
def test_a_restored_run_leaves_the_same_trace_as_one_that_was_never_stopped(tmp_path: Path, saved_after: int) -> None:
    kernel, _ = run(START, saved_after)
    save(kernel, tmp_path)
    whole, later = run(kernel, 20)
    restored = load(tmp_path, saved_after)
    assert restored == kernel
    assert run(restored, 20) == (whole, later)


def test_a_chain_of_checkpoints_leaves_the_same_trace(tmp_path: Path) -> None:
    uninterrupted, trace = run(START, 24)
    kernel, previous = START, None
    collected: list[bytes] = []
    for _ in range(4):
        kernel, records = run(kernel, 6)
        collected += records
        checkpoint_hash = save(kernel, tmp_path, previous)
        kernel = load(tmp_path, kernel.t, previous)
        previous = checkpoint_hash
    assert collected == trace
    assert kernel == uninterrupted


def test_a_kernel_restored_from_another_step_leaves_another_trace(tmp_path: Path) -> None:
    kernel, _ = run(START, 5)
    save(kernel, tmp_path)
    _, later = run(step(kernel)[0], 5)
    assert run(load(tmp_path, 5), 5)[1] != later


def test_a_damaged_checkpoint_is_not_continued(tmp_path: Path) -> None:
    save(run(START, 3)[0], tmp_path)
    (tmp_path / "3" / "data" / "cursors.cbor").write_bytes(b"\xa0")
    with pytest.raises(ContractFailure):
        load(tmp_path, 3)


def test_the_example_says_that_the_traces_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "toy")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "the same trace"
    assert said[1].split()[-1] == said[2].split()[-1]
