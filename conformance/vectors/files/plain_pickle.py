"""Pickles of protocol 2 with plain values: None, bool, int, float, str, list and dict."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

_PROTOCOL: Final = 2


def pickled(value: Any) -> bytes:
    """The pickle of a plain value; raises TypeError."""
    return dumped(_plain(value))


def dumped(value: Any) -> bytes:
    """The pickle of a value, the same wherever it is used."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target, protocol=_PROTOCOL)
    # With the memo the bytes would also depend on which equal strings are one object.
    pickler.fast = True
    pickler.dump(value)
    return target.getvalue()


def unpickled(data: bytes) -> Any:
    """The plain value in a pickle; raises ValueError, TypeError or what unpickling raises."""
    require_protocol_2(data)
    return _plain(_Harmless(io.BytesIO(data)).load())


@lru_cache(64)
def require_protocol_2(data: bytes) -> None:
    """Raise ValueError where a pickle does not say protocol 2 or uses a later one."""
    opcodes = pickletools.genops(data)
    first, told, _ = next(opcodes)
    if first.name != "PROTO" or told != _PROTOCOL or any(opcode.proto > _PROTOCOL for opcode, _, _ in opcodes):
        raise ValueError("the pickle is of another protocol than 2")


class _Harmless(pickle.Unpickler):
    """Unpickles what needs no class and no function."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise ValueError(f"the pickle names {module_name}.{global_name}")


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_plain(item) for item in value]
        case dict() | tuple():
            pairs = value.items() if isinstance(value, Mapping) else value
            return {_plain(key): _plain(item) for key, item in pairs}
    raise TypeError(f"a {type(value).__name__}")
