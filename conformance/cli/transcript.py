"""A transcript: requests of an operator and the right answers as lines of JSON, for a program in any language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.types import Struct, walk
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.compact import is_marker, is_recipe
from conformance.vectors.corpus import Corpus
from conformance.vectors.leaf import anywhere

MOST_CALLS: Final = 40
_LONGEST_LINE: Final = 4_000  # characters


def can_be_transcribed(contract: Contract) -> bool:
    """Whether calls of an operator need no folder and no handle, and answer the same every time."""
    volatile = any(
        field.volatile
        for _, type_ in walk(contract.outputs)
        if isinstance(type_, Struct)
        for field in type_.fields
    )
    return contract.machine is None and contract.purity == "pure" and not volatile


def transcript(contract: Contract, library: Library, corpus: Corpus) -> tuple[str, str]:
    """The lines of the requests and those of the answers, in canonical JSON and sorted; the hello has no answer here.

    The calls are frozen cases: every failure code first, then a case of each group in turn.
    """
    requests: list[Mapping[str, Any]] = [_request(0, "tally.hello", {"protocol": 1})]
    answers: list[Mapping[str, Any]] = []
    for number, step in enumerate(_calls(corpus.cases.get(contract.operator, ())), start=1):
        requests.append(_request(number, contract.operator, step.inputs))
        answers.append({"jsonrpc": "2.0", "id": number, **_answer(step, library)})
    requests.append({"jsonrpc": "2.0", "method": "tally.bye"})
    return "".join(f"{canonical(one)}\n" for one in requests), "".join(sorted(f"{canonical(one)}\n" for one in answers))


def canonical(message: Mapping[str, Any]) -> str:
    """A message with its keys sorted and no blanks, as `jq -cS` writes it."""
    return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _request(number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _answer(step: CallStep, library: Library) -> Mapping[str, Any]:
    if isinstance(step.expected, ExpectedFailure):
        code = step.expected.code
        return {"error": {"code": library.errors[code].number, "message": code, "data": step.expected.data}}
    return {"result": step.expected.fields}


def _calls(cases: tuple[Case, ...]) -> Iterator[CallStep]:
    """At most forty short calls: the first of each failure code, then one of each group in turn."""
    groups: dict[str, list[CallStep]] = {}
    codes: dict[str, CallStep] = {}
    for case in cases:
        for step in case.steps:
            if isinstance(step, CallStep) and step.operator == case.operator and _is_short(step):
                if isinstance(step.expected, ExpectedFailure):
                    codes.setdefault(step.expected.code, step)
                groups.setdefault(case.group, []).append(step)
                break
    chosen = list(codes.values())
    for turn in range(max(map(len, groups.values()), default=0)):
        chosen += [steps[turn] for steps in groups.values() if turn < len(steps) and steps[turn] not in chosen]
    yield from chosen[:MOST_CALLS]


def _is_short(step: CallStep) -> bool:
    """Whether a call and its answer are whole, not recipes and digests of long values, and fit on a short line."""
    answer = step.expected.data if isinstance(step.expected, ExpectedFailure) else step.expected.fields
    whole = not anywhere(step.inputs, is_recipe) and not anywhere(answer, is_marker)
    return whole and len(canonical(step.inputs)) + len(canonical(answer)) <= _LONGEST_LINE
