"""LoadDatabase of the vectorized backend."""

from pathlib import Path

from impl.vectorized.batch.front.faults import refuse
from impl.vectorized.batch.front.open import open_database
from impl.vectorized.batch.model import to_records
from impl.vectorized.batch.records import Loaded


def load_database(*, root: str, path: str, declaration: dict[str, dict[str, str]]) -> Loaded:
    """Return the database of a file below the root."""
    file = Path(root) / path
    if not file.resolve().is_relative_to(Path(root).resolve()):
        raise refuse("CONTRACT_VIOLATION", f"{path}: outside the root")
    return Loaded(to_records(open_database(file, declaration)))
