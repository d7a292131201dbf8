"""A backend that answers at once: `python -S instant.py json|cbor COUNT`, always with the same COUNT indices."""

import json
import os
import sys
from collections.abc import Iterator

HELLO = {"protocol": 1, "name": "instant", "operators": ["Indices_v1"], "wires": ["json", "cbor"], "max_in_flight": 64}


def write(data: bytes) -> None:
    """Write all of the bytes on the real stdout."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def lines(indices: list[str]) -> None:
    """Speak JSON lines."""
    result = json.dumps({"indices": indices})
    begun = b""
    while chunk := os.read(0, 1 << 18):
        *requests, begun = (begun + chunk).split(b"\n")
        answers = []
        for line in requests:
            request = json.loads(line)
            if request["method"] == "tally.bye":
                return
            said = json.dumps(HELLO) if request["method"] == "tally.hello" else result
            answers.append(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{said}}}\n'.encode())
        write(b"".join(answers))


def head(major: int, argument: int) -> bytes:
    """A CBOR head."""
    if argument < 24:
        return bytes([major << 5 | argument])
    return bytes([major << 5 | 26]) + argument.to_bytes(4, "big")


def text(word: str) -> bytes:
    """A CBOR text."""
    return head(3, len(word)) + word.encode()


def item(value: object) -> bytes:
    """The CBOR of what hello holds."""
    if isinstance(value, dict):
        return head(5, len(value)) + b"".join(item(key) + item(member) for key, member in value.items())
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(item, value))
    return text(value) if isinstance(value, str) else head(0, int(str(value)))


def sequence(count: int) -> None:
    """Speak a CBOR sequence; a request is told from another by its id and its method alone."""
    raw = bytes(8 * count)
    result = head(5, 1) + text("indices") + head(6, 71) + head(2, len(raw)) + raw
    for id_, method in sequence_requests():
        if method == b"tally.bye":
            return
        said = item(HELLO) if method == b"tally.hello" else result
        write(head(5, 3) + text("jsonrpc") + text("2.0") + text("id") + head(0, id_) + text("result") + said)


def sequence_requests() -> Iterator[tuple[int, bytes]]:
    """The id and method of every request, found by the names of their members."""
    begun = b""
    while chunk := os.read(0, 1 << 18):
        begun += chunk
        while 0 <= (at := begun.find(b"fmethod")) < len(begun) - 8 - (begun[at + 7 : at + 8] or b"\x1f")[0] % 32:
            id_at = begun.find(b"bid") + 3
            wide = {24: 1, 25: 2, 26: 4}.get(begun[id_at], 0)
            id_ = int.from_bytes(begun[id_at + 1 : id_at + 1 + wide], "big") if wide else begun[id_at]
            method = begun[at + 8 : at + 8 + (begun[at + 7] & 31)]
            begun = begun[at + 8 + len(method) :]
            yield id_, method


if __name__ == "__main__":
    if sys.argv[1] == "cbor":
        sequence(int(sys.argv[2]))
    else:
        lines([str(10**6 + k) for k in range(int(sys.argv[2]))])
