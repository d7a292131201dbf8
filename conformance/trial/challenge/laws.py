"""Laws with new parameters: the backend must fulfil each drawn instance that the reference fulfils."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

from conformance.backend.outcome import Lost
from conformance.contract.model import LawUse
from conformance.trial.check import Check, Result, Verdict, lost
from conformance.trial.client import TOO_SLOW, Client
from conformance.trial.fuzz.task import FuzzTask
from conformance.trial.law import Axes, Instance, Law, Split, Tools, axes, judged, known_laws

_INSTANCES: Final = 2  # of each law
_TRIES: Final = 12  # draws, until enough instances are found that the reference fulfils
_BEYOND: Final = 500  # how far the number of a counted thing goes beyond the listed ones


def fuzz_laws(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Try every law of an operator with parameters drawn from the seed; the result and the figures by law.

    A law need not be true of every combination of parameters, so the reference is asked first.
    """
    counted: dict[str, int] = {}
    check, backend, reference = task.check, task.backend, task.reference
    for use in (one for one in task.contract.laws if one.profile != TOO_SLOW):
        law = known_laws(task.codebook.suite)[use.law]
        counted[law.name] = 0
        digest = hashlib.sha256(f"{task.operator}\0{law.name}\0{task.seed}".encode()).digest()
        drawn = zip(
            drawn_instances(law, use, Tools(task.codebook, reference.dialect), Random(digest)),  # noqa: S311
            drawn_instances(law, use, Tools(task.codebook, backend.dialect), Random(digest)),  # noqa: S311
            strict=True,
        )
        for right, other in drawn:
            if counted[law.name] >= _INSTANCES:
                break
            if _broken(check, law, right, reference) is None:
                counted[law.name] += 1
                if (wrong := _broken(check, law, other, backend)) is not None:
                    return wrong, _figures(counted)
    return Result(check, Verdict.PASS), _figures(counted)


def _figures(counted: Mapping[str, int]) -> dict[str, Any]:
    tried = sum(counted.values())
    return {"examples": tried, "succeeded": tried, "laws": dict(counted), "unforeseen": tried}


def _broken(check: Check, law: Law, instance: Instance, client: Client) -> Result | None:
    """The failure of a backend in one instance of a law; None if its answers fulfil the law."""
    before = f"{law.name}, {instance.slug}: "
    found = client.run(lambda: judged(check, instance.start(), before), instance.alone)
    if isinstance(found, Lost):
        return lost(check, found)
    return None if found.verdict is Verdict.PASS else found


def drawn_instances(law: Law, use: LawUse, tools: Tools, random: Random) -> Iterator[Instance]:
    """Drawn instances, all different and none of them listed by the contract; at most `_TRIES`."""
    known = {instance.slug for instance in law.instances(tools, use)}
    for _ in range(_TRIES):
        chosen = _draw_parameters(axes(use, law.defaults), law, random)
        made = list(law.instances(tools, replace(use, over=chosen)))
        new = [instance for instance in made if instance.slug not in known]
        if new:
            # A counted parameter makes many instances, and the last is the drawn one; other parameters make one.
            known.add(new[-1].slug)
            yield new[-1]


def _draw_parameters(chosen: Axes, law: Law, random: Random) -> dict[str, list[Any]]:
    """One drawn value for each parameter; if an instance takes all values of a parameter, each of them is drawn."""
    split = law.split if isinstance(law.split, Split) else Split()
    drawn: dict[str, list[Any]] = {}
    for name, values in chosen.items():
        if name in split.counts:
            drawn[name] = [values[0] + random.randint(1, _BEYOND)]
        elif name in split.whole:
            drawn[name] = [_value(values, random) for _ in values]
        else:
            drawn[name] = [_value(values, random)]
    return drawn


def _value(values: Sequence[Any], random: Random) -> Any:
    """A number between the listed ones, or from half the only one up to it; for other types, a listed value."""
    if any(type(value) is not int for value in values):
        return random.choice(list(values))
    low, high = min(values), max(values)
    return random.randint(low if low < high else (high + 1) // 2, high)
