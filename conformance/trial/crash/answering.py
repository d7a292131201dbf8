"""Which write of a trace told the caller what: the acknowledgement is the answer on the wire, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.codec.dialect import Dialect
from conformance.codec.splitter import Garbage, Splitter
from conformance.trial.crash.reconstruction import Untraceable
from conformance.trial.crash.strace_log import Event

_WRITES = ("write", "writev")
_CHANNELS = ("pipe:", "socket:", "UNIX")


def answers_by_event(events: Sequence[Event], dialect: Dialect, wanted: int) -> dict[int, int]:
    """How many answers are complete after a write, by the write's index; raises Untraceable where any is missing.

    The answer to tally.hello is none. The wire is whichever channel carries messages with the ids 0, 1, 2, ...
    """
    splitters: dict[str, Splitter | None] = {}
    found: dict[str, dict[int, int]] = {}
    for index, event in enumerate(events):
        if event.name not in _WRITES or event.result is None or event.result <= 0:
            continue
        channel = event.descriptor(0).path
        if not channel.startswith(_CHANNELS):
            continue
        splitter = splitters.setdefault(channel, dialect.splitter())
        if splitter is None:
            continue
        try:
            messages = list(splitter.feed(b"".join(event.strings())[: event.result]))
        except Garbage:
            splitters[channel] = None
            continue
        for message in messages:
            id_ = message.get("id")
            if type(id_) is int and id_ >= 0 and ("result" in message or "error" in message):
                found.setdefault(channel, {})[index] = id_
    for answers in found.values():
        if max(answers.values(), default=0) == wanted:
            return {index: count for index, count in answers.items() if count}
    raise Untraceable("the answers on stdout were not written with write or writev")
