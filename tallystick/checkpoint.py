"""Checkpoint containers and committed runs, and the helpers that make their headers and files."""

from impl.library.checkpoint import (
    REQUIRED,
    CommittedRun,
    GivenManifest,
    RecoveredRun,
    RestoredContainer,
    WrittenContainer,
    commit_run,
    encode_canonical,
    read_container,
    recover_run,
    roots_of,
    write_container,
)
from impl.vectorized.preimages import decode_cursors, encode_cursors

__all__ = [
    "REQUIRED",
    "CommittedRun",
    "GivenManifest",
    "RecoveredRun",
    "RestoredContainer",
    "WrittenContainer",
    "commit_run",
    "decode_cursors",
    "encode_canonical",
    "encode_cursors",
    "read_container",
    "recover_run",
    "roots_of",
    "write_container",
]
