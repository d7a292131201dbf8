"""A small copy of the house, one shipped operator and three mutants, and the record of a run in it.

As a program it writes that record: `python -m conformance.tests.small_house ROOT FILE JOBS SHUFFLE`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml

from conformance.contract.library import load_library
from conformance.contract.reader import written_page
from conformance.contract.suite_file import read_suite
from conformance.contract.yaml.parser import read
from conformance.report.record import encode_record, record_of
from conformance.tests.small_spec import SHIPPED, copy_settings
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.trial.mutants.kill_matrix import matrix_text
from conformance.trial.mutants.run import measure_matrix
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.frozen.corpus import load_corpus

OPERATOR = "UML_OS.Data.SeededBlockPermute_v1"
CONTRACT = f"spec/data/{OPERATOR}.yaml"
VECTORS = f"vectors/data/{OPERATOR}.json"
KEPT = ("control", "philox-nine-rounds", "seed-words-big-endian")
BAD = "mutant:philox-nine-rounds"


def furnish(root: Path) -> None:
    """One operator, three mutants, no requirements; its vectors are not built yet."""
    shipped = SHIPPED
    copy_settings(shipped.root, root)
    spec = root / "spec"
    (spec / "data").mkdir(parents=True)
    shutil.copytree(shipped.spec / "schema", spec / "schema")
    for name in ("errors.yaml", "types.yaml", "data/laws.yaml"):
        shutil.copy(shipped.spec / name, spec / name)
    body = yaml.safe_load((shipped.root / CONTRACT).read_text("utf-8"))
    body["vectors"] = [group for group in body["vectors"] if group["group"] in ("pinned-orders", "sizes", "no-blocks")]
    (root / CONTRACT).write_text(yaml.safe_dump(body, sort_keys=False), "utf-8")
    mutants = written_page(read(shipped.spec / "data" / "mutants.yaml"), "mutants").value["mutants"]
    some = {"mutants": [mutant for mutant in mutants if mutant["id"] in KEPT]}
    (spec / "data" / "mutants.yaml").write_text(yaml.safe_dump(some, sort_keys=False), "utf-8")


def write_matrix(root: Path) -> None:
    """Ask the mutants every case and write the kill matrix."""
    library = load_library(read_suite(root))
    matrix = measure_matrix(library, tuple(load_corpus(library.suite)), KEPT)
    library.suite.reports.mkdir()
    (library.suite.reports / MATRIX_FILE).write_text(matrix_text(matrix), "utf-8")


def record(root: Path, backend: str = BAD, profile: str = "standard", jobs: int = 1, shuffle: str = "") -> bytes:
    """The record of a run; a mutant is diagnosed where there is a matrix."""
    library = load_library(read_suite(root))
    options = RunOptions(backend=backend, profile=profile, jobs=jobs, shuffle=shuffle, examples=5)
    return encode_record(record_of(run_trial(library, load_corpus(library.suite), options), library))


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(record(Path(sys.argv[1]), jobs=int(sys.argv[3]), shuffle=sys.argv[4]))
