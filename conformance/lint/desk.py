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
        self._before: dict[Call, Any] = {}
        self._after: dict[Call, Any] = {}
        self._compiled: dict[tuple[bool, str], Expression | None] = {}
        self._values: dict[tuple[bool, str], dict[Call, Any]] = {}

    def serves(self, contract: Contract) -> bool:
        """Whether the contract's expressions see the same variables as those of this desk."""
        mine = self.contract
        return contract is mine or (
            contract.inputs == mine.inputs
            and contract.outputs == mine.outputs
            and contract.source.value.get("let") == mine.source.value.get("let")
        )

    def value(self, text: str, call: Call, over_result: bool = False) -> Any:
        """What an expression over the inputs (and the result) is for a call; None where it does not evaluate."""
        memo = self._values.setdefault((over_result, text), {})
        if call not in memo:
            expression = self._expression(text, over_result)
            memo[call] = None if expression is None else expression.evaluate(self.activation(call, over_result))
        return memo[call]

    def holds(self, text: str, call: Call, over_result: bool = False) -> bool:
        """Whether an expression is exactly true for a call."""
        return self.value(text, call, over_result) is True

    def compiles(self, text: str, over_result: bool = False) -> bool:
        """Whether the text is an expression over this desk's variables."""
        return self._expression(text, over_result) is not None

    def expression(self, text: str) -> Expression:
        """The compiled expression over inputs and result; raises KeyError where it does not compile."""
        found = self._expression(text, over_result=True)
        if found is None:
            raise KeyError(text)
        return found

    def activation(self, call: Call, over_result: bool) -> Any:
        """The variables of a call, bound once."""
        memo = self._after if over_result else self._before
        if call not in memo:
            memo[call] = self.bind(call, call.result) if over_result else self.contract.environment.bind(call.inputs)
        return memo[call]

    def bind(self, call: Call, result: Mapping[str, Any] | None) -> Any:
        """The variables of a call with another result."""
        return self.contract.result_environment.bind(call.inputs, result)

    def refusal(self, guards: tuple[Guard, ...], call: Call) -> Guard | None:
        """The first guard that is not true for a call."""
        return next((guard for guard in guards if not self.holds(guard.expression.text, call)), None)

    def judges(self, text: str, call: Call) -> bool:
        """Whether the call's frozen result holds everything that an expression over the result mentions."""
        return call.result is not None and not any(
            re.search(rf"\bresult\.{re.escape(path)}\b", text) for path in call.elided
        )

    def _expression(self, text: str, over_result: bool) -> Expression | None:
        key = (over_result, text)
        if key not in self._compiled:
            environment = self.contract.result_environment if over_result else self.contract.environment
            try:
                self._compiled[key] = environment.compile(text, expected=None)
            except BadExpression:
                self._compiled[key] = None
        return self._compiled[key]
