"""Model and stream, saved together between two steps."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from impl.failure import default_failure
from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.stream.context_stream import MAX_UINT64, ContextStream, StreamCursor, cursor_item
from impl.reference.stream.token_file import UnusablePlace, write_durably
from impl.types import uint64

FORMAT: Final = "stream_checkpoint_v1"
BEGINNING: Final = b"\x83" + encode_canonical(FORMAT)  # of every checkpoint: a list of three, and the format


@dataclass(frozen=True, slots=True)
class Model:
    """The pulse of a model, and its state, which only the model understands."""

    pulse_id: uint64
    state: bytes


@dataclass(frozen=True, slots=True)
class OpenedCheckpoint:
    """Hold a checkpoint's model, and its cursor however wrong; None where it has none."""

    model: Model
    stream_cursor: object


class Unreadable(Exception):
    """The bytes are no stream checkpoint."""


def encode_checkpoint(model: Model, cursor: StreamCursor) -> bytes:
    """Return the canonical CBOR of the format, the content and the content's SHA-256 (requirement S23)."""
    content: dict[str, object] = {
        "model_pulse_id": model.pulse_id,
        "model_state": model.state,
        "stream_cursor": cursor_item(cursor),
    }
    return encode_canonical([FORMAT, content, sha256(encode_canonical(content)).digest()])


def open_checkpoint(data: bytes) -> OpenedCheckpoint:
    """Read the parts of a checkpoint; Unreadable for any other bytes."""
    try:
        parts = decode_canonical(data)
    except NotCanonical as error:
        raise Unreadable(str(error)) from None
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != FORMAT:
        raise Unreadable("another format")
    content = parts[1]
    if parts[2] != sha256(encode_canonical(content)).digest():
        raise Unreadable("another hash")
    if not isinstance(content, dict) or content.keys() | {"stream_cursor"} != {
        "model_pulse_id",
        "model_state",
        "stream_cursor",
    }:
        raise Unreadable("other keys")
    pulse_id, state = content["model_pulse_id"], content["model_state"]
    if type(pulse_id) is not int or not 0 <= pulse_id <= MAX_UINT64 or not isinstance(state, bytes):
        raise Unreadable("no model")
    return OpenedCheckpoint(Model(pulse_id, state), content.get("stream_cursor"))


OPERATOR: Final = "Stream.Checkpoint"


def save_checkpoint(stream: ContextStream, root: str, name: str, model: Model) -> None:
    """Write the model's state and the stream's cursor as one file, in one atomic operation.

    CHECKPOINT_MID_STEP between a chunk and its advance, CONTRACT_VIOLATION where the root or the name cannot hold a
    file (requirements S23, S24; ruling SA15).
    """
    if stream.is_mid_step:
        raise default_failure("CHECKPOINT_MID_STEP", OPERATOR)
    try:
        write_durably(root, name, encode_checkpoint(model, stream.cursor()))
    except UnusablePlace:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None
