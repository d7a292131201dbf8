"""The whole numbers in the files that a question writes: a limit may be on one of them, as on a number of a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.contract.types import Value
from conformance.trial.fuzz.near_bytes import item_in, with_part
from conformance.vectors.case import FileStep
from conformance.vectors.fileaction import codec_of
from conformance.vectors.filecodec import Unencodable, encode_file
from conformance.vectors.leaf import INTEGER, Spot
from conformance.vectors.place import distinct_places


def numbers_in(step: FileStep) -> Iterator[Spot]:
    """Each whole number of a CBOR file that a step writes, the first of every leaf, as a spot of its item."""
    if (data := _written(step)) is not None and (item := item_in(data)) is not None:
        for place in distinct_places(Value(), item[0]):
            if type(place.value) is int:
                yield Spot(f"{step.subject} {place.key}", INTEGER, str(place.value), place.path)


def with_number(step: FileStep, spot: Spot, number: int) -> FileStep:
    """The step with another number in its file; digests that stand in the file are made right again."""
    data = _written(step)
    item = None if data is None else item_in(data)
    assert item is not None
    body = {name: part for name, part in step.body.items() if name != codec_of(step.body)}
    return replace(step, body={**body, "bytes": with_part(item[0], spot.steps, number).hex()})


def _written(step: FileStep) -> bytes | None:
    if step.action != "put":
        return None
    try:
        return encode_file(codec_of(step.body), step.body[codec_of(step.body)])
    except Unencodable:
        return None
