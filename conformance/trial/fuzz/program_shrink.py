"""A wrong program made small: turns taken away, handles joined, then every input as simple as the others allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from conformance.contract.types import Struct
from conformance.trial.fuzz.program import STRANGER, Program, without
from conformance.trial.fuzz.shrink import shrink

_MOST: Final = 300  # programs that are asked
IsWrong = Callable[[Program], bool]


def shrunk(program: Program, inputs: Mapping[str, Struct], is_wrong: IsWrong) -> Program:
    """The smallest program found that is still answered wrongly; nothing is drawn, so it is always the same one."""
    left = [_MOST]

    def still_wrong(candidate: Program) -> bool:
        left[0] -= 1
        return left[0] >= 0 and bool(candidate) and is_wrong(candidate)

    before: Program | None = None
    while before != program and left[0] > 0:
        before = program
        program = _shorter(program, still_wrong)
        for candidate in _joined(program):
            if still_wrong(candidate):
                program = candidate
        program = _simpler(program, inputs, still_wrong)
    return program


def _shorter(program: Program, is_wrong: IsWrong) -> Program:
    """Without as many turns as can go, the longest runs of them first, from the end."""
    size = len(program)
    while size:
        start = len(program) - size
        while start >= 0:
            candidate = without(program, range(start, start + size))
            if is_wrong(candidate):
                program = candidate
                start = min(start, len(program)) - size
            else:
                start -= 1
        size //= 2
    return program


def _joined(program: Program) -> Iterator[Program]:
    """The program with one turn moved to the first handle that is given."""
    first = next((turn.handle for turn in program if turn.handle not in (None, STRANGER)), None)
    for k, turn in enumerate(program):
        if first is not None and turn.handle not in (None, STRANGER, first) and k > first:
            yield (*program[:k], replace(turn, handle=first), *program[k + 1 :])


def _simpler(program: Program, inputs: Mapping[str, Struct], is_wrong: IsWrong) -> Program:
    for k, turn in enumerate(program):
        if turn.operator in inputs:
            native = shrink(dict(turn.native), inputs[turn.operator], partial(_first_wrong, program, k, is_wrong))
            program = _with(program, k, native)
    return program


def _first_wrong(program: Program, k: int, is_wrong: IsWrong, natives: Sequence[Any]) -> int | None:
    return next((n for n, native in enumerate(natives) if is_wrong(_with(program, k, native))), None)


def _with(program: Program, k: int, native: Mapping[str, Any]) -> Program:
    return (*program[:k], replace(program[k], native=native), *program[k + 1 :])
