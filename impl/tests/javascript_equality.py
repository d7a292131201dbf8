"""One call answered by the JavaScript backend and by the reference: they must agree where no frozen case looks."""

import json
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from impl.reference import backend as reference
from impl.serve import Session
from impl.tests.javascript_process import Backend
from impl.wire.codec import compile_codec, compile_parameters
from impl.wire.json_form import JsonForm, NativeForm
from impl.wire.messages import JsonLines

Params = Mapping[str, Any]
VOLATILE = "restore_time_ms"


class Pair:
    """Ask both derivations in native values; an answer is the JSON wire form of a result or of an error."""

    def __init__(self, javascript: Backend) -> None:
        self.javascript = javascript
        self._reference = Session(reference, JsonLines())

    def reference(self, method: str, params: Params) -> Any:
        """Return the answer of the reference."""
        message = {"jsonrpc": "2.0", "id": 0, "method": method, "params": wire_form(method, params)}
        return comparable(json.loads(self._reference.answer(message)))

    def other(self, method: str, params: Params) -> Any:
        """Return the answer of the JavaScript backend."""
        return comparable(self.javascript.ask_form(method, wire_form(method, params)))

    def agree(self, method: str, params: Params) -> Any:
        """Return the one answer of both; AssertionError where they differ."""
        expected = self.reference(method, params)
        assert expected.get("error", {}).get("code", 0) >= 0, expected  # neither may break
        assert self.other(method, params) == expected, (method, params)
        return expected


def comparable(answer: Any) -> Any:
    """Return the result or the error of an answer, without what may differ between two runs."""
    kept = {key: answer[key] for key in ("result", "error") if key in answer}
    kept.get("result", {}).get("report", {}).pop(VOLATILE, None)
    return kept


def wire_form(method: str, params: Params) -> dict[str, Any]:
    """Return the JSON wire form of native inputs, as the annotations of the reference's operator say."""
    operator = reference.method(method)
    form = JsonForm()
    written = {}
    for name, item in compile_parameters(operator, NativeForm())(params).items():
        hint = get_type_hints(operator, include_extras=True)[name]
        inner = [choice for choice in get_args(hint) if choice is not type(None)]
        write = compile_codec(inner[0] if type(None) in get_args(hint) else hint, form).write
        written[name] = item if write is None else write(item)
    return written


def reason_of(answer: Any) -> tuple[str, str]:
    """Return the reason and the field path of a refused checkpoint."""
    return answer["error"]["data"]["reason"], answer["error"]["data"]["field_path"]
