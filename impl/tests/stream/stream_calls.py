"""The stream over the JSON form of the wire, from the reference in process or from the JavaScript backend."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from impl.backend import Calls
from impl.failure import ContractFailure
from impl.reference import backend
from impl.tests.javascript.javascript_process import Backend
from impl.wire.json_form import JsonForm

Json = Any
ANSWERERS = ("reference", "javascript")


class Reference:
    """Answers in process; a failure comes back as its code."""

    def __init__(self) -> None:
        self._calls = Calls(backend, JsonForm())

    def call(self, method: str, **params: Json) -> Json:
        try:
            return self._calls.call(f"Stream.{method}", json.loads(json.dumps(params)))
        except ContractFailure as failure:
            return failure.code


class JavaScript:
    """Answers from a process of Node."""

    def __init__(self) -> None:
        self._process = Backend("json")

    def call(self, method: str, **params: Json) -> Json:
        answer = self._process.ask_form(f"Stream.{method}", params)
        return answer["result"] if "result" in answer else answer["error"]["message"]

    def finish(self) -> None:
        self._process.finish()


Answerer = Reference | JavaScript


@pytest.fixture(params=ANSWERERS, scope="module")
def answerer(request: pytest.FixtureRequest) -> Iterator[Answerer]:
    """Each of the two derivations in turn."""
    if request.param == "reference":
        yield Reference()
        return
    process = JavaScript()
    yield process
    process.finish()


def tokens(items: list[int], **more: Json) -> Json:
    """The declaration of a list of tokens."""
    return {"kind": "tokens", "tokens": items, **more}


def opened(answerer: Answerer, source: Json, rank: int = 0, world_size: int = 1, **more: Json) -> str:
    """The handle of a new stream."""
    place = {"rank": rank, "world_size": world_size, "cms_frequencies": ["1"], **more}
    handle: str = answerer.call("Open", source=source, **place)["handle"]
    return handle


def step(answerer: Answerer, handle: str, size: int, pulse: int = 1) -> Json:
    """The chunk of one whole step, None where there is none."""
    served = answerer.call("NextChunk", handle=handle, chunk_size=str(size))
    answerer.call("Advance", handle=handle, pulse_id=str(pulse))
    return served.get("chunk")
