"""What a Python backend's values are held against: the types of one operator, and the number of every failure code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.finder import Layout
from conformance.contract.machine_source import parts_of
from conformance.contract.source import Source, read
from conformance.contract.types import Struct, Type
from conformance.contract.typetext import struct_at, type_at


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of one operator."""

    inputs: Struct
    outputs: Struct
    failure: Struct


class Signatures(Protocol):
    """Where signatures are looked up."""

    def __getitem__(self, operator: str) -> Signature:
        """The signature of an operator; raises KeyError."""

    def number(self, code: str) -> int:
        """The number of a failure code, 0 for one that is not registered, which the harness refuses."""


@dataclass(frozen=True, slots=True)
class KnownSignatures:
    """The signatures of a codebook that is at hand."""

    codebook: Codebook

    def __getitem__(self, operator: str) -> Signature:
        contract = self.codebook[operator].contract
        return Signature(contract.inputs, contract.outputs, contract.failure)

    def number(self, code: str) -> int:
        """The registered number of a code, else 0."""
        return self.codebook.numbers.get(code, 0)


@dataclass(frozen=True, slots=True)
class StoredSignatures:
    """Signatures taken along by a worker that cannot read the contracts."""

    types: Mapping[str, Signature]
    numbers: Mapping[str, int]

    def __getitem__(self, operator: str) -> Signature:
        return self.types[operator]

    def number(self, code: str) -> int:
        """The registered number of a code, else 0."""
        return self.numbers.get(code, 0)


class SpecSignatures:
    """Signatures read from `spec/` one operator at a time: a worker process starts in a quarter of a second less.

    A contract that does not stand in a file of its operator's name makes the whole library load.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
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

            self._all = KnownSignatures(codebook_of(load_library(self._layout)))
        return self._all[operator]

    def number(self, code: str) -> int:
        """The registered number of a code, else 0."""
        if self._numbers is None:
            entries: Any = read(self._layout.spec / "errors.yaml").value["errors"]
            self._numbers = {entry["code"]: entry["number"] for entry in entries}
        return self._numbers.get(code, 0)

    def _parts(self, name: str) -> Mapping[str, Source]:
        """What the file of this name words: one operator, or a machine and its methods."""
        if name not in self._files:
            sources = [read(file) for file in self._layout.spec.glob(f"*/{name}.yaml")] if name else []
            parts = [parts_of(one) if "machine" in one.value else (one,) for one in sources]
            self._files[name] = {part.value.get("contract", name): part for some in parts for part in some}
        return self._files[name]

    def _signature(self, source: Source) -> Signature:
        if self._types is None:
            self._types = _named_types(read(self._layout.spec / "types.yaml"))
        named = self._types
        failure = named[source.value.get("failure", "default_failure")]
        assert isinstance(failure, Struct)
        return Signature(struct_at(source, ("inputs",), named), struct_at(source, ("outputs",), named), failure)


def _named_types(source: Source) -> dict[str, Type]:
    named: dict[str, Type] = {}
    for name in source.value["types"]:
        type_ = type_at(source, ("types", name), named)
        named[name] = replace(type_, name=name) if isinstance(type_, Struct) else type_
    return named
