"""A batch file in memory, held to the schema, and the batches that are cut from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from impl.reference.pipeline.batch_file import BatchFile
from impl.reference.pipeline.field_spec import FieldSpec
from impl.reference.pipeline.refusal import Corrupt, Refusal
from impl.reference.pipeline.tensors import cut_rows, row_bytes


@dataclass(frozen=True, slots=True)
class Rows:
    """Hold the rows of one field, `count` of them, in C order; the memory is the file's or the padding's."""

    field: FieldSpec
    count: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """Hold a file's name, its number of rows and its fields in the order of the schema."""

    name: str
    row_count: int
    columns: tuple[tuple[FieldSpec, int, memoryview], ...]

    def batch(self, start: int, batch_size: int) -> tuple[list[Rows], int]:
        """Return batch_size rows from `start` on and where the next batch begins; a short batch is repeated."""
        stop = min(start + batch_size, self.row_count)
        rows = [
            Rows(field, batch_size, cut_rows(data, width, start, stop, batch_size))
            for field, width, data in self.columns
        ]
        return rows, stop


def load(name: str, file: BatchFile, schema: Sequence[FieldSpec]) -> LoadedFile:
    """Hold a decoded file to the schema; Corrupt where it has no rows to give, SCHEMA_MISMATCH where other ones."""
    counts = {tensor.shape[0] for tensor in file.tensors.values()}
    if len(counts) != 1 or counts == {0}:
        raise Corrupt("it has no tensors" if not counts else f"its tensors have {sorted(counts)} rows")
    described = schema if file.metadata is None else file.metadata.schema
    if len(described) != len(schema) or not all(a.same_rows(b) for a, b in zip(described, schema, strict=True)):
        raise _mismatch(name, f"it declares {_shown(described)}, meta.pkl {_shown(schema)}")
    if file.tensors.keys() != {field.name for field in schema}:
        raise _mismatch(name, f"it holds {sorted(file.tensors)}, meta.pkl declares {_shown(schema)}")
    columns = []
    for field in schema:
        tensor = file.tensors[field.name]
        if (tensor.dtype, tensor.shape[1:]) != (field.dtype, field.shape):
            raise _mismatch(name, f"{field.name} is {tensor.dtype} of shape {tensor.shape[1:]}, not {_shown([field])}")
        # torch takes memory that it cannot write to only with a warning.
        columns.append((field, row_bytes(field.dtype, field.shape), memoryview(bytearray(tensor.data))))
    return LoadedFile(name=name, row_count=counts.pop(), columns=tuple(columns))


def _mismatch(name: str, what: str) -> Refusal:
    return Refusal("SCHEMA_MISMATCH", f"{name} does not fit meta.pkl: {what}")


def _shown(schema: Sequence[FieldSpec]) -> str:
    return ", ".join(f"{field.name}: {field.dtype}{list(field.shape)}" for field in schema)
