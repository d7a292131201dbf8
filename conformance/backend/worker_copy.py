"""A copy of the worker that needs neither harness nor contracts: its modules, and the types of every operator."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from conformance.backend.guardian import guardian
from conformance.backend.signature import Signature, StoredSignatures
from conformance.codec.codebook import codebook_of
from conformance.contract.finder import Layout
from conformance.contract.library import load_library

FILE: Final = "signatures.pickle"
_PACKAGES: Final = ("backend", "codec", "contract")  # what the worker imports; no contract and no vector is in them
_OURS: Final = Path(__file__).resolve().parents[1]


@lru_cache(4)
def worker_copy(layout: Layout) -> Path:
    """The folder of the copy, made once per run and removed with it."""
    folder = Path(tempfile.mkdtemp(prefix="worker-", dir=guardian().folder(tempfile.gettempdir(), "copies")))
    package = folder / "conformance"
    package.mkdir()
    (package / "__init__.py").write_bytes((_OURS / "__init__.py").read_bytes())
    for name in _PACKAGES:
        shutil.copytree(_OURS / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    codebook = codebook_of(load_library(layout))
    types = {
        operator: Signature(contract.inputs, contract.outputs, contract.failure)
        for operator, forms in codebook.forms.items()
        if (contract := forms.contract)
    }
    (folder / FILE).write_bytes(pickle.dumps(StoredSignatures(types, dict(codebook.numbers))))
    return folder
