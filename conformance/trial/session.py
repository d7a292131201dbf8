"""A run from Python: the suite found, its contracts and vectors loaded, one backend tested."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from conformance.codec.framing import DIALECTS
from conformance.contract.library import load_library
from conformance.contract.suite_file import find_suite
from conformance.trial import run
from conformance.trial.check import RunResult
from conformance.trial.options import DEFAULT_TIMEOUT, PROFILES, SANDBOXES, RunOptions
from conformance.vectors.frozen.corpus import load_corpus


def run_trial(
    backend: str = "",
    *,
    suite: str | os.PathLike[str] | None = None,
    profile: str = "standard",
    select: Iterable[str] = (),
    require: Iterable[str] = (),
    wire: str = "json",
    jobs: int = 1,
    timeout: float = DEFAULT_TIMEOUT,
    sandbox: str = "none",
    crash: bool = False,
) -> RunResult:
    """Test a backend as `tally run` does, and return every result; nothing is printed or written.

    `backend` is a name of the suite, `python:module:object` or a command line; empty means the suite's reference.
    Without `suite` it is that of the current folder, else the bundled one. `select` are check ids, parts of them or
    patterns; `require` are operators that the backend must declare. `timeout` is in seconds. `result.conformant` is
    the verdict, `result.results` has one entry for each check. A script that is run as `__main__` and may be imported
    by child processes keeps the call below `if __name__ == "__main__":`.

    Raises TypeError and ValueError for a wrong argument, BackendNotFound, UnfitBackend where a backend gives no valid
    hello, MalformedContract, CorruptedCorpus. Source: docs/writing-a-backend.md.

    >>> import tallystick
    >>> result = tallystick.run_trial(profile="quick", select=["pinned-orders"])
    >>> result.conformant, result.counts.run > 0
    (True, True)
    """
    _require_choice("profile", profile, PROFILES)
    _require_choice("wire", wire, tuple(DIALECTS))
    _require_choice("sandbox", sandbox, SANDBOXES)
    if not isinstance(backend, str):
        raise TypeError(f"backend must be a str: got {backend!r}; python:module:object names a Python object")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be an integer from 1 up: got {jobs!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise ValueError(f"timeout must be a number of seconds above 0: got {timeout!r}")
    found = find_suite("" if suite is None else os.fspath(suite), Path.cwd())
    library = load_library(found)
    options = RunOptions(
        backend=backend,
        wire=wire,
        profile=profile,
        jobs=jobs,
        timeout=float(timeout),
        select=_texts("select", select),
        require=_texts("require", require),
        sandbox=sandbox,
        crash=bool(crash),
    )
    for name in options.require:
        _require_choice("require", name, library.declarable)
    result = run.run_trial(library, load_corpus(found), options)
    if not result.counts.selected:
        raise ValueError(f"select must match a check: got {list(options.select)!r}; `tally run --list` lists them")
    return result


def _require_choice(name: str, text: str, allowed: tuple[str, ...]) -> None:
    if text not in allowed:
        near = get_close_matches(str(text), allowed, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(allowed) if len(allowed) < 9 else "an operator or a machine of the contracts"
        raise ValueError(f"{name} must be one of {shown}: got {text!r}{hint}")


def _texts(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a list of texts: got {texts!r}; write [{texts!r}]")
    return tuple(texts)
