"""Vectors, laws, behaviour rules and fuzzed operators as pytest items with stable ids.

`pytest -p conformance.pytest_plugin --tally-backend "..."` needs no test files. Without paths on the command line only
the checks are collected; `-k`, `-n` and `--junitxml` work as for any test. A wrong answer fails in the call; a crash, a
timeout or a broken protocol is an error of the setup, as JUnit has it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from conformance.pytest_bench import Bench
    from conformance.trial.check import Check, Result

_WIRES: Final = ("json", "cbor")
_SANDBOXES: Final = ("none", "bwrap")
_PROFILES: Final = ("quick", "standard", "golden")
_BENCH: Final = pytest.StashKey["Bench"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options of the trial."""
    group = parser.getgroup("tallystick", "a backend on trial (tallystick)")
    group.addoption("--tally-backend", metavar="TEXT", help="name of the suite, python:module[:object] or command line")
    group.addoption("--tally-suite", metavar="DIR", help="the folder of the suite; found as `tally run` finds it")
    group.addoption("--tally-wire", choices=_WIRES, default="json", help="json (default) or cbor")
    group.addoption("--tally-sandbox", choices=_SANDBOXES, default="none", help="none (default) or bwrap")
    group.addoption("--tally-profile", choices=_PROFILES, default="standard", help="standard unless told otherwise")
    group.addoption("--tally-timeout", type=float, default=30.0, help="seconds without an answer (30)")


def pytest_configure(config: pytest.Config) -> None:
    """Collect other tests only where the command line names a path."""
    if config.getoption("tally_backend") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for every check of the profile, before -k chooses among them."""
    if config.getoption("tally_backend"):
        bench = config.stash[_BENCH] = _bench(config)
        items += [
            CheckItem.from_parent(session, name=id_, nodeid=id_, bench=bench, check=check)
            for id_, check in bench.checks.items()
        ]


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the backend."""
    if (bench := config.stash.get(_BENCH, None)) is not None:
        bench.close()


def _bench(config: pytest.Config) -> Bench:
    # The contract language costs 200 ms, which a pytest without --tally-backend should not pay.
    from conformance.backend.resolve import BackendNotFound
    from conformance.backend.sandbox import NoSandbox
    from conformance.contract.finder import find_suite
    from conformance.contract.library import load_library
    from conformance.contract.source import MalformedContract
    from conformance.pytest_bench import Bench
    from conformance.trial.options import RunOptions
    from conformance.vectors.corpus import CorruptedCorpus, load_corpus

    options = RunOptions(
        backend=config.getoption("tally_backend"),
        wire=config.getoption("tally_wire"),
        profile=config.getoption("tally_profile"),
        timeout=config.getoption("tally_timeout"),
        sandbox=config.getoption("tally_sandbox"),
    )
    try:
        suite = find_suite(config.getoption("tally_suite") or os.environ.get("TALLY_SUITE", ""), Path.cwd())
        return Bench(load_library(suite), load_corpus(suite), options)
    except (BackendNotFound, NoSandbox, MalformedContract, CorruptedCorpus) as error:
        raise pytest.UsageError(str(error)) from None


class CheckItem(pytest.Item):
    """One check; its node id is its check id."""

    def __init__(self, *, bench: Bench, check: Check, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self._bench, self._check = bench, check
        self._result: Result | None = None
        self.user_properties += [("requirement", id_) for id_ in check.requirements]

    def setup(self) -> None:
        """Try the check; what could not be judged is an error here."""
        self._result = self._bench.judge(self._check.id)
        if self._result.verdict == "error":
            pytest.fail(self._bench.told(self._result), pytrace=False)

    def runtest(self) -> None:
        """Judge what the check came to."""
        assert self._result is not None
        if self._result.verdict == "not_applicable":
            pytest.skip("the backend does not declare this operator")
        if self._result.verdict == "fail":
            pytest.fail(self._bench.told(self._result), pytrace=False)

    def reportinfo(self) -> tuple[str, None, str]:
        """What the progress output calls it."""
        return self._check.operator, None, self.name
