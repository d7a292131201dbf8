"""Every code block of every page is run, compared or parsed; a page whose blocks say something untrue is named."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from conformance.contract.yaml.published import published_schemas
from conformance.tests.page_blocks import Block, PageReader, Step, blocks_of, compared_by, matches, misspelt
from conformance.tests.page_desks import HAD, Desk
from conformance.tests.page_places import ELSEWHERE
from conformance.tests.page_steps import STEPS
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
        "docs/tutorial.md": "conformance/tests/house/test_tutorial.py",
        "docs/pytorch.md": "impl/tests/torch/test_torch_sampler.py",
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
def desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_diagnosis: None,
    mutants_in_this_process: None,
    request: pytest.FixtureRequest,
) -> Desk:
    """A reader's folder: what the pages name of the checkout."""
    folder = tmp_path / "desk"
    folder.mkdir()
    for name in ("examples", "spec", "impl", "docs", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "reports").mkdir()
    for file in (ROOT / "reports").iterdir():
        if file.name != "last":
            (folder / "reports" / file.name).symlink_to(file)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("TALLY_SUITE", raising=False)
    # A few random calls are enough to see that a command works, and cost a fifth.
    monkeypatch.setattr("conformance.trial.fuzz.operator.DEFAULT_EXAMPLES", 5)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return Desk(folder, request.getfixturevalue)


def reader(desk: Desk, page: str = "") -> PageReader:
    return PageReader(desk.folder, dict(os.environ), schemas(), STEPS.get(page, {}), ELSEWHERE)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in FOLLOWED and in_general(page)])
def test_a_page_shows_what_its_readers_see(page: str, desk: Desk) -> None:
    if page in HAD:
        HAD[page](desk)
    following = reader(desk, page)
    following.follow(in_general(page))
    assert following.differences == [], "\n\n".join(following.differences)


def test_the_page_on_the_queue_shows_what_two_terminals_print(desk: Desk) -> None:
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
def test_a_block_that_is_true_makes_no_difference(kind: str, desk: Desk) -> None:
    assert differences(kind, RIGHT[kind], desk) == []


@pytest.mark.parametrize("kind", WRONG)
def test_a_block_that_is_untrue_is_named_with_its_line(kind: str, desk: Desk) -> None:
    (said,) = differences(kind, WRONG[kind], desk)
    assert said.startswith("page.md:3: ")


def differences(kind: str, text: str, desk: Desk) -> list[str]:
    following = reader(desk)
    following.follow(blocks_of("page.md", f"# Title\n\n```{kind}\n{text}```\n"))
    return following.differences


TYPED: Final = {
    "exit 3": Step(status=3),
    "echo NAME > b; cat b; echo c": Step(named={"NAME": "a"}, said="a\nc\n"),
    "test -f made": Step(lambda folder: (folder / "made").touch()),
    "python -c 'import time; print(7, flush=True); time.sleep(300)'": Step(beside=True, said="7"),
}
MISTYPED: Final = {
    "true": Step(status=1),
    "echo a": Step(said="b"),
    "echo b": Step(named={"NAME": "b"}),
    "echo c": Step(beside=True, said="b"),
}


@pytest.mark.parametrize("command", TYPED)
def test_a_command_that_does_what_its_step_says_makes_no_difference(command: str, desk: Desk) -> None:
    following = typed(command, TYPED[command], desk)
    assert following.differences == []
    assert all(process.returncode is not None for process in following.running)


@pytest.mark.parametrize("command", MISTYPED)
def test_a_command_that_does_not_do_what_its_step_says_is_named(command: str, desk: Desk) -> None:
    (said,) = typed(command, MISTYPED[command], desk).differences
    assert said.startswith(f"page.md:3: {command}\n")


def typed(command: str, step: Step, desk: Desk) -> PageReader:
    following = PageReader(desk.folder, dict(os.environ), {}, {command: step})
    following.follow(blocks_of("page.md", f"# Title\n\n```sh\n{command}\n```\n"))
    return following


@pytest.mark.parametrize("command", ["python -m nox -s no_such_session", "python examples/gone.py"])
def test_a_command_that_is_not_run_is_looked_at(command: str) -> None:
    assert len(list(misspelt(command))) == 1


def commands(*pages: str) -> set[str]:
    """What the `sh` blocks of pages run."""
    text = "\n".join(one.text for page in pages for one in in_general(page) if one.kind == "sh")
    return {" ".join(line.partition(" #")[0].split()) for line in text.replace("\\\n", " ").splitlines()}


def test_every_step_belongs_to_a_command_of_its_page() -> None:
    assert [(page, gone) for page in STEPS for gone in STEPS[page].keys() - commands(page)] == []
    assert HAD.keys() - set(PAGES) == set()


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_command_that_no_page_s_reader_runs_is_run_in_another_place(command: str) -> None:
    assert command in commands(*PAGES)
    place = ELSEWHERE[command]
    assert list(place.faults(place.read())) == []


def test_a_place_that_no_longer_runs_a_command_is_noticed() -> None:
    for command, place in ELSEWHERE.items():
        assert list(place.faults("")), command
