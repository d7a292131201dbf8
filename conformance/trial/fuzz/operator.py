"""One operator fuzzed: Hypothesis draws calls, the reference says what is right."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from conformance.backend.drive import Call
from conformance.backend.observed import Observed
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.model import Contract
from conformance.trial.asker import Asker
from conformance.trial.check import Result, Verdict
from conformance.trial.fuzz.figures import Figures
from conformance.trial.fuzz.judgement import fuzz_check, judged
from conformance.trial.fuzz.leaf import changed, leaves_of
from conformance.trial.fuzz.machine import fuzz_machine
from conformance.trial.fuzz.seed import ACCEPTED, Native, Seeds, seeds_of, side_of
from conformance.trial.fuzz.shrink import shrink
from conformance.trial.generators.generator import Generator, generator_of
from conformance.vectors.case import Case

DEFAULT_EXAMPLES: Final = 200  # calls per operator
_TOGETHER: Final = 8  # calls in one Hypothesis example: one round trip
_CHANGES: Final = st.sampled_from([0, 1, 2, 2, 3, 3, 4])  # places of a seed that a call changes; fewer are simpler
_SUCCEEDING: Final = 4  # of five calls aim at success, one at a guard


class _Differs(Exception):
    """The backend's answer is not the reference's."""


def fuzz_operator(
    contract: Contract,
    cases: Sequence[Case],
    backend: Asker,
    reference: Asker,
    codebook: Codebook,
    examples: int | None = None,
    seed: str = "",
) -> tuple[Result, Mapping[str, Any]]:
    """Fuzz one operator, or one machine; the result and the figures for the record.

    The same seed gives the same calls; without one the operator's name is the seed. `examples` is a number of calls,
    reached or passed by less than one round trip of each round.
    """
    if contract.machine is not None:
        return fuzz_machine(contract, cases, backend, reference, codebook, examples or DEFAULT_EXAMPLES, seed)
    search = _Search(codebook[contract.operator], seeds_of(codebook[contract.operator], cases), backend, reference)
    wanted = examples or contract.fuzz_examples or DEFAULT_EXAMPLES
    search.hold(search.opening())
    rounds = 0
    while search.seeds.by_side and search.found is None and search.figures.asked < wanted:
        number = hashlib.sha256(f"{contract.operator}\0{seed}\0{rounds}".encode()).digest()
        _explore(search, wanted - search.figures.asked, int.from_bytes(number[:8], "big"))
        rounds += 1
    search.shrink()
    return search.result(), search.figures.record()


def _explore(search: _Search, wanted: int, number: int) -> None:
    """One Hypothesis run of about `wanted` calls, at most."""

    def hold(calls: list[tuple[str, Native]]) -> None:
        if search.found is None:
            search.hold(calls)
        if search.found is not None:
            raise _Differs

    settings = hypothesis.settings(
        max_examples=-(-wanted // _TOGETHER),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    calls = st.lists(_call(search), min_size=1, max_size=_TOGETHER)
    test: Callable[[], None] = hypothesis.seed(number)(settings(hypothesis.given(calls)(hold)))
    with contextlib.suppress(_Differs):
        test()


@st.composite
def _call(draw: Any, search: _Search) -> tuple[str, Native]:
    """A call on a wanted side: a seed of that side, changed in a few places that keep it there."""
    side = draw(search.sides)
    native = draw(search.starts[side])
    for _ in range(draw(_CHANGES)):
        leaf = draw(search.places)
        other = changed(native, leaf, draw)
        if other is not None and side_of(search.contract, other) == side:
            native = other
    return side, native


def _generated(contract: Contract, generator: Generator) -> Any:
    """Whole inputs of the contract's generator that no guard refuses, each made from one number."""
    made = st.integers(0, 2**64 - 1).map(lambda number: generator.make(Random(number)))  # noqa: S311
    return made.filter(lambda native: side_of(contract, native) == ACCEPTED)


class _Search:
    """The state of one operator's fuzzing: what was reached, and the last wrong answer found."""

    def __init__(self, forms: OperatorForms, seeds: Seeds, backend: Asker, reference: Asker) -> None:
        self.forms, self.contract, self.seeds = forms, forms.contract, seeds
        self.backend, self.reference = backend, reference
        self.leaves = leaves_of(forms.contract, seeds.all)
        # Built once: Hypothesis labels a strategy anew each time one is made.
        self.places = st.sampled_from(self.leaves)
        self.starts: dict[str, Any] = {side: st.sampled_from(natives) for side, natives in seeds.by_side.items()}
        if (generator := generator_of(self.contract)) is not None:
            generated = _generated(self.contract, generator)
            self.starts[ACCEPTED] = st.one_of(self.starts.get(ACCEPTED, generated), generated)
        guards = [side for side in seeds.by_side if side != ACCEPTED]
        accepted = [ACCEPTED] * (_SUCCEEDING * len(guards) or 1) if ACCEPTED in self.starts else []
        self.sides = st.sampled_from([*accepted, *guards])
        self.figures = Figures(forms.contract)
        self.found: Result | None = None
        self.wrong: tuple[str, Native] | None = None  # the call behind what was found

    def opening(self) -> list[tuple[str, Native]]:
        """The smallest seed of every side, asked before anything is drawn."""
        return [(side, natives[0]) for side, natives in self.seeds.by_side.items()]

    def hold(self, calls: Sequence[tuple[str, Native]]) -> None:
        """Ask both, compare, and count; notes the first wrong answer."""
        for side, _ in calls:
            self.figures.add(side)
        if (first := self._first_wrong([native for _, native in calls])) is not None:
            self.wrong = calls[first]

    def shrink(self) -> None:
        """Make the call behind a wrong answer small; a lost backend costs too much to be lost again and again."""
        if self.wrong is None or self.found is None or self.found.verdict is not Verdict.FAIL:
            return
        side, native = self.wrong

        def first_wrong(natives: Sequence[Native]) -> int | None:
            kept = [k for k, one in enumerate(natives) if side_of(self.contract, one) == side]
            for start in range(0, len(kept), _TOGETHER):
                some = kept[start : start + _TOGETHER]
                if (found := self._first_wrong([natives[k] for k in some])) is not None:
                    return some[found]
            return None

        shrink(native, self.leaves, first_wrong)

    def _first_wrong(self, natives: Sequence[Native]) -> int | None:
        """The place of the first input that is answered wrongly, and `found` is what was wrong with it."""
        asked = [Call(self.contract.operator, self.forms.inputs.from_native(native)) for native in natives]
        answers = zip(asked, self.reference.ask(asked), self.backend.ask(asked), strict=True)
        for k, (call, right, said) in enumerate(answers):
            if (wrong := self._judged(call, right, said)) is not None:
                self.found = wrong
                return k
        return None

    def _judged(self, call: Call, right: Observed, said: Observed) -> Result | None:
        found = "the smallest call found on which the backend and the reference differ"
        return judged(fuzz_check(self.contract), self.contract, call, right, said, found)

    def result(self) -> Result:
        """The verdict: what was found, or that too little was reached, or a pass."""
        if self.found is not None:
            return self.found
        if shortfalls := list(self.figures.shortfalls()):
            message = "fuzzing did not reach what it must: " + "; ".join(shortfalls)
            return Result(fuzz_check(self.contract), Verdict.ERROR, message=message)
        return Result(fuzz_check(self.contract), Verdict.PASS)
