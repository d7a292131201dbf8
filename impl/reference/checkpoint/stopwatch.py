"""The time that a restore takes; it reaches nothing but the report's volatile field."""

from time import monotonic_ns


class Stopwatch:
    """Measure from its creation on."""

    def __init__(self) -> None:
        self._since = monotonic_ns()

    def elapsed_ms(self) -> int:
        """Return the whole milliseconds since the creation."""
        return (monotonic_ns() - self._since) // 1_000_000
