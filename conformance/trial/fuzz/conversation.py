"""A conversation with a machine that a generator of its suite makes: calls, and edits of the files between them."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.codec.codebook import Codebook
from conformance.contract.model import Contract
from conformance.trial.fuzz.program import ProgramCall, step_of
from conformance.trial.generator import Native
from conformance.vectors.case import FileStep, TreeStep
from conformance.vectors.conversation.exchange import AnyStep


def conversation_steps(contract: Contract, codebook: Codebook, made: Native) -> tuple[AnyStep, ...]:
    """The steps of a generated conversation, and a look at all its files at the end.

    `made` has the name of its one `root`, and `steps`: an edit of the files as a trace has it, without its root, or a
    `call` of an operation with its native `inputs`. A call takes the handle of the last opening before it.
    """
    return (*_steps(contract, codebook, made), TreeStep(made["root"], ".", contract.fuzz_decode))


def _steps(contract: Contract, codebook: Codebook, made: Native) -> Iterator[AnyStep]:
    program: list[ProgramCall] = []
    opening: int | None = None
    for entry in made["steps"]:
        if "call" not in entry:
            ((action, body),) = entry.items()
            yield FileStep(action, {"root": made["root"], **body})
            continue
        operator = f"{contract.operator}.{entry['call']}"
        forms = codebook[operator]
        method = forms.contract.method
        takes = method is not None and method.takes
        roots = {name: {"root": made["root"]} for name in forms.roots}
        program.append(ProgramCall(operator, entry["inputs"], roots, opening if takes else None))
        opening = opening if takes else len(program) - 1
        yield step_of(len(program) - 1, program, codebook, own=False)
