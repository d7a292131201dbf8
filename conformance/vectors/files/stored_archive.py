"""Zip archives of stored members: written the same at any time, and read in one way only.

Readers of zip libraries repair what they find, each in its own way, so a file that one of them reads another refuses.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable
from typing import Any, Final

from conformance.codec.form import form_of
from conformance.contract.lazy import np
from conformance.contract.types import Tensor

NPY: Final = ".npy"
_END: Final = struct.Struct("<4s4H2LH")  # signature, two disks, two counts, size and offset of the directory, comment
_FLAGS: Final = 0x0808  # the sizes are behind the member; its name is UTF-8
_MAX_HEADER: Final = 4096
_TENSOR: Final = form_of(Tensor())


def zipped(members: Iterable[tuple[str, bytes]], mode: int = 0o600) -> bytes:
    """The bytes of a zip file of stored members, the same on every platform and at any time.

    Nothing is compressed, because compressed bytes depend on the version of zlib.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, mode << 16
            archive.NameToInfo.pop(info.filename, None)  # no warning if two members have one name
            archive.writestr(info, content)
    return target.getvalue()


def stored_members(data: bytes) -> list[tuple[str, bytes]]:
    """The members of an archive by name, in its order; raises ValueError or BadZipFile.

    A member that is compressed, encrypted, out of order or there twice, a comment, and bytes before or behind the
    archive are errors.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        signature, *_, here, entries, _, start, comment = _END.unpack(data[-_END.size :])
        if signature != b"PK\5\6" or comment or start != archive.start_dir:
            raise ValueError("there is something before or behind the archive, or a comment")
        if not here == entries == len(infos):
            raise ValueError(f"its end counts {here} and {entries} members, its directory has {len(infos)}")
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ~_FLAGS:
                raise ValueError(f"the member {info.filename!r} is not stored as it is")
        places = [info.header_offset for info in infos]
        if len({info.filename for info in infos}) < len(infos) or places != sorted(places):
            raise ValueError("a name is there twice, or the members are in another order than the directory")
        return [(info.filename, archive.read(info)) for info in infos]


def arrays_zipped(members: Any) -> bytes:
    """The bytes of an archive of {name, tensor | text | bytes}."""
    return zipped((member["name"], _member_bytes(member)) for member in members)


def _member_bytes(member: Any) -> bytes:
    if "tensor" not in member:
        return bytes.fromhex(member["bytes"]) if "bytes" in member else str(member["text"]).encode()
    target = io.BytesIO()
    np.lib.format.write_array(target, _TENSOR.to_native(member["tensor"]), version=(1, 0), allow_pickle=False)
    return target.getvalue()


def arrays_in(data: bytes) -> list[dict[str, Any]]:
    """The members of an archive as {name, tensor | text | bytes}; raises ValueError or BadZipFile."""
    return [_member(name, content) for name, content in stored_members(data)]


def _member(name: str, data: bytes) -> dict[str, Any]:
    if name.endswith(NPY):
        return {"name": name, "tensor": _TENSOR.from_native(_array(name, data))}
    try:
        return {"name": name, "text": data.decode()}
    except UnicodeDecodeError:
        return {"name": name, "bytes": data.hex()}


def _array(name: str, data: bytes) -> Any:
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"the member {name!r} is of another version than NPY 1.0")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if is_fortran or dtype.byteorder == ">":
        raise ValueError(f"the member {name!r} is not in C order, little endian")
    header = data[10 : stream.tell()]
    told = f"{{'descr': {np.lib.format.dtype_to_descr(dtype)!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    if header.rstrip(b" \n") != told.encode() or header.count(b"\n") != 1 or len(header) > _MAX_HEADER:
        raise ValueError(f"the header of the member {name!r} is not the text that NumPy writes")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    if stream.read(1):
        raise ValueError(f"the member {name!r} goes on after its elements")
    return array
