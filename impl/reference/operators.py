"""Every operator that the reference answers for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from impl.backend import Explanation
from impl.reference.batch.attention_masks import attention_masks
from impl.reference.batch.build import build
from impl.reference.batch.build_adjacency import build_adjacency
from impl.reference.batch.build_graph import build_graph
from impl.reference.batch.collect_rows import collect_rows
from impl.reference.batch.explain import explain_collect_rows
from impl.reference.batch.linearize_cells import linearize_cells
from impl.reference.batch.load.load_database import load_database
from impl.reference.batch.permutations import permutations
from impl.reference.batch.remap_text import remap_text
from impl.reference.checkpoint.commit_run import commit_run
from impl.reference.checkpoint.migrate import migrate
from impl.reference.checkpoint.read_container import read_container
from impl.reference.checkpoint.recover_run import recover_run
from impl.reference.checkpoint.restore import restore
from impl.reference.checkpoint.serialize import serialize
from impl.reference.checkpoint.validate_schema import validate_schema
from impl.reference.checkpoint.write_container import write_container
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
from impl.reference.serialization.encode_canonical import encode_canonical
from impl.reference.serialization.validate_canonical import validate_canonical

OPERATORS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "UML_OS.Data.NextBatch_v2": next_batch,
        "UML_OS.Data.SeededBlockPermute_v1": seeded_block_permute,
        "UML_OS.Data.SeededIntraBlockMap_v1": seeded_intra_block_map,
        "UML_OS.Data.SummarizeRun_v1": summarize_run,
        "UML_OS.Data.EncodeCursors_v1": encode_cursors,
        "UML_OS.Data.DecodeCursors_v1": decode_cursors,
        "UML_OS.Error.Emit_v1": emit,
        "UML_OS.Serialization.EncodeCanonical_v1": encode_canonical,
        "UML_OS.Serialization.ValidateCanonical_v1": validate_canonical,
        "UML_OS.Checkpoint.ValidateSchema_v1": validate_schema,
        "UML_OS.Checkpoint.Serialize_v1": serialize,
        "UML_OS.Checkpoint.Restore_v1": restore,
        "UML_OS.Checkpoint.WriteContainer_v1": write_container,
        "UML_OS.Checkpoint.ReadContainer_v1": read_container,
        "UML_OS.Checkpoint.CommitRun_v1": commit_run,
        "UML_OS.Checkpoint.RecoverRun_v1": recover_run,
        "UML_OS.Checkpoint.Migrate_v1": migrate,
        "Batch.BuildGraph": build_graph,
        "Batch.CollectRows": collect_rows,
        "Batch.LinearizeCells": linearize_cells,
        "Batch.BuildAdjacency": build_adjacency,
        "Batch.Permutations": permutations,
        "Batch.RemapText": remap_text,
        "Batch.AttentionMasks": attention_masks,
        "Batch.Build": build,
        "Batch.LoadDatabase": load_database,
    }
)

EXPLANATIONS: Final[Mapping[str, Explanation]] = MappingProxyType(
    {
        "Batch.CollectRows": explain_collect_rows,
        "UML_OS.Data.NextBatch_v2": explain_next_batch,
        "UML_OS.Data.SeededBlockPermute_v1": explain_seeded_block_permute,
        "UML_OS.Data.SeededIntraBlockMap_v1": explain_seeded_intra_block_map,
    }
)
