"""Laws of the file queue: the same content gets the same answers in whatever form it is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any, Final

import numpy as np

from checks.generators.batch_files import FAULTS, npz, pt
from checks.generators.pickles import NOT_PLAIN, PickleWriter
from checks.laws.pipeline import CONSUMER, DTYPES, PROVIDER, Folder, consumer_config, metadata, provider_config
from conformance.trial.law import Asking, Law, LawTalk, Split, Tools, derived_bytes, law_root, must_equal

_DAMAGED: Final = 6  # files between two whole ones
_FORMS: Final = 6  # of one pickle
_PARTS: Final = 8  # of NOT_PLAIN; each metadata has one
_CHANGES: Final = 4  # of one metadata
_NUMBERS: Final = range(-(2**64), 2**64)  # those of CBOR
_BITS: Final = (0, 7, 8, 15, 16, 31, 32, 53, 63)
_SCALARS: Final = (
    *(sign * 2**bits + beside for bits in _BITS for beside in (-1, 0) for sign in (1, -1)),
    *(_NUMBERS[0], _NUMBERS[-1]),
    *(0.0, -0.0, 1.0, 0.1, -2.5e-8, 1e22, 5e-324, 2.0**53, math.inf, -math.inf, math.nan),
    *("", "a", "A", " a", "é", "e\u0301", "€", "\U0001f600", "a\nb", "\\", "\\u0041", "'", "\0", "x" * 255, "y" * 256),
    *(None, True, False),
)


def _drawing(name: str) -> Random:
    return Random(derived_bytes(name, 32))  # noqa: S311


def _value(draw: Random, depth: int = 3) -> Any:
    """A plain value of so many levels at most."""
    kind = draw.randrange(4) if depth else 0
    if kind == 1:
        return [_value(draw, depth - 1) for _ in range(draw.randrange(5))]
    if kind == 2:
        keys = draw.sample(["a", "b", "A", "", "é", 1, -1, 1.5, None], draw.randrange(4))
        return {key: _value(draw, depth - 1) for key in keys}
    return draw.choice(_SCALARS)


def _schema(draw: Random) -> list[dict[str, Any]]:
    """Fields of different names."""
    names = draw.sample(["row", "x", "y", "a.b", "_1", "Row", "10", "2"], draw.randrange(1, 4))
    fields = []
    for name in names:
        shape = [draw.choice([1, 2, 3]) for _ in range(draw.randrange(3))]
        role = {"role": draw.choice(["input", "é", ""])} if draw.random() < 0.5 else {}
        fields.append({"name": name, "dtype": draw.choice(DTYPES), "shape": shape, **role})
    return fields


def _changed(value: Any, draw: Random) -> Any:
    """A value that differs in one place, and little."""
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        if draw.random() < 0.2:
            return {f"{one} " if one is key else one: item for one, item in value.items()}
        return {**value, key: _changed(value[key], draw)}
    if isinstance(value, list) and value:
        at = draw.randrange(len(value))
        return [*value[:at], *draw.choice([[_changed(value[at], draw)], []]), *value[at + 1 :]]
    if value is None or isinstance(value, bool):
        return draw.choice([other for other in (None, True, False, 0, "") if other is not value])
    if isinstance(value, int):
        near = [other for other in (value + 1, value - 2**32, value - 2**64) if other in _NUMBERS]
        return draw.choice([*near, str(value), float(value)])
    if isinstance(value, float):
        return draw.choice([1.25 if math.isnan(value) else math.nextafter(value, 0.5), repr(value), None])
    if isinstance(value, str):
        return draw.choice([f"{value}\0", f" {value}", f"{value}\u0301", f"{value}x"])
    return 0 if value else None  # of an empty list or map


def _metadata_of_any_form(tools: Tools, metadata_no: int) -> LawTalk:
    """One drawn value, written as several pickles; a provider with the same value opens beside each, others do not."""
    draw = _drawing(f"metadata {metadata_no}")
    schema = _schema(draw)
    meta = metadata(2, schema, extra=_value(draw))
    with law_root() as root:
        folder = Folder(tools, root)
        for _ in range(_FORMS):
            written = PickleWriter(draw).pickle(meta)
            (root / "meta.pkl").write_bytes(written)
            provider = yield from folder.open(PROVIDER, provider_config(meta, 2, 2))
            yield from folder.close(PROVIDER, provider)
            consumer = yield from folder.open(CONSUMER, consumer_config(2, 1))
            told = yield from folder.say(CONSUMER, "Schema", consumer, split="train")
            must_equal({"fields": schema}, told, "the fields that a consumer tells of meta.pkl")
            yield from folder.close(CONSUMER, consumer)
            must_equal(written, (root / "meta.pkl").read_bytes(), "meta.pkl, which was there before a provider opened")
        for _ in range(_CHANGES):
            other = {**meta, "extra": _changed(meta["extra"], draw)}
            yield from _refused(folder, PROVIDER, provider_config(other, 2, 2), "beside another meta.pkl")
        damaged = [written[: draw.randrange(len(written))], written[:-1], written + draw.choice([b".", b"N", b"\n"])]
        not_plain = list(NOT_PLAIN.values())[metadata_no % _PARTS :: _PARTS]
        damaged += [PickleWriter(draw).pickle(meta, earlier) for earlier in not_plain]
        for content in damaged:
            (root / "meta.pkl").write_bytes(content)
            yield from _refused(folder, CONSUMER, consumer_config(2, 1), f"beside the pickle {content!r:.200}")


def _refused(folder: Folder, machine: str, config: Mapping[str, Any], where: str) -> Asking[None]:
    """A machine that is opened must refuse the metadata."""
    what = f"{machine}.Open {where}"
    call = folder.opening(machine, config)
    (failure,) = yield from folder.tools.ask_refused([call], what)
    must_equal("META_INVALID", failure.code, what, call)


def _files_of_any_form(tools: Tools, queue_no: int) -> LawTalk:
    """Files of a drawn schema and form: whole ones are handed out, damaged ones go to the quarantine.

    The faults come in their order, so that enough queues have them all.
    """
    draw = _drawing(f"files {queue_no}")
    schema = _schema(draw)
    codec, write = ("npz", npz) if queue_no % 2 else ("pt", pt)
    first, size = queue_no // 2 * _DAMAGED, draw.choice([2, 5])
    faults = ["", *(FAULTS[codec][(first + k) % len(FAULTS[codec])] for k in range(_DAMAGED)), ""]
    with law_root() as root:
        folder, queue = Folder(tools, root), root / "queue/train"
        queue.mkdir(parents=True)
        (root / "meta.pkl").write_bytes(PickleWriter(draw).pickle(metadata(size, schema)))
        files = []
        damaged: dict[str, str] = {}
        for seq, fault in enumerate(faults):
            rows = draw.randrange(1, 6)
            arrays = {field["name"]: _array(field, rows, draw) for field in schema}
            told = {"batch_size": 2, "num_batches": -(-rows // 2), "file_idx": seq, "split": "train", "produced_at": 7}
            content = write({**told, "schema": schema}, arrays, draw, fault)
            name = f"{seq}-{seq}-{told['num_batches']}.{codec}"
            (queue / name).write_bytes(content)
            files += [] if fault else [arrays]
            damaged |= {name: fault} if fault else {}
        between = f"damaged ones between them: {damaged}"
        consumer = yield from folder.open(CONSUMER, consumer_config(size, 1, codec))
        for number, arrays in enumerate(files):
            rows = len(next(iter(arrays.values())))
            for start in range(0, rows, size):
                part = range(start, min(start + size, rows))
                taken = [part[k % len(part)] for k in range(size)]
                expected = [(name, array[taken].tolist()) for name, array in arrays.items()]
                answer = yield from folder.say(CONSUMER, "GetBatch", consumer, split="train", timeout_ms=0)
                must_equal(expected, _rows_of(answer), f"the batch from row {start} of whole file {number}, {between}")
        found = sorted(path.name for path in (root / "queue/quarantine").rglob("*.*"))
        must_equal([*damaged], found, f"the files in the quarantine, {between}")
        told = yield from folder.say(CONSUMER, "Stats", consumer)
        must_equal([], told["warnings"], "the warnings")


def _array(field: Mapping[str, Any], rows: int, draw: Random) -> np.ndarray[Any, Any]:
    """Elements of any bytes, but no NaN."""
    dtype = np.dtype(field["dtype"]).newbyteorder("<")
    count = rows * math.prod(field["shape"])
    raw = draw.randbytes(count * dtype.itemsize)
    elements = np.frombuffer(bytes(byte & 1 for byte in raw) if field["dtype"] == "bool" else raw, dtype)
    numbers = np.nan_to_num(elements, nan=1.0) if dtype.kind == "f" else elements
    return numbers.reshape(rows, *field["shape"])


def _rows_of(answer: Any) -> Any:
    if isinstance(answer, str):
        return answer
    return [(one["name"], np.asarray(one["tensor"]).tolist()) for one in answer["fields"]]


LAWS: Final = (
    Law("metadata-of-any-form", _metadata_of_any_form, {"metadata": 4}, Split(counts={"metadata": "metadata_no"})),
    Law("queue-files-of-any-form", _files_of_any_form, {"queues": 4}, Split(counts={"queues": "queue_no"})),
)
