"""`tally schema`: the JSON Schema of an operator's messages."""

from __future__ import annotations

import json
from pathlib import Path

import click

from conformance.cli.console import say


@click.command("schema")
@click.argument("operator", required=False)
@click.option(
    "--files",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the JSON Schemas of the contract files into this folder, for editors.",
)
def command(operator: str | None, folder: Path | None) -> int:
    """Print the JSON Schema of OPERATOR's request and response on the JSON wire.

    `$defs` has `params`, `result` and `failure`; for a machine, the schema of each of its methods. Without OPERATOR
    the operators are listed.

    \b
    Examples:
      tally schema Bounds.Clamp_v1 > clamp.schema.json
      tally schema --files .schemas
    """
    if folder is not None:
        return _write_files(folder)
    from conformance.cli.suite import contract_named, specification
    from conformance.contract.jsonschema import machine_schema, schema_of

    library = specification()
    if operator is None:
        for name, contract in sorted(library.contracts.items()):
            say(f"{name} {contract.version}  {contract.purpose}")
        return 0
    contract = contract_named(library, operator)
    if machine := contract.own_machine:
        methods = [library.contracts[name] for name in machine.methods]
        schema = machine_schema(contract, methods, library.errors)
    else:
        schema = schema_of(contract, library.errors)
    say(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0


def _write_files(folder: Path) -> int:
    """Write the schema of each kind of file; docs/language.md says how an editor finds them."""
    from conformance.cli.console import writing
    from conformance.cli.suite import current_suite
    from conformance.contract.suite_file import schema_folder
    from conformance.contract.yaml.published import published_schemas
    from conformance.vectors.jsontext import write_whole

    with writing(str(folder), "name another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in published_schemas(schema_folder(current_suite())).items():
            write_whole(folder / f"{name}.schema.json", json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
            say(f"wrote {folder / name}.schema.json")
    return 0
