"""The worker process of `python:` backends: `python -P -m conformance.backend.worker module[:object] SPEC`.

SPEC is the folder of the contracts; it may also be a file of stored signatures. The worker speaks both wires; the
first byte decides. It exits with 0 after tally.bye, with 2 if there is no such object, and with 70 if a call
raised an exception that is no contract failure (traceback on stderr).
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from pathlib import Path
from time import monotonic
from typing import Any, Final, NoReturn

from conformance.backend.session import MissingObject, Session, Signatures, SpecSignatures, load_object
from conformance.codec.framing import DIALECTS, Dialect, Garbage
from conformance.contract.suite import Suite

_CHUNK: Final = 1 << 18
_PLENTY: Final = 1 << 20  # bytes of answers that wait for each other
_PATIENCE: Final = 0.005  # seconds that an answer waits for the next one
USAGE, SOFTWARE = 2, 70  # sysexits.h


class Wire:
    """The file descriptors of the protocol, out of reach of what the backend prints, reads or starts.

    The user's code prints to stderr and reads an empty stdin, and its child processes inherit neither end of the
    wire.
    """

    def __init__(self) -> None:
        self._source, self._sink = os.dup(0), os.dup(1)
        self._room = memoryview(bytearray(_CHUNK))  # a new bytes object for every read costs 8 µs
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)

    def read(self) -> bytes:
        """The bytes that arrived; empty at the end."""
        return bytes(self._room[: os.readv(self._source, [self._room])])

    def write(self, parts: list[bytes]) -> None:
        """Write all parts."""
        view = memoryview(b"".join(parts))
        while view:
            view = view[os.write(self._sink, view) :]


def serve(wire: Wire, subject: Any, signatures: Signatures) -> None:
    """Answer until tally.bye or the end of the input; end the process if a call crashes.

    The answers to what one read brought leave together, so that pipelined requests cost two system calls, but no
    answer waits longer than 5 ms or a megabyte.
    """
    chunk = wire.read()
    if not chunk:
        return
    dialect = DIALECTS["cbor" if 0xA0 <= chunk[0] <= 0xBF else "json"]
    session, splitter = Session(subject, signatures, dialect.name), dialect.splitter()
    while chunk and not session.over:
        answers: list[bytes] = []
        size, since = 0, monotonic()
        try:
            for message in splitter.feed(chunk):
                answers.append(_answered(session, message, dialect))
                size += len(answers[-1])
                if session.over:
                    break
                if size > _PLENTY or monotonic() - since > _PATIENCE:
                    wire.write(answers)
                    answers, size, since = [], 0, monotonic()
        except BaseException as error:
            # The answers that are ready belong to other requests.
            wire.write(answers)
            _crash(error)
        wire.write(answers)
        chunk = b"" if session.over else wire.read()


def _answered(session: Session, message: Any, dialect: Dialect) -> bytes:
    answer = session.answer(message)
    return b"" if answer is None else dialect.dump(answer)


def _crash(error: BaseException) -> NoReturn:
    """End at once: neither threads nor exit handlers of the user's code can delay the crash."""
    if isinstance(error, Garbage):
        print(f"the input is no message: {error.reason}: {error.sample!r}", file=sys.stderr)
    else:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(SOFTWARE)


def _cause(error: BaseException) -> str:
    """What an import raised, with file and line, on one line; the file below the current folder if it is there."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    file, line, said = last.filename, last.lineno, str(error)
    if isinstance(error, SyntaxError) and error.filename:
        file, line, said = error.filename, error.lineno, error.msg
    file = file.removeprefix(f"{Path.cwd()}{os.sep}")
    return f"{file}:{line}: {type(error).__name__}: {' '.join(said.split())}"


def main(arguments: list[str]) -> int:
    """Serve the named object; return the exit status."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return USAGE
    place = Path(arguments[1])
    signatures: Signatures
    if place.is_file():
        # Written by the harness for its own worker, and shown to it read-only.
        signatures = pickle.loads(place.read_bytes())  # noqa: S301
    elif (place / "errors.yaml").is_file():
        signatures = SpecSignatures(Suite(place.parent, folders=(place.name, "", "")))
    else:
        print(f"tally: there are no contracts in {place}; is the installation whole?", file=sys.stderr)
        return USAGE
    wire = Wire()
    try:
        subject = load_object(arguments[0])
    except MissingObject as error:
        print(f"tally: {error}", file=sys.stderr)
        return USAGE
    except (Exception, SystemExit) as error:  # a module that exits during its import is no backend either
        traceback.print_exc()
        print(f"tally: {arguments[0]!r} cannot be imported: {_cause(error)}", file=sys.stderr)
        return USAGE
    try:
        serve(wire, subject, signatures)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
