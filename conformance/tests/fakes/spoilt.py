"""The reference as users would wrap it, each time with one sin: `python:conformance.tests.fakes.spoilt:NAME`."""

from __future__ import annotations

from typing import Any

from impl.reference import backend as reference

INTRA_BLOCK = "UML_OS.Data.SeededIntraBlockMap_v1"


class Honest:
    """Adds nothing."""

    def hello(self) -> dict[str, Any]:
        """The reference's own, under another name."""
        return {**reference.hello(), "name": type(self).__name__}

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The reference's own answer."""
        return reference.call(method, params)


class WrongInACorner(Honest):
    """Reads one offset too far from the fifth position on, in blocks of an odd size."""

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Wrong in the corner."""
        result = super().call(method, params)
        if method == INTRA_BLOCK and params["local_pos"] >= 5 and params["block_size"] % 2 == 1:
            return {"original_index": result["original_index"] ^ 1}
        return result


class LiesTheSecondTime(Honest):
    """Answers a call that it was asked before with an order that is turned round."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Right once."""
        result = super().call(method, params)
        known = repr((method, params)) in self.seen
        self.seen.add(repr((method, params)))
        return {name: value[::-1] for name, value in result.items()} if known else result
