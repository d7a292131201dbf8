"""The listings of inputs near the frozen ones. Pure operators, operators of files and machines are all asked them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from conformance.trial.fuzz.listings.guards import at_numbers, beside_guards
from conformance.trial.fuzz.listings.inputs import exchanged, neighbours, pair_variants, triple_variants, versions
from conformance.trial.fuzz.listings.marks import marks_of_texts, texts_alike
from conformance.trial.fuzz.listings.renamings import renamings, twins
from conformance.trial.fuzz.listings.written import numbers_in_texts, parts_of_texts, texts_together
from conformance.trial.fuzz.seed import ACCEPTED, InputPlaces, Vocabulary
from conformance.trial.generator import Native

_MOST_WRITTEN: Final = 600  # texts with other numbers or parts; fewer if there are many texts
_MOST_TOGETHER: Final = 150  # inputs with three large numbers that the guards are asked about; they refuse most


@dataclass(frozen=True, slots=True)
class Origins:
    """The inputs that listings change.

    `by_side` holds them by the guard that refuses them, ACCEPTED for none. `side` names the guard that refuses any
    input, None for an input that must not be asked.
    """

    words: Vocabulary
    by_side: Mapping[str, Sequence[Native]]
    side: Callable[[Native], str | None]
    failed: int = 0  # of the last accepted ones, that the reference refuses all the same
    no_file_opened: bool = False  # so a text may become any path

    @property
    def accepted(self) -> Sequence[Native]:
        """The inputs that no guard refuses."""
        return self.by_side.get(ACCEPTED, ())

    @property
    def answered(self) -> Sequence[Native]:
        """The accepted inputs that have a result; all accepted ones if there are none."""
        return self.accepted[: len(self.accepted) - self.failed] or self.accepted


@dataclass(frozen=True, slots=True)
class Listing:
    """Inputs that show one kind of mistake, and how many of them a pure operator is asked.

    If it is for `accepted` inputs, those that a guard refuses show nothing.
    """

    make: Callable[[Origins], Iterator[Native]]
    most: int
    accepted: bool = False

    def inputs(self, origins: Origins) -> Iterator[Native]:
        """The inputs near these, one after the other."""
        made = self.make(origins)
        return (native for native in made if origins.side(native) == ACCEPTED) if self.accepted else made


def _pairs(origins: Origins) -> Iterator[Native]:
    """Large numbers at two leaves that a guard compares: of those for two leaves, some are refused and some are not."""
    for natives in pair_variants(origins.words.inside, origins.accepted):
        if len({origins.side(native) for native in natives} - {None}) > 1:
            yield from natives


def _triples(origins: Origins) -> Iterator[Native]:
    """Large numbers at three leaves."""
    yield from islice(triple_variants(origins.words.inside, origins.accepted), _MOST_TOGETHER)


def _written(make: Callable[..., Iterator[Native]], origins: Origins) -> Iterator[Native]:
    """Texts in which a part is changed; where files are opened, no text with a part of a path that is no name."""
    inside = origins.words.inside
    made = make(inside, origins.answered)
    return made if origins.no_file_opened else (native for native in made if not _has_odd_path(inside, native))


def _has_odd_path(inside: InputPlaces, native: Native) -> bool:
    texts = [place.value for place in inside.all(native) if type(place.value) is str and place.value]
    return any(part in ("", ".", "..") for text in texts for part in text.replace("\\", "/").split("/"))


LISTINGS: Final = (
    Listing(_pairs, 300),
    Listing(_triples, 40, accepted=True),
    Listing(lambda origins: neighbours(origins.words.inside, origins.accepted), 120, accepted=True),
    Listing(lambda origins: exchanged(origins.words.inside, origins.accepted), 150),
    Listing(lambda origins: versions(origins.words.inside, origins.accepted, origins.words.words), 150),
    Listing(lambda origins: at_numbers(origins.words.inside, origins.accepted, origins.words.numbers), 150),
    Listing(lambda origins: beside_guards(origins.words.inside, origins.by_side, origins.side), 80),
    Listing(lambda origins: renamings(origins.words.inside, origins.accepted), 120),
    Listing(lambda origins: twins(origins.words.inside, origins.accepted), 120),
    Listing(partial(_written, numbers_in_texts), _MOST_WRITTEN),
    Listing(partial(_written, parts_of_texts), _MOST_WRITTEN),
    Listing(partial(_written, texts_together), 150),
    Listing(partial(_written, marks_of_texts), 300),
    Listing(partial(_written, texts_alike), 300),
)
