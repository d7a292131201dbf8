"""Dates and times in ISO 8601 as microseconds UTC."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

FORM: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[ T]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:[0-5]\d)?)?",
    re.ASCII,
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def parse_time(text: str) -> int | None:
    """Return the microseconds of a date or of a date and time, None where the text is none or there is no such day.

    A time without an offset is UTC. Seconds may be missing; a fraction has one to six digits.
    """
    match = FORM.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups("")
    try:
        on = date(int(year), int(month), int(day))
        at = time(int(hour or 0), int(minute or 0), int(second or 0), int(fraction.ljust(6, "0")))
        moment = datetime.combine(on, at, zone_of(offset))
    except ValueError:
        return None
    return (moment - EPOCH) // MICROSECOND


def zone_of(offset: str) -> timezone:
    """Return the zone of an offset; ValueError for a day or more."""
    if offset in ("", "Z"):
        return UTC
    shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    return timezone(-shift if offset[0] == "-" else shift)
