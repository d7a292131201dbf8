"""Serve a bundled backend on stdin and stdout: `python -P -m impl.serve NAME`.

NAME is reference, vectorized, javascript or mutant:ID.
"""

import gc
import os
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

from impl.backend import Backend, Calls, UnknownMethod
from impl.failure import RECORD_FIELDS, ContractFailure
from impl.mutants import UnusableMutant
from impl.wire.codec import Convert, compile_codec
from impl.wire.messages import Unreadable, Wire, wire_of

CHUNK = 1 << 18  # bytes of one read; a buffer of 1 MiB costs 9 us more, for a new mapping each time
PLENTY = 1 << 20  # bytes
PATIENCE = 0.005  # seconds
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INTERNAL_ERROR = -32700, -32600, -32601, -32603
USAGE, UNUSABLE_MUTANT = 2, 3
FRAMES = 4_000  # a value of 300 levels is read and written with three frames for each


class Session:
    """Answer the messages of one wire with one backend."""

    def __init__(self, backend: Backend, wire: Wire) -> None:
        self._backend = backend
        self._wire = wire
        self._calls = Calls(backend, wire.form)
        self._record_fields = {name: compile_codec(kind, wire.form).write for name, kind in RECORD_FIELDS.items()}
        self.over = False

    def answer(self, message: Any) -> bytes:
        """Return the response to one message, nothing for a notification."""
        if isinstance(message, Unreadable):
            return self._error(None, PARSE_ERROR, message.reason)
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return self._error(None, INVALID_REQUEST, "not a request")
        method = message["method"]
        if method == "tally.bye":
            self.over = True
        if "id" not in message:
            return b""
        identity = message["id"]
        try:
            result = self._result(method, message.get("params", {}))
            return self._wire.encode({"jsonrpc": "2.0", "id": identity, "result": result})
        except ContractFailure as failure:
            return self._error(identity, failure.number, failure.code, self._record(failure))
        except UnknownMethod as unknown:
            return self._error(identity, METHOD_NOT_FOUND, f"unknown method {unknown}")
        except Exception as mistake:
            import traceback  # like pathlib below: together a tenth of what a process needs to start

            traceback.print_exc()
            return self._error(identity, INTERNAL_ERROR, f"{type(mistake).__name__}: {mistake}")

    def _result(self, method: str, params: Any) -> dict[str, Any]:
        if method == "tally.hello":
            greeting = self._backend.hello()
            greeting.pop("arrays", None)
            return greeting
        if method == "tally.bye":
            return {}
        if method == "tally.explain":
            index = params.get("index")
            if index is not None and self._wire.index.read is not None:
                index = self._wire.index.read(index)
            return {"lines": self._calls.explain(params["method"], params["params"], params["path"], index)}
        return self._calls.call(method, params)

    def _record(self, failure: ContractFailure) -> dict[str, Any]:
        return {name: _apply(self._record_fields[name], item) for name, item in failure.data.items()}

    def _error(self, identity: Any, number: int, message: str, data: Any = None) -> bytes:
        error: dict[str, Any] = {"code": number, "message": message}
        if data is not None:
            error["data"] = data
        return self._wire.encode({"jsonrpc": "2.0", "id": identity, "error": error})


def _apply(convert: Convert | None, item: Any) -> Any:
    return item if convert is None else convert(item)


def serve(backend: Backend, source: int = 0, sink: int = 1, after: Callable[[], None] | None = None) -> None:
    """Answer requests from one file descriptor on another until bye or the end of the input.

    `after` is called after each.

    The answers to what one read brought leave in one write, so that pipelined requests cost two system calls together
    and a lone request is answered at once; no answer waits longer than PATIENCE for the next one, nor for PLENTY bytes.
    """
    chunk = os.read(source, CHUNK)
    if not chunk:
        return
    wire = wire_of(chunk)
    session = Session(backend, wire)
    while chunk and not session.over:
        answers: list[bytes] = []
        size = 0
        since = monotonic()
        for message in wire.feed(chunk):
            answers.append(session.answer(message))
            size += len(answers[-1])
            if after is not None:
                after()
            if session.over:
                break
            if size > PLENTY or monotonic() - since > PATIENCE:
                _write(sink, b"".join(answers))
                answers, size, since = [], 0, monotonic()
        _write(sink, b"".join(answers))
        if not session.over:
            chunk = os.read(source, CHUNK)


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


def load(name: str) -> Backend:
    """Return the bundled Python backend of that name; ValueError for any other name."""
    if name == "reference":
        from impl.reference import backend as reference

        return reference
    if name == "vectorized":
        from impl.vectorized import backend as vectorized

        return vectorized
    if name.startswith("mutant:"):
        from impl.mutants.loader import load_mutant

        return load_mutant(name.removeprefix("mutant:"))
    raise ValueError(f"unknown backend {name!r}: reference, vectorized, javascript or mutant:ID")


def trace(file: str) -> int:
    """Serve the reference and write down which of its functions each request runs; return the exit status."""
    from impl.mutants.footprint import Footprint, OneAtATime

    footprint = Footprint(file)
    footprint.start()
    serve(OneAtATime(load("reference")), after=footprint.flush)
    return 0


def main(arguments: list[str]) -> int:
    """Serve the named backend; return the exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return USAGE
    sys.setrecursionlimit(FRAMES)
    # Decoded inputs are large graphs without cycles; looking through them as often as usual costs a tenth of a run.
    gc.set_threshold(100_000, 10, 10)
    if arguments[0] == "javascript":
        from pathlib import Path

        os.execvp("node", ["node", str(Path(__file__).parent / "javascript" / "serve.js")])  # noqa: S606
    if arguments[0].startswith("traced:"):
        return trace(arguments[0].removeprefix("traced:"))
    try:
        backend = load(arguments[0])
    except ValueError as reason:
        print(reason, file=sys.stderr)
        return USAGE
    except UnusableMutant as reason:
        print(reason, file=sys.stderr)
        return UNUSABLE_MUTANT
    try:
        serve(backend)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
