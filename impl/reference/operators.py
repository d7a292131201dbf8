"""Every operator that the reference answers for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from impl.backend import Explanation
from impl.reference.data.decode_cursors import decode_cursors
from impl.reference.data.encode_cursors import encode_cursors
from impl.reference.data.explain import (
    explain_next_batch,
    explain_seeded_block_permute,
    explain_seeded_intra_block_map,
)
from impl.reference.data.next_batch import next_batch
from impl.reference.data.seeded_block_permute import seeded_block_permute
from impl.reference.data.seeded_intra_block_map import seeded_intra_block_map
from impl.reference.data.summarize_run import summarize_run
from impl.reference.error.emit import emit

OPERATORS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "UML_OS.Data.NextBatch_v2": next_batch,
        "UML_OS.Data.SeededBlockPermute_v1": seeded_block_permute,
        "UML_OS.Data.SeededIntraBlockMap_v1": seeded_intra_block_map,
        "UML_OS.Data.SummarizeRun_v1": summarize_run,
        "UML_OS.Data.EncodeCursors_v1": encode_cursors,
        "UML_OS.Data.DecodeCursors_v1": decode_cursors,
        "UML_OS.Error.Emit_v1": emit,
    }
)

EXPLANATIONS: Final[Mapping[str, Explanation]] = MappingProxyType(
    {
        "UML_OS.Data.NextBatch_v2": explain_next_batch,
        "UML_OS.Data.SeededBlockPermute_v1": explain_seeded_block_permute,
        "UML_OS.Data.SeededIntraBlockMap_v1": explain_seeded_intra_block_map,
    }
)
