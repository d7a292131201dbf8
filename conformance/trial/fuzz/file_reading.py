"""How the reference treats edited files: whether it reads them, and how its answer changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.backend.outcome import ObservedResult
from conformance.trial.check import shown
from conformance.trial.client import Asker
from conformance.trial.fuzz.file_edits import Edit, file_step
from conformance.trial.fuzz.file_example import Base, Example, Snapshots
from conformance.vectors.exchange import Transcript

_MOST_UNREAD: Final = 4  # cases in which an operation reads no file of a kind, until it counts as one that reads none
_MOST_IN_A_ROW: Final = 16  # files that an operation does not read, until it counts as one that reads none


@dataclass(frozen=True, slots=True)
class Effect:
    """What an edit changes: the new answers by step, and whether a call is refused that was not."""

    answers: tuple[tuple[str, str], ...] = ()
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """Asks the reference alone; remembers where a kind of file was not read."""

    reference: Asker
    _unread: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _in_a_row: Counter[str] = field(default_factory=Counter)

    def effect(self, example: Example, seen: Snapshots) -> Effect:
        """What is answered otherwise than in the case that an example was made of."""
        walked = self.reference.walk(example.steps)
        made = walked.exchanges if isinstance(walked, Transcript) else ()
        told = [(one, repr(shown(one.observed))) for one in made if one.step in seen.answers]
        other = [(one, text) for one, text in told if text != seen.answers[one.step]]
        refuses = any(one.step in seen.succeeded and not isinstance(one.observed, ObservedResult) for one, _ in other)
        return Effect(tuple((one.step, text) for one, text in other), refuses)

    def reads(self, kind: str, operator: str, empty: Example, base: Base) -> bool:
        """Whether a kind of file is read in a case, told by an example in which it is `empty`.

        It is not tried again where the operation did not read one in several cases.
        """
        unread = self._unread.setdefault((kind, operator), set())
        if len(unread) >= _MOST_UNREAD or self._in_a_row[operator] >= _MOST_IN_A_ROW:
            return False
        is_read = bool(self.effect(empty, base[1]).answers)
        self._in_a_row[operator] = 0 if is_read else self._in_a_row[operator] + 1
        if is_read:
            unread.clear()
        else:
            unread.add(base[0].id)
        return is_read


def emptied(root: str, paths: Sequence[str]) -> tuple[Edit, ...]:
    """The edits after which nothing is left in some files."""
    return tuple((file_step("put", root, path=path, text=""),) for path in paths)
