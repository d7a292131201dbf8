"""No public name of the stream contains a word that the source rules out (requirements S09, S33)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from impl.reference.operators import MACHINES

ROOT = Path(__file__).parents[3]
FORBIDDEN = ("training", "dataloader", "epoch", "split")
FILES = sorted([*(ROOT / "impl/reference/stream").glob("*.py"), *(ROOT / "examples/stream").glob("*.py")])


def public_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def forbidden(names: Iterator[str]) -> list[str]:
    return [name for name in names if any(word in name.lower() for word in FORBIDDEN)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_public_name_speaks_of_training(file: Path) -> None:
    assert forbidden(public_names(ast.parse(file.read_text("utf-8")))) == []
    assert forbidden(iter([file.stem])) == []


def test_no_method_speaks_of_training() -> None:
    assert forbidden(iter(MACHINES["Stream"])) == []


def test_the_search_finds_each_word_in_each_place() -> None:
    source = "class TrainingLoop: pass\ndef next_epoch(dataloader): x_epoch = 1; dataloader.training = 2"
    source += "\ndef split(part): pass"
    assert forbidden(public_names(ast.parse(source))) == [
        "TrainingLoop", "next_epoch", "split", "dataloader", "x_epoch", "training"
    ]  # fmt: skip
