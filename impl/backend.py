"""A backend as an object: it says hello, answers calls and may explain an answer; and its tables of operators."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

from impl.wire.codec import Convert, Form, compile_parameters, compile_result
from impl.wire.json_form import NativeForm

PROTOCOL = 1
VERSION = "1.0.0"
MAX_IN_FLIGHT = 64

Operator = Callable[..., Any]
# Takes the operator's own keyword arguments, the output's path and, for an element of a list, its index.
Explanation = Callable[[Mapping[str, Any], str, int | None], list[str]]
Table = Mapping[str, Operator]
NONE: Mapping[str, Any] = MappingProxyType({})


class UnknownMethod(Exception):
    """The backend has no method of that name."""


class Backend:
    """Serve a table of operators, and machines with their methods, in any form of the wire.

    `machines` maps a machine's name, which hello lists, to its methods by their full names. `changed` are the operators
    and methods in which a mutant can differ from the reference, `sources` the digest of the files that those rest on,
    `functions` the only ones that it changes.
    """

    def __init__(
        self,
        name: str,
        operators: Table,
        *,
        machines: Mapping[str, Table] = NONE,
        explanations: Mapping[str, Explanation] = NONE,
        arrays: str | None = None,
        changed: Sequence[str] | None = None,
        sources: str | None = None,
        functions: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.operators = operators
        self.machines = machines
        self.explanations = explanations
        self._announced = sorted([*operators, *machines])
        self._tables = (operators, *machines.values())
        self._arrays = arrays
        self._changed = changed
        self._sources = sources
        self._functions = functions
        self._native = Calls(self, NativeForm())

    def hello(self) -> dict[str, Any]:
        """Return who the backend is and what it can do."""
        greeting: dict[str, Any] = {
            "protocol": PROTOCOL,
            "name": self.name,
            "version": VERSION,
            "language": "Python",
            "wires": ["json", "cbor"],
            "operators": list(self._announced),
            "max_in_flight": MAX_IN_FLIGHT,
        }
        if self.explanations:
            greeting["explain"] = True
        if self._arrays is not None:
            greeting["arrays"] = self._arrays
        if self._changed is not None:
            greeting["changed"] = list(self._changed)
        if self._sources is not None:
            greeting["sources"] = self._sources
        if self._functions is not None:
            greeting["functions"] = list(self._functions)
        return greeting

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one call in native values; ContractFailure where the contract refuses, UnknownMethod."""
        return self._native.call(method, params)

    def method(self, name: str) -> Operator:
        """Return the operator or machine method of that name; UnknownMethod."""
        for table in self._tables:
            if name in table:
                return table[name]
        raise UnknownMethod(name)


class Calls:
    """Answer calls in one form; every method's codec is compiled once, when it is first asked for."""

    def __init__(self, backend: Backend, form: Form) -> None:
        self._backend = backend
        self._form = form
        self._compiled: dict[str, tuple[Convert, Operator, Convert]] = {}

    def call(self, method: str, params: Any) -> dict[str, Any]:
        """Answer one call; ContractFailure where the contract refuses, UnknownMethod."""
        read, operator, write = self._compiled.get(method) or self._compile(method)
        result: dict[str, Any] = write(operator(**read(params)))
        return result

    def explain(self, method: str, params: Any, path: str, index: int | None) -> list[str]:
        """Derive one output element in lines for a human; UnknownMethod where nothing is offered."""
        if method not in self._backend.explanations:
            raise UnknownMethod(method)
        read, _, _ = self._compiled.get(method) or self._compile(method)
        return self._backend.explanations[method](read(params), path, index)

    def _compile(self, method: str) -> tuple[Convert, Operator, Convert]:
        operator = self._backend.method(method)
        read, write = compile_parameters(operator, self._form), compile_result(operator, self._form)
        return self._compiled.setdefault(method, (read, operator, write))


class Deferred(Mapping[str, Callable[..., Any]]):
    """Callables by name, of which only the names are known until one is asked for.

    A backend holds every family and is mostly asked about one; importing all of them doubles the start of a process
    (measured: 106 ms against 50 ms). KeyError for an unknown name, ImportError or AttributeError for a wrong place.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    @abstractmethod
    def module(self, name: str) -> str:
        """Return the full name of the module that holds a callable."""

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Entries(Deferred):
    """Functions with their places, `module:function` below one package."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        super().__init__(places)
        self._package = package

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(self.module(name)), self._places[name].partition(":")[2])
        return found

    def module(self, name: str) -> str:
        """Return the full name of the module that holds a function."""
        return f"{self._package}.{self._places[name].partition(':')[0]}"


class Machine(Deferred):
    """Methods by their full names, bound to one object of one class, `module:Class`, made for the first of them."""

    def __init__(self, place: str, methods: Mapping[str, str]) -> None:
        super().__init__(methods)
        self._place = place
        self._state: object | None = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        attribute = self._places[name]
        if self._state is None:
            module, _, kind = self._place.partition(":")
            self._state = getattr(import_module(module), kind)()
        method: Callable[..., Any] = getattr(self._state, attribute)
        return method

    def module(self, name: str) -> str:
        """Return the full name of the module that holds the class, the same for every method."""
        return self._place.partition(":")[0]
