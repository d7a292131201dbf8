"""The checks that failed last, by suite and backend; kept in the user's cache folder for `--last-failed`.

They choose among the checks of a suite, and do nothing else: a false entry cannot change a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance.contract.cache import Cache, cache_folder, digest_of_texts
from conformance.contract.suite import Suite

_KIND: Final = "last-failed"


def known_failures(suite: Suite, backend: str) -> frozenset[str]:
    """The ids of the checks of a backend that failed when they were made last."""
    found = _store().get(_KIND, _key(suite, backend))
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()


def remember(suite: Suite, backend: str, red: Mapping[str, bool]) -> None:
    """Keep which checks are red, by id; checks that were not made stay as they were."""
    before = known_failures(suite, backend)
    after = {one for one in before if one not in red} | {one for one, is_red in red.items() if is_red}
    if after != before:
        _store().put(_KIND, _key(suite, backend), sorted(after))


def _store() -> Cache:
    return Cache(cache_folder(), _KIND)


def _key(suite: Suite, backend: str) -> str:
    # A command line means another program in another folder; a name of the suite does not.
    place = "" if backend in suite.backends else str(Path.cwd())
    return digest_of_texts([str(suite.root), backend, place])
