"""The whole specification as one value: contracts, types, errors, requirements, coverage, rulings and mutants."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.contract.cache import MISSING, open_cache
from conformance.contract.cel.functions import FUNCTIONS, Function, registry_functions
from conformance.contract.family import (
    Coverage,
    ErrorCode,
    FileFormat,
    LawDeclaration,
    Mutant,
    Requirement,
    Requirements,
    Ruling,
    SequenceDeclaration,
    coverage_from,
    errors_from,
    formats_from,
    laws_from,
    mutants_from,
    requirements_from,
    rulings_from,
    sequences_from,
)
from conformance.contract.lazy import DeferredMapping, LazyMapping
from conformance.contract.model import Contract
from conformance.contract.parse import contract_from
from conformance.contract.reader import YAML, Reader, Snapshot
from conformance.contract.suggest import nearest
from conformance.contract.suite import Suite
from conformance.contract.types import Type, named_types
from conformance.contract.yaml.companions import ENDING, SHARED
from conformance.contract.yaml.machine_file import parts_of
from conformance.contract.yaml.source import MalformedContract, Position, Problem, Source

# By file name: parts that each family has as one page, and parts whose rows of all families are put together.
_PAGES: Final[Mapping[str, Callable[[Source, str], Any]]] = {
    "requirements": requirements_from,
    "coverage": coverage_from,
}
_ROWS: Final[Mapping[str, Callable[[Source], Iterable[tuple[str, Any]]]]] = {
    "rulings": lambda source: ((one.id, one) for one in rulings_from(source)),
    "mutants": lambda source: ((one.id, one) for one in mutants_from(source)),
    "formats": lambda source: formats_from(source).items(),
    "laws": lambda source: ((one.name, one) for one in laws_from(source)),
    "sequences": lambda source: ((one.name, one) for one in sequences_from(source)),
}
_CONTRACT: Final = re.compile(rb"^(?:contract|machine):", re.MULTILINE)
_FAMILY_FILES: Final = (*(f"{name}.yaml" for name in (*_PAGES, *_ROWS)), SHARED)


@dataclass(frozen=True, slots=True)
class Origin:
    """The file of a contract, known before it is made; `machine` is the one that it is or belongs to, empty if none."""

    family: str
    file: str
    machine: str = ""
    methods: tuple[str, ...] = ()  # of a machine's own contract


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that `spec/` says."""

    suite: Suite
    contracts: Mapping[str, Contract]  # by operator; a machine has an entry itself, and one for each method
    types: Mapping[str, Type]
    errors: Mapping[str, ErrorCode]
    requirements: Mapping[str, Requirements]  # by family
    coverage: Mapping[str, Coverage]  # by family
    rulings: Mapping[str, Ruling]
    mutants: Mapping[str, Mutant]
    formats: Mapping[str, FileFormat] = field(default_factory=dict)
    laws: Mapping[str, LawDeclaration] = field(default_factory=dict)
    sequences: Mapping[str, SequenceDeclaration] = field(default_factory=dict)  # by operator

    def requirement(self, id_: str) -> Requirement | None:
        """The requirement with this id, in any family."""
        for family in self.requirements.values():
            for row in family.requirements:
                if row.id == id_:
                    return row
        return None

    @property
    def machines(self) -> Mapping[str, tuple[str, ...]]:
        """The methods of every machine."""
        contracts = self.contracts
        if isinstance(contracts, LazyMapping):
            return {name: place.methods for name, place in contracts.notes.items() if place.machine == name}
        return {name: one.own_machine.methods for name, one in contracts.items() if one.own_machine is not None}

    @property
    def declarable(self) -> tuple[str, ...]:
        """The names that a hello may declare: operators and machines, but no single method."""
        methods = {method for some in self.machines.values() for method in some}
        return tuple(sorted(self.contracts.keys() - methods))


def load_library(suite: Suite) -> Library:
    """Read and check every file of `spec/`; raises MalformedContract with all problems of all files.

    If an earlier command found the same files valid, each part is made when it is first used.
    """
    reader = Reader(suite, Snapshot(suite.spec), open_cache("contract"))
    digest = reader.digest
    known = reader.cache.get("library", digest)
    if known is not MISSING:
        rows = known.items()
        return _Loader(reader).lazy_library({name: Origin(row[0], row[1], row[2], tuple(row[3])) for name, row in rows})
    loader = _Loader(reader)
    library = loader.library()
    plain = {name: [one.family, one.file, one.machine, list(one.methods)] for name, one in loader.places.items()}
    reader.cache.put("library", digest, plain)
    return library


class _Loader:
    """Makes the library from the files of a reader."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.suite, self.problems = reader, reader.suite, reader.problems
        self.spec = reader.suite.spec
        self.parts: dict[str, tuple[Source, ...]] = {}
        self.contracts: dict[str, Contract] = {}  # made so far
        self.places: dict[str, Origin] = {}
        self.has_types = True  # if not, an unknown type in a contract is caused by a mistake in types.yaml

    def library(self) -> Library:
        """The library with every part made now; raises MalformedContract."""
        types, errors, functions = self.shared()
        folders = self.families()
        for folder in folders:
            if not os.access(folder, os.R_OK | os.X_OK):  # a glob would find nothing in an unreadable folder
                place = Position(self.suite.path_text(folder), 1, 1)
                self.problems.append(Problem(place, "C001", "the folder cannot be read", "give yourself access to it"))
            for file in sorted(folder.glob("[!.]*.yaml")):  # hidden ones are those of editors and systems
                if file.name not in _FAMILY_FILES and not self.is_companion(file) and not self.is_misnamed(file):
                    self.add_contract(file, folder.name, types, functions)
        pages = {kind: self.pages(kind, folders) for kind in _PAGES}
        rows = {kind: self.rows(kind, folders) for kind in _ROWS}
        self.problems += self.unread(folders)
        if not self.contracts and not self.problems:
            place = Position(self.suite.path_text(self.spec), 1, 1)
            self.problems.append(Problem(place, "C006", "no contract found", "is this a Tallystick checkout?"))
        if self.problems:
            raise MalformedContract(self.problems)
        contracts_by_name = LazyMapping(self.places, self.contracts.__getitem__, self.reader.digest)
        return Library(self.suite, contracts_by_name, types, errors, **pages, **rows)

    def lazy_library(self, places: Mapping[str, Origin]) -> Library:
        """The library of files that an earlier command found valid; each part is made at its first use."""
        types, errors, functions = self.shared()
        folders = self.families()

        def contract(name: str) -> Contract:
            place = places[name]
            source, machine = self.reader.checked(self.spec / place.file, "contract"), None
            if source is None:
                raise MalformedContract(self.problems)
            if place.machine:
                parts = self.parts.get(place.file) or self.parts.setdefault(place.file, parts_of(source))
                own = places[place.machine]
                source = parts[own.methods.index(name) + 1] if name != place.machine else parts[0]
                machine = contracts_by_name[place.machine].machine if name != place.machine else None
            return contract_from(source, place.family, types, functions, machine)

        contracts_by_name = LazyMapping(places, contract, self.reader.digest)
        pages = {kind: self.lazy_pages(kind, folders) for kind in _PAGES}
        rows = {kind: DeferredMapping(partial(self.rows, kind, folders)) for kind in _ROWS}
        return Library(self.suite, contracts_by_name, types, errors, **pages, **rows)

    def shared(self) -> tuple[dict[str, Type], dict[str, ErrorCode], tuple[Function, ...]]:
        """The types, error codes and functions that every contract may name."""
        source = self.reader.checked(self.spec / "types.yaml", "types")
        types = named_types(source, self.problems) if source else {}
        self.has_types = not self.problems
        source = self.reader.checked(self.spec / "errors.yaml", "errors")
        errors = errors_from(source, self.problems) if source else {}
        return types, errors, (*FUNCTIONS, *registry_functions(errors))

    def unread(self, folders: list[Path]) -> Iterator[Problem]:
        """A problem for each YAML file in a place where nothing reads it."""
        read = {f"{folder.name}/{file.name}" for folder in folders for file in folder.glob("*.yaml")}
        for name in sorted(self.reader.snapshot.files.keys() - read - {"types.yaml", "errors.yaml"}):
            hidden = name.startswith(".") or "/." in name
            deep = name.count("/") > 1  # such as the data of an operator
            if name.endswith(YAML) and not hidden and (not deep or self.is_meant(name)):
                place = Position(self.suite.path_text(self.spec / name), 1, 1)
                yield Problem(place, "C006", "nothing reads this file", "a contract is spec/FAMILY/NAME.yaml")

    def is_meant(self, name: str) -> bool:
        """Whether a file says by its name or its first words that it is a contract or belongs to one."""
        file = name.rpartition("/")[2]
        if file in _FAMILY_FILES or file.endswith(ENDING):
            return True
        return _CONTRACT.search(self.reader.snapshot.files[name]) is not None

    def families(self) -> list[Path]:
        return sorted(path for path in self.spec.glob("[!.]*") if path.is_dir() and path.name != "schema")

    def pages(self, kind: str, folders: list[Path]) -> dict[str, Any]:
        return {family: _PAGES[kind](source, family) for family, source in self.family_files(folders, kind)}

    def lazy_pages(self, kind: str, folders: list[Path]) -> LazyMapping[Any]:
        having = dict.fromkeys(one.name for one in folders if os.path.lexists(one / f"{kind}.yaml"))
        return LazyMapping(having, lambda family: self.pages(kind, [self.spec / family])[family])

    def rows(self, kind: str, folders: list[Path]) -> dict[str, Any]:
        """The rows of all families by name; adds a problem if a name occurs twice."""
        found: dict[str, Any] = {}
        for _, source in self.family_files(folders, kind):
            for name, value in _ROWS[kind](source):
                if name in found:
                    self.problems.append(Problem(value.position, "C005", f"{name} twice", "rename one"))
                found[name] = value
        return found

    def family_files(self, folders: list[Path], schema: str) -> Iterator[tuple[str, Source]]:
        """Every family that has a file of this name, and the file."""
        for folder in folders:
            if source := self.reader.checked(folder / f"{schema}.yaml", schema):
                yield folder.name, source

    def is_companion(self, file: Path) -> bool:
        """Whether a file has the cases of the contract beside it; adds a problem if that contract is missing."""
        if not file.name.endswith(ENDING):
            return False
        contract = file.with_name(file.name.removesuffix(ENDING) + ".yaml")
        if not contract.exists():
            place, hint = Position(self.suite.path_text(file), 1, 1), f"write {contract.name}, or rename this file"
            self.problems.append(Problem(place, "C006", "cases without a contract beside them", hint))
        return True

    def is_misnamed(self, file: Path) -> bool:
        """Whether the name of a file is almost one of a family's file names; adds a problem if so."""
        near = nearest(file.stem, [Path(name).stem for name in _FAMILY_FILES]) if file.stem.islower() else ""
        if near:
            place = Position(self.suite.path_text(file), 1, 1)
            self.problems.append(Problem(place, "C006", f"nothing reads {file.name}", near))
        return bool(near)

    def add_contract(
        self, file: Path, family: str, types: Mapping[str, Type], functions: tuple[Function, ...]
    ) -> None:
        source = self.reader.checked(file, "contract")
        if source is None:
            return
        parts = parts_of(source) if "machine" in source.value else (source,)
        machine = None
        for part in parts:
            try:
                contract = contract_from(part, family, types, functions, machine)
            except MalformedContract as error:
                self.problems += [one for one in error.problems if self.has_types or one.code != "C003"]
                if machine is None:
                    return
                continue
            machine = machine or contract.machine
            if contract.operator in self.contracts:
                hint = f"it is at {self.contracts[contract.operator].position} already"
                message = f"{contract.operator} twice"
                self.problems.append(contract.source.problem(("contract",), "C005", message, hint))
            self.contracts[contract.operator] = contract
            own = contract.own_machine
            name, methods = machine.name if machine else "", own.methods if own else ()
            self.places[contract.operator] = Origin(family, f"{family}/{file.name}", name, methods)
