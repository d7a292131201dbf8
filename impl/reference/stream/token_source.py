"""What every source of tokens answers, whatever stands behind it."""

from typing import Final, Literal, Protocol, TypeAlias

OnEnd: TypeAlias = Literal["wrap", "stop"]

SLICE: Final = 256  # tokens that an interleaved or shuffled source takes from a part at once


class TokenSource(Protocol):
    """Hold passes over data; every pass has the same number of tokens, which are addressed from 0 in each.

    A document that ends after token i is a boundary at offset i + 1, and the end of the data is always one
    (requirement S19; ruling SA09).
    """

    on_end: OnEnd
    is_seekable: bool

    @property
    def total_tokens(self) -> int | None:
        """The tokens of one pass; None where there is no end, or where it is not known."""

    def is_ready(self, wanted: int) -> bool:
        """Tell whether so many tokens of a pass are there, or the end of the data."""

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`."""

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass stands at an index or after it."""

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens from `start` up to, and not including, `end`, fewer where the data end."""

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document ends within [start, end), after one of its tokens."""

    def rng_state(self, pass_number: int) -> bytes | None:
        """Return the state of whatever randomizes the order, None for a sequential source."""

    def restart(self, index: int) -> None:
        """Begin again at 0; what was served goes up to an index of the current pass."""

    def resume(self, pass_number: int, index: int) -> bool:
        """Be ready to read from an index of a pass, where a restored stream goes on; False where that is no place."""
