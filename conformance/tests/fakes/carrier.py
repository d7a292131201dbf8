"""Answers a call with its own inputs, as a carrier with one weakness hands them on: `main(weakness)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.tests.fakes.honest import Request, say, serve

OPERATOR: Final = "UML_OS.Data.Carry_v1"
HELLO: Final = {"protocol": 1, "name": "carrier", "operators": [OPERATOR], "max_in_flight": 8}
_LAST: Final = 2**32 - 1
Params = dict[str, Any]


def _with(name: str, change: Callable[[Any], Any]) -> Callable[[Params], Params]:
    return lambda params: {**params, name: change(params[name])}


def _number(change: Callable[[int], int]) -> Callable[[str], str]:
    return lambda wire: str(change(int(wire)))


WEAKNESSES: Final[Mapping[str, Callable[[Params], Params]]] = {
    "through_binary64": _with("count", _number(lambda n: min(int(float(n)), 2**64 - 1))),
    "signed_words": _with("count", _number(lambda n: n - 2**31 if 2**31 <= n < 2**32 else n)),
    "sixteen_bits": _with("count", _number(lambda n: n & 0xFFFF)),
    "half_a_word": _with("small", lambda n: min(n, 2**31 - 1)),
    "cut_at_nul": _with("text", lambda text: text.split("\0")[0]),
    "code_units": _with("text", lambda text: "".join(c if ord(c) < 65536 else "??" for c in text)),
    "one_length_byte": _with("text", lambda text: text[:255]),
    "trims": _with("text", str.strip),
    "a_table_of_16": _with("items", lambda items: items[:16]),
    "a_table_of_65535": _with("items", lambda items: items[:65_535]),
    "folds_keys": _with("sizes", lambda sizes: {key.lower(): item for key, item in sizes.items()}),
    "compares_64": _with("sizes", lambda sizes: {key[:64]: item for key, item in sizes.items()}),
    "one_zero": _with("rate", lambda rate: "0" * 16 if rate == "8" + "0" * 15 else rate),
    "in_blocks": _with("data", lambda data: data[:-8192] if data and len(data) % 8192 == 0 else data),
    "absent_is_empty": lambda params: {**params, "note": params.get("note", "")},
}


def main(weakness: str) -> None:
    """Carry values with one weakness, or with none."""
    carried = WEAKNESSES.get(weakness, dict)

    def react(request: Request) -> None:
        params = request["params"]
        if params["small"] == _LAST:
            data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR}
            body: dict[str, Any] = {"error": {"code": 1801, "message": "CONTRACT_VIOLATION", "data": data}}
        else:
            body = {"result": carried(params)}
        say({"jsonrpc": "2.0", "id": request["id"], **body})

    serve(react, HELLO)
