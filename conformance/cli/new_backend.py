"""`tally new-backend`: the skeleton of a backend, or requests and their answers for a backend in any language."""

from __future__ import annotations

import json
import os
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Final

import click

from conformance.cli.console import CommandError, say
from conformance.cli.init import filled, require_new, write_files
from conformance.contract.family import ErrorCode
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.suite import Suite
from conformance.contract.suite_file import bundled_suite
from conformance.contract.types import Field, Scalar, Struct, has_volatile
from conformance.contract.yaml.machine_file import OPEN_HANDLE
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.compact import is_marker, is_recipe
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.leaf import contains_value

MOST_CALLS: Final = 40
_LONGEST_LINE: Final = 4_000  # characters


def can_be_transcribed(contract: Contract) -> bool:
    """Whether calls of an operator need no folder and no handle, and always get the same answer."""
    return contract.machine is None and contract.purity == "pure" and not has_volatile(contract.outputs)


def transcript(contract: Contract, library: Library, corpus: Corpus) -> tuple[str, str]:
    """The request lines and the answer lines, in canonical JSON and sorted; the answer to the hello is left out.

    The calls are frozen cases: every failure code first, then a case of each group in turn.
    """
    requests: list[Mapping[str, Any]] = [_request(0, "tally.hello", {"protocol": 1})]
    answers: list[Mapping[str, Any]] = []
    for number, step in enumerate(_calls(corpus.cases.get(contract.operator, ())), start=1):
        requests.append(_request(number, contract.operator, step.inputs))
        answers.append({"jsonrpc": "2.0", "id": number, **_answer(step, library)})
    requests.append({"jsonrpc": "2.0", "method": "tally.bye"})
    return "".join(f"{canonical(one)}\n" for one in requests), "".join(sorted(f"{canonical(one)}\n" for one in answers))


def canonical(message: Mapping[str, Any]) -> str:
    """A message with sorted keys and no spaces, as `jq -cS` writes it."""
    return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _request(number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _answer(step: CallStep, library: Library) -> Mapping[str, Any]:
    if isinstance(step.expected, ExpectedFailure):
        code = step.expected.code
        return {"error": {"code": library.errors[code].number, "message": code, "data": step.expected.data}}
    return {"result": step.expected.fields}


def _calls(cases: tuple[Case, ...]) -> Iterator[CallStep]:
    """At most forty short calls: the first of each failure code, then one of each group in turn."""
    groups: dict[str, list[CallStep]] = {}
    codes: dict[str, CallStep] = {}
    for case in cases:
        for step in case.steps:
            if isinstance(step, CallStep) and step.operator == case.operator and _is_short(step):
                if isinstance(step.expected, ExpectedFailure):
                    codes.setdefault(step.expected.code, step)
                groups.setdefault(case.group, []).append(step)
                break
    chosen = list(codes.values())
    for turn in range(max(map(len, groups.values()), default=0)):
        chosen += [steps[turn] for steps in groups.values() if turn < len(steps) and steps[turn] not in chosen]
    yield from chosen[:MOST_CALLS]


def _is_short(step: CallStep) -> bool:
    """Whether a call and its answer have no recipes or digests for long values, and fit on a short line."""
    answer = step.expected.data if isinstance(step.expected, ExpectedFailure) else step.expected.fields
    whole = not contains_value(step.inputs, is_recipe) and not contains_value(answer, is_marker)
    return whole and len(canonical(step.inputs)) + len(canonical(answer)) <= _LONGEST_LINE


_FILES: Final = {"python": ("backend.py", "operators.py"), "javascript": ("backend.js", "operators.js")}
_PROGRAM: Final = {"python": "python", "javascript": "node"}
_NAMES: Final = {"python": "Python", "javascript": "JavaScript"}
_TO_PARSE: Final = ("bytes", "value", "root", "handle")
_COMMENT: Final = {"python": "    ", "javascript": "// "}
_INDENT: Final = {"python": "    ", "javascript": "  "}


def smallest_contract(library: Library) -> Contract:
    """The operator that is easiest to begin with: pure, with nothing to parse, then the fewest inputs, then by name."""
    return min(library.contracts.values(), key=_effort)


def _effort(contract: Contract) -> tuple[bool, bool, int, str]:
    inputs = contract.inputs.fields
    ready = all(isinstance(field.type, Scalar) and field.type.name not in _TO_PARSE for field in inputs)
    return (contract.purity != "pure", not ready, len(inputs), contract.operator)


def skeleton(language: str, name: str, folder: str, contract: Contract, library: Library) -> dict[str, str]:
    """The text of every file by its name; for a machine or one of its methods, it has a stub of every method."""
    backend, operators = _FILES[language]
    begun = first_contracts(contract, library)
    functions = {one.operator: _function_name(language, one) for one in begun}
    machine = contract.machine
    words = {
        "NAME": re.sub(r"[^\w.-]", "-", name),
        "OPERATOR": contract.operator if machine is None else machine.name,
        "DECLARED": "one operator" if machine is None else f"the {len(begun)} methods of the machine {machine.name}",
        "FUNCTIONS": "\n\n".join(_function(language, one, functions[one.operator], library.errors) for one in begun),
        "TABLE": "\n".join(f'{_INDENT[language]}"{operator}": {name},' for operator, name in functions.items()),
        "LANGUAGE": _NAMES[language],
        "WORKPLACE": operators,
        "RUN": run_line(language, folder, contract),
    }
    texts = {file: filled(f"{language}/{file}", words) for file in (backend, operators)}
    return {**texts, "README.md": filled("README.md", words)}


def first_contracts(contract: Contract, library: Library) -> list[Contract]:
    """The contracts of a new backend's first functions: one operator, or all methods of one machine."""
    if contract.machine is None:
        return [contract]
    return [library.contracts[method] for method in contract.machine.methods]


def _function_name(language: str, contract: Contract) -> str:
    own = contract.operator.split(".")[-1 if contract.machine is None else -2 :]
    words = re.findall(r"[A-Z][a-z0-9]*", "".join(own).split("_v")[0])
    return "_".join(words).lower() if language == "python" else words[0].lower() + "".join(words[1:])


def _function(language: str, contract: Contract, name: str, errors: Mapping[str, ErrorCode]) -> str:
    signature = "\n".join(_signature(contract, errors, _COMMENT[language]))
    words = {"PURPOSE": contract.purpose, "FUNCTION": name, "SIGNATURE": signature}
    return filled(f"{language}/function", words)


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


ANY: Final = "any"
LANGUAGES: Final = ("python", "javascript", ANY)


def neutral_files(name: str, folder: str, contract: Contract, library: Library, corpus: Corpus) -> dict[str, str]:
    """The files for a backend in any other language: requests, answers, the schema, and a page of instructions."""
    from conformance.contract.jsonschema import schema_of

    requests, answers = transcript(contract, library, corpus)
    suite, operator = _suite_of(library.suite, Path(folder)), contract.operator
    words = {
        "NAME": re.sub(r"[^\w.-]", "-", name),
        "OPERATOR": operator,
        "CALLS": str(answers.count("\n")),
        "RUN": shlex.join(["tally", "run", *suite, "--backend", "./program", "--profile", "quick", "-k", operator]),
    }
    schema = json.dumps(schema_of(contract, library.errors), indent=2, ensure_ascii=False)
    return {
        "requests.jsonl": requests,
        "answers.jsonl": answers,
        "schema.json": f"{schema}\n",
        "README.md": filled("any/README.md", words),
    }


def _suite_of(suite: Suite, folder: Path) -> list[str]:
    """The option that names the suite, for commands in a folder outside it."""
    top = suite.root.resolve()
    if suite.root == bundled_suite().root or folder.resolve().is_relative_to(top):
        return []
    return ["--suite", os.path.relpath(top, folder.resolve())]


def _neutral(folder: Path, contract: Contract, library: Library) -> dict[str, str]:
    from conformance.cli.suite import frozen_vectors

    if not can_be_transcribed(contract):
        able = min(filter(can_be_transcribed, library.contracts.values()), key=_effort, default=None)
        hint = f"begin with --operator {able.operator}" if able else "use --language python or javascript"
        message = "its calls need folders or handles, which a file of requests cannot have"
        raise CommandError(contract.operator, "T006", message, hint)
    files = neutral_files(folder.resolve().name, str(folder), contract, library, frozen_vectors(library))
    if not files["answers.jsonl"]:
        raise CommandError(contract.operator, "T006", "it has no short frozen case", "run `tally vectors build` first")
    return files


@click.command("new-backend")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--language", type=click.Choice(LANGUAGES), required=True, help="The language of the skeleton.")
@click.option("--operator", default=None, help="The first operator or machine; the default is an easy operator.")
def command(folder: Path, language: str, operator: str | None) -> int:
    """Write the skeleton of a backend into FOLDER; existing files are never overwritten.

    With `--language any`: requests and their answers as lines of JSON, to pipe through a program in any language, and
    the schema to generate types from.

    \b
    Examples:
      tally new-backend --language python my-backend
      tally new-backend --language any --operator Bounds.Clamp_v1 my-backend
    """
    from conformance.cli.suite import contract_named, specification

    library = specification()
    contract = contract_named(library, operator) if operator else smallest_contract(library)
    if language == ANY:
        files = _neutral(folder, contract, library)
    else:
        files = skeleton(language, folder.resolve().name, str(folder), contract, library)
    require_new([folder / name for name in files])
    write_files({folder / name: text for name, text in files.items()})
    if language == ANY:
        say(f"\nnext: read {folder / 'README.md'}")
        return 0
    say(
        f"\nnext: {run_line(language, str(folder), contract)}\nthen: edit {folder / _FILES[language][1]}; see README.md"
    )
    return 0
