"""L309: every operator is tried along the axes of representation and size."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.contract.types import Struct
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject
from conformance.vectors.notable import axes_of


class AxesWalked:
    """An operator or machine with leaves for an axis has a group along it, or says under `axes` why it has none."""

    code, name, level = "L309", "axes-walked", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Operators whose values nobody rounds, cuts or multiplies; and reasons where there is a group, or no leaf."""
        for contract in subject.contracts:
            if contract.method is not None:
                continue  # its cases are the machine's
            wanted = axes_of(*_inputs(subject, contract))
            walked = {group.body["axis"] for group in contract.groups if "axis" in group.body}
            for axis in sorted(wanted - walked - contract.axes.keys()):
                message = f"no group of {contract.operator} goes along the axis {axis}"
                hint = f"add a group with `axis: {axis}`, or say why not: `axes: {{{axis}: ...}}`"
                yield Finding(contract.position, self.code, message, contract.operator, hint)
            for axis in sorted(contract.axes.keys() & walked | contract.axes.keys() - wanted):
                message = f"{contract.operator} says why it has no {axis} group, and has one or needs none"
                where = contract.source.at(("axes", axis))
                yield Finding(where, self.code, message, contract.operator, "remove the reason")


def _inputs(subject: Subject, contract: Contract) -> list[Struct]:
    if contract.machine is None:
        return [contract.inputs]
    return [subject.library.contracts[name].inputs for name in contract.machine.methods]
