"""Numbers and long texts inside CBOR: in the files that a question writes, and in the byte strings of its inputs.

A guard may limit them in the same way as a number or a length in a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from conformance.contract.types import Scalar, Value
from conformance.trial.fuzz.near_bytes import item_in, with_part
from conformance.vectors.case import FileStep
from conformance.vectors.exchange import codec_of
from conformance.vectors.filecodec import Unencodable, encode_file
from conformance.vectors.leaf import INTEGER, Spot
from conformance.vectors.limit import Dial, dial_of
from conformance.vectors.place import distinct_places

_LARGE: Final = 4096  # bytes; of a larger item only the long texts are turned, each question costs
_LONG: Final = 256


def parts_in(data: bytes, name: str) -> Iterator[tuple[Spot, Dial | None]]:
    """Each whole number and text of a CBOR item, the first of every leaf, with its dial."""
    if (item := item_in(data)) is None:
        return
    for place in distinct_places(Value(), item[0]):
        value, where = place.value, f"{name} {place.key}"
        if type(value) is int and len(data) <= _LARGE:
            spot = Spot(where, INTEGER, str(value), place.path)
            yield spot, dial_of(spot)
        elif isinstance(value, str) and value and (len(data) <= _LARGE or len(value) >= _LONG):
            spot = Spot(where, Scalar("string"), value, place.path)
            yield spot, Dial(spot, len(value), 0, max(_LONG, 2 * len(value)), counts=True)


def with_another(data: bytes, spot: Spot, value: Any) -> bytes:
    """The item with another number or text; the digests in it are made right again."""
    item = item_in(data)
    assert item is not None
    return with_part(item[0], spot.steps, int(value) if spot.type == INTEGER else value)


def written(step: FileStep) -> bytes | None:
    """The bytes that a step writes into a file; None where it writes none."""
    if step.action != "put":
        return None
    try:
        return encode_file(codec_of(step.body), step.body[codec_of(step.body)])
    except Unencodable:
        return None


def writing(step: FileStep, data: bytes) -> FileStep:
    """The step with other bytes."""
    body = {name: part for name, part in step.body.items() if name != codec_of(step.body)}
    return replace(step, body={**body, "bytes": data.hex()})
