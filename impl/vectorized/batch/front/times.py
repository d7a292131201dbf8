"""Times in ISO 8601."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = r"(2[0-3]|[01][0-9]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
TIME = re.compile(f"{DATE}([ T]{CLOCK}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?")


def microseconds(text: str) -> int | None:
    """Return the microseconds UTC that a text names, None where it names none."""
    if not TIME.fullmatch(text):
        return None
    # Six digits of a fraction are read by every Python.
    head, dot, tail = text.partition(".")
    if dot:
        digits = re.match("[0-9]*", tail)
        count = digits.end() if digits else 0
        text = f"{head}.{tail[:count]:0<6}{tail[count:]}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    apart = moment - EPOCH
    return (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds


def all_times(values: Iterable[object]) -> bool:
    """Return whether every value is a text that names a time."""
    return all(isinstance(value, str) and microseconds(value) is not None for value in values)
