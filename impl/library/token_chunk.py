"""What a stream serves to people: tokens as arrays, judged when they come, and the targets of a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impl.arguments import MAX_UINT32, Judge, shown
from impl.failure import WrongType
from impl.reference.stream import context_stream
from impl.types import uint64

LastRule: TypeAlias = Literal["ignore", "drop", "carry"]

_NEXT: Final = Judge(context_stream.NEXT_CHUNK)
_RULES: Final = ("ignore", "drop", "carry")
_IGNORED: Final = -100  # what the losses of PyTorch leave out


@dataclass(frozen=True, slots=True, eq=False)
class TokenChunk(context_stream.TokenChunk):
    """Hold consecutive tokens as an array of uint32, which is the caller's own.

    `chunk_id` counts the chunks of all ranks from 1; `document_boundary` says that a document ends in the chunk, and is
    for the Conductor, never for the model. Two chunks are equal where all three are. Source: seed 003 §Stream;
    requirements S01, S06, S07.
    """

    tokens: NDArray[np.uint32]  # type: ignore[assignment]  # an array where the contract has a list
    chunk_id: uint64
    document_boundary: bool

    def __eq__(self, other: object) -> bool:
        """Tell whether another chunk holds the same."""
        if not isinstance(other, TokenChunk):
            return NotImplemented
        mine, its = (self.chunk_id, self.document_boundary), (other.chunk_id, other.document_boundary)
        return mine == its and np.array_equal(self.tokens, other.tokens)

    __hash__ = None  # type: ignore[assignment]  # an array can change


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Hold arrays of int64 of one length: what a model reads, and the token that it is to say at each place.

    `last` is the last token of the chunk: what `before` is for the next one with the rule carry.
    """

    inputs: NDArray[np.int64]
    targets: NDArray[np.int64]
    last: int


def next_token_targets(
    chunk: TokenChunk | Iterable[SupportsIndex],
    *,
    last_rule: LastRule,
    before: SupportsIndex | None = None,
    ignored: int = _IGNORED,
) -> Targets:
    """Return what a model reads in a chunk, and the next token at each place; `last_rule` names the rule for the last.

    A stream serves every token once, so the token after the last one comes with the next chunk. ignore: the target of
    the last token is `ignored`, and a loss leaves it out. drop: the last token is no input. carry: the inputs begin
    with `before`, the `last` of the chunk before, so that no pair is lost; without it, as in the first chunk, as drop.
    A document's end is no exception: the first token of a document is the target of the last one of another.

    Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Why Not DataLoader; ruling SA06.

    >>> from tallystick.stream import next_token_targets
    >>> made = next_token_targets([5, 6, 7], last_rule="ignore")
    >>> made.inputs.tolist(), made.targets.tolist()
    ([5, 6, 7], [6, 7, -100])
    >>> made = next_token_targets([8, 9], last_rule="carry", before=made.last)
    >>> made.inputs.tolist(), made.targets.tolist()
    ([7, 8], [8, 9])
    """
    rule = _NEXT.choice("last_rule", last_rule, _RULES)
    if before is not None and rule != "carry":
        what = f"before must be absent where last_rule is {rule!r}: got {shown(before)}"
        raise _NEXT.failure(f"{what}; write last_rule='carry'")
    served = chunk.tokens if isinstance(chunk, TokenChunk) else token_array(_NEXT, "tokens", chunk)
    tokens = served.astype(np.int64)
    if not tokens.size:
        raise _NEXT.failure("tokens must be one or more: got none; a stream never serves an empty chunk")
    last = int(tokens[-1])
    if rule == "ignore":
        return Targets(tokens, np.append(tokens[1:], np.int64(ignored)), last)
    if before is not None:
        tokens = np.insert(tokens, 0, _NEXT.integer("before", before, 0, MAX_UINT32))
    return Targets(tokens[:-1], tokens[1:], last)


def token_array(judge: Judge, name: str, tokens: Any) -> NDArray[np.uint32]:
    """Return the integers of a list, an array or a tensor of one dimension as an array of their own.

    Arrays and lists are judged whole, because there may be millions of tokens; a refusal names the first wrong one.
    """
    array = _array_of(tokens)
    if array is not None:
        if array.ndim != 1:
            raise judge.failure(f"{name} must have one dimension: got the shape {array.shape}", WrongType)
        if array.dtype.kind in "iu" and (not array.size or (array.min() >= 0 and array.max() <= MAX_UINT32)):
            return array.astype(np.uint32)
        tokens = array
    elif isinstance(tokens, list | tuple | range) and all(
        type(one) is int and 0 <= one <= MAX_UINT32 for one in tokens
    ):
        return np.array(tokens, dtype=np.uint32)
    return np.array(judge.integers(name, tokens, 0, MAX_UINT32), dtype=np.uint32)


def _array_of(tokens: Any) -> NDArray[Any] | None:
    """Return an array, a tensor, or any object with the array protocol, as a NumPy array; None for anything else."""
    if isinstance(tokens, np.ndarray):
        return tokens
    if isinstance(tokens, type) or not hasattr(tokens, "__array__"):
        return None
    try:
        return np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # a tensor of another device, or of a dtype that NumPy lacks
        return None
