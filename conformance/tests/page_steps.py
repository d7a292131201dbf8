"""What is done about the commands of `sh` blocks besides running them as they are written, by page and command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import yaml

from conformance.contract.library import load_library
from conformance.contract.suite_file import read_suite
from conformance.tests.certificates import certificate_of_one
from conformance.tests.page_blocks import Step, blocks_of
from conformance.tests.page_desks import own, serving, with_the_backends
from conformance.tests.processes import ROOT
from conformance.tests.released_suite import OPERATOR, edit, extended, git, version
from conformance.trial.committed_reports import MATRIX_FILE
from conformance.vectors.frozen.lock import contract_digests


def mended(folder: Path) -> None:
    edit(folder / "my-backend" / "operators.py", "max(value, high)", "max(value, low)")


def with_a_policy(folder: Path) -> None:
    """The page's own policy, with the reader's key and operator, and without a level that no workload reaches."""
    page = "docs/certificates.md"
    (text,) = [one.text for one in blocks_of(page, (ROOT / page).read_text("utf-8")) if one.words == ("yaml", "policy")]
    policy = yaml.safe_load(text)
    policy["keys"][0] |= {"operators": [OPERATOR], "public": (folder / "acme.pub").read_text("utf-8")}
    policy["require"] |= {"operators": [OPERATOR]}
    del policy["require"]["crash"]
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy), "utf-8")


def after_a_release(folder: Path) -> None:
    """The release is committed and tagged; a case is new since, in a MINOR version, and two more commits came."""
    assert "`v1.0.0`" in (ROOT / "docs" / "versions.md").read_text("utf-8")
    (folder / ".gitignore").write_text("__pycache__\n")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "released")
    git(folder, "tag", "v1.0.0")
    extended(folder)
    version(folder, "1.1.0")
    git(folder, "commit", "-am", "one more case")
    for name in ("two", "three"):
        git(folder, "commit", "--allow-empty", "-m", name)


def with_the_state_before(folder: Path) -> None:
    """The tagged state in a folder of its own, and a certificate of that day."""
    git(folder, "worktree", "add", str(folder.parent / "before"), "v1.0.0")
    (folder / "certificates").mkdir()
    before = read_suite(folder.parent / "before")
    certificate_of_one(folder / "certificates" / "acme", before, OPERATOR, contract_digests(load_library(before)))


def as_a_checkout(folder: Path) -> None:
    """What the chore of the reports reads, with one bundled backend and one job: three backends take half a minute."""
    for name in ("checks", "conformance", "noxfile.py"):
        (folder / name).symlink_to(ROOT / name)
    with_the_backends(folder)
    shutil.copytree(ROOT / "spec" / "batch" / "tables", folder / "spec" / "batch" / "tables")
    shutil.copy(ROOT / "reports" / MATRIX_FILE, folder / "reports")
    (folder / ".ci").mkdir()
    text = (ROOT / ".ci" / "reports.py").read_text("utf-8")
    fewer, count = re.subn(r'(?m)^    Backend\("(reference|vectorized)", .*\n', "", text)
    assert count == 2
    (folder / ".ci" / "reports.py").write_text(fewer, "utf-8")
    edit(folder / ".ci" / "reports.py", 'type=int, default=2, help="backend', 'type=int, default=1, help="backend')


def served_as_in_rust(folder: Path) -> None:
    shutil.copytree(folder.parents[1] / "suite", folder, dirs_exist_ok=True)
    own(folder / "target" / "release" / "acme-sampler")


def piped(folder: Path) -> None:
    serving(folder / "program")


WORKLOAD: Final = MappingProxyType({"NAME": "two-files-read"})
MISTAKEN: Final = MappingProxyType({"TEXT": "mutant:philox-nine-rounds"})
OF_A_PLACE: Final = MappingProxyType({**MISTAKEN, "OPERATOR": "UML_OS.Data.SeededIntraBlockMap_v1"})
CONFORMANT: Final = "\nCONFORMANT: "
# By page and command. Exit status 1 is a verdict: the reader's backend, or the one of TEXT, is wrong.
STEPS: Final[Mapping[str, Mapping[str, Step]]] = MappingProxyType(
    {
        "README.md": {
            'tally run --backend "python my-backend/backend.py"': Step(status=1, said="not written yet: "),
            'tally run --backend "node impl/javascript/serve.js" --wire cbor': Step(said="CONFORMANT: 2 of 2"),
        },
        "docs/certificates.md": {
            "tally verify backend.zip --policy policy.yaml --artifact backend": Step(with_a_policy, said="VALID: "),
            "tally verify backend.zip --key acme.pub --artifact backend --replay "
            '--backend "node backend/main.js"': Step(said="VALID: "),
            "python verify_certificate.py backend.intoto.json acme.pub backend": Step(said=OPERATOR),
        },
        "docs/command-line.md": {
            'tally run --backend "python my-backend/backend.py" -x': Step(status=1, said="stopped after 1 failure"),
            'tally run --backend "python my-backend/backend.py" --last-failed': Step(mended, said="that failed last"),
            'tally run --backend "python my-backend/backend.py"': Step(said=CONFORMANT),
        },
        "docs/crash-testing.md": {
            'tally crash --backend "./my-backend" --workload NAME': Step(named=WORKLOAD, said="no level stated"),
            'tally crash --backend "./my-backend" --workload NAME --full': Step(named=WORKLOAD, said="  level: kill"),
            "tally crash ... --sweep order --sweep kill --sweep error": Step(
                named={"...": '--backend "./my-backend" --workload two-files-read'}, said="error sweep: 2 of 2"
            ),
            "tally crash ... --model kill --states 200": Step(
                named={"...": '--backend "./my-backend" --workload two-files-read'}, said="kill   0 bad of 8"
            ),
        },
        "docs/divergence.md": {
            "tally explain OPERATOR --backend TEXT --first-difference": Step(
                named=OF_A_PLACE, status=1, said="parts at    position 0"
            ),
            "tally explain OPERATOR --backend TEXT --position P": Step(
                named={**OF_A_PLACE, " P": " 3"}, status=1, said="  > place_in_the_block"
            ),
            "tally explain CASE --backend TEXT": Step(
                named={**MISTAKEN, "CASE": "UML_OS.Data.SeededBlockPermute_v1::pinned-orders::eight"},
                status=1,
                said="differs at  block_order",
            ),
        },
        "docs/pipeline.md": {
            "python examples/pipeline/prepare.py char_lm data/char_lm --batch_size 16 --block_size 32 --target_size 32 "
            "--batches_per_file 50": Step(beside=True, said="produced val/"),
            "python examples/pipeline/train.py data/char_lm --batches 300 --model numpy": Step(
                said="batch 300: train loss 0.73"
            ),
        },
        "docs/pytest.md": {
            'pytest --tally-backend "python my-backend/backend.py"': Step(said=" passed"),
        },
        "docs/reports.md": {
            "python -m nox -s reports": Step(as_a_checkout, said="reports of javascript: made in "),
            "python -m nox -s reports -- javascript": Step(said="reports of javascript: current, not made again"),
        },
        "docs/suites.md": {
            "tally lint": Step(said="0 findings in 1 contract and 46 cases"),
            "tally vectors build": Step(said="46 cases, 46 kept as frozen"),
            "tally run": Step(said=CONFORMANT),
            "tally mutants --write": Step(said="wrote reports/floor.json"),
        },
        "docs/versions.md": {
            "tally vectors release --dry-run": Step(said="would write "),
            "tally vectors release": Step(said="v1.0.0"),
            "tally diff v1.0.0 .": Step(after_a_release, said="1.0.0 -> 1.1.0  asked: MINOR, given: MINOR"),
            "tally diff HEAD~3 HEAD --format markdown": Step(said="1.0.0 -> 1.1.0"),
            "tally diff ../before . --certificate certificates/": Step(
                with_the_state_before, said="acme.intoto.json: LAPSES for"
            ),
        },
        "docs/writing-a-backend.md": {
            "./program < requests.jsonl | jq -cS 'select(.id > 0)' | LC_ALL=C sort | diff - answers.jsonl": Step(piped),
            'tally run --backend "./target/release/acme-sampler --serve" --format junit --output reports': Step(
                served_as_in_rust, said=CONFORMANT
            ),
        },
        "examples/pipeline/README.md": {
            "python examples/pipeline/prepare.py char_lm data/char_lm --batch_size 8 --block_size 64 "
            "--target_size 64": Step(beside=True, said="produced val/"),
            "python examples/pipeline/train.py data/char_lm --batches 300": Step(said="batch 300: train loss "),
        },
        "spec/README.md": {
            "tally lint": Step(said="0 findings in 2 contracts"),
            "tally vectors build": Step(said="0 files changed"),
            'tally run --backend "./my-program" --profile quick -k SeededBlockPermute_v1': Step(
                said="\nCONFORMANT in the selected checks: 119 checks, "
            ),
        },
    }
)
