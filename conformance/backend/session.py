"""A Python object as a backend: messages in, `hello()` and `call(method, params)`, messages out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from conformance.backend.hello import PROTOCOL
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.native import NativeForm, NoWireForm, native_form
from conformance.contract.lazy import LazyMapping
from conformance.contract.suite import Suite
from conformance.contract.types import Struct, Type, named_types, struct_at
from conformance.contract.yaml.machine_file import parts_of
from conformance.contract.yaml.source import Source


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of one operator."""

    inputs: Struct
    outputs: Struct
    failure: Struct


@dataclass(frozen=True, slots=True)
class KnownSignatures:
    """Signatures by operator, and the numbers of the failure codes."""

    types: Mapping[str, Signature]
    numbers: Mapping[str, int]

    def __getitem__(self, operator: str) -> Signature:
        return self.types[operator]

    def number(self, code: str) -> int:
        """The registered number of a code, else 0."""
        return self.numbers.get(code, 0)


def signatures_of(codebook: Codebook) -> KnownSignatures:
    """The signatures of a codebook, each made at its first use."""

    def signature(operator: str) -> Signature:
        contract = codebook[operator].contract
        return Signature(contract.inputs, contract.outputs, contract.failure)

    return KnownSignatures(LazyMapping(dict.fromkeys(codebook.forms), signature), codebook.numbers)


class SpecSignatures:
    """Signatures read from `spec/` one operator at a time: a worker process starts in a quarter of a second less.

    If a contract is in a file of another name, the whole library is loaded.
    """

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._types: Mapping[str, Type] | None = None
        self._numbers: Mapping[str, int] | None = None
        self._all: KnownSignatures | None = None
        self._files: dict[str, Mapping[str, Source]] = {}

    def __getitem__(self, operator: str) -> Signature:
        if self._all is None:
            for name in (operator, operator.rpartition(".")[0]):
                if operator in (parts := self._parts(name)):
                    return self._signature(parts[operator])
            from conformance.contract.library import load_library

            self._all = signatures_of(codebook_of(load_library(self._suite)))
        return self._all[operator]

    def number(self, code: str) -> int:
        """The registered number of a code, else 0."""
        if self._numbers is None:
            entries: Any = _read(self._suite.spec / "errors.yaml").value["errors"]
            self._numbers = {entry["code"]: entry["number"] for entry in entries}
        return self._numbers.get(code, 0)

    def _parts(self, name: str) -> Mapping[str, Source]:
        """The signatures in the file of this name: one operator, or a machine and its methods."""
        if name not in self._files:
            sources = [_read(file) for file in self._suite.spec.glob(f"*/{name}.yaml")] if name else []
            parts = [parts_of(one) if "machine" in one.value else (one,) for one in sources]
            self._files[name] = {part.value.get("contract", name): part for some in parts for part in some}
        return self._files[name]

    def _signature(self, source: Source) -> Signature:
        if self._types is None:
            self._types = named_types(_read(self._suite.spec / "types.yaml"), [])
        named = self._types
        failure = named[source.value.get("failure", "default_failure")]
        assert isinstance(failure, Struct)
        return Signature(struct_at(source, ("inputs",), named), struct_at(source, ("outputs",), named), failure)


Signatures = KnownSignatures | SpecSignatures


def _read(file: Path) -> Source:
    # The parser takes 15 ms to import, and a run whose contracts come from the cache does not need it.
    from conformance.contract.yaml.parser import read

    return read(file)


class MissingObject(Exception):
    """`module:object` names nothing that can be a backend; says what was looked for and the next step."""


def load_object(target: str) -> Any:
    """The object that `module[:object]` names, a class called without arguments; raises MissingObject.

    An exception of the module during its import is raised unchanged.
    """
    module_name, _, path = target.partition(":")
    try:
        found: Any = import_from(module_name, Path.cwd())
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        hint = "it is looked for in the current folder and on PYTHONPATH"
        if module_name.endswith(".py") or "/" in module_name:
            hint = "name the module, not its file: python:package.module[:object]"
        raise MissingObject(f"there is no module {error.name!r}; {hint}") from None
    file = getattr(found, "__file__", None)
    for name in filter(None, path.split(".")):
        if not hasattr(found, name):
            raise MissingObject(f"{module_name!r} has no {path!r}; python:module:object names the object")
        found = getattr(found, name)
    if isinstance(found, type):
        found = found()
    missing = [name for name in ("hello", "call") if not callable(getattr(found, name, None))]
    if missing:
        wanted = " and ".join(f"{name}()" for name in missing)
        raise MissingObject(f"{target!r} in {file} lacks {wanted}; a backend has hello() and call(method, params)")
    return found


# The module is looked for in the folder in which its process starts, before all others. Only the module comes first:
# other files of the folder, such as a `json` of the user, come last, as always.


def module_places(module: str, others: Sequence[str], here: Path) -> list[str]:
    """The folders in which the first package of a dotted name is looked for; nothing is imported.

    `here` comes first if it has the whole module. Otherwise a package of the same name elsewhere has it.
    """
    return [str(here), *others] if _has(module, here) else [*others, str(here)]


def _has(module: str, here: Path) -> bool:
    places: Sequence[str] | None = [str(here)]
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places) if places is not None and part else None
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


def import_from(module: str, here: Path) -> ModuleType:
    """Import a module as `module_places` finds it; whatever it imports itself is looked for in `here` last."""
    if str(here) not in sys.path:
        sys.path.append(str(here))
    finder = _Finder(module.partition(".")[0], module_places(module, sys.path, here))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(module)
    finally:
        sys.meta_path.remove(finder)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one package, in its places, and nothing else."""

    package: str
    places: list[str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, self.places) if path is None and fullname == self.package else None


_METHOD_NOT_FOUND: Final = -32601


@dataclass(frozen=True, slots=True)
class _Forms:
    inputs: NativeForm
    outputs: NativeForm
    failure: NativeForm


class Session:
    """Answers the messages of one wire with one object.

    A contract failure is any exception with `code: str` and `data: dict`; any other exception is raised: a crash.
    """

    def __init__(self, subject: Any, signatures: Signatures, wire: str) -> None:
        self._subject, self._signatures, self._wire = subject, signatures, wire
        self._arrays = False
        self._forms: dict[str, _Forms] = {}
        self.over = False

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to one message, None to a notification; raises what the object raises, and NoWireForm."""
        method, params = message["method"], message.get("params", {})
        if method == "tally.bye":
            self.over = True
        if "id" not in message:
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "tally.bye":
            return {**reply, "result": {}}
        if method == "tally.hello":
            return {**reply, "result": self._hello()}
        try:
            forms = self._forms.get(method) or self._compile(method)
        except KeyError:
            return {**reply, "error": {"code": _METHOD_NOT_FOUND, "message": f"no contract describes {method}"}}
        return {**reply, **self._call(method, forms, params)}

    def _hello(self) -> Any:
        said = self._subject.hello()
        if not isinstance(said, dict):
            return said
        self._arrays = said.get("arrays") == "numpy"
        # Values that the worker can add; the values of the object win.
        return {"protocol": PROTOCOL, "language": "Python", "wires": ["json", "cbor"], **said}

    def _call(self, method: str, forms: _Forms, params: Any) -> dict[str, Any]:
        try:
            result = self._subject.call(method, forms.inputs.read(params))
        except Exception as error:
            code, data = getattr(error, "code", None), getattr(error, "data", None)
            if not isinstance(code, str) or not isinstance(data, dict):
                raise
            return {
                "error": {
                    "code": self._signatures.number(code),
                    "message": code,
                    "data": _wire_value(forms.failure, data, method, "failure record"),
                }
            }
        return {"result": _wire_value(forms.outputs, result, method, "result")}

    def _compile(self, method: str) -> _Forms:
        types = self._signatures[method]
        forms = (native_form(type_, self._wire, self._arrays) for type_ in (types.inputs, types.outputs, types.failure))
        return self._forms.setdefault(method, _Forms(*forms))


def _wire_value(form: NativeForm, value: Any, method: str, what: str) -> Any:
    try:
        return form.write(value)
    except NoWireForm as error:
        raise NoWireForm(f"the {what} of {method} holds {error}, which no message can hold") from None
