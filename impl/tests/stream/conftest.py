"""The stream over the JSON form of the wire, from the reference in process and from the JavaScript backend."""

from collections.abc import Callable
from typing import Any

import pytest

from impl.backend import Calls
from impl.failure import ContractFailure
from impl.reference import backend
from impl.tests.javascript.javascript_process import Backend
from impl.wire.json_form import JsonForm


@pytest.fixture(params=["reference", "javascript"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Ask each of the two derivations in turn; a refusal comes back as its code."""
    calls = Calls(backend, JsonForm())

    def reference(method: str, **params: Any) -> Any:
        try:
            return calls.call(f"Stream.{method}", params)
        except ContractFailure as failure:
            return failure.code

    if request.param == "reference":
        return reference
    process: Backend = request.getfixturevalue("javascript")

    def javascript(method: str, **params: Any) -> Any:
        answer = process.ask_form(f"Stream.{method}", params)
        return answer["result"] if "result" in answer else answer["error"]["message"]

    return javascript
