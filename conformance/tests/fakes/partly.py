"""Another backend, by its name, that declares some operators only: `partly.py SIN BACKEND OPERATOR...`.

Before a shipped contract it is as good as that backend but for one sin. What it is asked beyond what it declares is
answered with an error that no contract knows.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.backend.resolve import resolve
from conformance.contract.suite import Suite
from conformance.tests.fakes.honest import Answer, Request, requests, say
from conformance.tests.processes import ROOT

Sin = Callable[[Request, Answer], Answer]
ROLLED_BACK = {
    "failure_code": "CONTRACT_VIOLATION",
    "failure_operator": "UML_OS.Checkpoint.RecoverRun_v1",
    "reason": "MISSING_COMPONENT",
}
last: dict[str, Any] = {}


def believes(request: Request, answer: Answer) -> Answer:
    """Whatever it reads is what it read last, where somebody who looks would refuse."""
    if "result" in answer:
        last["result"] = answer["result"]
        return answer
    return {"jsonrpc": "2.0", "id": answer["id"], "result": last["result"]} if last else answer


def rolls_back(request: Request, answer: Answer) -> Answer:
    """Nothing is ever committed."""
    said = {"state": "rolled_back", "failure": ROLLED_BACK}
    return {**answer, "result": said} if "result" in answer else answer


def plants(make: Callable[[Path], object]) -> Sin:
    """A sin that puts something in place of every file that it has written into a root."""

    def sin(request: Request, answer: Answer) -> Answer:
        if "result" in answer:
            for folder, _, files in os.walk(request["params"]["root"]):
                for name in files:
                    path = Path(folder, name)
                    path.unlink()
                    make(path)
        return answer

    return sin


def parts(wrong: Callable[[int], bool]) -> Sin:
    """The values of a sequence at some positions are others: of a batch, of a block, of a stream whose chunks count."""

    def sin(request: Request, answer: Answer) -> Answer:
        result, params = answer.get("result", {}), request["params"]
        if "batch_sample_indices" in result:
            begins, values = int(params["cursor_in"]["global_index"]), result["batch_sample_indices"]
            result["batch_sample_indices"] = [
                str(int(value) ^ 1) if wrong(begins + k) else value for k, value in enumerate(values)
            ]
        elif "chunk" in result and wrong(int(result["chunk"]["chunk_id"])):
            result["chunk"]["tokens"][0] += 1
        return answer

    return sin


def dies(place: int) -> Sin:
    """It ends where a batch begins at a position or behind it."""

    def sin(request: Request, answer: Answer) -> Answer:
        if int(request["params"].get("cursor_in", {}).get("global_index", 0)) >= place:
            os._exit(3)
        return answer

    return sin


def rotates(request: Request, answer: Answer) -> Answer:
    """The first block comes last."""
    if "block_order" in answer.get("result", {}):
        first, *rest = answer["result"]["block_order"]
        answer["result"]["block_order"] = [*rest, first]
    return answer


AT_A_PLACE: dict[str, Callable[[int], Sin]] = {
    "wrong-from": lambda place: parts(lambda position: position >= place),
    "wrong-at": lambda place: parts(lambda position: position == place),
    "dies-from": dies,
}
SINS: dict[str, Sin] = {
    "none": lambda request, answer: answer,
    "rotates": rotates,
    "believes": believes,
    "rolls-back": rolls_back,
    "empties": plants(Path.touch),
    "pipes": plants(os.mkfifo),
    "zero-device": plants(lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))),
    "endless": plants(lambda path: path.symlink_to("/dev/zero")),
}


def main(sin: str, backend: str, declared: list[str]) -> None:
    """Pass requests on, one at a time; a sin may have a place: `wrong-from:700`."""
    name, _, place = sin.partition(":")
    sinful = AT_A_PLACE[name](int(place)) if place else SINS[name]
    command = resolve(backend, Suite(ROOT, backends={backend: f"python -P -m impl.serve {backend}"}))
    served = subprocess.Popen(
        command.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=command.environment, bufsize=0
    )
    assert served.stdin is not None
    assert served.stdout is not None
    answers = os.fdopen(served.stdout.fileno(), "rb", closefd=False)
    for request in requests():
        method = request["method"]
        if method != "tally.hello" and not {method, method.rpartition(".")[0]} & {*declared}:
            say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": f"unknown {method}"}})
            continue
        served.stdin.write(json.dumps(request).encode() + b"\n")
        answer = json.loads(answers.readline())
        if method == "tally.hello":
            answer["result"]["operators"] = declared
            answer["result"]["name"] = "partly"
            say(answer)
        else:
            say(sinful(request, answer))
    served.kill()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
