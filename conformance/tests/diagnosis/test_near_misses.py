"""A mistake that answers like a mutant in every frozen case, but not elsewhere, is not diagnosed as that mutant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import yaml

from conformance.backend.driver import Driver
from conformance.backend.resolve import resolve
from conformance.codec.framing import DIALECTS
from conformance.contract.family import Mutant
from conformance.tests.mutant_results import EMIT, cases_of, codebook
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.trial.check import Diagnosis, Verdict
from conformance.trial.client import Attempt, Client, attempt, behaviour
from conformance.trial.diagnosis import interview as mutant_interview
from conformance.trial.diagnosis.diagnosis import NOT_EXPLAINED, diagnose
from conformance.trial.diagnosis.interview import MutantInterview
from conformance.trial.mutants.kill_matrix import KillMatrix, MutantRow, Status
from conformance.trial.options import RunOptions
from conformance.trial.plan import Plan
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import Corpus, load_corpus

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
LISTED, NEAR = "listed", "nearly"
Patch = tuple[str, str, str]  # file, find, replace


@cache
def corpus() -> Corpus:
    return load_corpus(shipped_library().suite)


@cache
def plan() -> Plan:
    """Of the whole suite; its checks are counted once for all diagnoses."""
    return Plan(shipped_library(), corpus(), RunOptions(profile="quick"), codebook())


@pytest.fixture
def nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask what lies nearest alone: these near misses are told from the mutant there, and the rest takes seconds."""
    monkeypatch.setattr(mutant_interview, "_BUDGET", 200_000)


@pytest.fixture
def no_new_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no new calls: what lies near tells these apart, and drawing programs or files for new calls takes longest."""
    monkeypatch.setattr(MutantInterview, "fresh", lambda *_: True)


@contextmanager
def client(backend: str) -> Iterator[Client]:
    with Client(Driver(resolve(backend, SHIPPED), DIALECTS["json"], codebook(), 30.0)) as one:
        yield one


def write(folder: Path, patches: Mapping[str, Patch], family: str = "data") -> None:
    entries = [
        {
            "id": id_,
            "sentence": "errs",
            "requirement": "N01",
            "patch": dict(zip(("file", "find", "replace"), patch, strict=True)),
        }
        for id_, patch in patches.items()
    ]
    (folder / family).mkdir()
    (folder / family / "mutants.yaml").write_text(yaml.safe_dump({"mutants": entries}), "utf-8")


def both(cases: Sequence[Case]) -> tuple[Attempt, Attempt]:
    """What the known mutant and the near miss make of these cases."""
    return attempt(f"mutant:{LISTED}", cases, codebook()), attempt(f"mutant:{NEAR}", cases, codebook())


def diagnosed(backend: str, cases: Sequence[Case], known: Attempt, tried: Attempt) -> Diagnosis | None:
    """The diagnosis of a backend where one mutant is known, by what kills it of these cases."""
    library = shipped_library()
    position = next(iter(library.mutants.values())).position
    listed = {LISTED: Mutant(LISTED, "errs", ("N01",), (), False, "", position)}
    killed = known.wrong & {case.id for case in cases}
    results = [tried.results[case.id] for case in cases]
    matrix = KillMatrix(tuple(case.id for case in cases), {LISTED: MutantRow(LISTED, Status.KILLED, killed, "x")})
    with client(f"mutant:{backend}") as on_trial, client("reference") as right:
        interview = MutantInterview(plan(), corpus(), codebook(), on_trial, right)
        return diagnose(results, listed, matrix, interview)


@pytest.mark.usefixtures("nearest")
@pytest.mark.parametrize(
    ("operator", "file", "find", "listed", "nearly"),
    [
        (
            MAP,
            "data/seeded_intra_block_map.py",
            "if local_pos >= m:",
            "if local_pos >= block_size:",
            "if local_pos >= min(m + 1, block_size):",
        ),
        (
            EMIT,
            "error/emit.py",
            "        t=context.t,",
            "        t=context.t if context.t < 5_000_000_000 else 0,",
            "        t=context.t if context.t < 6_000_000_000 else 0,",
        ),
    ],
    ids=["one-more-let-through", "another-limit"],
)
def test_a_near_miss_is_not_taken_for_the_mutant_and_the_mutant_is_named(
    operator: str, file: str, find: str, listed: str, nearly: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {LISTED: (file, find, listed), NEAR: (file, find, nearly)})
    monkeypatch.setenv("TALLY_SPEC_DIR", str(tmp_path))
    all_cases = cases_of(operator)
    one, other = both(all_cases)
    # What tells them apart is taken away, so that only what lies near can.
    cases = [case for case in all_cases if behaviour(one.results[case.id]) == behaviour(other.results[case.id])]
    assert sum(other.results[case.id].verdict is Verdict.FAIL for case in cases) >= 2
    found = diagnosed(LISTED, cases, one, one)
    assert found is not None
    assert (found.explained, found.mutants) == (True, (LISTED,))
    assert diagnosed(NEAR, cases, one, other) == NOT_EXPLAINED


IDS = "if chunk_id > MAX_UINT64:"


@pytest.mark.usefixtures("no_new_calls")
def test_a_count_of_a_machine_that_goes_on_longer_is_not_taken_for_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutant_interview, "_BUDGET", 700_000)  # half of it tells them apart
    listed, nearly = (IDS.replace("MAX_UINT64", f"MAX_UINT64 + {number}") for number in (1, 3))
    file = "stream/context_stream.py"
    write(tmp_path, {LISTED: (file, IDS, listed), NEAR: (file, IDS, nearly)}, "stream")
    monkeypatch.setenv("TALLY_SPEC_DIR", str(tmp_path))
    cases = [case for case in cases_of("Stream") if case.group in ("ids-used-up", "last-id")]
    one, other = both(cases)
    assert [behaviour(one.results[c.id]) for c in cases] == [behaviour(other.results[c.id]) for c in cases]
    found = diagnosed(LISTED, cases, one, one)
    assert found is not None
    assert (found.explained, found.mutants) == (True, (LISTED,))
    assert diagnosed(NEAR, cases, one, other) == NOT_EXPLAINED


@pytest.mark.usefixtures("nearest", "no_new_calls")
def test_a_limit_of_bytes_that_is_off_by_three_is_not_taken_for_one_that_is_off_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are a CBOR item under a digest: a text in it grows, and the digest is made right again."""
    limit = "len(checkpoint_blob) > MAX_BLOB_BYTES"
    listed, nearly = (f"{limit} + {number}" for number in (1, 3))
    file = "checkpoint/blob.py"
    write(tmp_path, {LISTED: (file, limit, listed), NEAR: (file, limit, nearly)}, "checkpoint")
    monkeypatch.setenv("TALLY_SPEC_DIR", str(tmp_path))
    cases = [case for case in cases_of("UML_OS.Checkpoint.Restore_v1") if "too-long" in case.id]
    one, other = both(cases)
    assert [behaviour(one.results[c.id]) for c in cases] == [behaviour(other.results[c.id]) for c in cases]
    found = diagnosed(LISTED, cases, one, one)
    assert found is not None
    assert found.mutants == (LISTED,)
    assert diagnosed(NEAR, cases, one, other) == NOT_EXPLAINED
