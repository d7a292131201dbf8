"""What may lie in the root of a file queue: files of all names and contents, right ones and odd ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy as np

from checks.generators.batch_files import npz, pt

Schema = list[dict[str, Any]]
Content = dict[str, Any]  # of a file, in the words of a trace
ROOT: Final = "a"
SCHEMAS: Final[Sequence[Mapping[str, Any]]] = (
    {"row": ("uint8", [])},
    {"row": ("int32", [2])},
    {"x": ("uint16", [2]), "y": ("int64", [])},
    {"y": ("uint8", []), "x": ("uint8", [])},
    {"x": ("uint8", []), "y": ("uint8", []), "z": ("float32", [])},
    {"X": ("uint8", []), "Y": ("bool", [])},
)
_MOST_ROWS: Final = 5
FULL: Final = 16  # files in the quarantine of a split


def schema_of(fields: Mapping[str, Any]) -> Schema:
    """The schema of these fields."""
    return [{"name": name, "dtype": dtype, "shape": list(shape)} for name, (dtype, shape) in fields.items()]


@dataclass(slots=True)
class Scene:
    """A root and what was put there so far; the paths may be gone by now."""

    draw: Random
    schema: Schema
    codec: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)  # of these paths, where nothing can be in a consumer's memory
    seq: int = 0

    def put(self, path: str, content: Content | bytes) -> None:
        """Put a file."""
        body = content if isinstance(content, dict) else {"bytes": content.hex()}
        self.steps.append({"put": {"path": path, **body}})
        self.paths.append(path)

    def edit(self, action: str, **body: Any) -> None:
        """Change the files in another way."""
        self.steps.append({action: body})

    def call(self, operation: str, **inputs: Any) -> None:
        """Call an operation on the handle that was opened last."""
        self.steps.append({"call": operation, "inputs": inputs})

    def often(self, share: float) -> bool:
        """Whether something happens that happens in such a share of cases."""
        return self.draw.random() < share


def batch_file(scene: Scene, codec: str, split: str, fault: str = "") -> Content:
    """A file of the split, right or odd; with one of FAULTS it is damaged."""
    draw, rows = scene.draw, scene.draw.randint(1, _MOST_ROWS)
    said = {"batch_size": 2, "num_batches": -(-rows // 2), "file_idx": scene.seq, "split": split}
    said |= {"produced_at": scene.seq, "schema": scene.schema}
    arrays = {one["name"]: _array(one, rows, scene.seq) for one in scene.schema}
    if scene.often(0.2):
        said, arrays = draw.choice(_ODD_CONTENTS)(said, arrays, draw)
    if codec == "npz" and not fault:
        told = {"name": "metadata.json", "text": json.dumps(said, separators=(",", ":"))}
        return {"npz": [told, *({"name": f"{name}.npy", "tensor": _wire(one)} for name, one in arrays.items())]}
    content = (npz if codec == "npz" else pt)(said, arrays, Random(scene.seq), fault)  # noqa: S311
    return {"bytes": content.hex()}


def _wire(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"data": data, "dtype": array.dtype.name, "shape": list(array.shape)}


def _array(one: Mapping[str, Any], rows: int, seq: int) -> np.ndarray[Any, Any]:
    """Numbers that tell the file and the row."""
    shape = (rows, *one["shape"])
    count = int(np.prod(shape))
    numbers = (np.arange(count) + 16 * seq).astype(np.uint8).reshape(shape)
    return numbers.astype(np.dtype(one["dtype"]).newbyteorder("<"))


Contents = tuple[dict[str, Any], dict[str, Any]]
Odd = Callable[[dict[str, Any], dict[str, Any], Random], Contents]


def _said(**more: Any) -> Odd:
    return lambda said, arrays, draw: ({**said, **more}, arrays)


def _unsaid(said: dict[str, Any], arrays: dict[str, Any], draw: Random) -> Contents:
    gone = draw.choice(list(said))
    return {key: value for key, value in said.items() if key != gone}, arrays


def _fields_changed(said: dict[str, Any], arrays: dict[str, Any], draw: Random) -> Contents:
    """The declared fields in another order, or one of them another."""
    schema = [dict(one) for one in said["schema"]]
    one: dict[str, Any] = draw.choice(schema)
    change = draw.choice(["order", "role", "key", "dtype", "shape", "less", "more"])
    if change == "order":
        schema.reverse()
    elif change == "less":
        schema.remove(one)
    elif change == "more":
        schema.append({"name": "more", "dtype": "uint8", "shape": []})
    else:
        one |= {change: {"role": "x", "key": 1, "dtype": "int8", "shape": [1]}[change]}
    return {**said, "schema": schema}, arrays


def _arrays_changed(said: dict[str, Any], arrays: dict[str, Any], draw: Random) -> Contents:
    """An array more, less, shorter, longer, empty, of another dtype or shape, or they come in another order."""
    name = draw.choice(list(arrays))
    array = arrays[name]
    changed: Mapping[str, Any] = {
        "more": {**arrays, "more": array},
        "less": {other: one for other, one in arrays.items() if other != name},
        "shorter": {**arrays, name: array[1:]},
        "longer": {**arrays, name: np.concatenate([array, array])},
        "empty": {other: one[:0] for other, one in arrays.items()},
        "dtype": {**arrays, name: array.astype("<i2")},
        "shape": {**arrays, name: array[..., None]},
        "order": dict(reversed(arrays.items())),
    }
    return said, changed[draw.choice(list(changed))]


_ODD_CONTENTS: Final[Sequence[Odd]] = (
    *(_said(num_batches=number) for number in (0, 7, 2**53 + 1, -1, 1.0, "1", None)),
    *(_said(**more) for more in ({"batch_size": 9}, {"split": "val"}, {"file_idx": 10**20}, {"extra": [1]})),
    *(_said(schema=schema) for schema in ("x", [1])),
    *(_unsaid, _fields_changed, _fields_changed, _arrays_changed, _arrays_changed, _arrays_changed),
)  # fmt: skip


_LARGE: Final = (2**53, 2**64, 10**25)


def queue_name(scene: Scene, codec: str) -> str:
    """The name of a file of the queue, or one that is near to such a name."""
    draw = scene.draw
    numbers = [scene.seq, scene.seq, scene.seq, scene.seq, draw.randrange(12), draw.choice(_LARGE) + scene.seq % 2]
    count = draw.choice(["1", "2", "2", "3", "02", str(2**53)])
    name = f"{draw.choice(numbers)}-{draw.choice(numbers):0{draw.choice([1, 6])}}-{count}.{codec}"
    return draw.choice(_NEAR_NAMES)(name, draw) if scene.often(0.2) else name


NearName = Callable[[str, Random], str]


def _after(beginning: str) -> NearName:
    return lambda name, draw: beginning + name


def _before(end: str) -> NearName:
    return lambda name, draw: name + end


def _instead(mark: str) -> NearName:
    """Names with another mark for the first dash."""
    return lambda name, draw: name.replace("-", mark, 1)


def _digits_of(zero: str) -> NearName:
    """Names whose first digit is of another script."""
    return lambda name, draw: chr(ord(zero) + int(name[0])) + name[1:]


_NEAR_NAMES: Final[Sequence[NearName]] = (
    *map(_after, ("0", "00", ".", ".tmp", ".tmp-", "+", "-", " ", "x", "1_")),
    *map(_before, (".tmp", "~", " ", ".1", ".gz", "\n")),
    *map(_instead, ("--", "_", "-0", "-.tmp-", "-1-")),
    lambda name, draw: name.upper(),
    lambda name, draw: name.partition(".")[0] + draw.choice([".PT", ".np", ".zip", "", ".npy", ".pt", ".npz"]),
    *map(_digits_of, ("\uff10", "\u0660")),
)  # fmt: skip


def put_something(scene: Scene, path: str) -> None:
    """A folder, with something in it, or a link takes the place of what has the name."""
    if path in scene.paths:
        scene.edit("delete", path=path)
    if scene.often(0.5):
        scene.put(f"{path}/{scene.draw.choice(['x', '1-1-1.npz'])}", b"x")
    else:
        scene.edit("link", path=path, target=scene.draw.choice([*scene.paths, "nowhere"]), symbolic=True)
