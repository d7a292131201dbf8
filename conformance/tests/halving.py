"""Trials of the small specification: its fakes by their sins, a corpus of even and odd numbers, and runs of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.backend.driver import Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.tests.processes import fake_command
from conformance.tests.small_corpus import OPERATOR, halved
from conformance.tests.small_spec import CONTRACT, ERRORS, SHIPPED, load, new_folder
from conformance.trial.check import Result, RunResult, Verdict
from conformance.trial.client import Client
from conformance.trial.options import START_TIMEOUT, RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.case import CallStep, Case
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.vector_file import Index

TOO_ODD = "\n  - {code: TOO_ODD, number: 1802, subsystem: runtime, severity: FATAL, message: No guard says this.}\n"
TWIN = "UML_OS.Data.HalveToo_v1"
BOTH = (OPERATOR, TWIN)
CASES = tuple(halved(whole) for whole in range(40))


def twin_of(case: Case) -> Case:
    """The same case of the twin; only of numbers that are not refused, since a refusal names the operator."""
    (step,) = case.steps
    assert isinstance(step, CallStep)
    return replace(case, id=case.id.replace(OPERATOR, TWIN), operator=TWIN, steps=(replace(step, operator=TWIN),))


def backend(sin: str, **how: Any) -> str:
    """The command line of a fake."""
    return fake_command("halves", sin, **how)


@cache
def library() -> Library:
    """The small specification, with a failure code that no guard declares, and with a twin of its operator."""
    twin = {f"data/{TWIN}.yaml": CONTRACT.replace(OPERATOR, TWIN)}
    return load(new_folder(), CONTRACT, {"errors.yaml": ERRORS.rstrip() + TOO_ODD, **twin})


@cache
def codebook() -> Codebook:
    """The forms of the small specification."""
    return codebook_of(library())


def corpus(cases: Iterable[Case] = CASES) -> Corpus:
    """A corpus that nothing vouches for."""
    found = tuple(cases)
    return Corpus({name: tuple(one for one in found if one.operator == name) for name in BOTH}, Index({}))


def tried(text: str, cases: Iterable[Case] = CASES, **options: Any) -> RunResult:
    """A backend on trial, by the vectors alone unless another profile is given."""
    chosen: dict[str, Any] = {"profile": "quick", "timeout": 10.0, **options}
    return run_trial(library(), corpus(cases), RunOptions(backend=text, **chosen))


def client(sin: str, timeout: float = 10.0, **how: Any) -> Client:
    """A fake to ask in lock-step."""
    return Client(Driver(resolve(backend(sin, **how), SHIPPED), DIALECTS["json"], codebook(), timeout, START_TIMEOUT))


def verdicts(run: RunResult) -> dict[str, Verdict]:
    """The verdicts that are no pass, by the last part of the check's id."""
    return {
        result.check.id.removeprefix(OPERATOR).split("::")[-1]: result.verdict
        for result in run.results
        if result.verdict is not Verdict.PASS
    }


def result_of(run: RunResult, part: str) -> Result:
    """The one result whose check has this in its id."""
    (found,) = [result for result in run.results if part in result.check.id]
    return found
