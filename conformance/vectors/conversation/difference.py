"""The first place where a result or a directory differs from the expected one."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult
from conformance.codec.form import array_of
from conformance.codec.scalar import shorten, show_path
from conformance.contract.lazy import np
from conformance.contract.types import ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.contract.yaml.source import ValuePath
from conformance.vectors.case import HEAD_AND_TAIL, Expected, ExpectedFailure, ExpectedResult, TreeStep
from conformance.vectors.compact import compact, compact_list, compact_tensor, is_marker
from conformance.vectors.files.filecodec import Undecodable, codec_for, decode_file
from conformance.vectors.files.temp_roots import LONGEST_FILE, Roots, StepRefused, place
from conformance.vectors.leaf import contains_value


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where an observed value differs from the expected one; both in JSON wire form."""

    path: str  # ends at a list that is known by its digest only
    expected: Any
    actual: Any
    note: str = ""  # of such a list: between which indices the first differing element lies


class _Missing(str):
    """The text that a difference shows for an absent value; messages show it without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing("nothing")


def difference(
    expected: Expected, given: Observed | Expected, outputs: Struct, failure: Struct
) -> Difference | None:
    """The first place where a framed answer is not the expected one; None where it is right.

    Fields are compared in the contract's order, so that the first difference is the same for every backend.
    """
    match expected, given:
        case _, BadAnswer(error):
            return Difference(show_path(error.path), error.expected, shorten(error.found), "ill-typed")
        case ExpectedResult(), ObservedResult() | ExpectedResult():
            return first_difference(expected.fields, given.fields, outputs)
        case ExpectedFailure(), ObservedFailure() | ExpectedFailure() if given.code == expected.code:
            return first_difference(expected.data, given.data, failure, ("error", "data"))
        case ExpectedFailure(), ObservedFailure() | ExpectedFailure():
            return Difference("error.message", expected.code, given.code)
    return Difference("outcome", _kind(expected), _kind(given))


def _kind(answer: Observed | Expected) -> str:
    if isinstance(answer, ObservedFailure | ExpectedFailure):
        return f"failure {answer.code}"
    return "a result" if isinstance(answer, ObservedResult | ExpectedResult) else str(answer)


def first_difference(expected: Any, observed: Any, type_: Type, path: ValuePath = ()) -> Difference | None:
    """The first difference of `observed` from `expected`, both in wire form, markers allowed; None if they are equal.

    Struct fields are visited in declared order, map keys in sorted order, list elements by index.
    """
    if expected == observed:
        return None
    match type_:
        case ListOf(item):
            return _list_difference(expected, observed, item, path)
        case Struct():
            types = {member.name: member.type for member in type_.fields}
            return _parts_difference(expected, observed, types, path)
        case _ if _known_by_digest(expected, type_):
            left, right = expected, observed if is_marker(observed) else compact(observed, type_)
            return None if left == right else Difference(show_path(path), left, right, "known by their digests")
        case MapOf(item):
            keys = sorted(expected.keys() | observed.keys())
            return _parts_difference(expected, observed, dict.fromkeys(keys, item), path)
        case Tensor() if isinstance(expected, Mapping):
            return _tensor_difference(expected, observed, path)
    return None if expected == observed else Difference(show_path(path), expected, observed)


def _known_by_digest(value: Any, type_: Type) -> bool:
    if isinstance(type_, Value):
        return contains_value(value, is_marker)
    return isinstance(type_, Scalar | MapOf) and is_marker(value)


def _parts_difference(
    expected: Mapping[str, Any], observed: Mapping[str, Any], types: Mapping[str, Type], path: ValuePath
) -> Difference | None:
    for name, type_ in types.items():
        here = (*path, name)
        if (name in expected) != (name in observed):
            return Difference(show_path(here), expected.get(name, MISSING), observed.get(name, MISSING))
        if name in expected and (found := first_difference(expected[name], observed[name], type_, here)):
            return found
    return None


def _list_difference(expected: Any, observed: Any, item: Type, path: ValuePath) -> Difference | None:
    if isinstance(expected, Mapping):
        return _marker_difference(expected, observed, item, path)
    if isinstance(observed, Mapping):  # a list too long to be equal
        shown = expected[: len(observed["head"])]
        return _list_difference(shown, observed["head"][: len(shown)], item, path) or _length_difference(
            len(expected), observed["count"], path
        )
    for index, (left, right) in enumerate(zip(expected, observed, strict=False)):
        if found := first_difference(left, right, item, (*path, index)):
            return found
    return _length_difference(len(expected), len(observed), path)


def _tensor_difference(expected: Mapping[str, Any], observed: Mapping[str, Any], path: ValuePath) -> Difference | None:
    for name in ("dtype", "shape"):
        if expected[name] != observed[name]:
            return Difference(show_path((*path, name)), expected[name], observed[name])
    if "data" in expected and "data" in observed:
        return _element_difference(expected, observed, path)
    left, right = (side if "data" not in side else compact_tensor(side) for side in (expected, observed))
    return None if left == right else Difference(show_path(path), left, right, "tensors known by their digests")


def _element_difference(expected: Mapping[str, Any], observed: Mapping[str, Any], path: ValuePath) -> Difference | None:
    if expected["data"] == observed["data"]:
        return None
    left, right = (_elements(side) for side in (expected, observed))
    place = next(k for k, (one, other) in enumerate(zip(left, right, strict=True)) if one.tobytes() != other.tobytes())
    index = tuple(int(k) for k in np.unravel_index(place, tuple(expected["shape"])))
    return Difference(show_path((*path, *index)), _shown_element(left[place]), _shown_element(right[place]))


def _elements(tensor: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    return array_of(tensor["dtype"], [math.prod(tensor["shape"])], base64.b64decode(tensor["data"]))


def _shown_element(element: Any) -> Any:
    """An element as results show scalars; a float with its bits, since equal numbers may have different bits."""
    if element.dtype.kind != "f":
        return str(element) if element.dtype.itemsize == 8 else element.item()
    bits = np.array(element, element.dtype.newbyteorder(">")).tobytes().hex()
    return f"{element.item()!r} ({bits})"


def _marker_difference(expected: Mapping[str, Any], observed: Any, item: Type, path: ValuePath) -> Difference | None:
    actual = observed if isinstance(observed, Mapping) else compact_list(observed, item)
    if actual == expected:
        return None
    head, tail, count = expected["head"], expected["tail"], expected["count"]
    for index, (left, right) in enumerate(zip(head, actual["head"], strict=False)):
        if left != right:
            return Difference(show_path((*path, index)), left, right)
    if found := _length_difference(count, actual["count"], path):
        return found
    note = f"indices 0..{len(head) - 1} agree"
    if actual["tail"] == tail:
        note = f"the first differing element lies between index {len(head)} and {count - HEAD_AND_TAIL - 1}"
    return Difference(show_path(path), {"sha256": expected["sha256"]}, {"sha256": actual["sha256"]}, note)


def _length_difference(expected: int, observed: int, path: ValuePath) -> Difference | None:
    if expected == observed:
        return None
    return Difference(show_path((*path, min(expected, observed))), f"{expected} elements", f"{observed} elements")


_LARGEST: Final = 1 << 26  # bytes of a file that is decoded; a larger one is known by its digest
_DIR, _ABSENT, _SPECIAL = "dir", "absent", "special"
Tree = dict[str, Any]


def tree_of(step: TreeStep, roots: Roots) -> Tree:
    """The entries below the path of a `tree` step; raises StepRefused where it cannot be read."""
    root = roots.path(step.root)
    top = root if step.path == "." else place(root, step.path)
    try:
        return {path: entry for path, entry in _entries(top, step.decode, roots) if path != "." or entry != _DIR}
    except OSError as error:
        raise StepRefused(f"{step.path!r}: {error.strerror or 'the system refuses'}") from None


def undecodable(tree: Mapping[str, Any]) -> Iterator[str]:
    """The paths of files that their codec cannot decode."""
    return (path for path, entry in tree.items() if isinstance(entry, Mapping) and "undecodable" in entry)


def tree_difference(step: TreeStep, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Difference | None:
    """The first path, in sorted order, where two trees differ; its place is the root's name and the path."""
    for path in sorted(expected.keys() | found.keys()):
        apart = _innermost_difference(expected.get(path, MISSING), found.get(path, MISSING), ())
        if apart is not None:
            inner, left, right = apart
            whole = "/".join(part for part in (step.root, step.path, path) if part != ".")
            return Difference(show_path((whole, *inner)), left, right)
    return None


def _innermost_difference(
    expected: Any, found: Any, path: tuple[str | int, ...]
) -> tuple[tuple[str | int, ...], Any, Any] | None:
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and expected.keys() == found.keys():
        # The digest comes last, because a size says more to a reader.
        parts = ((key, expected[key], found[key]) for key in sorted(expected, key=lambda key: (key == "sha256", key)))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        parts = ((k, left, right) for k, (left, right) in enumerate(zip(expected, found, strict=True)))
    else:
        return None if expected == found else (path, expected, found)
    for key, left, right in parts:
        if (apart := _innermost_difference(left, right, (*path, key))) is not None:
            return apart
    return None


def _entries(top: Path, decode: Mapping[str, str], roots: Roots) -> Iterator[tuple[str, Any]]:
    whole = str(top)
    found = [(".", _entry(whole, ".", decode, roots))]
    if found[0][1] == _DIR:
        for folder, below, files in os.walk(whole, onerror=_raise):
            for name in (*below, *files):
                path = readable_name(f"{folder}/{name}"[len(whole) + 1 :])
                found.append((path, _entry(f"{folder}/{name}", path, decode, roots)))
    return iter(sorted(found, key=lambda pair: pair[0]))


def _raise(error: OSError) -> None:
    raise error


def _entry(file: str, path: str, decode: Mapping[str, str], roots: Roots) -> Any:
    # `os`, not Path: a run looks at 100,000 entries, and a Path would tidy the target of a link.
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return _DIR
    if stat.S_ISLNK(status.st_mode):
        return {"link": roots.masked(readable_name(os.readlink(file)))}
    if not stat.S_ISREG(status.st_mode):
        return _SPECIAL
    if status.st_size > LONGEST_FILE:
        return {"size": status.st_size}  # no case has so large a file, and reading one could take days
    codec = codec_for(path, decode)
    with open(file, "rb", buffering=0) as opened:
        if status.st_size > _LARGEST:
            return {"sha256": hashlib.file_digest(opened, "sha256").hexdigest(), "size": status.st_size}
        content = opened.read()
    if codec is None:
        return {"sha256": hashlib.sha256(content).hexdigest(), "size": status.st_size}
    try:
        return {"decoded": decode_file(codec, content)}
    except Undecodable:
        return {"undecodable": codec}


def readable_name(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
