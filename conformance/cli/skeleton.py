"""The files of a new backend, filled in from the contract of its first operator."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.registry import ErrorCode
from conformance.contract.types import Field, Scalar

_FOLDER: Final = Path(__file__).with_name("skeletons")
_FILES: Final = {"python": ("backend.py", "operators.py"), "javascript": ("backend.js", "operators.js")}
_PROGRAM: Final = {"python": "python", "javascript": "node"}
_NAMES: Final = {"python": "Python", "javascript": "JavaScript"}
_TO_PARSE: Final = ("bytes", "value", "root", "handle")
_COMMENT: Final = {"python": "    ", "javascript": "// "}


def smallest(library: Library) -> Contract:
    """The operator that is easiest to begin with: pure, with nothing to parse, then the fewest inputs, then by name."""
    return min(library.contracts.values(), key=_effort)


def _effort(contract: Contract) -> tuple[bool, bool, int, str]:
    inputs = contract.inputs.fields
    ready = all(isinstance(field.type, Scalar) and field.type.name not in _TO_PARSE for field in inputs)
    return (contract.purity != "pure", not ready, len(inputs), contract.operator)


def skeleton(
    language: str, name: str, folder: str, contract: Contract, errors: Mapping[str, ErrorCode]
) -> dict[str, str]:
    """The text of every file by its name."""
    backend, operators = _FILES[language]
    words = re.findall(r"[A-Z][a-z0-9]*", contract.operator.rsplit(".", 1)[-1].split("_v")[0])
    camel = words[0].lower() + "".join(words[1:])
    filled = {
        "NAME": re.sub(r"[^\w.-]", "-", name),
        "OPERATOR": contract.operator,
        "PURPOSE": contract.purpose,
        "FUNCTION": "_".join(words).lower() if language == "python" else camel,
        "SIGNATURE": "\n".join(_signature(contract, errors, _COMMENT[language])),
        "LANGUAGE": _NAMES[language],
        "WORKPLACE": operators,
        "RUN": run_line(language, folder, contract),
    }

    def fill(source: Path) -> str:
        return re.sub("@([A-Z]+)@", lambda match: filled[match[1]], source.read_text(encoding="utf-8"))

    texts = {file: fill(_FOLDER / language / f"{file}.txt") for file in (backend, operators)}
    return {**texts, "README.md": fill(_FOLDER / "README.md.txt")}


def workplace(language: str) -> str:
    """The file that the user fills in."""
    return _FILES[language][1]


def run_line(language: str, folder: str, contract: Contract) -> str:
    """The command that tries the new backend."""
    program = shlex.join([_PROGRAM[language], PurePath(folder, _FILES[language][0]).as_posix()])
    return shlex.join(["tally", "run", "--backend", program, "--profile", "quick", "-k", contract.operator])


def _signature(contract: Contract, errors: Mapping[str, ErrorCode], prefix: str) -> Iterator[str]:
    lines = ["params:", *(f"    {_field(field)}" for field in contract.inputs.fields)]
    lines += ["result:", *(f"    {_field(field)}" for field in contract.outputs.fields)]
    if lets := _lets(contract):
        lines += ["let:", *lets]
    lines += ["refused where one of these is not true, the first that is not decides:"]
    lines += [
        f"    {guard.expression.text}  else {guard.code} ({_number(guard.code, errors)})" for guard in contract.requires
    ]
    if contract.refuses:
        lines.append("refused too where")
    lines += [f"    {one.when}: {one.code} ({_number(one.code, errors)})" for one in contract.refuses]
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


def _field(field: Field) -> str:
    optional = "?" if field.optional else ""
    default = f" = {field.default}" if field.default is not None else ""
    return f"{field.name}{optional}: {field.type}{default}"


def _number(code: str, errors: Mapping[str, ErrorCode]) -> str:
    return str(errors[code].number) if code in errors else "not registered"
