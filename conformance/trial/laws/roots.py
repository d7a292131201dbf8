"""Directories for laws: a relation that breaks names them as frozen cases do, so that its record never changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from conformance.trial.laws.law import LawBroken
from conformance.vectors.room import Rooms

_ROOT: Final = re.compile(r"\{root:([^}]*)\}\Z")


@contextmanager
def law_roots() -> Iterator[Rooms]:
    """Fresh roots; LawBroken leaves with `{root:NAME}` instead of any path of theirs."""
    with Rooms() as rooms:
        try:
            yield rooms
        except LawBroken as broken:
            call = broken.call and replace(broken.call, inputs=_as_frozen(rooms.masked(broken.call.inputs)))
            raise LawBroken(rooms.masked(broken.message), call) from None


def _as_frozen(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs whose whole roots are `{"root": NAME}`, as in the calls of frozen cases."""
    found = {name: _ROOT.match(item) if isinstance(item, str) else None for name, item in inputs.items()}
    return {name: {"root": root[1]} if (root := found[name]) else item for name, item in inputs.items()}
