"""The chore that changes a bundled backend in one place at a time: `nox -s mutation`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from conformance.tests.mutant_results import ORDER, cases_of, codebook
from conformance.tests.processes import ROOT
from conformance.trial.client import attempt
from conformance.trial.mutants.run import footprints
from conformance.vectors.case import Case

FILE = Path("impl", "reference", "data", "seeded_block_permute.py")
OTHER = Path("impl", "vectorized", "block_order.py")
SAMPLE = '''
def first(items: list[int], most: int = 3) -> int:
    """Docs stay."""
    if most < 1 or not items:
        raise ValueError(most + 1)
    kept = [one for one in items[1:most] if one != 2]
    kept.sort()
    for one in kept:
        if one == most:
            continue
        most += one
    return max(kept, default=-1) if kept else {"none": 0, "one": 1}["none"]
'''


@pytest.fixture
def chore(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`.ci/mutation.py` as a module."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import mutation  # type: ignore[import-not-found, unused-ignore]

    assert isinstance(mutation, ModuleType)
    return mutation


def test_every_change_is_another_program(chore: ModuleType) -> None:
    count = len(chore.changes(ast.parse(SAMPLE)))
    programs = []
    for number in range(count):
        tree = ast.parse(SAMPLE)
        chore.changes(tree)[number].make()
        programs.append(ast.unparse(ast.fix_missing_locations(tree)))
        compile(programs[-1], "sample", "exec")
    assert len({ast.unparse(ast.parse(SAMPLE)), *programs}) == count + 1
    assert count > 20
    assert any("{'none': 0}" in program for program in programs)
    assert any("if one < 2]" in program for program in programs)
    assert any("for one in list(items[1:most])[:1] if" in program for program in programs)
    assert any("for one in list(kept)[1:]:" in program for program in programs)
    assert any("return min(kept, default=-1)" in program for program in programs)
    assert any("continue" not in program for program in programs)
    assert all("list[int]" in program for program in programs)
    assert all("ValueError(most + 1)" in program for program in programs if "raise" in program)


@pytest.mark.parametrize(("file", "said"), [(FILE, "Mod becomes FloorDiv"), (OTHER, "NotEq becomes Eq")], ids=str)
def test_a_changed_file_is_a_backend_with_one_mistake(file: Path, said: str, chore: ModuleType) -> None:
    every = chore.changes(ast.parse((ROOT / file).read_bytes()))
    chosen = next(number for number, change in enumerate(every) if change.said == said)
    served = f"{sys.executable} -P {ROOT / '.ci' / 'changed.py'} {file} {chosen}"
    tried = attempt(served, cases_of(ORDER), codebook())
    assert tried.wrong
    assert not tried.refusal


def test_what_no_case_notices_is_listed_with_its_place(chore: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = cases_of(ORDER)[:3]
    covered = footprints(cases, codebook())
    monkeypatch.setattr(chore, "corpus", lambda: (codebook(), cases))
    listed = list(chore.unnoticed(FILE, covered, 2))
    # The contract's own guard comes before this one, which nothing reaches.
    (never,) = [line for line in listed if ": always False | if len(epoch_seed) != 16:" in line]
    assert never.startswith(f"{FILE}:29 ")
    assert not [line for line in listed if "Mod becomes FloorDiv" in line]


def test_a_backend_without_footprints_is_asked_every_case_of_its_own_operators(
    chore: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, foreign = cases_of(ORDER)[:1], cases_of("Stream.FiringCounts")[:1]
    asked: list[list[str]] = []

    def noticed(file: Path, number: int, cases: Sequence[Case]) -> bool:
        asked.append([case.id for case in cases])
        return number > 0

    monkeypatch.setattr(chore, "corpus", lambda: (codebook(), (*own, *foreign)))
    monkeypatch.setattr(chore, "is_noticed", noticed)
    (listed,) = chore.unnoticed(OTHER, None, 1)
    assert listed.startswith(f"{OTHER}:")
    assert all(ids == [case.id for case in own] for ids in asked)
    assert len(asked) == len(chore.changes(ast.parse((ROOT / OTHER).read_bytes())))
