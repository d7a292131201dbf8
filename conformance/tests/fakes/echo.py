"""Answers every call with its own inputs, but for one sin: `python -S -m conformance.tests.fakes.echo SIN ARGUMENT...`.

Every function below is a sin and is named for it. An `on_seven` sin is one that only the number 7 shows.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from conformance.tests.fakes.honest import HELLO, Request, answer, number, requests, say, serve

ARGUMENTS = sys.argv[2:]
FORMS = {
    "invalid_utf8": b'{"jsonrpc":"2.0","id":%d,"result":{"n":"\xff"}}',
    "latin1": '{"jsonrpc":"2.0","id":%d,"result":{"n":"é"}}'.encode("latin-1"),
    "duplicate_key": b'{"jsonrpc":"2.0","id":%d,"result":{"n":"7","n":"7"}}',
    "id_as_string": b'{"jsonrpc":"2.0","id":"%d","result":{"n":"7"}}',
    "id_as_float": b'{"jsonrpc":"2.0","id":%d.0,"result":{"n":"7"}}',
    "id_true": b'{"jsonrpc":"2.0","id":true,"result":{"n":"7"}}',
    "id_null": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    "id_list": b'{"jsonrpc":"2.0","id":[%d],"result":{"n":"7"}}',
    "id_missing": b'{"jsonrpc":"2.0","result":{"n":"7"}}',
    "id_negative": b'{"jsonrpc":"2.0","id":-1,"result":{"n":"7"}}',
    "id_never_asked": b'{"jsonrpc":"2.0","id":9%d,"result":{"n":"7"}}',
    "id_huge": b'{"jsonrpc":"2.0","id":' + b"9" * 4000 + b',"result":{"n":"7"}}',
    "number_too_long": b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"result":{"n":"7"}}',
    "notification": b'{"jsonrpc":"2.0","method":"log","params":["working on it"]}',
    "batch": b'[{"jsonrpc":"2.0","id":%d,"result":{"n":"7"}}]',
    "deep": b'{"jsonrpc":"2.0","id":%d,"result":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "nan": b'{"jsonrpc":"2.0","id":%d,"result":{"n":NaN}}',
    "python_repr": b"{'jsonrpc': '2.0', 'id': %d, 'result': {'n': '7'}}",
    "text": b"Traceback (most recent call last): request %d failed",
    "empty_line": b"",
    "byte_order_mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":%d,"result":{"n":"7"}}',
    "binary": bytes(range(128, 256)),
}
WAYS: dict[str, dict[str, Any]] = {
    "result_and_error": {"jsonrpc": "2.0", "result": {}, "error": {"code": 1, "message": "x"}},
    "result_and_null_error": {"jsonrpc": "2.0", "result": {}, "error": None},
    "neither": {"jsonrpc": "2.0"},
    "no_version": {"result": {"n": "7"}},
    "another_version": {"jsonrpc": "1.0", "result": {"n": "7"}},
    "unknown_member": {"jsonrpc": "2.0", "result": {"n": "7"}, "time": 3},
    "error_as_text": {"jsonrpc": "2.0", "error": "no"},
    "error_null": {"jsonrpc": "2.0", "error": None, "result": None},
    "error_with_unknown_member": {"jsonrpc": "2.0", "error": {"code": 1, "message": "x", "trace": []}},
}
HELLOS: dict[str, Any] = {
    "no_protocol": {key: value for key, value in HELLO.items() if key != "protocol"},
    "another_protocol": {**HELLO, "protocol": 2},
    "protocol_as_text": {**HELLO, "protocol": "1"},
    "protocol_true": {**HELLO, "protocol": True},
    "no_name": {**HELLO, "name": ""},
    "a_verdict_for_a_name": {**HELLO, "name": "acme\n\nCONFORMANT: 9 of 9 checks passed"},
    "an_escape_for_a_version": {**HELLO, "version": "1\x1b[2J"},
    "half_a_character": {**HELLO, "language": "\ud800"},
    "a_long_name": {**HELLO, "name": "x" * 201},
    "no_operators": {"protocol": 1, "name": "fake"},
    "operators_as_text": {**HELLO, "operators": "Echo_v1"},
    "operators_of_numbers": {**HELLO, "operators": [1]},
    "no_requests_in_flight": {**HELLO, "max_in_flight": 0},
    "in_flight_as_float": {**HELLO, "max_in_flight": 8.0},
    "a_list": [HELLO],
    "null": None,
    "wires_as_text": {**HELLO, "wires": "json"},
    "another_wire": {**HELLO, "wires": ["cbor"]},
}
FLOODS = {
    "line": b"x" * 65536,
    "strangers": b'{"jsonrpc":"2.0","id":123456,"result":{}}\n' * 1000,
    "lines": b"all work and no play\n" * 1000,
    "string": b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 65536,
}


def honestly(request: Request) -> None:
    say(answer(request))


def on_seven(sin: Callable[[Request], object]) -> None:
    """Answer honestly, but commit the sin first where 7 is asked; it may prevent an answer."""

    def react(request: Request) -> None:
        if number(request) != 7 or sin(request) is not False:
            honestly(request)

    serve(react)


# -- sins in the answer to a call


def answers_backwards() -> None:
    """It collects what it is asked and answers the newest first, which is its right."""
    import select

    collected: list[Request] = []

    def react(request: Request) -> None:
        collected.append(request)
        if not select.select([0], [], [], 0.01)[0] or len(collected) == 8:
            while collected:
                honestly(collected.pop())

    serve(react)


def answers_seven_in_bad_form() -> None:
    def sin(request: Request) -> bool:
        form = FORMS[ARGUMENTS[0]]
        say((form % request["id"] if b"%d" in form else form) + b"\n")
        return False

    on_seven(sin)


def answers_seven_with_a_non_answer() -> None:
    """The id is right, and the rest is nothing that JSON-RPC knows."""

    def sin(request: Request) -> bool:
        say({"id": request["id"], **WAYS[ARGUMENTS[0]]})
        return False

    on_seven(sin)


def answers_seven_twice() -> None:
    """At once, or only after as many seconds as the argument says."""

    def sin(request: Request) -> None:
        honestly(request)
        time.sleep(float(ARGUMENTS[0]) if ARGUMENTS else 0)

    on_seven(sin)


def forgets_seven() -> None:
    on_seven(lambda _: False)


def hangs_on_seven() -> None:
    on_seven(lambda _: time.sleep(60))


def begins_seven() -> None:
    """It answers without the newline at the end."""

    def sin(request: Request) -> bool:
        say(json.dumps(answer(request)).encode())
        return False

    on_seven(sin)


def closes_stdout_on_seven() -> None:
    def sin(_: Request) -> None:
        os.close(1)
        time.sleep(60)

    on_seven(sin)


def crashes_on_seven() -> None:
    on_seven(lambda _: (os.write(2, b"seven is too much for me\n"), os._exit(3)))


def killed_on_seven() -> None:
    on_seven(lambda _: os.kill(os.getpid(), signal.SIGKILL))


def leaves_a_child_on_seven() -> None:
    """The child holds its stdout and stderr; with an argument it flees into a session of its own.

    A child in a session of its own cannot be killed with its parent, so it ends by itself.
    """
    import subprocess

    def sin(_: Request) -> None:
        child = subprocess.Popen(["sleep", "5"], start_new_session=bool(ARGUMENTS))
        os.write(2, f"{child.pid}\n".encode())
        os._exit(4)

    on_seven(sin)


def crashes_at_random() -> None:
    """On one call in fifteen, whichever."""
    import random

    serve(lambda request: honestly(request) if random.randrange(15) else os._exit(1))


def crashes_every_tenth_call() -> None:
    calls = count(1)
    serve(lambda request: honestly(request) if next(calls) < 10 else os._exit(1))


def floods_stderr() -> None:
    """Without end; with an argument it answers between the lines."""

    def react(request: Request) -> None:
        while True:
            for _ in range(16):
                os.write(2, b"deprecated! " * 5000)
            if ARGUMENTS:
                return honestly(request)

    serve(react)


def floods_stdout() -> None:
    def react(_: Request) -> None:
        while True:
            say(FLOODS[ARGUMENTS[0]])

    serve(react)


# -- sins before, in and after the conversation


def claims_an_unknown_operator() -> None:
    """No contract describes it, and another one is listed twice."""
    serve(honestly, {**HELLO, "operators": ["Echo_v1", "Nobody_v9", "Echo_v1"]})


def exits_at_hello() -> None:
    print("the weights are missing", file=sys.stderr)
    sys.exit(2)


def hangs_at_hello() -> None:
    """It reads everything and never says a word; with an argument it begins one."""
    for _ in requests():
        for begun in ARGUMENTS:
            say(begun.encode())


def says_a_bad_hello() -> None:
    print("I was never good at this", file=sys.stderr, flush=True)
    for request in requests():
        say({**answer(request), "result": HELLOS[ARGUMENTS[0]]})


def prints_a_banner() -> None:
    say(b"Loading checkpoint shards: 100%\n")
    serve(honestly)


def starts_only() -> None:
    """As often as its argument says (PATH:TIMES, counted in the file); afterwards it exits at once."""
    path, times = ARGUMENTS[0].rsplit(":", 1)
    started = int(Path(path).read_text()) if Path(path).exists() else 0
    Path(path).write_text(str(started + 1))
    if started >= int(times):
        os.write(2, b"no more today\n")
        sys.exit(5)
    serve(honestly)


def dies_after_hello() -> None:
    honestly(next(requests()))


def stops_reading() -> None:
    dies_after_hello()
    time.sleep(60)


def closes_stdin() -> None:
    """It says hello and stays."""
    request = next(requests())
    os.close(0)
    honestly(request)
    time.sleep(60)


def leaves_children_and_hangs() -> None:
    """One child has a session of its own, one no environment; then it answers nothing but the hello."""
    import subprocess

    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    flown, bare = subprocess.Popen(sleep, start_new_session=True), subprocess.Popen(sleep, env={})
    request = next(requests())
    say({**answer(request), "result": {**HELLO, "version": f"{flown.pid} {bare.pid}"}})
    time.sleep(600)


def ignores_bye() -> None:
    serve(honestly)
    time.sleep(60)


def talks_after_bye() -> None:
    """The argument ends what it says."""
    serve(honestly)
    say(b"Goodbye!" + ARGUMENTS[0].encode())


def honest() -> None:
    serve(honestly)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
