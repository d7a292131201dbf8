"""What a seal says, made of what it covers.

A seal is worded in data. Text that begins with `$` is a place (`$header.t`), or with `$@` one of the element at hand
(`$@.path`); a list is a list of such words; a map of one operation is what it answers; all else stands for itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.codec.canonical import encode_canonical
from conformance.vectors.formed import FormedFiles, Place, member


def reseal(files: FormedFiles, damaged: Place) -> None:
    """Make every hash, size, checksum and signature right again, but the damaged place itself."""
    for seal in files.form.seals:
        for at, element in list(files.matches(tuple(seal.at.split(".")))):
            if at == damaged:
                continue
            try:
                value = sealed(seal.to, files, element)
            except (LookupError, TypeError, ValueError):
                continue  # what it covers is gone or of another type
            files.replace(at, value)


def sealed(word: Any, files: FormedFiles, element: Any = None) -> Any:
    """The value of a word; raises LookupError where a place of it is not there."""
    if isinstance(word, str) and word.startswith("$"):
        steps = word[1:].split(".")
        if steps[0] != "@":
            return files.value(tuple(steps))
        for step in steps[1:]:
            element = member(element, step)
        return element
    if isinstance(word, list):
        return [sealed(one, files, element) for one in word]
    if isinstance(word, Mapping):
        operation = next(one for one in OPERATIONS if one in word)
        return OPERATIONS[operation](word, files, element)
    return word


def _hash(word: Mapping[str, Any], files: FormedFiles, element: Any) -> bytes:
    return _sha256(sealed(word["hash"], files, element))


def _digest(word: Mapping[str, Any], files: FormedFiles, element: Any) -> bytes:
    return hashlib.sha256(files.content(sealed(word["digest"], files, element))).digest()


def _file(word: Mapping[str, Any], files: FormedFiles, _: Any) -> bytes:
    if word["file"] not in files.items:
        raise LookupError(word["file"])
    path = files.paths[word["file"]]
    return hashlib.sha256(files.content(path.removeprefix(f"{files.path}/"))).digest()


def _size(word: Mapping[str, Any], files: FormedFiles, element: Any) -> int:
    return len(files.content(sealed(word["size"], files, element)))


def _without(word: Mapping[str, Any], files: FormedFiles, element: Any) -> dict[str, Any]:
    whole = dict(sealed(word["without"], files, element))
    whole.pop(word["key"], None)
    return whole


def _each(word: Mapping[str, Any], files: FormedFiles, element: Any) -> list[Any]:
    below = word.get("below", "")
    every = sealed(word["each"], files, element)
    wanted = [one for one in every if not below or str(member(one, "path")).startswith(below)]
    return [sealed(word["is"], files, one) for one in wanted]


def _merkle(word: Mapping[str, Any], files: FormedFiles, element: Any) -> bytes:
    """The root of a binary tree whose odd levels have their last node twice."""
    level = sealed(word["merkle"], files, element)
    if not level:
        return _sha256([word["empty"], []])
    while len(level) > 1:
        level = [*level, *level[-1:]] if len(level) % 2 else level
        level = [_sha256([word["node"], level[at : at + 2]]) for at in range(0, len(level), 2)]
    root: bytes = level[0]
    return root


def _signed(word: Mapping[str, Any], files: FormedFiles, element: Any) -> bytes:
    # Imported where it is needed: it costs every run 40 ms, and few suites sign.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    payload = encode_canonical(sealed(word["signed"], files, element))
    return Ed25519PrivateKey.from_private_bytes(files.form.key).sign(payload)


def _sha256(item: Any) -> bytes:
    return hashlib.sha256(encode_canonical(item)).digest()


OPERATIONS: Final[Mapping[str, Callable[[Mapping[str, Any], FormedFiles, Any], Any]]] = {
    "hash": _hash,  # SHA-256 of the canonical CBOR of an item
    "digest": _digest,  # SHA-256 of the file at a path
    "file": _file,  # SHA-256 of a file of the format
    "size": _size,  # of the file at a path, in bytes
    "without": _without,  # a map without one key
    "each": _each,  # one item for every element of a list
    "merkle": _merkle,
    "signed": _signed,  # Ed25519 over the canonical CBOR of an item, by the format's test key
}
