"""The state of every handle during a conversation, as the contract of its machine says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.machine import State
from conformance.contract.model import Contract

NOBODY: Final = "nobody"  # a text that no backend gives as a handle


class Ledger:
    """Follows handles from where they are given to where they are closed; a handle is known by the step that gave it.

    What is asked and answered stands in its frozen form: handles as {from: step.output}.
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook = codebook
        self._states: dict[str, State] = {}

    def situated(self, operator: str, wire: Mapping[str, Any], native: Mapping[str, Any]) -> Mapping[str, Any]:
        """Native inputs with the `state` behind the handle that the call takes, where one is open."""
        contract = self._contract(operator)
        if contract is None or contract.method is None:
            return native
        state = self._states.get(_key(wire.get(contract.method.takes)))
        return native if state is None else {**native, "state": state}

    def note(
        self,
        step: str,
        operator: str,
        wire: Mapping[str, Any],
        situated: Mapping[str, Any],
        result: Any,
        elided: Iterable[str] = (),
    ) -> State | None:
        """Take note of a success with its native result; the state that it leaves, None where none is left.

        What a variable becomes is not known where it hangs on an `elided` output, whose value stands only as a digest.
        """
        contract = self._contract(operator)
        if contract is None or (method := contract.method) is None:
            return None
        key = f"{step}.{method.opens}" if method.opens else _key(wire.get(method.takes))
        if method.closes or (not method.opens and key not in self._states):
            self._states.pop(key, None)
            return None
        state = dict(contract.next_state(situated, result))
        for path in elided:
            for name in [one for one in state if f"result.{path}" in contract.mentions.becomes.get(one, "")]:
                del state[name]
        self._states[key] = state
        return state

    def lose(self, step: str, operator: str, wire: Mapping[str, Any]) -> None:
        """A call whose answer cannot be followed: nobody knows what it has left of the state."""
        contract = self._contract(operator)
        if contract is None or (method := contract.method) is None:
            return
        key = f"{step}.{method.opens}" if method.opens else _key(wire.get(method.takes))
        if method.opens or key in self._states:
            self._states[key] = {}

    def restart(self) -> None:
        """A new process holds no handle."""
        self._states.clear()

    def _contract(self, operator: str) -> Contract | None:
        return self._codebook[operator].contract if operator in self._codebook else None


def _key(handle: Any) -> str:
    return str(handle["from"]) if isinstance(handle, Mapping) else f"text {handle}"
