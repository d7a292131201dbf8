"""The batch family: from a relational database to the tensors of a TrainingBatch (seed 004)."""
