"""JSON text that people review and programs compare; its digest; strict reading; files written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import cbor2


def digest_of(value: Any) -> str:
    """The hex SHA-256 of a JSON value (text keys, no floats) as canonical CBOR.

    cbor2 sorts keys by length and then bytewise, which for text keys is the bytewise order of their encodings; a test
    compares this fast path with `conformance.codec.cbor`.
    """
    return hashlib.sha256(cbor2.dumps(value, canonical=True)).hexdigest()


def write_whole(file: Path, content: str | bytes) -> None:
    """Write `content`, text as UTF-8; after an error the file is as before. Raises OSError.

    The new content is on the disk under another name before it replaces the file. If `file` is not a regular file,
    such as /dev/stdout, the content is written directly; a symbolic link stays and its target is replaced.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    made = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        with made.open("xb") as sink:
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())
        if target.exists():
            made.chmod(target.stat().st_mode & 0o7777)
        made.replace(target)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write whole files; after an error each is as before. Raises OSError, which names the file."""
    written: dict[Path, bytes | None] = {}
    for file, content in files.items():
        before = file.read_bytes() if file.exists() else None
        try:
            write_whole(file, content)
        except BaseException as error:
            for one, old in written.items():
                with suppress(OSError):
                    one.unlink() if old is None else write_whole(one, old)
            if isinstance(error, OSError):
                error.filename = str(file)
            raise
        written[file] = before


def write_new(files: Mapping[Path, bytes]) -> None:
    """Write all files, or none if one exists already or cannot be written. Raises OSError."""
    made: list[Path] = []
    try:
        for file, data in files.items():
            file.open("xb").close()
            made.append(file)
            write_whole(file, data)
    except BaseException:
        for file in made:
            with suppress(OSError):
                file.unlink()
        raise


def strict_json(data: bytes | str) -> Any:
    """The JSON value in `data`; raises ValueError for two equal keys, for NaN and for too deep nesting."""
    try:
        return json.loads(data, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {keys.most_common(1)[0][0]!r:.80} comes twice")
    return members


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def document_text(value: Any) -> str:
    """A JSON document for other programs, in which every character that a terminal does not show is escaped.

    Half a surrogate pair, which many programs refuse even as an escape, is spelled out.
    """
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return "".join(map(_escaped, text)) if not text.replace("\n", "").isprintable() else text


def _escaped(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    if character > "\uffff":
        return json.dumps(character)[1:-1]  # as a pair of escapes
    prefix = "\\\\u" if "\ud800" <= character <= "\udfff" else "\\u"
    return f"{prefix}{ord(character):04x}"


WIDTH: Final = 300


def json_text(value: Any) -> str:
    """The text of a JSON value with a line end: scalars fill lines; arrays and objects have lines of their own."""
    return "".join(_lines(value, 0)) + "\n"


def _lines(value: Any, depth: int, taken: int = 0) -> list[str]:
    flat = _flat(value)
    if len(flat) + depth + taken <= WIDTH and "\n" not in flat:
        return [flat]
    if isinstance(value, dict) and value:
        return ["{\n", _filled(_entries(value, depth), depth + 1), "\n", " " * depth, "}"]
    if isinstance(value, list) and value:
        inner = _filled([(_scalar(item), "".join(_lines(item, depth + 1, 1))) for item in value], depth + 1)
        return ["[\n", inner, "\n", " " * depth, "]"]
    return [flat]


def _flat(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _entries(value: dict[str, Any], depth: int) -> list[tuple[bool, str]]:
    names = [(key, f"{_flat(key)}: ") for key in sorted(value)]
    return [(_scalar(value[key]), name + "".join(_lines(value[key], depth + 1, len(name) + 1))) for key, name in names]


def _scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _filled(items: list[tuple[bool, str]], depth: int) -> str:
    """The items one after the other; every item that is not a scalar has its own lines."""
    lines, line = [], ""
    for k, (scalar, item) in enumerate(items):
        piece = item + ("," if k < len(items) - 1 else "")
        if line and (not scalar or depth + len(line) + 1 + len(piece) > WIDTH):
            lines.append(line)
            line = ""
        line = f"{line} {piece}" if line else piece
        if not scalar:
            lines.append(line)
            line = ""
    lines += [line] if line else []
    return "\n".join(" " * depth + one for one in lines)
