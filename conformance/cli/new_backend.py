"""`tally new-backend`: the skeleton of a backend that says hello and fails its first vector."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

import click

from conformance.cli.console import say
from conformance.contract.library import Library
from conformance.contract.machine_file import OPEN_HANDLE
from conformance.contract.model import Contract
from conformance.contract.registry import ErrorCode
from conformance.contract.types import Field, Scalar, Struct

_FOLDER: Final = Path(__file__).with_name("skeletons")
_FILES: Final = {"python": ("backend.py", "operators.py"), "javascript": ("backend.js", "operators.js")}
_PROGRAM: Final = {"python": "python", "javascript": "node"}
_NAMES: Final = {"python": "Python", "javascript": "JavaScript"}
_TO_PARSE: Final = ("bytes", "value", "root", "handle")
_COMMENT: Final = {"python": "    ", "javascript": "// "}
_INDENT: Final = {"python": "    ", "javascript": "  "}


def smallest(library: Library) -> Contract:
    """The operator that is easiest to begin with: pure, with nothing to parse, then the fewest inputs, then by name."""
    return min(library.contracts.values(), key=_effort)


def _effort(contract: Contract) -> tuple[bool, bool, int, str]:
    inputs = contract.inputs.fields
    ready = all(isinstance(field.type, Scalar) and field.type.name not in _TO_PARSE for field in inputs)
    return (contract.purity != "pure", not ready, len(inputs), contract.operator)


def skeleton(language: str, name: str, folder: str, contract: Contract, library: Library) -> dict[str, str]:
    """The text of every file by its name; of a machine, or a method of one, all methods are begun."""
    backend, operators = _FILES[language]
    begun = begun_with(contract, library)
    functions = {one.operator: _function_name(language, one) for one in begun}
    machine = contract.machine
    filled = {
        "NAME": re.sub(r"[^\w.-]", "-", name),
        "OPERATOR": contract.operator if machine is None else machine.name,
        "DECLARED": "one operator" if machine is None else f"the {len(begun)} methods of the machine {machine.name}",
        "FUNCTIONS": "\n\n".join(_function(language, one, functions[one.operator], library.errors) for one in begun),
        "TABLE": "\n".join(f'{_INDENT[language]}"{operator}": {name},' for operator, name in functions.items()),
        "LANGUAGE": _NAMES[language],
        "WORKPLACE": operators,
        "RUN": run_line(language, folder, contract),
    }
    texts = {file: _filled(_FOLDER / language / f"{file}.txt", filled) for file in (backend, operators)}
    return {**texts, "README.md": _filled(_FOLDER / "README.md.txt", filled)}


def begun_with(contract: Contract, library: Library) -> list[Contract]:
    """The contracts whose functions a new backend begins with: one operator, or what works on one state."""
    if contract.machine is None:
        return [contract]
    return [library.contracts[method] for method in contract.machine.methods]


def _function_name(language: str, contract: Contract) -> str:
    own = contract.operator.split(".")[-1 if contract.machine is None else -2 :]
    words = re.findall(r"[A-Z][a-z0-9]*", "".join(own).split("_v")[0])
    return "_".join(words).lower() if language == "python" else words[0].lower() + "".join(words[1:])


def _function(language: str, contract: Contract, name: str, errors: Mapping[str, ErrorCode]) -> str:
    signature = "\n".join(_signature(contract, errors, _COMMENT[language]))
    filled = {"PURPOSE": contract.purpose, "FUNCTION": name, "SIGNATURE": signature}
    return _filled(_FOLDER / language / "function.txt", filled)


def _filled(source: Path, values: Mapping[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda match: values[match[1]], source.read_text(encoding="utf-8"))


def workplace(language: str) -> str:
    """The file that the user fills in."""
    return _FILES[language][1]


def run_line(language: str, folder: str, contract: Contract) -> str:
    """The command that tries the new backend."""
    pattern = contract.operator if contract.machine is None else contract.machine.name
    program = shlex.join([_PROGRAM[language], PurePath(folder, _FILES[language][0]).as_posix()])
    return shlex.join(["tally", "run", "--backend", program, "--profile", "quick", "-k", pattern])


def _signature(contract: Contract, errors: Mapping[str, ErrorCode], prefix: str) -> Iterator[str]:
    lines = ["params:", *_fields(contract.inputs), "result:", *_fields(contract.outputs)]
    if lets := _lets(contract):
        lines += ["let:", *lets]
    lines += ["guards, in order; the first that is not true decides the failure:"]
    for guard in contract.requires:
        that = "the handle is open" if guard.id == OPEN_HANDLE else guard.expression.text
        lines.append(f"    {that}  else {guard.code} ({_number(guard.code, errors)})")
    if contract.refuses:
        lines.append("also refused if:")
    lines += [f"    {one.when.rstrip('.')}: {one.code} ({_number(one.code, errors)})" for one in contract.refuses]
    if after := contract.source.value.get("becomes"):
        lines += ["state afterwards:", *(f"    {name}: {text}" for name, text in after.items())]
    lines += [f"failure record: {', '.join(_field(field) for field in contract.failure.fields)}"]
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        wrapped = textwrap.wrap(line, 110, subsequent_indent=indent, drop_whitespace=True, break_long_words=False)
        yield from (f"{prefix}{piece}".rstrip() for piece in wrapped)


def _lets(contract: Contract) -> list[str]:
    """The intermediate values that the guards use, in their order."""
    words = set(re.findall(r"\w+", " ".join(guard.expression.text for guard in contract.requires)))
    lines: list[str] = []
    for let in reversed(contract.environment.lets):
        if let.name in words:
            words.update(re.findall(r"\w+", let.expression.text))
            lines.append(f"    {let.name} = {let.expression.text}")
    return lines[::-1]


def _fields(struct: Struct, indent: str = "    ") -> Iterator[str]:
    for field in struct.fields:
        yield f"{indent}{_field(field)}"
        if isinstance(field.type, Struct) and not field.type.name:
            yield from _fields(field.type, f"{indent}    ")


def _field(field: Field) -> str:
    optional = "?" if field.optional else ""
    default = f" = {field.default}" if field.default is not None else ""
    return f"{field.name}{optional}: {field.type}{default}"


def _number(code: str, errors: Mapping[str, ErrorCode]) -> str:
    return str(errors[code].number) if code in errors else "not registered"


LANGUAGES: Final = ("python", "javascript")


@click.command("new-backend")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--language", type=click.Choice(LANGUAGES), required=True, help="The language of the skeleton.")
@click.option("--operator", default=None, help="The first operator or machine; the default is an easy operator.")
def command(folder: Path, language: str, operator: str | None) -> int:
    """Write the skeleton of a backend into FOLDER; existing files are never overwritten.

    \b
    Examples:
      tally new-backend --language python my-backend
      tally new-backend --language javascript --operator Bounds.Clamp_v1 mine
    """
    from conformance.cli.console import Complaint, writing
    from conformance.cli.specification import contract_named, specification
    from conformance.vectors.jsontext import write_whole

    library = specification()
    contract = contract_named(library, operator) if operator else smallest(library)
    files = skeleton(language, folder.resolve().name, str(folder), contract, library)
    in_the_way = [name for name in files if (folder / name).exists()]
    if in_the_way:
        hint = "nothing was written; name a new folder"
        raise Complaint(str(folder / in_the_way[0]), "T005", "this file exists already", hint)
    for name, text in files.items():
        with writing(str(folder), "name a new folder"):
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text)
        say(f"wrote {folder / name}")
    say(
        f"\nnext: {run_line(language, str(folder), contract)}\nthen: edit {folder / workplace(language)}; see README.md"
    )
    return 0
