"""Laws of the checkpoint in one piece: it comes back as it was, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from conformance.backend.observed import ObservedFailure, observe
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.checkpoint_header import IDENTITY, derived_header, other
from conformance.trial.laws.grid import axes, grid, slug
from conformance.trial.laws.law import Asking, Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must, must_equal

SERIALIZE: Final = "UML_OS.Checkpoint.Serialize_v1"
RESTORE: Final = "UML_OS.Checkpoint.Restore_v1"


def round_trips(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers}`; one instance per header."""
    for number in range(axes(use, {"headers": 24})["headers"][0]):
        yield Instance(slug({"header": number}), partial(_round_trip, tools, derived_header(number)))


def damages(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers, masks: the bits that are flipped}`."""
    chosen = axes(use, {"headers": 2, "masks": [1, 128]})
    for number in range(chosen.pop("headers")[0]):
        for point in grid(chosen):
            talk = partial(_blob_damage, tools, derived_header(number), point["masks"])
            yield Instance(slug({"header": number, "mask": point["masks"]}), talk)


def identities(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {headers: how many derived headers}`; one instance per header."""
    for number in range(axes(use, {"headers": 2})["headers"][0]):
        yield Instance(slug({"header": number}), partial(_identity, tools, derived_header(number)))


def _saved(tools: Tools, header: dict[str, Any]) -> Asking[dict[str, Any]]:
    (saved,) = yield from tools.ask([tools.call(SERIALIZE, {"header": header})])
    return saved


def _round_trip(tools: Tools, header: dict[str, Any]) -> LawTalk:
    saved = yield from _saved(tools, header)
    backwards = tools.call(SERIALIZE, {"header": dict(reversed(header.items()))})
    (reordered,) = yield from tools.ask([backwards])
    must_equal(saved, reordered, "with the fields in the opposite order", backwards)
    read = tools.call(RESTORE, {"checkpoint_blob": saved["checkpoint_blob"], "expected": {}})
    (restored,) = yield from tools.ask([read])
    must(restored["header"] == header, "the restored header is not the saved one", read)
    write = tools.call(SERIALIZE, {"header": restored["header"]})
    (again,) = yield from tools.ask([write])
    must_equal(saved, again, "serialized, restored and serialized again", write)


def _blob_damage(tools: Tools, header: dict[str, Any], mask: int) -> LawTalk:
    blob: bytes = (yield from _saved(tools, header))["checkpoint_blob"]
    yield from tools.ask([tools.call(RESTORE, {"checkpoint_blob": blob, "expected": {}})])
    places = range(len(blob))
    damaged = [blob[:at] + bytes([blob[at] ^ mask]) + blob[at + 1 :] for at in places]
    damaged += [*(blob[:at] for at in places), blob + b"\0"]
    calls = [tools.call(RESTORE, {"checkpoint_blob": one, "expected": {}}) for one in damaged]
    yield from tools.ask_refused(calls)


def _identity(tools: Tools, header: dict[str, Any]) -> LawTalk:
    blob = (yield from _saved(tools, header))["checkpoint_blob"]
    same = {field: header[field] for field in IDENTITY}
    yield from tools.ask([tools.call(RESTORE, {"checkpoint_blob": blob, "expected": same})])
    calls = [
        tools.call(RESTORE, {"checkpoint_blob": blob, "expected": {**same, field: other(header[field])}})
        for field in IDENTITY
    ]
    outcomes = yield calls
    for field, call, outcome in zip(IDENTITY, calls, outcomes, strict=True):
        observed = observe(outcome, call.operator, tools.codebook, tools.dialect)
        must(isinstance(observed, ObservedFailure), f"another {field} is restored", call)
        assert isinstance(observed, ObservedFailure)
        must(observed.code == "REPLAY_DIVERGENCE", f"another {field} fails with {observed.code}", call)
        must_equal(field, observed.data["field_path"], "the field that is named", call)


LAWS: Final = (
    Law(
        "checkpoint-round-trip",
        "A checkpoint is the same bytes whatever the order of its fields, and after any number of restores.",
        (SERIALIZE, RESTORE),
        round_trips,
    ),
    Law(
        "checkpoint-blob-damage",
        "A checkpoint with one byte changed, cut off or added is never restored.",
        (SERIALIZE, RESTORE),
        damages,
    ),
    Law(
        "checkpoint-identity",
        "A checkpoint of another tenant, run, token, trace, data, plan, binary or profile is never restored.",
        (SERIALIZE, RESTORE),
        identities,
    ),
)
