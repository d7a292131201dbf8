"""What every command's help has, and what is said of a name that is nearly right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from conformance.cli.main import status_of, tally

Capture = pytest.CaptureFixture[str]


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from commands(inner, (*words, name))


ALL = sorted(commands(tally))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_the_help_ends_with_two_examples_that_its_options_allow(words: tuple[str, ...], capsys: Capture) -> None:
    assert status_of([*words, "--help"]) == 0
    _, _, last = capsys.readouterr().out.partition("\n  Examples:\n")
    examples = last.splitlines()
    assert len(examples) == 2
    for example in examples:
        assert re.match(rf" {{4}}tally {' '.join(words)}\b", example), example
        assert len(example) <= 80
        asked = shlex.split(re.split(r" > | && ", example)[0])[1:]
        command: click.Command = tally
        context = click.Context(command)
        while isinstance(command, click.Group):
            found = command.get_command(context, asked.pop(0))
            assert found is not None
            command = found
        command.make_parser(click.Context(command)).parse_args(asked)  # raises where an option is not there


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["rnu"], "run"),
        (["report", "shwo"], "show"),
        (["run", "--profle", "quick"], "--profile"),
        (["run", "--profile", "quik"], "quick"),
        (["run", "--wire", "cobr"], "cbor"),
        (["run", "--format", "junt"], "junit"),
        (["run", "--backend", "referense"], "reference"),
        (["lint", "--format", "sarf"], "sarif"),
        (["vectors", "check", "--profile", "gold"], "golden"),
        (["new-backend", "--language", "pyton", "x"], "python"),
        (["crash", "--model", "posx"], "posix"),
        (["mutants", "philox"], "philox-nine-rounds"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    words: list[str], meant: str, built_once: Path, look_at: Callable[[Path], None], capsys: Capture
) -> None:
    look_at(built_once)
    assert status_of(words) == 2
    assert re.search(rf"[Dd]id you mean '?{meant}", capsys.readouterr().err)
