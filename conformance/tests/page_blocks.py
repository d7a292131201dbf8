"""The code blocks of a page, each of a kind that says what is done with it: run, compared, read, or parsed at least.

| first word of the fence | what is done |
|---|---|
| `python` | it is run; the blocks of a page share their names |
| `pycon` | it is typed into Python, and the output compared; `...` is any text |
| `console` | each line after `$ ` is run and its output compared; `...` is any text |
| `sh` | each line is run and must succeed, or end as its `Step` says; what another place runs is only looked at |
| `json`, `toml`, `yaml`, `ini` | it is parsed; `yaml NAME` fits that schema; `yaml NAME part` may lack keys |
| `jsonrpc` | each call is asked of the reference, and the answer compared |
| `text` | a drawing or a layout: no line of it is a command |
| any, with a second word `shown-by=FILE::TEST` | that test compares it |

"Write `FILE`:" before a block writes it to a file too, as in the tutorial.
"""

from __future__ import annotations

import configparser
import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jsonschema
import yaml
from markdown_it import MarkdownIt

from conformance.cli.main import status_of
from conformance.tests.processes import ROOT, environment

MOST: Final = 300  # seconds for one command; a program that never ends is no example
_COMMAND: Final = re.compile(r"(\$ |(tally|python|pip|pytest|node|npx|git|nox) )")
_STATUS: Final = re.compile(r"  # exit status (\d+)\Z")
_OF_THE_SHELL: Final = re.compile(r"[|&;<>$`*]")
_MESSAGE: Final = re.compile(r"^([→←]) (.*?)(?=^[→←] |\Z)", re.MULTILINE | re.DOTALL)
_OPTIONS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its words after the fence, its text, and the last words before it."""

    page: str
    line: int
    words: tuple[str, ...]
    text: str
    before: str

    @property
    def kind(self) -> str:
        """The first word."""
        return self.words[0] if self.words else ""

    @property
    def shown_by(self) -> str:
        """The test that compares it, or nothing."""
        return next((word.removeprefix("shown-by=") for word in self.words if word.startswith("shown-by=")), "")


def blocks_of(page: str, text: str) -> list[Block]:
    """Every fenced block of a page, in its order."""
    found, before = [], ""
    for token in MarkdownIt().parse(text):
        if token.type == "inline":
            before = token.content
        elif token.type == "fence":
            assert token.map is not None
            found.append(Block(page, token.map[0] + 1, tuple(token.info.split()), token.content, before))
            before = ""
    return found


def compared_by(test_file: str, page: str) -> list[Block]:
    """The blocks of a page that a test file compares."""
    text = (ROOT / page).read_text("utf-8")
    return [block for block in blocks_of(page, text) if Path(block.shown_by.partition("::")[0]).name == test_file]


@dataclass(frozen=True, slots=True)
class Step:
    """What is done about one command of an `sh` block besides running it as it is written."""

    before: Callable[[Path], None] | None = None  # what the reader did in the folder since the last command
    named: Mapping[str, str] = field(default_factory=dict)  # for each word that the page leaves open, the reader's own
    status: int = 0
    said: str = ""  # a part of what is printed
    beside: bool = False  # in a terminal of its own, which is closed at the end of the page


@dataclass(slots=True)
class PageReader:
    """Does in a folder what the blocks of a page say; `differences` is what went otherwise."""

    folder: Path
    environment: Mapping[str, str]
    schemas: Mapping[str, Any]
    steps: Mapping[str, Step] = field(default_factory=dict)
    elsewhere: Collection[str] = ()  # the commands that another place runs
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    differences: list[str] = field(default_factory=list)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def follow(self, blocks: list[Block]) -> None:
        """Do what the blocks say; goes on after a difference."""
        try:
            self._follow(blocks)
        finally:
            for process in self.running:
                process.terminate()
                process.communicate(timeout=MOST)

    def _follow(self, blocks: list[Block]) -> None:
        for block in blocks:
            kind = getattr(self, f"_{block.kind}", None)
            if (named := re.search(r"Write `([^`]+)`:\Z", block.before)) is not None:
                (self.folder / named[1]).write_text(block.text, "utf-8")
            said = kind(block) if kind else [f"no kind {block.kind!r}"]
            self.differences += [f"{block.page}:{block.line}: {one}" for one in said]

    def _python(self, block: Block) -> Iterator[str]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, f"{block.page}:{block.line}", "exec"), self.names)
        except Exception as error:
            yield f"{type(error).__name__}: {error}"

    def _pycon(self, block: Block) -> Iterator[str]:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, block.page, block.page, block.line)
        if not test.examples:
            yield "no line begins with >>>"
        said: list[str] = []
        # Without `verbose` it looks for -v among the arguments of pytest.
        doctest.DocTestRunner(optionflags=_OPTIONS, verbose=False).run(test, out=said.append, clear_globs=False)
        self.names |= test.globs
        yield from ["".join(said)] if said else []

    def _console(self, block: Block) -> Iterator[str]:
        first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        if first or not parts:
            yield "a console block begins with `$ `"
        for part in parts:
            line, _, shown = part.partition("\n")
            while line.endswith("\\"):
                more, _, shown = shown.partition("\n")
                line = f"{line[:-1]}{more}"
            wanted = _STATUS.search(line)
            status, printed, errors = self._run(line)
            if status != (int(wanted[1]) if wanted else 0):
                yield f"$ {line}\nexit status {status}\n{printed}{errors}"
            elif not matches(shown, printed):
                yield f"$ {line}\nshown:\n{shown}\nprinted:\n{printed}{errors}"

    def _sh(self, block: Block) -> Iterator[str]:
        for line in block.text.replace("\\\n", " ").splitlines():
            command = " ".join(line.partition(" #")[0].split())
            if not command or command.startswith("#"):
                continue
            if command in self.elsewhere:
                yield from misspelt(command)
            elif command.startswith("cd "):
                self.folder /= command.removeprefix("cd ")
                os.chdir(self.folder)
            else:
                yield from self._typed(command, self.steps.get(command, Step()))

    def _typed(self, command: str, step: Step) -> Iterator[str]:
        if step.before is not None:
            step.before(self.folder)
        for word, meant in step.named.items():
            if word not in command:
                yield f"{command}\nhas no {word!r}"
            command = command.replace(word, meant)
        if step.beside:
            words = ["bash", "-c", f"exec {command}"]
            process = subprocess.Popen(
                words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            self.running.append(process)
            assert process.stdout is not None
            # Whoever types in the next terminal has seen this in the first one.
            if not any(step.said.encode() in line for line in process.stdout):
                yield f"{command}\nends, and says nowhere {step.said!r}"
            return
        status, printed, errors = self._run(command)
        if status != step.status:
            yield f"{command}\nexit status {status}, not {step.status}\n{printed[-2000:]}{errors[-2000:]}"
        elif step.said not in printed + errors:
            yield f"{command}\nsays nowhere {step.said!r}\n{printed[-2000:]}{errors[-2000:]}"

    def _run(self, line: str) -> tuple[int, str, str]:
        """The exit status, stdout and stderr of a line; `tally` alone runs in this process, where it costs less."""
        plain = re.sub(r"'[^']*'|\"[^\"]*\"", "", line.partition("  #")[0])
        if line.startswith("tally ") and not _OF_THE_SHELL.search(plain):
            out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = status_of(shlex.split(line, comments=True)[1:])
            return status, _content(out), _content(err)
        ran = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
            timeout=MOST,
        )  # fmt: skip
        # A process that a signal ended has 128 + n in every shell.
        return ran.returncode if ran.returncode >= 0 else 128 - ran.returncode, ran.stdout, ran.stderr

    def _json(self, block: Block) -> Iterator[str]:
        yield from self._fits(block, json.loads)

    def _toml(self, block: Block) -> Iterator[str]:
        yield from self._fits(block, tomllib.loads)

    def _yaml(self, block: Block) -> Iterator[str]:
        yield from self._fits(block, yaml.safe_load)

    def _ini(self, block: Block) -> Iterator[str]:
        yield from self._fits(block, lambda text: configparser.ConfigParser().read_string(text))

    def _fits(self, block: Block, parse: Callable[[str], object]) -> Iterator[str]:
        try:
            value = parse(block.text)
        except (ValueError, yaml.YAMLError, configparser.Error) as error:
            yield str(error)
            return
        if len(block.words) == 1:
            return
        if block.words[1] not in self.schemas:
            yield f"no schema {block.words[1]!r}"
            return
        for fault in jsonschema.Draft202012Validator(self.schemas[block.words[1]]).iter_errors(value):
            if fault.validator != "required" or block.words[2:] != ("part",):
                yield f"{fault.json_path}: {fault.message[:200]}"

    def _jsonrpc(self, block: Block) -> Iterator[str]:
        messages = [(sign, json.loads(text)) for sign, text in _MESSAGE.findall(block.text)]
        if any(message.get("jsonrpc") != "2.0" for _, message in messages) or not messages:
            yield "not only messages of JSON-RPC 2.0"
        calls = [message for sign, message in messages if sign == "→" and not message["method"].startswith("tally.")]
        answers = answers_of(calls) if calls else {}
        for sign, message in messages:
            known = answers.get(message.get("id"), message)
            if sign == "←" and known != message:
                yield f"shown:\n{message}\nanswered:\n{known}"

    def _text(self, block: Block) -> Iterator[str]:
        yield from (f"a command in a drawing: {line}" for line in block.text.splitlines() if _COMMAND.match(line))


def _content(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def answers_of(calls: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What the reference answers to calls, by their ids."""
    hello = {"jsonrpc": "2.0", "id": -1, "method": "tally.hello", "params": {"protocol": 1}}
    asked = "".join(f"{json.dumps(one)}\n" for one in (hello, *calls))
    served = [sys.executable, "-P", "-m", "impl.serve", "reference"]
    ran = subprocess.run(served, input=asked, env=environment(), capture_output=True, text=True, check=True)
    return {answer["id"]: answer for answer in map(json.loads, ran.stdout.splitlines())}


def misspelt(command: str) -> Iterator[str]:
    """What is wrong with a command that another place runs: no such session or file."""
    part: list[str] = []
    for word in [*shlex.split(command), "&&"]:
        if word not in ("|", "&&", ">", "<"):
            part.append(word)
        elif part:
            yield from _misspelt(part)
            part = []


def _misspelt(words: list[str]) -> Iterator[str]:
    command = shlex.join(words)
    if words[:3] == ["python", "-m", "nox"] and "-s" in words:
        session = words[words.index("-s") + 1]
        if not re.search(rf"^def {session}[(]", (ROOT / "noxfile.py").read_text("utf-8"), re.MULTILINE):
            yield f"no session {session!r}: {command}"
    elif words[0] == "python" and "/" in words[1] and not (ROOT / words[1]).is_file():
        yield f"no file {words[1]!r}: {command}"


def matches(shown: str, printed: str) -> bool:
    """Whether the shown text is the printed one, where `...` alone in a line is any lines, and in a line any text."""
    lines = ["(?:.*\n)*?" if line == "...\n" else _line(line) for line in shown.splitlines(keepends=True)]
    return re.fullmatch("".join(lines), printed) is not None


def _line(line: str) -> str:
    return "[^\n]*?".join(map(re.escape, line.split("...")))


