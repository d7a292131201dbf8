"""The batch operators over both wires."""

import base64
import struct
from typing import Any

import pytest

from impl.reference import backend
from impl.tests.batch.batch_database import bookstore
from impl.tests.wire_client import ask_cbor, ask_json, request
from impl.types import Tensor

PARAMS = {
    "database": bookstore(),
    "task": {"table": "orders", "column": "price"},
    "seeds": [{"row": 0, "time": 7}, {"row": 1}],
    "config": {"sequence_length": 9, "cutoff": "children", "max_hops": 2},
}
# Which fields of the request are 64 bits wide.
WIDE = {"row_count", "row", "time"}


def spelled(item: Any, wire: str, name: str = "") -> Any:
    """A native value as it travels."""
    match item:
        case Tensor():
            data = base64.b64encode(item.data).decode() if wire == "json" else item.data
            return {"dtype": item.dtype, "shape": list(item.shape), "data": data}
        case dict():
            return {key: spelled(value, wire, key) for key, value in item.items()}
        case list():
            return [spelled(value, wire) for value in item]
        case float() if wire == "json":
            return struct.pack(">d", item).hex()
        case int() if wire == "json" and name in WIDE:
            return str(item)
    return item


@pytest.mark.parametrize("name", ["reference", "vectorized"])
@pytest.mark.parametrize("wire", ["json", "cbor"])
def test_a_batch_is_the_same_on_every_wire(name: str, wire: str) -> None:
    ask = ask_json if wire == "json" else ask_cbor
    graph, whole, failure = ask(
        name,
        [
            request(1, "Batch.BuildGraph", spelled({"database": bookstore()}, wire)),
            request(2, "Batch.Build", spelled(PARAMS, wire)),
            request(3, "Batch.Build", spelled({**PARAMS, "seeds": [{"row": 9}]}, wire)),
        ],
    )
    assert whole["result"] == spelled(backend.call("Batch.Build", PARAMS), wire)
    # Row 2 is the first order; its keys are 64-bit integers.
    parents = ["1", "0"] if wire == "json" else [1, 0]
    assert graph["result"]["rows"][2] == {"parents": parents, "cells": 4}
    assert (failure["error"]["code"], failure["error"]["message"]) == (2005, "ROW_NOT_FOUND")
    assert failure["error"]["data"] == {"failure_code": "ROW_NOT_FOUND", "failure_operator": "Batch.Build"}
