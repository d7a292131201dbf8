"""Provider and consumer killed by a real SIGKILL at their file-system calls; TALLY_CRASH_FULL=1 tries every one."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.provider import file_seed
from impl.reference.pipeline.refusal import QueueTimeout, Refusal
from impl.tests.pipeline.pipeline_queue import ROW, consumer_of, meta_of, names_in, provider_of, queue_of, rows_of
from impl.tests.pipeline.pipeline_sweep import calls_of, interrupted

FILES = 2
NAMES = [f"{seq + 1}-{seq:06}-2.npz" for seq in range(FILES)]
# The calls after which something else stands on the disk; the others are tried with TALLY_CRASH_FULL=1.
TELLING = {"rename", "unlink", "fsync"}


def chosen(calls: Iterator[tuple[str, int]]) -> list[tuple[str, int]]:
    found = list(calls)
    if os.environ.get("TALLY_CRASH_FULL") == "1":
        return found
    return [one for one in found if one[0] in TELLING]


def paths_of(root: Path) -> list[Path]:
    folder = root / "queue/train"
    temporary = [f".tmp-{seq + 1}-{seq:06}.npz" for seq in range(FILES)]
    names = ["meta.pkl", ".tmp-meta.pkl", "queue", "queue/train", "queue/val"]
    return [root, *(root / name for name in names), *(folder / name for name in NAMES + temporary)]


def drained(consumer: DatasetConsumer) -> list[list[int]]:
    batches = []
    try:
        while True:
            batches.append(rows_of(consumer.get_batch("train", timeout=0)))
    except QueueTimeout:
        return batches


def expected_batches() -> list[list[int]]:
    start = [file_seed(1337, "train", seq) + 2217801435 for seq in range(FILES)]  # crc32("row")
    return [[(start[seq] + 2 * k + i) % 127 for i in range(2)] for seq in range(FILES) for k in range(2)]


def test_a_provider_killed_anywhere_leaves_whole_files_and_goes_on(tmp_path: Path, tool: Callable[[str], str]) -> None:
    strace, log = tool("strace"), tmp_path / "log"
    whole = tmp_path / "whole"
    points = chosen(calls_of(strace, log, paths_of(whole), "provider", whole, FILES))
    assert drained(consumer_of(whole)) == expected_batches()
    assert len(points) >= 8
    for call, when in points:
        root = tmp_path / f"{call}-{when}"
        ended = interrupted(strace, log, call, when, "signal=KILL", paths_of(root), "provider", root, FILES)
        assert ended.status == -9, f"{call} {when}: {ended.errors}"
        judge_what_a_provider_left(root)
    print(f"provider: killed at {len(points)} calls")


def judge_what_a_provider_left(root: Path) -> None:
    visible = [name for name in names_in(root / "queue/train") if not name.startswith(".tmp-")]
    assert visible == NAMES[: len(visible)], root.name
    if (root / "meta.pkl").exists():
        assert drained(consumer_of(root)) == expected_batches()[: 2 * len(visible)], root.name
    else:
        # Metadata comes before any file, so that without it there is nothing to read.
        assert visible == [], root.name
        with pytest.raises(Refusal):
            consumer_of(root)
    assert "quarantine" not in names_in(root / "queue"), root.name
    provider = provider_of(root, meta=meta_of(ROW))
    provider.open()
    assert names_in(root / "queue/train") == [], root.name
    assert provider.turn("train", 1) is not None, root.name
    assert drained(consumer_of(root)) == expected_batches()[:2], root.name


def test_a_consumer_killed_anywhere_loses_no_row_but_of_the_last_batch(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    strace, log = tool("strace"), tmp_path / "log"
    every = [[[1, 2], [3, 4], [5, 5]], [[6, 7], [8, 9]], [[10, 10]]]
    names = ["1-0-3.npz", "2-1-2.npz", "3-3-1.npz"]

    def fresh(name: str) -> tuple[Path, list[Path]]:
        root = tmp_path / name
        folder = queue_of(root, 2, f1_0_3=[1, 2, 3, 4, 5], f2_1_2=[6, 7, 8, 9], f3_3_1=[10])
        (folder / "2-2-1.npz").write_bytes(b"damaged")
        quarantine = [root / "queue/quarantine", root / "queue/quarantine/train"]
        files = [folder / file for file in (*names, "2-2-1.npz")]
        return root, [root, root / "meta.pkl", root / "queue", folder, *quarantine, *files]

    root, paths = fresh("whole")
    points = chosen(calls_of(strace, log, paths, "consumer", root, 99, 0))
    assert names_in(root / "queue/train") == []
    assert [call for call, _ in points if call in TELLING] == ["unlink", "unlink", "rename", "unlink"]
    for call, when in points:
        root, paths = fresh(f"{call}-{when}")
        ended = interrupted(strace, log, call, when, "signal=KILL", paths, "consumer", root, 99, 0)
        assert ended.status == -9, f"{call} {when}: {ended.errors}"
        said = [[int(row) for row in line.split()] for line in ended.lines]
        left = [name for name in names_in(root / "queue/train") if name in names]
        assert left == names[len(names) - len(left) :], root.name
        gone = [batch for batches in every[: len(every) - len(left)] for batch in batches]
        # Whatever was said stands in the order of the queue; of what is gone only the very last batch may be unsaid.
        assert said == [batch for batches in every for batch in batches][: len(said)], root.name
        assert gone[:-1] == said[: len(gone) - 1] if gone else True, root.name
        consumer = consumer_of(root)
        assert drained(consumer) == [batch for batches in every[len(every) - len(left) :] for batch in batches], (
            root.name
        )
        assert names_in(root / "queue/quarantine/train") == ["2-2-1.npz"], root.name
        provider = provider_of(root, meta=meta_of())
        provider.open()
        assert provider.turn("train", 9) is not None, root.name
    print(f"consumer: killed at {len(points)} calls")


@pytest.mark.parametrize("effect", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_is_waited_for(tmp_path: Path, tool: Callable[[str], str], effect: str) -> None:
    strace = tool("strace")
    root = tmp_path / "root"
    # Two folders, the metadata and its folder come first; then the temporary file, twice.
    ended = interrupted(strace, tmp_path / "log", "fsync", "5..6", f"error={effect}", [], "run", root, 1)
    assert (ended.status, ended.reached) == (0, True), ended.errors
    assert len(names_in(root / "queue/train")) == 1
    assert names_in(root) == ["meta.pkl", "queue"]


def test_a_seq_is_used_once_whatever_the_disk_says_after_the_rename(tmp_path: Path, tool: Callable[[str], str]) -> None:
    strace = tool("strace")
    root = tmp_path / "root"
    ended = interrupted(strace, tmp_path / "log", "fsync", "6", "error=ENOSPC", [], "run", root, 2)
    assert (ended.status, ended.reached) == (0, True), ended.errors
    assert [name.split("-")[1] for name in names_in(root / "queue/train")] == ["000000", "000001"]


@pytest.mark.parametrize(
    ("call", "when", "effect"), [("mkdir", "2", "EROFS"), ("rename", "2", "EROFS"), ("fsync", "5", "EIO")]
)
def test_any_other_refusal_of_the_disk_ends_the_provider_and_leaves_no_half_file(
    tmp_path: Path, tool: Callable[[str], str], call: str, when: str, effect: str
) -> None:
    strace = tool("strace")
    root = tmp_path / "root"
    ended = interrupted(strace, tmp_path / "log", call, when, f"error={effect}", [], "run", root, 1)
    assert (ended.status, ended.reached) == (1, True)
    assert "OSError" in ended.errors
    assert names_in(root / "queue/train") == []
    again = provider_of(root, meta=meta_of(ROW))
    again.open()
    assert again.turn("train", 5) is not None
