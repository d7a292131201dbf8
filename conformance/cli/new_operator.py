"""`tally new-operator`: the contract, requirements, reference and mutants of another operator, which work at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from conformance.cli.console import CommandError, say
from conformance.cli.init import filled, write_files

if TYPE_CHECKING:
    from conformance.contract.library import Library

_NAME: Final = re.compile(r"[A-Z]\w*(\.[A-Z]\w*)+\Z", re.ASCII)
_TABLE: Final = "OPERATORS = {\n"  # starts the list of functions in a reference made by `tally init`


@dataclass(frozen=True, slots=True)
class NewFiles:
    """The texts of the files that change, by their path in the suite, and the work that is left to the user."""

    texts: Mapping[str, str]
    left: tuple[str, ...]


def draft(operator: str, library: Library) -> NewFiles:
    """The files of a new operator; raises CommandError if the suite has the operator."""
    suite = library.suite
    family = operator.split(".")[-2].lower()
    folder = suite.spec / family
    contract = folder / f"{operator}.yaml"
    if operator in library.contracts or contract.exists():
        raise CommandError(
            f"operator {operator!r}", "T005", "the suite has this operator already", "choose another name"
        )
    values = _values(operator, family, library)
    texts = {suite.path_text(contract): filled("operator/contract.yaml", values)}
    left: list[str] = []
    for name, head in (("requirements", f"seed: {values['SEED']}\nrequirements:\n"), ("mutants", "mutants:\n")):
        file = folder / f"{name}.yaml"
        before = file.read_text("utf-8") if file.exists() else head
        texts[suite.path_text(file)] = _appended(before, filled(f"operator/{name}.yaml", values))
    texts |= _source(family, values, library, left)
    reference = suite.root / suite.mutants.folder / "operators.py"
    before = reference.read_text("utf-8") if suite.mutants.folder and reference.is_file() else ""
    if before.count(_TABLE) == 1:
        entry = f'{_TABLE}    "{operator}": {values["FUNCTION"]},\n'
        texts[suite.path_text(reference)] = before.replace(_TABLE, filled("operator/function.py", values) + entry)
    else:
        left.append(f"add {operator} to the reference, and let the patches of its mutants name its files")
    return NewFiles(texts, tuple(left))


def _values(operator: str, family: str, library: Library) -> Mapping[str, str]:
    """The values of the @WORD@ places of the skeletons."""
    known = library.requirements.get(family)
    rows = known.requirements if known is not None else ()
    taken = {row.id for one in library.requirements.values() for row in one.requirements}
    prefix = re.sub(r"[0-9]+\Z", "", rows[-1].id) if rows else family[0].upper()
    free = (f"{prefix}{number:02}" for number in range(1, 10_000))
    refused, answered = (next(one for one in free if one not in taken) for _ in range(2))
    words = re.findall(r"[A-Z][a-z0-9]*", operator.rpartition(".")[2].split("_v")[0]) or [family]
    major = re.search(r"_v([0-9]+)\Z", operator)
    sections = [int(row.section) for row in rows if row.section.isdigit()]
    return {
        "OPERATOR": operator,
        "MAJOR": major[1] if major else "1",
        "SEED": known.seed if known is not None else family,
        "SECTION": str(max(sections, default=0) + 1),
        "CODE": min(library.errors),
        "REFUSED": refused,
        "ANSWERED": answered,
        "SLUG": "-".join(words).lower(),
        "FUNCTION": "_".join(words).lower(),
    }


def _source(family: str, values: Mapping[str, str], library: Library, left: list[str]) -> Mapping[str, str]:
    """The text of the source with the operator's sentences, and of the file that maps its lines."""
    from conformance.contract.family import coverage_from
    from conformance.contract.yaml.parser import parse
    from conformance.lint.coverage import text_of, updated

    suite, known = library.suite, library.coverage.get(family)
    document = suite.root / "docs" / (known.document if known is not None else f"{family}.md")
    if known is not None and not document.is_file():
        left.append(f"add the sentences of {values['OPERATOR']} to {known.document} and its lines to coverage.yaml")
        return {}
    before = document.read_text("utf-8") if document.is_file() else ""
    first = before.count("\n") + 1
    text = before + filled("operator/source.md", values)
    file = suite.spec / family / "coverage.yaml"
    rows = f"- {{lines: [{first}, {first + 1}], requirements: [{values['REFUSED']}]}}\n"
    rows += f"- {{lines: [{first + 2}, {first + 2}], requirements: [{values['ANSWERED']}]}}\n"
    head = file.read_text("utf-8") if file.exists() else f"document: {document.name}\npassages:\n"
    coverage = coverage_from(parse(_appended(head, rows), suite.path_text(file)), family)
    return {
        suite.path_text(document): text,
        suite.path_text(file): updated(coverage, text_of(document.name, text.encode())),
    }


def _appended(before: str, rows: str) -> str:
    """A YAML file with more rows at the end of its last list, indented like the others."""
    indents = re.findall(r"^( *)- ", before, re.MULTILINE)
    indent = min(indents, key=len) if indents else ""
    lines = (f"{indent}{line}" if line else line for line in rows.splitlines())
    return before.rstrip("\n") + "\n" + "\n".join(lines) + "\n"


@click.command("new-operator")
@click.argument("name")
def command(name: str) -> int:
    """Add the operator NAME to the suite: contract, requirements, reference and mutants, which work at once.

    NAME is like Text.Trim_v1; the word before the last point is its family. The operator doubles a number until you
    edit it. Exit status: 0 written, 2 the name is taken or a file cannot be written.

    \b
    Examples:
      tally new-operator Text.Trim_v1
      tally new-operator Queue.Push --suite contracts
    """
    from conformance.cli.suite import specification

    if not _NAME.match(name):
        hint = "write words with a capital, with a point between them: Text.Trim_v1"
        raise CommandError(f"operator {name!r}", "T003", "this cannot name an operator", hint)
    library = specification()
    made = draft(name, library)
    root = library.suite.root
    write_files({root / path: text for path, text in made.texts.items()}, root)
    for what in made.left:
        say(f"left to you: {what}")
    say("\nnext: `tally vectors build`, then `tally lint`")
    return 0
