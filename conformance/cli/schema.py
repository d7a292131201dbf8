"""`tally schema`: the JSON Schema of an operator's messages."""

from __future__ import annotations

import json

import click

from conformance.cli.console import say


@click.command("schema")
@click.argument("operator", required=False)
def command(operator: str | None) -> int:
    """Print the JSON Schema of OPERATOR's request and response on the JSON wire.

    `$defs` has `params`, `result` and `failure`; for a machine, the schema of each of its methods. Without OPERATOR
    the operators are listed.

    \b
    Examples:
      tally schema
      tally schema Bounds.Clamp_v1 > clamp.schema.json
    """
    from conformance.cli.specification import contract_named, specification
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
