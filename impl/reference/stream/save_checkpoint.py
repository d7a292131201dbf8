"""Model and stream, saved together between two steps."""

from typing import Final

from impl.failure import default_failure
from impl.reference.stream.context_stream import ContextStream
from impl.reference.stream.durable_file import UnusablePlace, write_durably
from impl.reference.stream.stream_checkpoint import Model, encode_checkpoint

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
