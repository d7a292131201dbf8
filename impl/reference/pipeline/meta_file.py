"""meta.pkl: a pickle of plain values only, read so that nothing in it can run."""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any, Final, NoReturn

from impl.reference.checkpoint import disk
from impl.reference.pipeline.plain_value import MAX_ITEMS, invalid, require_plain
from impl.reference.pipeline.refusal import Refusal

NAME: Final = "meta.pkl"
TEMPORARY: Final = ".tmp-meta.pkl"
PROTOCOL: Final = 2
MAX_BYTES: Final = 2**26
MAX_OPCODES: Final = 2 * MAX_ITEMS

# What protocol 2 writes for dict, list, str, int, float, bool and None: none of these names a class or calls anything.
_OPCODES: Final = frozenset(
    {"PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE"}
    | {"BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE"}
    | {"EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "APPEND", "APPENDS"}
    | {"BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"}
)
_MEMO: Final = frozenset({"BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"})


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
    """Read a pickle of protocol 2 that holds plain values only; META_INVALID for every other content."""
    try:
        _check_opcodes(content)
        value = _Plain(io.BytesIO(content)).load()
    except Refusal:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise invalid(f"{NAME} is no pickle of protocol {PROTOCOL}: {type(error).__name__}") from None
    require_plain(value)
    return value


class _Plain(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise invalid(f"{NAME} names {module_name}.{global_name}")


def _check_opcodes(content: bytes) -> None:
    end = 0
    for number, (opcode, argument, position) in enumerate(pickletools.genops(content)):
        if number == MAX_OPCODES:
            raise invalid(f"{NAME} holds more than {MAX_OPCODES} opcodes")
        if opcode.name not in _OPCODES or (opcode.name == "PROTO") != (position == 0):
            raise invalid(f"{NAME} holds {opcode.name} at byte {position}")
        if opcode.name == "PROTO" and argument != PROTOCOL:
            raise invalid(f"{NAME} has pickle protocol {argument}")
        # The unpickler makes room up to the largest number, whatever it is.
        if opcode.name in _MEMO and isinstance(argument, int) and argument > len(content):
            raise invalid(f"{NAME} remembers more than it holds")
        end = (position or 0) + 1
    if end != len(content):
        raise invalid(f"{NAME} goes on after its end")
