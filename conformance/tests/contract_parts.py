"""Everything that can be taken out of a contract: what tests delete, to see lint turn red."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.contract.yaml.machine_file import OPEN_HANDLE
from conformance.contract.yaml.source import ValuePath


def parts(contract: Contract) -> Iterator[tuple[str, ValuePath]]:
    """Each part of a contract by a name for it, and where it stands in the parsed file."""
    for k, guard in enumerate(contract.requires):
        if guard.id != OPEN_HANDLE:  # the machine words it once, for all of its methods
            yield f"guard {guard.id}", ("requires", k)
    for k, refusal in enumerate(contract.refuses):
        yield f"refusal {refusal.id}", ("refuses", k)
    for k, clause in enumerate(contract.ensures):
        yield f"postcondition {clause.id}", ("ensures", k)
    for k, edge in enumerate(contract.edge_cases):
        yield f"edge case {edge.id}", ("edge_cases", k)
    for k, use in enumerate(contract.laws):
        yield f"law {use.law}", ("laws", k)
    for k, clause in enumerate(contract.invariants):
        yield f"invariant {clause.id}", ("invariants", k)
    for name in contract.source.value.get("becomes", {}):
        yield f"what becomes of {name}", ("becomes", name)
    for k, name in enumerate(contract.source.value.get("keeps", ())):
        yield f"that {name} stays", ("keeps", k)
    if machine := contract.own_machine:
        for one in machine.variables:
            yield f"variable {one.name}", ("state", one.name)
    for k, group in enumerate(contract.groups):
        yield f"group {group.name}", ("vectors", k)
    for name in contract.ordering:
        yield f"order of {name}", ("ordering", name)
    for k, name in enumerate(contract.rng.through if contract.rng else ()):
        yield f"randomness through {name}", ("rng", "through", k)
