"""Answers 7 in a form that is no answer; the argument names the form."""

import sys

from conformance.tests.fakes.honest import Request, answer, number, say, serve

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


def react(request: Request) -> None:
    """Depart from the form on 7."""
    if number(request) != 7:
        return say(answer(request))
    form = FORMS[sys.argv[1]]
    return say((form % request["id"] if b"%d" in form else form) + b"\n")


if __name__ == "__main__":
    serve(react)
