"""What an edit of one contract leaves as it was: compiled expressions, and the digests of the other contracts.

To compile all expressions is most of reading a contract.

An expression belongs to the engine that compiled it, so the environments are kept as well, by all that makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from cel_expr_python import cel

from conformance.contract import parse
from conformance.contract.cel.expression import Environment, Expression, environment
from conformance.contract.cel.functions import FUNCTIONS, Function, registry_functions
from conformance.contract.model import Contract
from conformance.vectors.frozen import lock

_ENVIRONMENTS: dict[Any, Environment] = {}
_EXPRESSIONS: dict[Any, tuple[Environment, Expression]] = {}  # with the environment, whose engine must live as long
_FUNCTIONS: dict[int, tuple[Any, tuple[Function, ...]]] = {}
_make, _compile = environment, Environment.compile


def functions_of(errors: Mapping[str, Any]) -> tuple[Function, ...]:
    """The functions that contracts may call, the same ones for the same registry of errors."""
    if id(errors) not in _FUNCTIONS:
        _FUNCTIONS[id(errors)] = (errors, (*FUNCTIONS, *registry_functions(errors)))
    return _FUNCTIONS[id(errors)][1]


def forget() -> None:
    """Keep nothing of what was compiled."""
    for known in (_ENVIRONMENTS, _EXPRESSIONS, _FUNCTIONS):
        known.clear()


@contextmanager
def compiled_once() -> Iterator[None]:
    """While a contract is read, what was compiled in the same environment is not compiled again."""
    with patch.object(parse, "environment", _environment), patch.object(Environment, "compile", _expression):
        yield


@contextmanager
def digested_once() -> Iterator[None]:
    """The digest of a contract, which never changes, is computed once for all locks."""
    known: dict[int, tuple[Contract, str]] = {}  # with the contract, which must live as long as its number is known
    compute = lock.contract_digest

    def contract_digest(contract: Contract) -> str:
        if id(contract) not in known:
            known[id(contract)] = (contract, compute(contract))
        return known[id(contract)][1]

    with patch.object(lock, "contract_digest", contract_digest):
        yield


def _environment(
    inputs: Any, outputs: Any, lets: Sequence[Any], functions: Any, after: Any = (), silent: Any = None
) -> Environment:
    key = (repr(inputs), repr(outputs), tuple(lets), id(functions), str(after), str(silent))
    if key not in _ENVIRONMENTS:
        _ENVIRONMENTS[key] = _make(inputs, outputs, lets, functions, after, silent)
    return _ENVIRONMENTS[key]


def _expression(self: Environment, text: str, expected: Any = cel.Type.BOOL) -> Expression:
    key = (id(self.engine), text, expected and expected.name())
    if key not in _EXPRESSIONS:
        _EXPRESSIONS[key] = (self, _compile(self, text, expected))
    return _EXPRESSIONS[key][1]
