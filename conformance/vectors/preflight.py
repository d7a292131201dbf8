"""Mistakes for which `tally vectors build` refuses to ask a backend, found while the contracts are loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

from conformance.codec.codebook import Codebook, codebook_of
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.source import MalformedContract, Problem
from conformance.contract.suggest import nearest
from conformance.vectors.expand import expand_words


def preflight(library: Library) -> tuple[Problem, ...]:
    """Every base, path, value, pin and second derivation of the contracts that cannot be used, at its position.

    Of a matrix each value is tried once and not in every combination, and no axis is walked: the whole expansion of a
    large suite takes ten times as long. A contract that was found usable before, with the same types, is not tried.
    """
    codebook = codebook_of(library)
    cache = open_cache("vectors")
    problems: list[Problem] = []
    for operator in sorted(codebook.forms):
        contract = codebook[operator].contract
        problems += _unknown_backends(contract, library)
        if not contract.groups:
            continue
        key = _digest(contract, codebook)
        if cache.get("usable", key) is True:
            continue
        try:
            expand_words(contract, codebook)
        except MalformedContract as error:
            problems += error.problems
        else:
            cache.put("usable", key, True)
    return tuple(sorted(set(problems)))


def _unknown_backends(contract: Contract, library: Library) -> Iterator[Problem]:
    """The second derivations that are no backend of the suite, no Python object and no command."""
    known = library.suite.backends
    for k, name in enumerate(contract.confirmed_by or ()):
        if name in known or set(name) & set(":/ ") or shutil.which(name) or contract.method is not None:
            continue
        hint = nearest(name, list(known), f"the backends of tally.toml are {', '.join(known) or 'none'}")
        place = contract.source.at(("confirmed_by", k))
        yield Problem(place, "C019", f"{name!r} is no backend of this suite", hint)


def _digest(contract: Contract, codebook: Codebook) -> str:
    """The digest of all that the words of the cases are checked against; empty for what is not plain data."""
    named = sorted({contract.operator, *_called(contract, codebook)})
    types = [f"{one} {codebook[one].contract.inputs!r} {codebook[one].contract.outputs!r}" for one in named]
    bases = [json.dumps([codebook[one].contract.bases, sorted(codebook[one].contract.codes)]) for one in named]
    formats = [f"{name} {sorted(one.edits)}" for name, one in sorted(codebook.formats.items())]
    lets = [f"{let.name} {let.expression.text}" for let in contract.environment.lets]
    return digest_of_texts([json.dumps(contract.source.value), *types, *bases, *formats, *lets])


def _called(contract: Contract, codebook: Codebook) -> Iterator[str]:
    """The operators that the traces of a contract call."""
    machine = contract.machine
    for group in contract.groups:
        for step in group.body.get("trace", ()):
            name = step.get("call", contract.operator)
            name = name if machine is None else machine.full_name(name)
            if name in codebook.forms:
                yield name
