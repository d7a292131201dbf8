"""One limit of nesting: what the laws send and the page promises, both wires carry."""

from __future__ import annotations

from typing import Any

import pytest

from checks.laws.checkpoint import ENCODE
from conformance.backend.driver import Driver
from conformance.backend.outcome import Failure
from conformance.backend.resolve import resolve
from conformance.backend.scheduler import Call, Conversation
from conformance.codec.cbor import MAX_NESTING
from conformance.codec.codebook import codebook_of
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS
from conformance.codec.selfdescribing import MAX_DEPTH
from conformance.contract.types import Value
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED


def nested(kind: str, levels: int = MAX_DEPTH) -> Any:
    wire: Any = {"int": "1"}
    for _ in range(levels):
        wire = {"array": [wire]} if kind == "array" else {"map": [[{"text": ""}, wire]]}
    return wire


@pytest.mark.parametrize("wire", ["json", "cbor"])
@pytest.mark.parametrize("kind", ["array", "map"])
def test_the_deepest_value_crosses_both_wires_and_reaches_a_backend(wire: str, kind: str) -> None:
    dialect, form, value = DIALECTS[wire], form_of(Value()), nested(kind)
    data = dialect.dump({"id": 1, "params": {"item": dialect.outgoing(form, value)}})
    (message,) = dialect.splitter().feed(data)
    assert dialect.incoming(form, message["params"]["item"]) == value

    def talk() -> Any:
        return (yield [Call(ENCODE, {"item": value})])

    driver = Driver(resolve("reference", SHIPPED, wire), dialect, codebook_of(shipped_library()), 30.0)
    (finished,) = driver.hold([Conversation("deep", talk)])
    assert finished.finding is not None, finished.lost
    (outcome,) = finished.finding
    assert isinstance(outcome, Failure)
    assert outcome.message == "CONTRACT_VIOLATION"


def test_the_laws_and_the_page_state_the_limit_of_the_wires() -> None:
    (use,) = [use for use in shipped_library().contracts[ENCODE].laws if use.law == "canonical-nesting"]
    assert max(use.over["levels"]) == MAX_DEPTH
    page = " ".join((ROOT / "docs" / "writing-a-backend.md").read_text(encoding="utf-8").split())
    assert f"nests at most {MAX_DEPTH} arrays and maps, and a whole message at most {MAX_NESTING:,}" in page
    assert f"at most {MAX_DEPTH} arrays and maps in one another" in (ROOT / "docs" / "language.md").read_text()
