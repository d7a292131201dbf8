"""What a lint rule says about one place of the specification."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.contract.position import Position


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding at file:line:column; `about` is the operator, requirement or ruling that it concerns."""

    position: Position
    code: str
    message: str
    about: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.position}: {self.code} {self.message}"
