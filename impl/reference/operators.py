"""Every operator that the reference answers for, and its module below this package."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from impl.backend import Entries, Machine

OPERATORS: Final = Entries(
    "impl.reference",
    {
        "UML_OS.Data.NextBatch_v2": "data.next_batch:next_batch",
        "UML_OS.Data.SeededBlockPermute_v1": "data.seeded_block_permute:seeded_block_permute",
        "UML_OS.Data.SeededIntraBlockMap_v1": "data.seeded_intra_block_map:seeded_intra_block_map",
        "UML_OS.Data.SummarizeRun_v1": "data.summarize_run:summarize_run",
        "UML_OS.Data.EncodeCursors_v1": "data.cursors:encode_cursors",
        "UML_OS.Data.DecodeCursors_v1": "data.cursors:decode_cursors",
        "UML_OS.Error.Emit_v1": "error.emit:emit",
        "UML_OS.Serialization.EncodeCanonical_v1": "serialization.canonical:encode_canonical",
        "UML_OS.Serialization.ValidateCanonical_v1": "serialization.canonical:validate_canonical",
        "UML_OS.Checkpoint.ValidateSchema_v1": "checkpoint.schema:validate_schema",
        "UML_OS.Checkpoint.Serialize_v1": "checkpoint.blob:serialize",
        "UML_OS.Checkpoint.Restore_v1": "checkpoint.blob:restore",
        "UML_OS.Checkpoint.WriteContainer_v1": "checkpoint.write_container:write_container",
        "UML_OS.Checkpoint.ReadContainer_v1": "checkpoint.read_container:read_container",
        "UML_OS.Checkpoint.CommitRun_v1": "checkpoint.commit_run:commit_run",
        "UML_OS.Checkpoint.RecoverRun_v1": "checkpoint.recover_run:recover_run",
        "UML_OS.Checkpoint.Migrate_v1": "checkpoint.migrate:migrate",
        "Batch.BuildGraph": "batch.collect_rows:build_graph",
        "Batch.CollectRows": "batch.collect_rows:collect_rows",
        "Batch.LinearizeCells": "batch.linearize_cells:linearize_cells",
        "Batch.BuildAdjacency": "batch.permutations:build_adjacency",
        "Batch.Permutations": "batch.permutations:permutations",
        "Batch.RemapText": "batch.remap_text:remap_text",
        "Batch.AttentionMasks": "batch.attention_masks:attention_masks",
        "Batch.Build": "batch.build:build",
        "Batch.LoadDatabase": "batch.load.load_database:load_database",
        "Stream.FiringCounts": "stream.context_stream:firing_counts",
    },
)

MACHINES: Final[Mapping[str, Machine]] = MappingProxyType(
    {
        "Stream": Machine(
            "impl.reference.stream.machine:StreamMachine",
            {
                "Stream.Open": "open",
                "Stream.NextChunk": "next_chunk",
                "Stream.Advance": "advance",
                "Stream.Reset": "reset",
                "Stream.Position": "position",
                "Stream.Cursor": "cursor",
                "Stream.Push": "push",
                "Stream.EndInput": "end_input",
                "Stream.Supply": "supply",
                "Stream.EndPass": "end_pass",
                "Stream.Checkpoint": "checkpoint",
                "Stream.Restore": "restore",
                "Stream.Close": "close",
            },
        ),
        "Pipeline.Provider": Machine(
            "impl.reference.pipeline.machines:ProviderMachine",
            {
                "Pipeline.Provider.Open": "open",
                "Pipeline.Provider.Produce": "produce",
                "Pipeline.Provider.Close": "close",
            },
        ),
        "Pipeline.Consumer": Machine(
            "impl.reference.pipeline.machines:ConsumerMachine",
            {
                "Pipeline.Consumer.Open": "open",
                "Pipeline.Consumer.GetBatch": "get_batch",
                "Pipeline.Consumer.WaitForData": "wait_for_data",
                "Pipeline.Consumer.SetBatchSize": "set_batch_size",
                "Pipeline.Consumer.ResetState": "reset_state",
                "Pipeline.Consumer.Stats": "stats",
                "Pipeline.Consumer.Schema": "schema",
                "Pipeline.Consumer.Close": "close",
            },
        ),
    }
)

EXPLANATIONS: Final = Entries(
    "impl.reference",
    {
        "Batch.CollectRows": "batch.explain:explain_collect_rows",
        "UML_OS.Data.NextBatch_v2": "data.explain:explain_next_batch",
        "UML_OS.Data.SeededBlockPermute_v1": "data.explain:explain_seeded_block_permute",
        "UML_OS.Data.SeededIntraBlockMap_v1": "data.explain:explain_seeded_intra_block_map",
    },
)
