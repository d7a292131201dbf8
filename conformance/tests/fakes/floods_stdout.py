"""Says hello and then writes without end; the argument names what."""

import sys

from conformance.tests.fakes.honest import answer, requests, say

PIECES = {
    "line": b"x" * 65536,
    "strangers": b'{"jsonrpc":"2.0","id":123456,"result":{}}\n' * 1000,
    "lines": b"all work and no play\n" * 1000,
    "string": b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 65536,
}

if __name__ == "__main__":
    for request in requests():
        if request["method"] == "tally.hello":
            say(answer(request))
        else:
            while True:
                say(PIECES[sys.argv[1]])
