"""The suite that a command works on: `--suite`, its contracts, vectors and lock, and its defaults for `tally run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import CommandError, nearest

if TYPE_CHECKING:
    from conformance.contract.library import Library
    from conformance.contract.model import Contract
    from conformance.contract.suite import Suite
    from conformance.contract.yaml.source import ValuePath as Keys
    from conformance.vectors.frozen.corpus import Corpus


_NAMED: Final = "tally.suite.named"  # a key in a click context, also seen by the contexts inside
_FOUND: Final = "tally.suite.found"
_HELP: Final = "The folder of the suite; the default is TALLY_SUITE, a tally.toml here or above, or the bundled suite."
_LEFT_ALONE: Final = ("init",)  # it makes the suite


def offer_suite(command: click.Command) -> None:
    """Give a command the option --suite."""
    if command.name not in _LEFT_ALONE and all("--suite" not in one.opts for one in command.params):
        option = click.Option(
            ["--suite"],
            type=click.Path(),
            metavar="DIR",
            help=_HELP,
            expose_value=False,
            is_eager=True,
            callback=_remember_suite,
        )
        command.params.append(option)


def _remember_suite(context: click.Context, _: click.Parameter, value: str | None) -> None:
    context.meta[_NAMED] = value or ""
    if context.command.name == "run":
        context.default_map = _defaults(context, current_suite(context))


def current_suite(context: click.Context | None = None) -> Suite:
    """The suite that the command works on; raises MalformedContract."""
    from conformance.contract.suite_file import find_suite

    context = context or click.get_current_context(silent=True)
    if context is not None and _FOUND in context.meta:
        known: Suite = context.meta[_FOUND]
        return known
    named = "" if context is None else context.meta.get(_NAMED, "")
    found = find_suite(named or os.environ.get("TALLY_SUITE", ""), Path.cwd())
    if context is not None:
        context.meta[_FOUND] = found
    return found


def use_suite(suite: Suite) -> None:
    """Make the rest of the command work on this suite."""
    click.get_current_context().meta[_FOUND] = suite


def _defaults(context: click.Context, suite: Suite) -> dict[str, object]:
    """The values of [run] by the names of the parameters; raises CommandError for a value that the option refuses."""
    by_option = {option: one for one in context.command.params for option in one.opts}
    found: dict[str, object] = {}
    for key, setting in suite.run.items():
        parameter = by_option[f"--{key}"]
        try:
            parameter.type_cast_value(context, setting.value)
        except click.BadParameter as error:
            hint = f"`tally run --help` tells what --{key} takes"
            raise CommandError(str(setting.position), "C018", f"{key}: {error.message}", hint) from None
        assert parameter.name is not None
        found[parameter.name] = setting.value
    return found


def specification() -> Library:
    """Every contract, type, error, requirement and ruling; raises MalformedContract, CommandError."""
    from conformance.contract.cache import digest_of_texts, open_cache
    from conformance.contract.lazy import files_digest
    from conformance.contract.library import load_library

    suite = current_suite()
    if not suite.spec.is_dir():
        hint = "in a checkout it is beside conformance/, in a wheel inside it: install tallystick again"
        raise CommandError(str(suite.spec), "T009", "the specification is missing", hint)
    library = load_library(suite)
    digest = files_digest(library.contracts)
    checked = digest_of_texts([digest, *suite.backends]) if digest else ""
    if open_cache().get("usable", checked) is not True:
        _require_usable(library)
        open_cache().put("usable", checked, True)
    return library


def _require_usable(library: Library) -> None:
    """Raise MalformedContract if errors.yaml lacks a code of a contract, or no case can be made of its words.

    Codes are checked here and not when contracts are loaded, so that lint can check copies with faulty codes (L102).
    """
    from conformance.contract.yaml.source import MalformedContract, Problem
    from conformance.vectors.questions.expand import preflight

    problems = []
    for _, contract in sorted(library.contracts.items()):
        guards = enumerate(contract.source.value["requires"])
        refused: list[tuple[Keys, str]] = [(("requires", k, "else"), guard["else"]) for k, guard in guards]
        refused += [(("refuses", k, "code"), one.code) for k, one in enumerate(contract.refuses)]
        for path, code in refused:
            if code not in library.errors:
                position = contract.source.at(path)
                hint = nearest(code, sorted(library.errors), "the codes are in spec/errors.yaml")
                problems.append(Problem(position, "C003", f"unknown failure code {code!r}", hint))
    if found := problems or preflight(library):
        raise MalformedContract(found)


def _operators_named(library: Library, operator: str) -> list[str]:
    names = sorted(library.contracts)
    return [name for name in names if name == operator] or [name for name in names if name.endswith(f".{operator}")]


def is_operator(library: Library, operator: str) -> bool:
    """Whether this is the name of an operator, or the end of the name of one."""
    return len(_operators_named(library, operator)) == 1


def contract_named(library: Library, operator: str) -> Contract:
    """The contract of an operator, found by its name or the end of its name; raises CommandError."""
    found = _operators_named(library, operator)
    if len(found) == 1:
        return library.contracts[found[0]]
    hint = nearest(operator, sorted(library.contracts), "`tally schema` without an operator lists them")
    raise CommandError(f"operator {operator!r}", "T003", "no contract has this name", hint)


def frozen_vectors(library: Library, least: int = 0, operator: str = "") -> Corpus:
    """The corpus, or its cases of one operator, with every digest verified.

    Raises CorruptedCorpus, and CommandError for fewer than `least` cases.
    """
    from conformance.vectors.frozen.corpus import load_corpus

    corpus = load_corpus(library.suite, operator)
    place = library.suite.path_text(library.suite.vectors)
    if least and (orphans := sorted(corpus.cases.keys() - library.contracts.keys())):
        hint = "restore the contract, or run `tally vectors build`"
        raise CommandError(place, "T004", f"there are cases of {orphans[0]}, but no contract", hint)
    if len(corpus) < least:
        raise CommandError(
            place, "T004", "there are no vectors here, so nothing can be judged", "run `tally vectors build`"
        )
    return corpus
