"""A file that is there as a whole or not at all, whenever the disk is full or the writer is ended."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, content: str | bytes) -> None:
    """Write `content`, text as UTF-8; an error leaves what was there before. Raises OSError.

    The new content is on the disk under a name of its own before it takes the file's place. What is no regular file,
    such as /dev/stdout, is written to as it is; a symbolic link stays and its target is replaced.
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
