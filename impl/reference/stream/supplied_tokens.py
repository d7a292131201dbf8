"""An iterator whose items come by calls: what was supplied, and what must still be asked for."""

from __future__ import annotations

from typing import Never

from impl.reference.stream.context_stream import Place
from impl.reference.stream.token_sources import HeldTokens, OnEnd


class ItemWanted(Exception):
    """What was supplied does not decide the answer (ruling SA22)."""


class NoSuchPlace(Exception):
    """A pass ends before the place at which a restored stream is (rulings SA14, SA22)."""


class SuppliedTokens:
    """Serve the documents of an iterator that somebody else holds, each of which was asked for (requirement S16).

    It holds what the round needs that is being asked for, and forgets what was served. Every question that needs a
    further item, or the end of the pass, raises ItemWanted; only then there is something to supply.
    """

    is_seekable = False
    total_tokens = None

    def __init__(self, on_end: OnEnd) -> None:
        self.on_end: OnEnd = on_end
        self.is_asked = False
        self._first = Place(0, 0)
        self._passes = [HeldTokens()]
        self._is_given = False

    def supply(self, tokens: list[int]) -> None:
        """Add the next document of the pass that is being given; a document ends after its last token."""
        self.is_asked = False
        if self._is_given:
            self._passes.append(HeldTokens())
            self._is_given = False
        self._passes[-1].add(tokens)
        # A restored stream passes over what was served before.
        if len(self._passes) == 1:
            self._passes[0].forget(self._first.index)

    def end_pass(self) -> None:
        """Say that the pass that is being given has no further item; NoSuchPlace, and nothing changes."""
        if self._is_given:
            self._passes.append(HeldTokens())
        elif len(self._passes) == 1 and not self._is_reached(self._passes[0].end):
            raise NoSuchPlace
        self.is_asked, self._is_given = False, True

    def forget(self, place: Place) -> None:
        """Forget all before the place where the next round begins; nothing is asked for any more."""
        self.is_asked = False
        if place.pass_number - self._first.pass_number == len(self._passes):
            self._begin(place)
            return
        del self._passes[: place.pass_number - self._first.pass_number]
        self._first = place
        self._passes[0].forget(place.index)

    def is_ready(self, wanted: int) -> bool:
        """Tell that reading asks for what is not there."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`; ItemWanted."""
        held = self._pass(pass_number)
        if held.end < wanted and not self._is_whole(pass_number):
            self._ask()
        return min(wanted, held.end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass is at an index or after it; ItemWanted."""
        return self.reach(pass_number, index + 1) <= index

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end), which were reached."""
        return self._pass(pass_number).between(start, end)

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document ends within [start, end); a pass ends with one (ruling SA09)."""
        return self._pass(pass_number).breaks(start, end)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: the iterator's order is its own."""
        return

    def restart(self, index: int) -> None:
        """Begin the current pass anew: its first item is supplied again."""
        self._begin(Place(self._first.pass_number, 0))

    def resume(self, pass_number: int, index: int) -> bool:
        """Pass over all tokens before an index; whether there are so many shows when they are supplied."""
        self._begin(Place(pass_number, index))
        return True

    def _ask(self) -> Never:
        self.is_asked = True
        raise ItemWanted

    def _begin(self, place: Place) -> None:
        self.is_asked = False
        self._first = place
        self._passes = [HeldTokens()]
        self._is_given = False

    def _is_reached(self, end: int) -> bool:
        """Tell whether a stream can be where it is in a pass of so many tokens (ruling SA14)."""
        index = self._first.index
        return index == 0 or index < end or (index == end and self.on_end == "stop")

    def _pass(self, pass_number: int) -> HeldTokens:
        place = pass_number - self._first.pass_number
        if place >= len(self._passes):
            self._ask()
        return self._passes[place]

    def _is_whole(self, pass_number: int) -> bool:
        return self._is_given or pass_number - self._first.pass_number < len(self._passes) - 1
