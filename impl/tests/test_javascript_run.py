"""Run commit and recovery in JavaScript: the same bytes as the reference's, every damage judged and mended alike."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from impl.tests.checkpoint_calls import OTHER_PUBLIC_KEY, PREFIX, PUBLIC_KEY, commit_params, rewrite, tree
from impl.tests.checkpoint_run import RECORDS, committed, object_of
from impl.tests.javascript_equality import Pair, reason_of
from impl.tests.javascript_process import evaluate

COMMIT, RECOVER = f"{PREFIX}CommitRun_v1", f"{PREFIX}RecoverRun_v1"


def recovery(root: Path, public_key: bytes = PUBLIC_KEY) -> dict[str, Any]:
    return {"root": str(root), "public_key": public_key}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The root of a run that the reference committed."""
    committed(tmp_path / "run")
    return tmp_path / "run"


class Recoveries:
    """Copies of one root, one for each derivation, of which neither sees what the other did."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        self._pair = pair
        self._folder = folder
        self._numbers = itertools.count()

    def agree(self, root: Path, public_key: bytes = PUBLIC_KEY) -> Any:
        """Recover both copies twice; the answers and what is left must be the same each time."""
        at = self._folder / "copies" / str(next(self._numbers))
        copies = [at / name / "root" for name in ("reference", "javascript")]
        for copy in copies:
            shutil.copytree(root, copy, symlinks=True)
        asks = (self._pair.reference, self._pair.other)
        for _ in range(2):
            first, second = (ask(RECOVER, recovery(c, public_key)) for ask, c in zip(asks, copies, strict=True))
            assert first == second
            assert seen(copies[0]) == seen(copies[1])
        return first


def seen(root: Path) -> dict[str, bytes]:
    """Return the files of a run; objects that no pointer leads to may stay or go (ruling CA27)."""
    hidden = "objects/" if not (root / "COMMITTED").exists() else ".."
    return {path: content for path, content in tree(root).items() if not path.startswith(hidden)}


@pytest.fixture
def both(pair: Pair, tmp_path: Path) -> Recoveries:
    """Recovery by both derivations."""
    return Recoveries(pair, tmp_path)


@pytest.mark.usefixtures("javascript")
def test_the_checksum_is_the_castagnoli_one() -> None:
    script = """import { crc32c } from "./digest.js";
        console.log(JSON.stringify([crc32c(Buffer.from("123456789")), crc32c(Buffer.alloc(32))]));"""
    assert evaluate(script) == [0xE3069283, 0x8A9136AA]


@pytest.mark.parametrize(
    "changes", [{}, {"run_id": "\u00e9"}, {"trace": b"", "lineage": b""}, {"tenant_id": "n" * 4097}]
)
def test_a_run_is_committed_or_refused_as_the_reference_does_it(
    pair: Pair, tmp_path: Path, changes: dict[str, Any]
) -> None:
    roots = tmp_path / "reference", tmp_path / "javascript"
    answers = []
    for root, ask in zip(roots, (pair.reference, pair.other), strict=True):
        root.mkdir()
        answers.append(ask(COMMIT, commit_params(root, **changes)))
    assert answers[0] == answers[1]
    assert tree(roots[0]) == tree(roots[1])


def test_nothing_is_committed_over_a_run_or_a_log(pair: Pair, run: Path) -> None:
    for path in ("COMMITTED", *reversed(RECORDS[1:])):
        before = tree(run)
        for changes in ({}, {"run_id": "other"}):
            assert reason_of(pair.agree(COMMIT, commit_params(run, **changes)))[0] == "TARGET_EXISTS"
        assert tree(run) == before
        (run / path).unlink()


def test_an_object_that_was_damaged_before_is_written_again(pair: Pair, tmp_path: Path) -> None:
    content = commit_params(tmp_path)["trace"]
    (tmp_path / "objects").mkdir()
    (tmp_path / object_of(content)).write_bytes(b"another")
    assert "result" in pair.other(COMMIT, commit_params(tmp_path))
    assert (tmp_path / object_of(content)).read_bytes() == content


@pytest.mark.parametrize("path", ["objects", "wal"])
def test_a_folder_that_leads_outside_is_refused(pair: Pair, tmp_path: Path, path: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / path).symlink_to(outside)
    assert reason_of(pair.agree(COMMIT, commit_params(root))) == ("BAD_PATH", path)
    assert reason_of(pair.agree(RECOVER, recovery(root))) == ("BAD_PATH", path)
    assert list(outside.iterdir()) == []


def test_every_subset_of_a_run_is_recovered_alike(both: Recoveries, run: Path, tmp_path: Path) -> None:
    states = set()
    paths = [path for path in tree(run) if not path.startswith("objects/")]
    for missing in itertools.chain.from_iterable(itertools.combinations(paths, k) for k in range(len(paths) + 1)):
        part = tmp_path / "part"
        shutil.copytree(run, part)
        for path in missing:
            (part / path).unlink()
        answer = both.agree(part)
        states.add(answer["result"]["state"] if "result" in answer else answer["error"]["message"])
        shutil.rmtree(part)
    assert states == {"committed", "rolled_back", "empty", "WAL_CORRUPTION", "CONTRACT_VIOLATION"}


def test_names_that_are_no_part_of_a_run_are_left_alone(both: Recoveries, run: Path) -> None:
    for path in ("wal/notes.txt", "objects/x.tmp", "left.tmp", "wal/1.rec"):
        (run / path).write_bytes(b"x")
    assert both.agree(run) == {"result": {"state": "committed"}}


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "open"])
def test_a_missing_or_damaged_object_and_another_key_are_judged_alike(
    both: Recoveries, run: Path, finished: bool
) -> None:
    if not finished:
        (run / RECORDS[3]).unlink()
    (run / "objects" / f".{'a' * 64}.tmp").write_bytes(b"torn")
    for key in (OTHER_PUBLIC_KEY, bytes(32), b"\xff" * 32):
        assert reason_of(both.agree(run, key))[0] == "SIGNATURE_INVALID"
    for path, content in tree(run).items():
        if not path.startswith("objects/"):
            continue
        (run / path).unlink()
        both.agree(run)
        (run / path).symlink_to(run / "COMMITTED")
        both.agree(run)
        (run / path).unlink()
        (run / path).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        both.agree(run)
        (run / path).write_bytes(content)


def test_a_pointer_that_says_something_else_is_judged_alike(both: Recoveries, run: Path) -> None:
    pointer = run / "COMMITTED"
    content = pointer.read_bytes()
    changes: list[dict[str, Any]] = [{"run_id": "other"}, {"wal_terminal_hash": bytes(32)}, {"trace": bytes(32)}]
    for finished in (True, False):
        for change in changes:
            rewrite(pointer, **change)
            both.agree(run)
            pointer.write_bytes(content)
        for torn in (b"", content[:-1], b"\xa0"):
            pointer.write_bytes(torn)
            both.agree(run)
        pointer.write_bytes(content)
        if finished:
            (run / RECORDS[3]).unlink()


def test_a_changed_byte_of_a_record_is_corruption(pair: Pair, run: Path) -> None:
    for record in RECORDS:
        content = (run / record).read_bytes()
        for offset in range(0, len(content), 7):
            (run / record).write_bytes(content[:offset] + bytes([content[offset] ^ 0x40]) + content[offset + 1 :])
            assert pair.agree(RECOVER, recovery(run))["error"]["message"] == "WAL_CORRUPTION"
        for damaged in (b"", content[:3], content[:-1], content + b"\0"):
            (run / record).write_bytes(damaged)
            assert pair.agree(RECOVER, recovery(run))["error"]["message"] == "WAL_CORRUPTION"
        (run / record).write_bytes(content)
    for name in (f"{4:020}", f"{7:020}", "9" * 20):
        shutil.copy(run / RECORDS[3], run / "wal" / f"{name}.rec")
        assert reason_of(pair.agree(RECOVER, recovery(run)))[0] == "WAL_RECORD_INVALID"
        (run / "wal" / f"{name}.rec").unlink()
