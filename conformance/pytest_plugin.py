"""Vectors, laws, behaviour rules and fuzzed operators as pytest items; their node ids are the ids of the checks.

`pytest --tally-backend "..."`, or `tally_backend = ...` in pytest's ini file, collects them beside the user's own
tests; without a backend the plugin does nothing. A wrong answer fails in the call; a crash, a timeout or a broken
protocol is an error of the setup, as JUnit has it. Checks of operators that the backend does not declare are
deselected.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from conformance.contract.suite import Suite
    from conformance.pytest_checks import CheckProcess, CheckVerdict, CollectedChecks
    from conformance.trial.check import Check, KnownFailure
    from conformance.trial.options import RunOptions

# Each is an option --tally-NAME and a key tally_NAME of the ini file; a suite's [run] has defaults of some.
_BACKEND, _SUITE = "backend", "suite"
_SETTINGS: Final = {
    _BACKEND: "name of the suite, python:module[:object] or command line; collect the checks and try it",
    _SUITE: "the folder of the suite; found as `tally run` finds it",
    "wire": "json (default) or cbor",
    "sandbox": "none (default) or bwrap",
    "profile": "quick, standard (default) or golden",
    "timeout": "seconds without an answer (30)",
    "expected-failures": "the list that `tally run --expected-failures` reads; its checks are xfail, strictly",
}
_CHOICES: Final = {
    "wire": ("json", "cbor"),
    "sandbox": ("none", "bwrap"),
    "profile": ("quick", "standard", "golden"),
}
_PROCESS: Final = pytest.StashKey["CheckProcess"]()
_NAMED: Final = pytest.StashKey[Sequence[str]]()  # the arguments that name checks


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options of the trial, and the keys of the ini file."""
    group = parser.getgroup("tallystick", "test a backend (tallystick)")
    for name, said in _SETTINGS.items():
        metavar = {_SUITE: "DIR", "timeout": "SECONDS", "expected-failures": "FILE"}.get(name, "TEXT")
        group.addoption(f"--tally-{name}", metavar=metavar, help=said)
        parser.addini(f"tally_{name.replace('-', '_')}", said, default="")
    group.addoption("--tally-only", action="store_true", help="collect the checks and no other tests")


def pytest_configure(config: pytest.Config) -> None:
    """Take the arguments that name checks out of those that name files."""
    if not _setting(config, _BACKEND):
        return
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        named = tuple(one for one in config.args if not _is_path(one, config))
        config.stash[_NAMED] = named
        config.args = [one for one in config.args if one not in named]
    if config.getoption("tally_only"):
        config.args = []


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which backend is tried, and by which suite."""
    backend = _setting(config, _BACKEND)
    if not backend:
        return []
    left_out = "" if _collects_checks(config) else "; no check is collected beside the files that are named"
    from conformance.contract.yaml.source import MalformedContract

    try:
        suite = _suite(config)
    except MalformedContract:  # the collection tells it
        return [f"tally backend: {backend}{left_out}"]
    return [f"tally backend: {backend}{left_out}", f"tally suite: {suite.name} ({suite.root})"]


def pytest_sessionstart(session: pytest.Session) -> None:
    """With pytest-xdist, look for what the user did wrong before the workers do: what they say of it is lost."""
    config = session.config
    if _setting(config, _BACKEND) and _collects_checks(config) and config.pluginmanager.hasplugin("dsession"):
        _collected(config)[0].close()
        del config.stash[_PROCESS]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for every check of the profile that is declared, before -k chooses among them."""
    if not _setting(config, _BACKEND) or not _collects_checks(config):
        return
    process, options, found = _collected(config)
    chosen = _named_checks(config.stash.get(_NAMED, ()), found)
    checks = Checks.from_parent(session, name="", nodeid="tally", process=process, checks=chosen, options=options)
    # As pytest collects a file, so that it counts them.
    checks.ihook.pytest_collectstart(collector=checks)
    report = checks.ihook.pytest_make_collect_report(collector=checks)
    checks.ihook.pytest_collectreport(report=report)
    undeclared: list[pytest.Item] = []
    for item in report.result:
        known = found.declared is None or item.check.operator in found.declared
        (items if known else undeclared).append(item)
    if undeclared:
        config.hook.pytest_deselected(items=undeclared)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the backend."""
    if (process := config.stash.get(_PROCESS, None)) is not None:
        process.close()


def _collected(config: pytest.Config) -> tuple[CheckProcess, RunOptions, CollectedChecks]:
    """The checks, and what tries them until pytest ends; raises pytest.UsageError."""
    # The contract language costs 200 ms, which a pytest without a backend should not pay.
    from conformance.backend.resolve import BackendNotFound
    from conformance.backend.sandbox import NoSandbox
    from conformance.cli.console import CommandError
    from conformance.cli.lint_outcome import require_clean_contracts
    from conformance.contract.library import load_library
    from conformance.contract.yaml.source import MalformedContract
    from conformance.pytest_checks import CheckProcess
    from conformance.vectors.frozen.corpus import CorruptedCorpus, load_corpus

    try:
        suite = _suite(config)
        options, folder = _options(config, suite), _folder(config, _BACKEND)
        library, corpus = load_library(suite), load_corpus(suite)
        config.stash[_PROCESS] = process = CheckProcess(library, corpus, options, folder)
        found = process.collect()
    except (BackendNotFound, NoSandbox, MalformedContract, CorruptedCorpus) as error:
        raise pytest.UsageError(str(error)) from None
    if found.unmatched:
        raise pytest.UsageError(f"listed as an expected failure, but no check has this id: {found.unmatched[0]}")
    chosen = _named_checks(config.stash.get(_NAMED, ()), found)
    # Beside tests that pass, only the number of deselected tests would show it.
    if chosen and found.declared is not None and found.declared.isdisjoint(one.operator for one in chosen):
        raise pytest.UsageError(
            f"the backend declares no operator of the {len(chosen)} selected checks; its hello names what it declares"
        )
    # As `tally run`; with pytest-xdist, the main process has looked before the workers.
    if not (_selects(config) or hasattr(config, "workerinput")):
        try:
            require_clean_contracts(library, corpus, options.profile)
        except CommandError as error:
            raise pytest.UsageError(str(error)) from None
    return process, options, found


def _setting(config: pytest.Config, name: str) -> str:
    """What the command line says, else the ini file; empty where neither does. Raises pytest.UsageError."""
    key = f"tally_{name.replace('-', '_')}"
    given = config.getoption(key)
    if given == "":
        raise pytest.UsageError(f"--{key.replace('_', '-')} is empty; is a variable of the shell not set?")
    return str(config.getini(key) if given is None else given)


def _folder(config: pytest.Config, name: str) -> Path:
    """What the paths of a setting are relative to: the current folder if it is typed, else that of the ini file."""
    typed = config.getoption(f"tally_{name.replace('-', '_')}") is not None
    return config.invocation_params.dir if typed or config.inipath is None else config.inipath.parent


def _suite(config: pytest.Config) -> Suite:
    """The suite; raises MalformedContract."""
    from conformance.contract.suite_file import find_suite

    named = _setting(config, _SUITE)
    place = str(_folder(config, _SUITE) / named) if named else os.environ.get("TALLY_SUITE", "")
    return find_suite(place, config.invocation_params.dir)


def _is_path(argument: str, config: pytest.Config) -> bool:
    """Whether an argument names a file, a folder or a package; everything else is for us."""
    place = config.invocation_params.dir / argument.split("::")[0].split("[")[0]
    return bool(config.getoption("pyargs")) or os.path.lexists(place)


def _selects(config: pytest.Config) -> bool:
    """Whether the user chose some of the checks, or only wants to see them."""
    return bool(config.stash.get(_NAMED, ()) or config.option.keyword or config.option.collectonly)


def _collects_checks(config: pytest.Config) -> bool:
    """Whether checks are collected: not where only files are named, unless the command line names the backend too."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS or config.stash.get(_NAMED, ()):
        return True
    files = [config.invocation_params.dir / one.split("::")[0] for one in config.args]
    typed = any(str(one).startswith(f"--tally-{_BACKEND}") for one in config.invocation_params.args)
    return typed or any(file.is_dir() for file in files) or not files


def _options(config: pytest.Config, suite: Suite) -> RunOptions:
    """The options: of the command line, else of the ini file, else of [run] in the suite's tally.toml."""
    from conformance.trial.options import DEFAULT_TIMEOUT, RunOptions

    def chosen(name: str, default: Any) -> Any:
        said = _setting(config, name)
        value = said or (suite.run[name].value if name in suite.run else default)
        if name in _CHOICES and value not in _CHOICES[name]:
            known = _CHOICES[name]
            raise pytest.UsageError(f"tally {name}: {value!r} is not one of {', '.join(known)}{_meant(value, known)}")
        return value

    try:
        timeout = float(chosen("timeout", DEFAULT_TIMEOUT))
    except ValueError:
        timeout = -1
    if not 0 < timeout < float("inf"):
        raise pytest.UsageError(f"tally timeout: {chosen('timeout', '')!r} is not a number of seconds")
    return RunOptions(
        backend=_setting(config, _BACKEND),
        wire=chosen("wire", "json"),
        profile=chosen("profile", "standard"),
        timeout=timeout,
        sandbox=chosen("sandbox", "none"),
        expected_failures=_expected(chosen("expected-failures", ""), config, suite),
    )


def _expected(file: str, config: pytest.Config, suite: Suite) -> tuple[KnownFailure, ...]:
    from conformance.cli.known_failures import load_expected_failures
    from conformance.contract.suite_file import schema_folder

    if not file:
        return ()
    place = _folder(config, "expected-failures") / file
    return load_expected_failures(place, schema_folder(suite) / "expected-failures.schema.json")


def _named_checks(named: Sequence[str], found: CollectedChecks) -> list[Check]:
    """The checks with these ids, operators or groups, all where none is named; raises pytest.UsageError."""
    if not named:
        return list(found.checks)
    chosen = set()
    for name in named:
        below = (f"{name}::", f"{name}!", f"{name}#", f"{name}?")
        matching = {one.id for one in found.checks if one.id == name} or {
            one.id for one in found.checks if one.id.startswith(below)
        }
        if not matching:
            ids = [one.id for one in found.checks]
            hint = _meant(name, sorted({id_.rpartition("::")[0] for id_ in ids if "::" in id_}) + ids)
            raise pytest.UsageError(f"file or directory not found, and no check has this id: {name}{hint}")
        chosen |= matching
    return [one for one in found.checks if one.id in chosen]


def _meant(name: str, known: Sequence[str]) -> str:
    from conformance.cli.console import nearest  # it brings click along

    hint = nearest(name, list(known))
    return f"; {hint}" if hint else ""


class Checks(pytest.Collector):
    """All checks; it has no name, which -k would look at."""

    def __init__(self, *, process: CheckProcess, checks: Sequence[Check], options: RunOptions, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self._process, self._checks, self._expected = process, checks, options.expected_failures

    def collect(self) -> list[CheckItem]:
        """An item for each."""
        given = {"process": self._process, "expected": self._expected}
        return [CheckItem.from_parent(self, name=one.id, nodeid=one.id, check=one, **given) for one in self._checks]

    def __repr__(self) -> str:
        return "<Checks>"


class Excusable(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """A failure that an expected one may be; pytest shows it as any other."""

    __module__, __qualname__ = pytest.fail.Exception.__module__, pytest.fail.Exception.__qualname__


class CheckItem(pytest.Item):
    """One check; its node id is its check id."""

    def __init__(
        self, *, process: CheckProcess, check: Check, expected: Sequence[KnownFailure], **given: object
    ) -> None:
        from fnmatch import fnmatchcase

        super().__init__(**given)  # type: ignore[arg-type]
        self._process, self.check = process, check
        self._judged: CheckVerdict | None = None
        self.user_properties += [("requirement", id_) for id_ in check.requirements]
        for entry in expected:
            if fnmatchcase(check.id, entry.check):
                reason = f"{entry.reason} ({entry.issue})"
                self.add_marker(pytest.mark.xfail(reason=reason, raises=Excusable, strict=True))

    def setup(self) -> None:
        """Try the check; what could not be judged is an error here."""
        self._judged = self._process.judge(self.check.id)
        if self._judged.verdict == "error":
            self._fail(self._judged)

    def runtest(self) -> None:
        """Judge what the check came to."""
        assert self._judged is not None
        if self._judged.verdict == "fail":
            self._fail(self._judged)

    def reportinfo(self) -> tuple[str, None, str]:
        """What the progress output calls it."""
        return self.check.operator, None, self.name

    def _fail(self, judged: CheckVerdict) -> None:
        # The first line is what the summary of pytest shows.
        kind = Excusable if judged.excusable else pytest.fail.Exception
        raise kind(f"{judged.line}\n\n{judged.account}", pytrace=False)
