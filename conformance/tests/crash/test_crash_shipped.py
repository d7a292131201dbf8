"""Every workload of the shipped contracts on the bundled backends: a few of the states, and no level stated.

`nox -s crash`, which CI runs, tries more of them; `nox -s crash_full` tries all and states the level.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.library import load_library
from conformance.contract.suite_file import bundled_suite
from conformance.trial.crash.trial import SOME_STATES, CrashOptions, operators_of, try_workload
from conformance.trial.crash.workload import crash_workloads


@pytest.mark.parametrize("backend", ["reference", "javascript"])
def test_a_bundled_backend_survives_a_crash_at_every_point(backend: str, tool: Callable[[str], str]) -> None:
    tool("strace")
    tool("node")
    library = load_library(bundled_suite())
    codebook = codebook_of(library)
    # Little more than whether each keeps its protocol; `tally crash`, which CI runs, tries a hundred times as many.
    options = CrashOptions(backend, states=SOME_STATES // 100, sweeps=("order",))
    declared = operators_of(options, codebook)
    every = tuple(crash_workloads(library, codebook))
    chosen = [plan for plan in every if plan.operators <= declared]
    assert len(chosen) == len(every) if backend == "reference" else chosen
    for plan in chosen:
        report = try_workload(plan, codebook, options)
        harshest = report.states[max(report.states)]
        assert report.satisfied, f"{plan.id}: {report.first_bad}"
        assert report.level == "", "only a full trial states a level"
        assert report.sweeps[0].findings == (), "something is named or answered before it is durable"
        print(f"{plan.id} ({backend}): {harshest.tried} of {harshest.total} states, none bad")
