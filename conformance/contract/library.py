"""The whole specification as one value: contracts, types, errors, requirements, coverage, rulings and mutants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TypeVar

from conformance.contract.companion import ENDING, companion_of, joined
from conformance.contract.coverage import Coverage, coverage_from
from conformance.contract.file_format import FileFormat, formats_from
from conformance.contract.finder import Layout
from conformance.contract.functions import FUNCTIONS, Function
from conformance.contract.machine_source import parts_of
from conformance.contract.model import Contract
from conformance.contract.mutant import Mutant, mutants_from
from conformance.contract.parse import contract_from
from conformance.contract.position import MalformedContract, Position, Problem
from conformance.contract.registry import ErrorCode, errors_from, registry_functions
from conformance.contract.requirement import Requirement, Requirements, Ruling, requirements_from, rulings_from
from conformance.contract.schema import violations
from conformance.contract.shorthand import written_out
from conformance.contract.source import Source, read
from conformance.contract.types import Struct, Type
from conformance.contract.typetext import type_at

_Entry = TypeVar("_Entry", Ruling, Mutant, FileFormat)
_FAMILY_FILES = ("requirements.yaml", "coverage.yaml", "rulings.yaml", "mutants.yaml", "formats.yaml")


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that `spec/` says."""

    layout: Layout
    contracts: Mapping[str, Contract]  # by operator; a machine stands under its own name and under its methods'
    types: Mapping[str, Type]
    errors: Mapping[str, ErrorCode]
    requirements: Mapping[str, Requirements]  # by family
    coverage: Mapping[str, Coverage]  # by family
    rulings: Mapping[str, Ruling]
    mutants: Mapping[str, Mutant]
    formats: Mapping[str, FileFormat] = field(default_factory=dict)

    def requirement(self, id_: str) -> Requirement | None:
        """The requirement with this id, in whichever family has it."""
        for family in self.requirements.values():
            for row in family.requirements:
                if row.id == id_:
                    return row
        return None


def load_library(layout: Layout) -> Library:
    """Read and check every file of `spec/`; raises MalformedContract with all problems of all files."""
    return _Loader(layout).library()


class _Loader:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.problems: list[Problem] = []

    def library(self) -> Library:
        spec = self.layout.spec
        types = self.types(spec / "types.yaml")
        errors_source = self.checked(spec / "errors.yaml", "errors")
        errors = errors_from(errors_source) if errors_source else {}
        functions = (*FUNCTIONS, *registry_functions(errors))
        contracts: dict[str, Contract] = {}
        requirements: dict[str, Requirements] = {}
        coverage: dict[str, Coverage] = {}
        rulings: dict[str, Ruling] = {}
        mutants: dict[str, Mutant] = {}
        formats: dict[str, FileFormat] = {}
        for folder in sorted(path for path in spec.iterdir() if path.is_dir() and path.name != "schema"):
            for file in sorted(folder.glob("*.yaml")):
                if file.name not in _FAMILY_FILES and not self.is_companion(file):
                    self.add_contract(contracts, file, folder.name, types, functions)
            if source := self.checked(folder / "requirements.yaml", "requirements"):
                requirements[folder.name] = requirements_from(source, folder.name)
            if source := self.checked(folder / "coverage.yaml", "coverage"):
                coverage[folder.name] = coverage_from(source, folder.name)
            if source := self.checked(folder / "rulings.yaml", "rulings"):
                self.add_unique(rulings, {ruling.id: ruling for ruling in rulings_from(source)})
            if source := self.checked(folder / "mutants.yaml", "mutants"):
                self.add_unique(mutants, {m.id: m for m in mutants_from(source, folder.name)})
            if source := self.checked(folder / "formats.yaml", "formats"):
                self.add_unique(formats, formats_from(source))
        if not contracts and not self.problems:
            place = Position(self.layout.shown(spec), 1, 1)
            self.problems.append(Problem(place, "C006", "no contract found", "is this a Tallystick checkout?"))
        if self.problems:
            raise MalformedContract(self.problems)
        return Library(self.layout, contracts, types, errors, requirements, coverage, rulings, mutants, formats)

    def checked(self, file: FilePath, schema: str) -> Source | None:
        """The parsed file if it exists and fits its schema; problems are noted, not raised."""
        if not os.path.lexists(file):
            return None
        try:
            source = read(file, self.layout.shown(file))
            if schema == "contract":
                if (beside := companion_of(file)).exists():
                    source = joined(source, read(beside, self.layout.shown(beside)))
                source = written_out(source)
        except MalformedContract as error:
            self.problems += error.problems
            return None
        if schema == "contract" and isinstance(source.value, dict) and "machine" in source.value:
            schema = "machine"
        found = list(violations(source, self.layout.spec / "schema" / f"{schema}.schema.json"))
        self.problems += found
        return None if found else source

    def is_companion(self, file: FilePath) -> bool:
        """Whether a file holds the cases of the contract beside it; a problem where there is none."""
        if not file.name.endswith(ENDING):
            return False
        contract = file.with_name(file.name.removesuffix(ENDING) + ".yaml")
        if not contract.exists():
            place, hint = Position(self.layout.shown(file), 1, 1), f"write {contract.name}, or rename this file"
            self.problems.append(Problem(place, "C006", "cases without a contract beside them", hint))
        return True

    def types(self, file: FilePath) -> dict[str, Type]:
        named: dict[str, Type] = {}
        source = self.checked(file, "types")
        for name in source.value["types"] if source else ():
            try:
                type_ = type_at(source, ("types", name), named) if source else None
            except MalformedContract as error:
                self.problems += error.problems
                continue
            if isinstance(type_, Struct):
                named[name] = replace(type_, name=name)
            elif type_ is not None:
                named[name] = type_
        return named

    def add_contract(
        self,
        contracts: dict[str, Contract],
        file: FilePath,
        family: str,
        types: Mapping[str, Type],
        functions: tuple[Function, ...],
    ) -> None:
        source = self.checked(file, "contract")
        if source is None:
            return
        parts = parts_of(source) if "machine" in source.value else (source,)
        machine = None
        for part in parts:
            try:
                contract = contract_from(part, family, types, functions, machine)
            except MalformedContract as error:
                self.problems += error.problems
                if machine is None:
                    return
                continue
            machine = machine or contract.machine
            self.add_parsed(contracts, contract)

    def add_parsed(self, contracts: dict[str, Contract], contract: Contract) -> None:
        if contract.operator in contracts:
            first = contracts[contract.operator].position
            hint = f"it stands at {first} already"
            self.problems.append(contract.source.problem(("contract",), "C005", f"{contract.operator} twice", hint))
        contracts[contract.operator] = contract

    def add_unique(self, known: dict[str, _Entry], new: Mapping[str, _Entry]) -> None:
        for name, value in new.items():
            if name in known:
                self.problems.append(Problem(value.position, "C005", f"{name} twice", "rename one"))
            known[name] = value
