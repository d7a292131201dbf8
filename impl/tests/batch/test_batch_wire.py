"""The batch operators over both wires."""

from typing import Any

import pytest

from impl.reference import backend
from impl.tests.batch.batch_database import bookstore
from impl.tests.javascript.javascript_process import wire_form
from impl.tests.wire_client import ask_cbor, ask_json, request
from impl.types import Tensor
from impl.wire.cbor_form import CborForm
from impl.wire.codec import compile_codec
from impl.wire.json_form import JsonForm

PARAMS: dict[str, Any] = {
    "database": bookstore(),
    "task": {"table": "orders", "column": "price"},
    "seeds": [{"row": 0, "time": 7}, {"row": 1}],
    "config": {"sequence_length": 9, "cutoff": "children", "max_hops": 2},
}


@pytest.mark.parametrize("name", ["reference", "vectorized"])
@pytest.mark.parametrize("wire", ["json", "cbor"])
def test_a_batch_is_the_same_on_every_wire(name: str, wire: str) -> None:
    ask, form = (ask_json, JsonForm()) if wire == "json" else (ask_cbor, CborForm())
    asked = [("Batch.BuildGraph", {"database": bookstore()}), ("Batch.Build", PARAMS)]
    asked.append(("Batch.Build", {**PARAMS, "seeds": [{"row": 9}]}))
    requests = [request(at, method, wire_form(method, params, form)) for at, (method, params) in enumerate(asked)]
    graph, whole, failure = ask(name, requests)
    read = compile_codec(Tensor, form).read
    assert read is not None
    assert {field: read(item) for field, item in whole["result"].items()} == backend.call("Batch.Build", PARAMS)
    # Row 2 is the first order; its keys are 64-bit integers.
    parents = ["1", "0"] if wire == "json" else [1, 0]
    assert graph["result"]["rows"][2] == {"parents": parents, "cells": 4}
    assert (failure["error"]["code"], failure["error"]["message"]) == (2005, "ROW_NOT_FOUND")
    assert failure["error"]["data"] == {"failure_code": "ROW_NOT_FOUND", "failure_operator": "Batch.Build"}
