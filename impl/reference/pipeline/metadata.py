"""meta.pkl: a pickle of plain values only, read so that nothing in it can run."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from impl.reference.checkpoint import disk
from impl.reference.pipeline.pickles import NotPlain, as_key, read_pickle
from impl.reference.pipeline.refusal import Refusal
from impl.reference.pipeline.tensors import WIDTHS

MAX_ITEMS: Final = 2**21
MAX_DEPTH: Final = 64
_NUMBERS_OR_NONE: Final = (int, float, bool, type(None))
_SHOWN: Final = 80


def is_text(value: object) -> bool:
    """Tell whether something is a text that has bytes: half of a surrogate pair has none."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode("utf-8") == value


def shown(value: object) -> str:
    """Return a short text of any value for a sentence; a number may have too many digits to be printed."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64):
        return repr(value)
    return "a number of many digits" if isinstance(value, int) else f"a {type(value).__name__}"


def invalid(sentence: str) -> Refusal:
    """Return the refusal of metadata."""
    return Refusal("META_INVALID", sentence)


def is_same(one: object, other: object) -> bool:
    """Tell whether two plain values are the same: 1, 1.0 and true are three, 0.0 and -0.0 are two; a NaN is itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        others = {_identity(key): item for key, item in other.items()}
        return len(one) == len(other) and all(
            _identity(key) in others and is_same(item, others[_identity(key)]) for key, item in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and _identity(one) == _identity(other)


def another_configuration(written: Mapping[str, object], given: Mapping[str, object]) -> str:
    """Return the sentence about different metadata: each key that differs, its written value and its given value."""
    keys = [
        f"{key}: {', '.join(shown(one[key]) if key in one else 'none' for one in (written, given))}"
        for key in dict.fromkeys([*given, *written])
        if not (key in written and key in given and is_same(written[key], given[key]))
    ]
    advice = "give the same, or another folder, or begin anew with purge()"
    return f"{NAME} was written by a provider with another configuration ({'; '.join(keys)}): {advice}"


def require_plain(value: object) -> None:
    """Refuse what is not made of dict, list, str, int, float, bool and None, or is endless: META_INVALID."""
    waiting: list[tuple[int, object]] = [(0, value)]
    items = 1
    while waiting:
        depth, item = waiting.pop()
        inside: list[object] = []
        if type(item) is dict:
            inside = [*item.keys(), *item.values()]
        elif type(item) is list:
            inside = item
        elif type(item) is str and not is_text(item):
            raise invalid("a text has half of a surrogate pair")
        elif type(item) not in (str, *_NUMBERS_OR_NONE):
            kind = type(item).__name__
            allowed = "dict, list, str, int, float, bool and None"
            raise invalid(f"the metadata must be made of {allowed}: got the type {kind}")
        items += len(inside)
        # A list inside itself, or one that occurs twice in each of forty others, never ends.
        if items > MAX_ITEMS or (inside and depth == MAX_DEPTH):
            raise invalid(f"the metadata holds more than {MAX_ITEMS} items or {MAX_DEPTH} levels")
        waiting += [(depth + 1, part) for part in inside if type(part) not in _NUMBERS_OR_NONE]


def without_tuples(value: object, depth: int = 0) -> object:
    """Return a value as it comes back from meta.pkl, with lists for tuples; META_INVALID for one too deep."""
    if depth > MAX_DEPTH:
        raise invalid(f"the metadata holds more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {as_key(key): without_tuples(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_tuples(item, depth + 1) for item in value]
    return value


def _identity(scalar: object) -> tuple[type, object]:
    # Python takes 1, 1.0 and True for equal, and no NaN for itself.
    return type(scalar), repr(scalar) if isinstance(scalar, float) else scalar


MAX_DIMENSION: Final = 2**32
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_KEYS: Final = ("name", "dtype", "shape", "role")


class NotASchema(Exception):
    """A value does not describe fields; says why."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Describe one field; `shape` is that of one sample, without the batch axis (seed 001, Batch File Format)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str | None = None

    def same_rows(self, other: FieldSpec) -> bool:
        """Tell whether both describe the same rows; the role is only a hint."""
        return (self.name, self.dtype, self.shape) == (other.name, other.dtype, other.shape)

    def as_map(self) -> dict[str, Any]:
        """Return the map in metadata and meta.pkl; without a role the key is absent."""
        described: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}
        if self.role is not None:
            described["role"] = self.role
        return described


def schema_of(described: object) -> tuple[FieldSpec, ...]:
    """Read a list of field maps; NotASchema where it is none, is empty or names a field twice.

    Keys of a field that no rule knows are passed over; `unknown_keys` tells them.
    """
    if not isinstance(described, list) or not described:
        raise NotASchema("the schema is not a list of fields")
    fields = tuple(_field_of(entry) for entry in described)
    if len({field.name for field in fields}) < len(fields):
        raise NotASchema("the schema names a field twice")
    return fields


def unknown_keys(described: list[dict[object, object]]) -> list[str]:
    """Return the keys of the fields of a schema that no rule knows."""
    return [f"{shown(key)} of a field" for entry in described for key in entry if key not in _KEYS]


def is_field_name(name: object) -> bool:
    """Tell whether a text can name a field: it becomes a name inside the archive."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _field_of(entry: object) -> FieldSpec:
    if not isinstance(entry, dict) or not {"name", "dtype", "shape"} <= entry.keys():
        raise NotASchema("a field is not a map of name, dtype, shape and perhaps role")
    name, dtype, shape, role = (entry.get(key) for key in _KEYS)
    if not is_field_name(name):
        raise NotASchema(f"{shown(name)} is not a name of a field")
    if not isinstance(dtype, str) or dtype not in WIDTHS:
        raise NotASchema(f"field {name} has the dtype {shown(dtype)}")
    if not isinstance(shape, list) or not all(type(size) is int and 0 < size < MAX_DIMENSION for size in shape):
        raise NotASchema(f"field {name} has the shape {shown(shape)}")
    if "role" in entry and not is_text(role):
        raise NotASchema(f"field {name} has the role {shown(role)}")
    return FieldSpec(name=str(name), dtype=dtype, shape=tuple(shape), role=role)


REQUIRED: Final = ("dataset_name", "training_type", "batch_size", "batch_schema", "split_info")
CONDITIONAL: Final = ("vocab_size", "block_size", "target_size")
SPLITS: Final = ("train", "val")
# The domain of the contracts: a batch is padded to this size in memory, however little its file has.
MAX_BATCH_SIZE: Final = 2**20

# Which sizes apply to which training type (ruling QA20).
APPLICABLE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "LM": ("vocab_size", "block_size", "target_size"),
        "MLM": ("vocab_size", "block_size", "target_size"),
        "CLASSIFICATION": (),
        "TOKEN_CLASSIFICATION": ("vocab_size", "block_size"),
        "SEQUENCE_SCORING": ("block_size",),
    }
)


def check_meta(meta: object, is_own: bool = False) -> Mapping[str, Any]:
    """Return the metadata if every required key is present and well typed; META_INVALID (requirements Q16, Q20, Q21).

    The refusal tells all that is wrong. A size that does not apply may be there and must then be a size; other keys
    pass untouched. In metadata of one's own a field has no unknown key; in that of others it is passed over (QA33).
    """
    require_plain(meta)
    if not isinstance(meta, dict):
        raise invalid("the metadata is no map")
    problems = [*_problems(meta), *_schema_problems(meta, is_own), *_split_problems(meta)]
    if problems:
        raise invalid("; ".join(problems))
    return meta


def _problems(meta: Mapping[str, Any]) -> Iterator[str]:
    for key in REQUIRED:
        if key not in meta:
            yield f"the metadata has no {key}"
    dataset_name = meta.get("dataset_name", NAME)
    if not isinstance(dataset_name, str) or not dataset_name:
        yield "dataset_name is no text"
    training_type = meta.get("training_type", "CLASSIFICATION")
    if not isinstance(training_type, str) or training_type not in APPLICABLE:
        yield f"training_type {shown(training_type)} is none of {', '.join(APPLICABLE)}"
        training_type = "CLASSIFICATION"
    for key in APPLICABLE[training_type]:
        if key not in meta:
            yield f"the metadata of {training_type} has no {key}"
    for key in ("batch_size", *CONDITIONAL):
        if key in meta and not is_size(meta[key]):
            yield f"{key} is no size"
    if is_size(meta.get("batch_size")) and meta["batch_size"] > MAX_BATCH_SIZE:
        yield f"batch_size is larger than {MAX_BATCH_SIZE}"


def _schema_problems(meta: Mapping[str, Any], is_own: bool) -> Iterator[str]:
    if "batch_schema" not in meta:
        return
    try:
        schema_of(meta["batch_schema"])
    except NotASchema as reason:
        yield f"batch_schema: {reason}"
        return
    if is_own:
        yield from (f"batch_schema: {key} is no key of one" for key in unknown_keys(meta["batch_schema"]))


def _split_problems(meta: Mapping[str, Any]) -> Iterator[str]:
    split_info = meta.get("split_info", {split: {} for split in SPLITS})
    if not isinstance(split_info, dict):
        yield "split_info is no map"
        return
    for split in SPLITS:
        if not isinstance(split_info.get(split), dict):
            yield f"split_info has no map for {split}"


def schema_in(meta: Mapping[str, Any]) -> tuple[FieldSpec, ...]:
    """Return the fields of the metadata's batch_schema; META_INVALID."""
    try:
        return schema_of(meta["batch_schema"])
    except NotASchema as reason:
        raise invalid(f"batch_schema: {reason}") from None


def is_size(number: object) -> bool:
    """Tell whether something is a positive 64-bit integer; a bool is none."""
    return type(number) is int and 0 < number < 2**64


NAME: Final = "meta.pkl"
TEMPORARY: Final = ".tmp-meta.pkl"
PROTOCOL: Final = 2
MAX_BYTES: Final = 2**26
MAX_OPCODES: Final = 4 * MAX_ITEMS


def read_meta(root: Path) -> Any:
    """Return the value in meta.pkl; META_MISSING, META_INVALID. The file stays where it is (ruling QA21)."""
    try:
        content = disk.read(root / NAME, MAX_BYTES)
    except FileNotFoundError:
        raise Refusal("META_MISSING", f"{root} has no {NAME}: no provider has started there") from None
    except (disk.LimitExceeded, OSError) as error:
        raise invalid(f"{NAME} cannot be read: {error}") from None
    return unpickle(content)


def write_meta(root: Path, meta: object) -> None:
    """Write meta.pkl so that a crash leaves the old one, the new one or none (ruling QA18)."""
    temporary = root / TEMPORARY
    disk.remove_leftover(temporary)
    with disk.new_file(temporary) as file:
        disk.write(file, pickled(meta))
        disk.sync(file)
    temporary.replace(root / NAME)
    disk.sync_folder(root)


def pickled(meta: object) -> bytes:
    """Return the pickle of a plain value; META_INVALID for any other."""
    require_plain(meta)
    return pickle.dumps(meta, protocol=PROTOCOL)


def unpickle(content: bytes) -> Any:
    """Read a pickle of protocol 0 to 5 that holds plain values only, tuples as lists; META_INVALID for all others."""
    try:
        value = read_pickle(content, MAX_OPCODES)
    except NotPlain as reason:
        raise invalid(f"{NAME} is no pickle of plain values: {reason}") from None
    require_plain(value)
    return value
