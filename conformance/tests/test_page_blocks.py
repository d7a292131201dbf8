"""Every code block of every page is run, compared or parsed; a page whose blocks say something untrue is named."""

from __future__ import annotations

import json
import os
import pickle
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from conformance.cli.main import status_of
from conformance.contract.published import published_schemas
from conformance.tests.page_blocks import Block, PageReader, blocks_of, compared_by, matches, misspelt
from conformance.tests.processes import ROOT

FOLDERS: Final = ("docs", "examples", "spec", "impl", "vectors", "reports")
PAGES: Final = [
    *sorted(file.relative_to(ROOT).as_posix() for folder in FOLDERS for file in (ROOT / folder).rglob("*.md")),
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
# Pages that a test of their own follows from the first block to the last.
FOLLOWED: Final = MappingProxyType(
    {
        "docs/tutorial.md": "conformance/tests/test_tutorial.py",
        "docs/pytorch.md": "impl/tests/torch/test_torch_sampler.py",
    }
)
# Right about two small operators.
OWN_BACKEND: Final = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from impl.backend import Backend
from impl.reference import backend
from impl.serve import serve

some = ("Stream.FiringCounts", "UML_OS.Data.SummarizeRun_v1")
serve(Backend("mine", {{name: backend.operators[name] for name in some}}))
"""

# Commands of `sh` blocks that are not run, and why. Their options, sessions and files must exist.
NOT_RUN: Final = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "python -m pip install nox && python -m nox -s conform",
                "python -m pip install nox",
                "python -m pip install -e .",
                "python -m pip install tallystick",
                "pip install tallystick",
                "python -m nox --list",
            ),
            "it makes the environment in which this test runs",
        ),
        **dict.fromkeys(
            (
                "python -m nox -s tests",
                "python -m nox -s reports",
                "python -m nox -s reports -- javascript",
                "python -m nox -s reports -- --again",
                "tally lint",
                'tally run --backend "node impl/javascript/serve.js" --wire cbor',
            ),
            "CI runs it, for minutes",
        ),
        **dict.fromkeys(
            (
                "tally vectors build",
                "tally vectors release --dry-run",
                "tally vectors release",
                "tally diff v1.0.0 .",
                "tally diff HEAD~3 HEAD --format markdown",
                "tally diff ../before . --certificate certificates/",
            ),
            "it writes to the checkout or needs its history: test_vectors_build, test_vectors_release, test_diff",
        ),
        **dict.fromkeys(
            (
                'tally certify --backend "node backend/main.js" --artifact backend --key acme.key '
                "--output backend.intoto.json --bundle backend.zip",
                "tally verify backend.intoto.json --key acme.pub --artifact backend",
                "tally verify backend.zip --key acme.pub",
                "tally verify backend.zip --policy policy.yaml --artifact backend",
                "tally verify backend.zip --key acme.pub --artifact backend --replay "
                '--backend "node backend/main.js"',
                "python verify_certificate.py backend.intoto.json acme.pub backend",
                "unzip backend.zip -d evidence && cd evidence && sha256sum -c SHA256SUMS",
            ),
            "test_certify.py and test_evidence.py do it with a small suite",
        ),
        **dict.fromkeys(
            (
                'tally crash --backend "./my-backend" --workload NAME',
                'tally crash --backend "./my-backend" --workload NAME --full',
                "tally crash ... --sweep order --sweep kill --sweep error",
                "tally crash ... --model kill --states 200",
                "tally explain OPERATOR --backend TEXT --first-difference",
                "tally explain OPERATOR --backend TEXT --position P",
                "tally explain CASE --backend TEXT",
                'tally run --backend "./my-program" --profile quick -k SeededBlockPermute_v1',
                'tally run --backend "./target/release/acme-sampler --serve" --format junit --output reports',
                "./program < requests.jsonl | jq -cS 'select(.id > 0)' | LC_ALL=C sort | diff - answers.jsonl",
            ),
            "a form with a name of the reader's own",
        ),
        **dict.fromkeys(
            (
                "npx quicktype --src-lang schema schema.json --lang go --package main --out types.go",
                "npx quicktype --src-lang schema schema.json --lang rust --visibility public --out types.rs",
                "npx quicktype --src-lang schema schema.json --lang typescript --just-types --out types.ts",
            ),
            "test_transcript.py runs them where quicktype is",
        ),
        **dict.fromkeys(
            (
                'tally run --backend "python my-backend/backend.py"',
                'tally run --backend "python my-backend/backend.py" -x',
                'tally run --backend "python my-backend/backend.py" --last-failed',
                'tally run --backend "./my-backend" --format junit --format sarif',
                'tally run --backend "./my-backend" --format markdown=summary.md --format badge=-',
            ),
            "five seconds each; test_cli_loop and test_report_formats do it with a small suite",
        ),
        **dict.fromkeys(
            (
                "python examples/pipeline/prepare.py char_lm data/char_lm --batch_size 8 --block_size 64 "
                "--target_size 64",
                "python examples/pipeline/train.py data/char_lm --batches 300",
                "python examples/pipeline/prepare.py char_lm data/char_lm --batch_size 16 --block_size 32 "
                "--target_size 32 --batches_per_file 50",
                "python examples/pipeline/train.py data/char_lm --batches 300 --model numpy",
            ),
            "two terminals: test_pipeline_examples.py runs both programs",
        ),
        "tally batch describe shop.db --output shop.yaml": "test_batch_describe.py does it with databases of its own",
        "tally mutants --write": "test_tutorial.py does it with the same suite",
        'pytest --tally-backend "python my-backend/backend.py"': "test_pytest_plugin.py does it with a small suite",
        **dict.fromkeys(("python examples/batch/torch_batches.py",), "needs torch: test_torch_batches.py runs it"),
    }
)


def schemas() -> dict[str, Any]:
    """What a block of YAML may have to fit: for what people write the published form, else the file in spec/schema."""
    folder = ROOT / "spec" / "schema"
    files = {file.name.split(".")[0]: json.loads(file.read_text("utf-8")) for file in folder.iterdir()}
    return files | published_schemas(folder)


@cache
def blocks(page: str) -> tuple[Block, ...]:
    return tuple(blocks_of(page, (ROOT / page).read_text("utf-8")))


def in_general(page: str) -> list[Block]:
    """The blocks of a page that no other test compares."""
    return [block for block in blocks(page) if not block.shown_by]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_diagnosis: None) -> Path:
    """A reader's folder: what the pages name of the checkout, and a backend of the reader's own."""
    for name in ("examples", "spec", "impl", "docs", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "reports").mkdir()
    for file in (ROOT / "reports").iterdir():
        if file.name != "last":
            (tmp_path / "reports" / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    # A few random calls are enough to see that a command works, and cost a fifth.
    monkeypatch.setattr("conformance.trial.fuzz.operator.DEFAULT_EXAMPLES", 5)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


def counted(folder: Path) -> None:
    """A backend of the reader's own, which is right about two operators, as a folder and as a program."""
    (folder / "my-backend").mkdir()
    (folder / "my-backend" / "backend.py").write_text(OWN_BACKEND, "utf-8")


def as_a_program(folder: Path) -> None:
    """The same as a program of one file."""
    (folder / "my-backend").write_text(f"#!{sys.executable}\n{OWN_BACKEND}", "utf-8")
    (folder / "my-backend").chmod(0o755)


def with_a_record(folder: Path) -> None:
    counted(folder)
    asked = ["--backend", "python my-backend/backend.py", "-k", "Stream", "--output", "reports/last", "-q"]
    assert status_of(["run", *asked]) == 0


def with_tokens(folder: Path) -> None:
    (folder / "words.bin").write_bytes(bytes(4096))
    (folder / "checkpoints").mkdir()


def with_old_metadata(folder: Path) -> None:
    old = folder / "data" / "shakespeare_char"
    old.mkdir(parents=True)
    (old / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 2, "itos": {0: "a", 1: "b"}, "stoi": {"a": 0, "b": 1}}))


# What the reader of a page has before its first block.
HAD: Final[Mapping[str, Callable[[Path], None]]] = MappingProxyType(
    {
        "docs/reports.md": as_a_program,
        "docs/html-report.md": with_a_record,
        "docs/context-streams.md": with_tokens,
        "docs/pipeline.md": with_old_metadata,
    }
)


def reader(folder: Path) -> PageReader:
    return PageReader(folder, dict(os.environ), schemas(), NOT_RUN)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in FOLLOWED and in_general(page)])
def test_a_page_shows_what_its_readers_see(page: str, desk: Path) -> None:
    if page in HAD:
        HAD[page](desk)
    following = reader(desk)
    following.follow(in_general(page))
    assert following.differences == [], "\n\n".join(following.differences)


def test_the_page_on_the_queue_shows_what_two_terminals_print(desk: Path) -> None:
    first, second = compared_by(Path(__file__).name, "docs/pipeline.md")
    provider, consumer = (re.sub(r"\\\n +", "", one.text).partition("\n") for one in (first, second))
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = shlex.split(provider[0].removeprefix("$ "))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stderr is not None
        said = [next(running.stderr) for _ in range(3)]
        taken = subprocess.check_output(shlex.split(consumer[0].removeprefix("$ ")), text=True)
        said += [next(running.stderr) for _ in range(3)]
        running.kill()
    shown = "".join(line for line in provider[2].splitlines(keepends=True) if not line.lstrip().startswith("#"))
    assert matches(timeless(shown), timeless("".join(said)))
    assert matches(timeless(consumer[2]), timeless(taken))


def timeless(text: str) -> str:
    """Without the milliseconds in the names of files."""
    return re.sub(r"\b\d{13}\b", "MILLISECONDS", text)


@pytest.mark.parametrize("page", FOLLOWED)
def test_the_test_that_follows_a_page_names_it(page: str) -> None:
    assert Path(page).name in (ROOT / FOLLOWED[page]).read_text("utf-8")


@pytest.mark.parametrize("block", [block for page in PAGES for block in blocks(page) if block.shown_by], ids=str)
def test_the_test_that_compares_a_block_exists(block: Block) -> None:
    file, _, test = block.shown_by.partition("::")
    assert f"def {test}(" in (ROOT / file).read_text("utf-8")
    assert test


RIGHT: Final = {
    "python": "assert 1 + 1 == 2\n",
    "pycon": ">>> 1 + 1\n2\n",
    "console": "$ echo a; echo b\n...\nb\n$ exit 3  # exit status 3\n",
    "sh": "true   # a remark\n",
    "json": "{}\n",
    "toml": "a = 1\n",
    "ini": "[a]\nb = 1\n",
    "yaml expected-failures": "[]\n",
    "text": "a -> b\n",
}
WRONG: Final = {
    "python": "assert 1 + 1 == 3\n",
    "pycon": ">>> 1 + 1\n3\n",
    "console": "$ echo a; echo b\na\n",
    "sh": "false\n",
    "json": "{\n",
    "toml": "a =\n",
    "ini": "b = 1\n",
    "yaml expected-failures": "- 7\n",
    "text": "$ tally run\n",
    "": "a fence without a kind\n",
    "cobol": "a fence of a kind that nothing runs\n",
    "yaml no-such-schema": "a: 1\n",
    "yaml": "a: [\n",
    "jsonrpc": '← {"id": 1}\n',
}


@pytest.mark.parametrize("kind", RIGHT)
def test_a_block_that_is_true_makes_no_difference(kind: str, desk: Path) -> None:
    assert differences(kind, RIGHT[kind], desk) == []


@pytest.mark.parametrize("kind", WRONG)
def test_a_block_that_is_untrue_is_named_with_its_line(kind: str, desk: Path) -> None:
    (said,) = differences(kind, WRONG[kind], desk)
    assert said.startswith("page.md:3: ")


def differences(kind: str, text: str, desk: Path) -> list[str]:
    following = reader(desk)
    following.follow(blocks_of("page.md", f"# Title\n\n```{kind}\n{text}```\n"))
    return following.differences


@pytest.mark.parametrize(
    "command",
    ["tally rnu", "tally run --profle quick", "python -m nox -s no_such_session", "python examples/gone.py"],
)
def test_a_command_that_is_not_run_is_looked_at(command: str) -> None:
    assert len(list(misspelt(command))) == 1


def test_every_command_that_is_not_run_is_on_a_page() -> None:
    shown = {" ".join(line.partition(" #")[0].split()) for page in PAGES for block in blocks(page)
             for line in block.text.replace("\\\n", " ").splitlines()}  # fmt: skip
    assert [command for command in NOT_RUN if command not in shown] == []
