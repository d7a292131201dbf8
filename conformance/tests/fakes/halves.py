"""Halves the even numbers of the small specification, each time with one sin.

Memory is the process's own; `count` is a file in which processes count themselves.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.tests.fakes.honest import Answer, Request, say, serve

OPERATOR = "UML_OS.Data.Halve_v1"
Memory = dict[str, Any]
Half = Callable[[int, Memory], Any]  # the result's fields or an error


def refusal(code: str = "CONTRACT_VIOLATION", number: int = 1801) -> Answer:
    """A contract failure."""
    return {"code": number, "message": code, "data": {"failure_code": code, "failure_operator": OPERATOR}}


def right(whole: int, memory: Memory) -> Any:
    """No sin."""
    return refusal() if whole % 2 else {"half": str(whole // 2)}


def spoilt(wrong: Callable[[int, Memory], bool], by: int = 1) -> Half:
    """A half that is wrong where `wrong` says so."""

    def half(whole: int, memory: Memory) -> Any:
        amiss = wrong(whole, memory)
        memory["calls"] = memory.get("calls", 0) + 1
        memory["before"] = whole
        return {"half": str(whole // 2 + by)} if amiss and whole % 2 == 0 else right(whole, memory)

    return half


def lost(how: Callable[[], object], on: Callable[[int, Memory], bool]) -> Half:
    """No half at all, in some cases."""

    def half(whole: int, memory: Memory) -> Any:
        memory["calls"] = memory.get("calls", 0) + 1
        if on(whole, memory):
            how()
        return right(whole, memory)

    return half


def leave() -> None:
    """End at once, with a word on stderr."""
    print("I leave", file=sys.stderr, flush=True)
    os._exit(9)


def sleep() -> None:
    """Stay silent."""
    time.sleep(600)


def leave_on_six_and_eight(whole: int, memory: Memory) -> Any:
    """No half of six, with a word on stderr, and none of eight, without one."""
    if whole == 6:
        leave()
    if whole == 8:
        os._exit(9)
    return right(whole, memory)


def is_known(whole: int, memory: Memory) -> bool:
    """Whether this process was asked the same before."""
    seen = memory.setdefault("seen", [])
    known = memory["inputs"] in seen
    seen.append(memory["inputs"])
    return known


def process_number(memory: Memory) -> int:
    """How many processes came before this one."""
    if "number" not in memory:
        file = Path(memory["count"])
        memory["number"] = len(file.read_bytes()) if file.exists() else 0
        with file.open("ab") as counted:
            counted.write(b".")
    return int(memory["number"])


SINS: dict[str, Half] = {
    "right": right,
    "zeros": lambda whole, memory: {"half": "0"},
    "refuses": lambda whole, memory: refusal(),
    "accepts_odd": lambda whole, memory: {"half": str(whole // 2)},
    "wrong": spoilt(lambda whole, memory: True),
    "wrong_from_a_thousand": spoilt(lambda whole, memory: whole >= 1000),
    "wrong_in_a_corner": spoilt(lambda whole, memory: whole >= 100 and whole % 6 == 4),
    "wrong_on_six": spoilt(lambda whole, memory: whole == 6),
    "lies_the_second_time": spoilt(is_known),
    "tires": spoilt(lambda whole, memory: memory.get("calls", 0) >= 30),
    "remembers": spoilt(lambda whole, memory: memory.get("before", 0) > whole + 5),
    "wrong_on_the_last_again": spoilt(lambda whole, memory: memory.get("before") == whole),
    "differs_by_process": spoilt(lambda whole, memory: process_number(memory) % 2 == 1),
    "counts": spoilt(lambda whole, memory: process_number(memory) < 0),
    "leaves_when_called": lost(leave, lambda whole, memory: True),
    "leaves_once": lost(leave, lambda whole, memory: process_number(memory) == 0),
    "leaves_on_six": lost(leave, lambda whole, memory: whole == 6),
    "leaves_on_six_and_eight": leave_on_six_and_eight,
    "leaves_on_the_fortieth": lost(leave, lambda whole, memory: memory["calls"] == 40),
    "sleeps_when_called": lost(sleep, lambda whole, memory: True),
    "sleeps_on_six": lost(sleep, lambda whole, memory: whole == 6),
    "ill_typed": lambda whole, memory: {"half": whole // 2} if whole == 2 else right(whole, memory),
    "adds_a_field": lambda whole, memory: {"half": str(whole // 2), "rest": "0"} if whole % 2 == 0 else refusal(),
    "unknown_code": lambda whole, memory: refusal("ODD", 7) if whole % 2 else right(whole, memory),
    "undeclared_code": lambda whole, memory: refusal("TOO_ODD", 1802) if whole % 2 else right(whole, memory),
    "wrong_number": lambda whole, memory: refusal(number=1802) if whole % 2 else right(whole, memory),
}


def main(
    sin: str,
    operators: tuple[str, ...] = (OPERATOR,),
    only: str = "",
    backwards: bool = False,
    count: str = "",
    starts: int = 0,
    twice: bool = False,
) -> None:
    """Serve one sin, in one operator alone where `only` names it; after so many `starts` no process says hello."""
    memory: Memory = {"count": count}
    if starts and process_number(memory) >= starts:
        os._exit(5)
    collected: list[Answer] = []

    def react(request: Request) -> None:
        half = SINS[sin] if only in ("", request["method"]) else right
        memory["inputs"] = request["params"]
        made = half(int(request["params"]["whole"]), memory)
        member = "error" if "code" in made else "result"
        collected.append({"jsonrpc": "2.0", "id": request["id"], member: made})
        if twice and request["params"]["whole"] == "6":
            collected.append(collected[-1])
        if not backwards or len(collected) == 8 or not select.select([0], [], [], 0.01)[0]:
            while collected:
                say(collected.pop())

    hello = {"protocol": 1, "name": sin, "operators": list(operators), "max_in_flight": 8}
    serve(react, hello)
