"""Where a value stands in a file, and what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong in a specification file: where, which code, what, and the next step."""

    position: Position
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.position}: {self.code} {self.message}"
        return f"{text}\n    hint: {self.hint}" if self.hint else text


class MalformedContract(Exception):
    """A specification file cannot be read as what it claims to be; carries every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))
