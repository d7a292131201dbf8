"""The place in a declared sequence where a wrong answer first differs, as a record has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.codec.form import form_of
from conformance.contract.library import Library
from conformance.vectors.call_sequence import CallSequence, call_sequence

Entry = Mapping[str, Any]


def with_places(entries: Iterable[Entry], library: Library) -> Iterator[Entry]:
    """The entries; one whose answer differs in a value of a sequence gets the detail `sequence`.

    That is the unit, the position of the first value of the call, that of the value that differs, and the length.
    """
    known: dict[str, CallSequence] = {}
    for entry in entries:
        place = _place(entry, library, known) if "difference" in entry and "call" in entry else None
        yield entry if place is None else {**entry, "details": {**entry.get("details", {}), "sequence": place}}


def _place(entry: Entry, library: Library, known: dict[str, CallSequence]) -> dict[str, Any] | None:
    operator, inputs = entry["call"]["operator"], entry["call"]["inputs"]
    declaration = library.sequences.get(operator)
    if declaration is None or declaration.replay is not None:
        return None
    found = re.fullmatch(rf"{re.escape(declaration.values)}\[([0-9]+)\]", entry["difference"]["path"])
    if found is None:
        return None
    if operator not in known:
        known[operator] = call_sequence(declaration, library)
    native = form_of(library.contracts[operator].inputs).to_native(inputs)
    extent = known[operator].extent(inputs, native)
    if extent is None:
        return None
    begins = known[operator].first(native, extent.start)
    position = begins + int(found[1])
    if position >= extent.length:
        return None
    return {"unit": declaration.unit, "begins": begins, "position": position, "length": extent.length}
