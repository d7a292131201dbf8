"""Where one contract's expressions meet its frozen calls: every expression is evaluated at most once per call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.contract.expression import BadExpression, Expression
from conformance.contract.model import Contract, Guard
from conformance.lint.call import Call


class Desk:
    """The expressions and calls of one operator, with what has been evaluated so far.

    A desk is a memo and nothing else: what it answers hangs on its contract's variables and on the call alone, so
    contracts that differ only in their clauses share one (`serves`).
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._known: dict[Call, dict[str, Any]] = {}
        self._activations: dict[Call, Any] = {}
        self._compiled: dict[str, Expression | None] = {}
        self._values: dict[str, dict[Call, Any]] = {}

    def serves(self, contract: Contract) -> bool:
        """Whether the contract's expressions see the same variables as those of this desk."""
        mine = self.contract
        return contract is mine or (
            contract.inputs == mine.inputs
            and contract.outputs == mine.outputs
            and contract.source.value.get("let") == mine.source.value.get("let")
            and memory_of(contract) == memory_of(mine)
        )

    def value(self, text: str, call: Call) -> Any:
        """What an expression over inputs and frozen result is for a call; None where it does not evaluate."""
        memo = self._values.setdefault(text, {})
        if call not in memo:
            expression = self._expression(text)
            memo[call] = None if expression is None else expression.evaluate(self._activation(call))
        return memo[call]

    def holds(self, text: str, call: Call) -> bool:
        """Whether an expression is exactly true for a call."""
        return self.value(text, call) is True

    def compiles(self, text: str) -> bool:
        """Whether the text is an expression over this desk's variables."""
        return self._expression(text) is not None

    def expression(self, text: str) -> Expression:
        """The compiled expression; raises KeyError where it does not compile."""
        found = self._expression(text)
        if found is None:
            raise KeyError(text)
        return found

    def bind(self, call: Call, result: Mapping[str, Any] | None) -> Any:
        """The variables of a call with another result, or with none."""
        environment = self.contract.result_environment
        if call not in self._known:
            self._known[call] = environment.known(call.inputs)
        return environment.joined(self._known[call], result)

    def refusal(self, guards: tuple[Guard, ...], call: Call) -> Guard | None:
        """The first guard that is not true for a call."""
        return next((guard for guard in guards if not self.holds(guard.expression.text, call)), None)

    def judges(self, text: str, call: Call) -> bool:
        """Whether the call's frozen result holds everything that an expression over the result mentions."""
        if call.elided and self.contract.method is not None:
            text += "".join(self.contract.mentions.becomes.values()) if "next." in text else ""
        return call.result is not None and not any(
            re.search(rf"\bresult\.{re.escape(path)}\b", text) for path in call.elided
        )

    def _activation(self, call: Call) -> Any:
        if call not in self._activations:
            self._activations[call] = self.bind(call, call.result)
        return self._activations[call]

    def _expression(self, text: str) -> Expression | None:
        if text not in self._compiled:
            try:
                self._compiled[text] = self.contract.result_environment.compile(text, expected=None)
            except BadExpression:
                self._compiled[text] = None
        return self._compiled[text]


def memory_of(contract: Contract) -> object:
    """What a contract says of the state of its machine, in comparable form; None for an operator that is no method."""
    if contract.machine is None:
        return None
    body = contract.source.value
    variables = [(one.name, one.type) for one in contract.machine.variables]
    return variables, body.get("becomes"), body.get("keeps"), body.get("opens"), body.get("closes")
