"""The start of fuzzing: complete inputs from the contract, and the numbers and words to draw from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from conformance.codec.codebook import OperatorForms
from conformance.contract.cache import digest_of_texts, open_cache
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.model import Contract
from conformance.contract.types import Struct
from conformance.trial.generator import Native
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.compact import expanded, holds_recipe
from conformance.vectors.leaf import contains_value, is_reference, with_texts
from conformance.vectors.place import Place, first_of_each, float_text, places

_LITERAL: Final = re.compile(r"(?<![\w.\"'])(\d+)u?\b")
_TEXT: Final = re.compile(r"[\"']([^\"']*)[\"']")
_MOST: Final = 48  # distinct values that are kept for a leaf
_LARGEST: Final = 2000  # characters of a kept value, printed
_CACHED: Final = "sides of fuzzed inputs"
# As repr prints one; a text with this word is asked again as well. That the pattern begins with a letter makes it fast.
_NAN: Final = re.compile(r"nan\b(?<!\wnan)")
_SHORT: Final = 16  # bytes of a digest


class InputPlaces:
    """The places of inputs of one type; the places of the inputs in `kept` are computed once."""

    def __init__(self, type_: Struct, kept: Iterable[Native] = ()) -> None:
        self.type = type_
        self._kept = {id(native): native for native in kept}
        self._known: dict[int, list[Place]] = {}

    def all(self, native: Native) -> list[Place]:
        """Every place of an input, containers before their parts."""
        if id(native) not in self._kept:
            return places(self.type, native)
        if id(native) not in self._known:
            self._known[id(native)] = places(self.type, native)
        return self._known[id(native)]

    def first(self, native: Native) -> tuple[Place, ...]:
        """The first place of every leaf."""
        return first_of_each(self.all(native))

    def last(self, native: Native) -> tuple[Place, ...]:
        """The last place with a value of every leaf that has several places."""
        paths = {place.key: place.path for place in self.first(native)}
        last = {place.key: place for place in self.all(native) if place.is_there}
        return tuple(place for place in last.values() if place.path != paths[place.key])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The numbers and words that the expressions of a contract mention; the values seen at each leaf of examples."""

    numbers: tuple[int, ...]
    words: tuple[str, ...]
    seen: Mapping[str, tuple[Any, ...]]
    inside: InputPlaces  # of the examples

    def at(self, key: str) -> Sequence[Any]:
        """The values of the examples at a leaf; empty if no example has the leaf."""
        return self.seen.get(key, ())


def vocabulary_of(contract: Contract, examples: Sequence[Native]) -> Vocabulary:
    """The vocabulary of a contract with these native inputs as examples, the shortest values of a leaf first."""
    inside = InputPlaces(contract.inputs, examples)
    texts = [clause.expression.text for clause in contract.requires]
    texts += [let.expression.text for let in contract.environment.lets]
    texts += [expression.text for expression in contract.domain]
    texts += [edge.when.text for edge in contract.edge_cases]
    numbers = {int(number) for text in texts for number in _LITERAL.findall(text)}
    words = {word for text in texts for word in _TEXT.findall(text) if len(word) < 80}
    seen: dict[str, dict[str, Any]] = {}
    for example in examples:
        for place in inside.all(example):
            if place.is_there and len(told := printed(place.value)) <= _LARGEST:
                seen.setdefault(place.key, {})[told] = place.value
    kept = {
        key: tuple(found[told] for told in sorted(found, key=lambda text: (len(text), text))[:_MOST])
        for key, found in seen.items()
    }
    return Vocabulary(tuple(sorted(numbers)), tuple(sorted(words)), kept, inside)


LONGEST: Final = 40_000  # characters of a printed call; of the longer calls, two on each side are fuzzed
ACCEPTED = ""  # the side that no guard refuses


def longest_of(natives: Iterable[Native]) -> Native | None:
    """The longest of these inputs that may be asked many times; None if none may."""
    short = [native for native in natives if len(printed(native)) <= LONGEST]
    return max(short, key=lambda native: len(printed(native)), default=None)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Native inputs by the id of the first guard that refuses them (ACCEPTED if none does); smallest first.

    Of those that no guard refuses, the last `failed` ones have a failure as their answer all the same.
    """

    by_side: Mapping[str, tuple[Native, ...]]
    failed: int = 0

    @property
    def answered(self) -> tuple[Native, ...]:
        """The seeds that no guard refuses and that have a result; those that fail too, if there are no others."""
        natives = self.by_side.get(ACCEPTED, ())
        return natives[: len(natives) - self.failed] or natives

    @property
    def all(self) -> tuple[Native, ...]:
        """Every seed."""
        return tuple(native for side in sorted(self.by_side) for native in self.by_side[side])


def seeds_of(forms: OperatorForms, cases: Sequence[Case], bounds: InputLimits | None = None) -> Seeds:
    """The inputs of an operator's frozen calls that are cheap enough to ask many times.

    On each side the smallest of every group comes first, then the next of every group: each group tests its own idea.
    If the reference alone refuses a call, it comes after those with a result: near a text that is no version, no text
    is one.
    """
    contract = forms.contract
    bounds = bounds or InputLimits(contract)
    found: dict[str, dict[str, dict[str, Native]]] = {}
    failed: dict[str, dict[str, Native]] = {}
    for case in cases:
        for step in _whole_calls(case):
            told = repr(step.inputs)
            if step.operator == contract.operator:
                native: Native = forms.inputs.to_native(step.inputs)
                if (side := bounds.side(native)) is not None:
                    fails = side == ACCEPTED and isinstance(step.expected, ExpectedFailure)
                    groups = failed if fails else found.setdefault(side, {})
                    groups.setdefault(case.group, {})[told] = native
    by_side = {side: tuple(_few_long(_in_turns(groups.values()))) for side, groups in sorted(found.items())}
    last = tuple(_few_long(_in_turns(failed.values())))
    return Seeds({ACCEPTED: by_side.pop(ACCEPTED, ()) + last, **by_side} if last else by_side, len(last))


def _few_long(natives: Iterable[Native]) -> Iterator[Native]:
    """The short inputs in their order, then the two smallest long ones."""
    sized = [(len(printed(native)), native) for native in natives]
    yield from (native for size, native in sized if size <= LONGEST)
    long = sorted((size, k) for k, (size, _) in enumerate(sized) if size > LONGEST)
    yield from (sized[k][1] for _, k in long[:2])


def _in_turns(groups: Iterable[Mapping[str, Native]]) -> Iterator[Native]:
    ordered = [sorted(natives, key=lambda told: (len(told), told)) for natives in groups]
    rows = zip_longest(*ordered)
    by_told = {told: native for natives in groups for told, native in natives.items()}
    for row in rows:
        for told in sorted(filter(None, row), key=lambda told: (len(told), told)):
            if (native := by_told.pop(told, None)) is not None:
                yield native


def _whole_calls(case: Case) -> Iterator[CallStep]:
    """The calls of a case whose inputs are written in it, not taken from an earlier answer or made by a recipe.

    Long texts count as written: the vectors alone have a recipe in their place.
    """
    earlier: set[str] = set()

    def refers(value: Any) -> bool:
        return is_reference(value) and value["from"].partition(".")[0] in earlier

    for step in case.steps:
        if isinstance(step, CallStep):
            call = replace(step, inputs=expanded(step.inputs, "text"))
            if not contains_value(call.inputs, refers) and not holds_recipe(call.inputs):
                yield call
            earlier.add(step.name)


class InputLimits:
    """The guards, the domain and the fuzz limits of a contract, asked about native inputs.

    Most of the time of drawing is spent in the expression engine. So its answers are cached: the next run asks about
    the same inputs, as long as the contract's expressions and types are the same.
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        guards = (guard.expression for guard in contract.requires)
        self._environment = contract.environment.only_for((*guards, *contract.domain, *contract.fuzz_limits))
        self._sides = (None, ACCEPTED, *(guard.id for guard in contract.requires))
        self._earlier: Mapping[bytes, int] = {}
        self._asked: dict[bytes, int] = {}

    def recall(self) -> InputLimits:
        """Load the answers that earlier commands stored; returns itself."""
        found = open_cache("trial").get(_CACHED, self._key())
        self._earlier = found if isinstance(found, dict) else {}
        return self

    def keep(self) -> None:
        """Store the answers for later commands."""
        if self._asked.keys() - self._earlier.keys():
            open_cache("trial").put(_CACHED, self._key(), self._asked)

    def _key(self) -> str:
        """The digest of everything but the input that an answer depends on: expressions, their environment, types."""
        contract = self.contract
        guards = [(guard.id, guard.expression.text) for guard in contract.requires]
        bounds = [[one.text for one in some] for some in (contract.domain, contract.fuzz_limits)]
        named = [(let.name, let.expression.text) for let in self._environment.lets]
        return digest_of_texts(map(repr, (contract.inputs, guards, *bounds, named, self._environment.over)))

    def side(self, native: Native, limited: bool = True, told: str = "") -> str | None:
        """The side of the guards on which an input lies. None if it must not be asked: it is outside the domain or, if
        `limited`, outside the limits of fuzzing. `told` is the printed input, if known."""
        number = self._once(f"{limited:d} {told or printed(native)}", lambda: self._side(native, limited))
        return self._sides[number]

    def is_cheap(self, native: Native, told: str = "") -> bool:
        """Whether no fuzz limit is false for an input; a limit without a value does not count."""
        limits = self.contract.fuzz_limits
        return not limits or bool(self._once(f"? {told or printed(native)}", lambda: self._is_cheap(native)))

    def _once(self, question: str, ask: Callable[[], int]) -> int:
        if _NAN.search(question):
            return ask()  # in a map of pairs all NaNs are printed alike, but a guard may tell them apart by their bits
        digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[:_SHORT]
        if digest not in self._asked:
            known = self._earlier.get(digest)
            self._asked[digest] = ask() if known is None else known
        return self._asked[digest]

    def _side(self, native: Native, limited: bool) -> int:
        activation = self._bind(native)
        for number, guard in enumerate(self.contract.requires):
            if not guard.expression.holds(activation):
                return number + 2
        bounds = (*self.contract.domain, *(self.contract.fuzz_limits if limited else ()))
        return int(all(expression.holds(activation) for expression in bounds))

    def _is_cheap(self, native: Native) -> int:
        activation = self._bind(native)
        return int(all(limit.evaluate(activation) is not False for limit in self.contract.fuzz_limits))

    def _bind(self, native: Native) -> Any:
        """The activation of an input. The expression engine cuts a text at NUL, so NUL is replaced by another control
        character if the input cannot be bound."""
        try:
            return self._environment.bind(native)
        except Unjudgeable:
            return self._environment.bind(with_texts(native, _without_nul, keys=True))


def is_cheap(contract: Contract, native: Native) -> bool:
    """Whether no fuzz limit is false for one input."""
    return not contract.fuzz_limits or InputLimits(contract).is_cheap(native)


_PLAIN: Final = frozenset({str, int, bool, bytes})  # most parts; a call for each would cost more than its text


def printed(value: Any) -> str:
    """A native value as a text that no other value has; NumPy prints long arrays with gaps."""
    kind = type(value)
    if kind is dict:
        parts = [f"{key!r}: {repr(one) if type(one) in _PLAIN else printed(one)}" for key, one in value.items()]
        return "{" + ", ".join(parts) + "}"
    if kind is list:
        return "[" + ", ".join([repr(one) if type(one) in _PLAIN else printed(one) for one in value]) + "]"
    if kind is np.ndarray:
        return f"{_printed_dtype(value.dtype)}{value.shape}{value.tobytes()!r}"
    return float_text(value) if kind is float else repr(value)


@cache
def _printed_dtype(dtype: np.dtype[Any]) -> str:
    return str(dtype)  # NumPy takes 10 us to make the text, and there are hundreds of arrays in one input


def _without_nul(text: str) -> str:
    return text.replace("\0", "\x01").replace("\U0010ffff", "\x01")
