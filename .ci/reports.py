"""The project's own reports: make them, or compare them with what the runs of CI found.

    python .ci/reports.py [BACKEND ...] [--jobs N] [--again]    run, certify and write reports/; `nox -s reports`
    python .ci/reports.py [BACKEND ...] --check                 compare with reports/last/BACKEND.json of earlier runs

The same checkout gives the same bytes on every machine: the nonce and the time of issue are the constants below, and
the certificates are reproducible ones. What is current is not made again, so that an interrupted session goes on.

The backends run from a copy of the checkout without tests and without what Python caches, so that the artifact that a
certificate is about does not depend on what was run before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from conformance.contract.library import Library, load_library  # noqa: E402
from conformance.contract.suite_file import read_suite, schema_folder  # noqa: E402
from conformance.report.certificate.artifact import artifact_of  # noqa: E402
from conformance.report.certificate.evidence import read_evidence  # noqa: E402
from conformance.report.certificate.keys import PublicKey, new_pair, read_public  # noqa: E402
from conformance.report.certificate.statement import (  # noqa: E402
    HARNESS,
    MATRIX,
    MUTANTS,
    SCHEMA,
    VECTORS,
    Statement,
    harness_digest,
    mutants_digest,
    read_statement,
    sha256,
)
from conformance.report.certificate.verification import (  # noqa: E402
    artifact_faults,
    installed,
    lapsed,
    trusted_signer,
)
from conformance.report.html import Reported, index_page  # noqa: E402
from conformance.report.html_tables import proof_of  # noqa: E402
from conformance.report.record import BrokenRecord, Record, read_record  # noqa: E402
from conformance.report.untrusted import Unreadable  # noqa: E402
from conformance.report.writer import page  # noqa: E402
from conformance.trial.committed_reports import MATRIX_FILE  # noqa: E402
from conformance.vectors.frozen.lock import contract_digests  # noqa: E402
from conformance.vectors.frozen.vector_file import INDEX_FILE  # noqa: E402
from conformance.vectors.jsontext import write_whole  # noqa: E402

REPORTS: Final = ROOT / "reports"
RAN: Final = REPORTS / "last"  # where the runs of CI leave their records
RECORD, PAGE, CERTIFICATE = "record.json", "report.html", "certificate.intoto.json"
TOGETHER, INDEX, KEY = "side-by-side.html", "index.html", "test-key.pub"
NAME: Final = "the nonce of the reports of tallystick"
NONCE: Final = hashlib.sha256(NAME.encode()).hexdigest()
ISSUED: Final = "2026-01-01T00:00:00Z"
COPIED: Final = ("checks", "conformance", "impl", "spec", "tally.toml", "vectors")
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "tests")
AGAIN: Final = "python -m nox -s reports, then review and commit reports/"


@dataclass(frozen=True)
class Backend:
    """One backend: its name and wire, the folder that its certificate is about, and how it starts there."""

    name: str
    wire: str
    artifact: str
    command: str
    read: tuple[str, ...] = ()  # what it may read besides the artifact

    @property
    def folder(self) -> Path:
        """Where its reports are."""
        return REPORTS / self.name


# The wires are those of the runs of CI. The tables are numbers that contracts prescribe.
BACKENDS: Final = (
    Backend("reference", "json", "impl", "reference"),
    Backend("vectorized", "json", "impl", "vectorized"),
    Backend("javascript", "cbor", "impl/javascript", "node impl/javascript/serve.js", ("spec/batch/tables",)),
)


class Stale(Exception):
    """A report is not what it must be; says which and why."""


# -- making


def make(chosen: Sequence[Backend], jobs: int, again: bool) -> int:
    """Write the reports of the chosen backends, and the pages."""
    with tempfile.TemporaryDirectory(prefix="tally-reports-") as folder:
        home = Path(folder)
        tree = copied(home)
        library = load_library(read_suite(tree))
        new_pair(home / "test", test=True)
        write_whole(REPORTS / KEY, (home / "test.pub").read_bytes())
        for backend in chosen:
            if not again and is_current(backend, library, tree):
                print(f"reports of {backend.name}: current, not made again", flush=True)
                continue
            since = time.monotonic()
            record = run_of(backend, home, tree, jobs, "" if again else inputs_of(backend, library, tree))
            certificate = certificate_of(backend, home, tree, jobs)
            backend.folder.mkdir(exist_ok=True)
            write_whole(backend.folder / RECORD, record)
            write_whole(backend.folder / CERTIFICATE, certificate)
            print(f"reports of {backend.name}: made in {time.monotonic() - since:.0f} s", flush=True)
    for file, content in pages(load_library(read_suite(ROOT))).items():
        write_whole(file, content)
        print(f"wrote {file.relative_to(ROOT)}", flush=True)
    return 0


def copied(home: Path) -> Path:
    """A copy of what runs, in a folder of its own."""
    tree = home / "tallystick"
    (tree / "reports").mkdir(parents=True)
    for file in sorted(REPORTS.glob("*.json")):
        shutil.copy(file, tree / "reports")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, tree / name)
    return tree


def inputs_of(backend: Backend, library: Library, tree: Path) -> str:
    """The digest of what a run of the backend in a copy rests on."""
    artifact = artifact_of(str(tree / backend.artifact)).digest
    vectors = (library.suite.vectors / INDEX_FILE).read_bytes()
    texts = [harness_digest(), artifact, sha256(vectors), *contract_digests(library).values()]
    return sha256("\n".join([backend.name, backend.wire, *texts]).encode())


def run_of(backend: Backend, home: Path, tree: Path, jobs: int, inputs: str) -> bytes:
    """The record of the standard run; one that an interrupted session made from the same inputs is taken."""
    made, noted = RAN / f"made-{backend.name}.json", RAN / f"made-{backend.name}.inputs"
    if not (inputs and made.is_file() and noted.is_file() and noted.read_text() == inputs):
        RAN.mkdir(exist_ok=True)
        noted.unlink(missing_ok=True)
        more = ["--wire", backend.wire, "--jobs", str(jobs)]
        tally(home, tree, "run", "--backend", backend.name, *more, "--format", f"json={made}")
        noted.write_text(inputs)
    return made.read_bytes()


def certificate_of(backend: Backend, home: Path, tree: Path, jobs: int) -> bytes:
    """The certificate of the challenge."""
    made = home / f"{backend.name}.intoto.json"
    about = ["--artifact", backend.artifact, "--key", str(home / "test.key"), "--output", str(made)]
    fixed = ["--reproducible", "--nonce", NONCE, "--time", ISSUED]
    readable = [word for path in backend.read for word in ("--sandbox-read", path)]
    more = ["--wire", backend.wire, "--jobs", str(jobs)]
    tally(home, tree, "certify", "--backend", backend.command, *about, *fixed, *readable, *more)
    return made.read_bytes()


def tally(home: Path, tree: Path, *words: str) -> None:
    """A command of tally in the copy, with its code; raises Stale where it is red."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TALLY_"))}
    ours = {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
    command = [sys.executable, "-m", "conformance.cli.main", *words]
    done = subprocess.run(command, cwd=tree, env={**given, **ours}, check=False)
    if done.returncode:
        raise Stale(f"`tally {' '.join(words[:3])}` ended with exit status {done.returncode}; it says why above")


def is_current(backend: Backend, library: Library, tree: Path) -> bool:
    """Whether nothing that the reports of a backend rest on has changed since they were made."""
    try:
        statement, _ = certified(backend)
        require_current(backend, statement, library, tree)
        record = recorded(backend)
    except (Stale, OSError):
        return False
    matrix = (REPORTS / MATRIX_FILE).read_bytes()
    now = {HARNESS: harness_digest(), MUTANTS: mutants_digest(library.suite), MATRIX: sha256(matrix)}
    same = all(statement.digests.get(name) == digest for name, digest in now.items())
    return same and (record["contracts"], record["vectors"]) == (statement.contracts, statement.digests[VECTORS])


# -- checking


def check(chosen: Sequence[Backend]) -> int:
    """Compare the committed reports with what was found; the exit status."""
    library = load_library(read_suite(ROOT))
    found: list[str] = []
    for backend in chosen:
        for what in (require_same_record, require_valid):
            try:
                what(backend, library)
            except (Stale, OSError) as reason:
                found.append(f"reports/{backend.name}: {reason}")
    if not found:
        expected = pages(library)
        found = [f"{file.relative_to(ROOT)}: another page is made of the records" for file in differing(expected)]
    for line in found:
        print(f"stale: {line}", file=sys.stderr)
    if found:
        print(f"    hint: {AGAIN}", file=sys.stderr)
        return 1
    print(f"reports of {', '.join(one.name for one in chosen)}: as committed")
    return 0


def differing(expected: Mapping[Path, bytes]) -> list[Path]:
    """The files that do not have the expected content."""
    return [file for file, content in expected.items() if not file.is_file() or file.read_bytes() != content]


def require_same_record(backend: Backend, _: Library) -> None:
    """Raise Stale unless the run of CI and the committed reports have the same record."""
    ran = RAN / f"{backend.name}.json"
    if not ran.is_file():
        raise Stale(f"{ran.relative_to(ROOT)} is missing: the run of this backend comes first")
    if ran.read_bytes() != (backend.folder / RECORD).read_bytes():
        old, new = recorded(backend).members, read_record(ran.read_bytes(), str(ran)).members
        names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        raise Stale(f"{RECORD} is not that of this run; they differ in {', '.join(names)}")


def require_valid(backend: Backend, library: Library) -> None:
    """Raise Stale unless the certificate is about this checkout, its contracts and its vectors."""
    statement, _ = certified(backend)
    with tempfile.TemporaryDirectory(prefix="tally-artifact-") as folder:
        shutil.copytree(ROOT / backend.artifact, Path(folder) / backend.artifact, ignore=LEFT_OUT)
        require_current(backend, statement, library, Path(folder))


def certified(backend: Backend) -> tuple[Statement, PublicKey]:
    """What the certificate of a backend says, and the key that signed it; raises Stale."""
    file = backend.folder / CERTIFICATE
    try:
        evidence = read_evidence(file)
        signer = trusted_signer(evidence, [read_public(REPORTS / KEY)], None)
        if isinstance(signer, str):
            raise Stale(f"{CERTIFICATE} is not valid: {signer}")
        schema = schema_folder(read_suite(ROOT)) / SCHEMA
        return read_statement(evidence.envelope.payload, str(file), schema), signer
    except Unreadable as error:
        raise Stale(f"{error.place}: {error.message}") from None


def require_current(backend: Backend, statement: Statement, library: Library, tree: Path) -> None:
    """Raise Stale unless the certificate is about the artifact in a tree, and has not lapsed."""
    for fault in artifact_faults(statement, artifact_of(str(tree / backend.artifact))):
        raise Stale(f"{CERTIFICATE}: {fault}")
    if gone := lapsed(statement, installed(library)):
        raise Stale(f"{CERTIFICATE} has lapsed: the contracts of {', '.join(gone)} have changed")
    if statement.digests[VECTORS] != json.loads((library.suite.vectors / INDEX_FILE).read_bytes())["digest"]:
        raise Stale(f"{CERTIFICATE} is about other vectors")
    if statement.nonce != NONCE:
        raise Stale(f"{CERTIFICATE} has another nonce than {NONCE}")


def recorded(backend: Backend) -> Record:
    """The committed record of a backend; raises Stale."""
    file = backend.folder / RECORD
    try:
        return read_record(file.read_bytes(), str(file))
    except BrokenRecord as error:
        raise Stale(str(error)) from None


# -- pages


def pages(library: Library) -> dict[Path, bytes]:
    """The pages that are made of the committed records, by file."""
    there = [backend for backend in BACKENDS if (backend.folder / RECORD).is_file()]
    records = [recorded(backend) for backend in there]
    nothing = [dict[str, str]() for _ in there]
    made = {REPORTS / TOGETHER: page("html", records, nothing, library.suite)}
    for backend, record in zip(there, records, strict=True):
        made[backend.folder / PAGE] = page("html", [record], [{}], library.suite)
    proof = proof_of(library.suite.reports, library.requirements)
    reported = [
        Reported(backend.name, record, list(links(backend)), certified(backend))
        for backend, record in zip(there, records, strict=True)
    ]
    title = "Tallystick's own reports"
    made[REPORTS / INDEX] = index_page(title, reported, list(steps()), proof, TOGETHER).encode()
    return made


def links(backend: Backend) -> Iterator[tuple[str, str]]:
    """The files of a backend, as the index names them."""
    yield "Report", f"{backend.name}/{PAGE}"
    yield "Record", f"{backend.name}/{RECORD}"
    yield "Certificate", f"{backend.name}/{CERTIFICATE}"


def steps() -> Iterator[tuple[str, str]]:
    """What a visitor can do to find out whether the reports are true."""
    yield "repeat a run", (
        "python -m pip install -e .\n"
        "tally run --backend reference --format json=mine.json\n"
        "tally report compare reports/reference/record.json mine.json"
    )
    for artifact in dict.fromkeys(backend.artifact for backend in BACKENDS):
        names = [backend.name for backend in BACKENDS if backend.artifact == artifact]
        checks = (f"tally verify reports/{name}/{CERTIFICATE} --key reports/{KEY} --artifact copy/{artifact}"
                  for name in names)
        yield f"check {' and '.join(names)}", "\n".join([
            f"mkdir copy && git archive HEAD {artifact} ':!{artifact}/tests' | tar x -C copy", *checks
        ])
    first = BACKENDS[0]
    yield "without Tallystick", (
        f"python docs/verify_certificate.py reports/{first.name}/{CERTIFICATE} reports/{KEY} copy/{first.artifact}"
    )
    yield "the nonce", f"printf %s '{NAME}' | sha256sum"
    yield "make them all again", "python -m pip install nox && python -m nox -s reports"


def main() -> int:
    """Make or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help="all of them where none is named")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--jobs", type=int, default=2, help="backend processes at a time")
    parser.add_argument("--again", action="store_true", help="also make what is current")
    given = parser.parse_args()
    known = {backend.name: backend for backend in BACKENDS}
    if unknown := [name for name in given.backends if name not in known]:
        parser.error(f"no backend {unknown[0]!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in given.backends] or list(BACKENDS)
    try:
        return check(chosen) if given.check else make(chosen, given.jobs, given.again)
    except Stale as reason:
        print(reason, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
