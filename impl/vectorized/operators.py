"""Every operator that the vectorized backend answers for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from impl.vectorized.affine import Evaluation, Rows
from impl.vectorized.batch.operators import BATCH_OPERATORS
from impl.vectorized.block_order import Placement
from impl.vectorized.emit import emit
from impl.vectorized.helpers import Helpers, summarize_run
from impl.vectorized.next_batch import NextBatch
from impl.vectorized.preimages import decode_cursors, encode_cursors


def operators(evaluation: Evaluation | None = None) -> Mapping[str, Callable[..., Any]]:
    """Return a fresh table of operators with a memory of its own; by default blocks are evaluated by rows."""
    placement = Placement(evaluation or Rows())
    helpers = Helpers(placement)
    return MappingProxyType(
        {
            "UML_OS.Data.NextBatch_v2": NextBatch(placement).next_batch,
            "UML_OS.Data.SeededBlockPermute_v1": helpers.seeded_block_permute,
            "UML_OS.Data.SeededIntraBlockMap_v1": helpers.seeded_intra_block_map,
            "UML_OS.Data.SummarizeRun_v1": summarize_run,
            "UML_OS.Data.EncodeCursors_v1": encode_cursors,
            "UML_OS.Data.DecodeCursors_v1": decode_cursors,
            "UML_OS.Error.Emit_v1": emit,
            **BATCH_OPERATORS,
        }
    )
