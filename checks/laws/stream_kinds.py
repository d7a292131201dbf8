"""The law of streams that every kind of source follows one rule: lists, files, arrays, parts, inputs and iterators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from checks.laws.stream import Rank, Stream, is_read_to_its_end
from checks.laws.stream_cursors import life
from checks.laws.stream_sources import INPUT, ITERATOR, Documents, Source, boundaries_in, corpus, cut_at, forms
from conformance.trial.law import Asking, Law, LawTalk, Split, Tools, derived_bytes, law_root, must_equal


def _families(some: Mapping[str, Source], on_end: str) -> dict[str, dict[str, Source]]:
    """Each form as the whole source, as the part of an interleaved one, and as the part of a shuffled one."""
    seed = derived_bytes("kinds", 16)
    return {
        "a whole source": {kind: {**form, "on_end": on_end} for kind, form in some.items()},
        "an interleaved source": {
            kind: {"kind": "interleaved", "parts": [{**form, "on_end": "stop"}], "pattern": [0], "on_end": on_end}
            for kind, form in some.items()
        },
        "a shuffled source": {
            kind: {"kind": "shuffled", "seed": seed, "parts": [form], "on_end": on_end} for kind, form in some.items()
        },
    }


def _kinds_alike(tools: Tools, length: int, size: int, world_size: int, on_end: str) -> LawTalk:
    """The last rank makes the same calls over every kind of source.

    The answers are the same within a family of sources; which calls are refused and warned of is the same in all.
    """
    tokens, boundaries = corpus(length), boundaries_in(length)
    with law_root() as root:
        rank = Rank(tools, root, world_size - 1, world_size, (2, 1, 8))
        mine = _families(forms(tokens, boundaries, root, "mine"), on_end)
        others = [
            _families(forms(wrong, boundaries, root, name), on_end)
            for name, wrong in (("changed", [token ^ 1 for token in tokens]), ("longer", [*tokens, 7]))
        ]
        rules: dict[str, Any] = {}
        for family, kinds in mine.items():
            expected: dict[str, Any] = {}
            for kind, source in kinds.items():
                changed, longer = (other[family][kind] for other in others)
                stream = yield from rank.open(source)
                told = yield from _rules_of(stream, source, size)
                told |= yield from _ways_back(stream, source, changed, longer, size)
                told["rest"] = yield from stream.read(size, range(20, 22 + 2 * length // (size * world_size)))
                yield from stream.ask("Reset")
                said = yield from life(stream, size, 1000)
                told |= {f"call {number}, {method}": answer for number, (method, answer) in enumerate(said)}
                expected = expected or told
                must_equal(expected, told, f"{family} with the {kind}, compared with the list of tokens")
            _same_rules(rules, {what: _outcome(one) for what, one in expected.items()}, family)
        documents = Documents(cut_at(tokens, boundaries), 3 + world_size)
        for source in (INPUT, {"kind": ITERATOR, "on_end": on_end}):
            stream = yield from rank.open(source, None if source is INPUT else documents)
            if source is INPUT:
                yield from stream.push(tokens, boundaries)
            told = yield from _rules_of(stream, source, size)
            name = "an input" if source is INPUT else "an iterator"
            _same_rules(rules, {what: _outcome(one) for what, one in told.items()}, name)


def _rules_of(stream: Stream, source: Source, size: int) -> Asking[dict[str, Any]]:
    """What the first step of a stream says, and restores of what it saves that every source refuses."""
    told: dict[str, Any] = {}
    rank, model = stream.rank, {"pulse_id": 7, "state": b"model"}
    saving = {"root": str(rank.root), "model": model}
    told["a chunk below the fastest level"] = yield from stream.say("NextChunk", chunk_size=1)
    told["the first chunk"] = yield from stream.next(size)
    told["a chunk within a step"] = yield from stream.say("NextChunk", chunk_size=size)
    told["a checkpoint within a step"] = yield from stream.say("Checkpoint", name="saved", **saving)
    yield from stream.ask("Advance", pulse_id=7)
    told["the place"] = yield from stream.place()
    yield from stream.ask("Checkpoint", name="saved", **saving)
    yield from stream.ask("Checkpoint", name="late", **{**saving, "model": {**model, "pulse_id": 8}})
    other = Rank(rank.tools, rank.root, rank.rank, rank.world_size + 1, rank.levels)
    for what, call in {
        "a restore of another pulse": rank.call("Restore", source, name="late"),
        "a restore of no file": rank.call("Restore", source, name="nowhere"),
        "a restore for more ranks": other.call("Restore", source, name="saved"),
    }.items():
        told[what] = yield from rank.tools.ask_either(call)
    return told


def _ways_back(stream: Stream, source: Source, changed: Source, longer: Source, size: int) -> Asking[dict[str, Any]]:
    """Restores of every kind, each with a step after it, and a reset, of a source that can go back."""
    rank = stream.rank
    other = Rank(rank.tools, rank.root, 0, rank.world_size + 1, rank.levels)
    slow = Rank(rank.tools, rank.root, rank.rank, rank.world_size, (size + 1,))
    told: dict[str, Any] = {}
    for what, call in {
        "a restore": rank.call("Restore", source, name="saved"),
        "a restore over other tokens": rank.call("Restore", changed, name="saved"),
        "a restore over more tokens": rank.call("Restore", longer, name="saved"),
        "a restore with slower levels": slow.call("Restore", source, name="saved"),
        "a warm start": other.call("Restore", source, name="saved", start="warm"),
        "a foreign start": other.call("Restore", longer, name="saved", start="foreign"),
    }.items():
        answer = yield from rank.tools.ask_either(call)
        told[what] = answer
        if not isinstance(answer, str):
            restored = Stream(rank, answer.pop("handle"))
            before, refused = (yield from restored.place()), (yield from restored.say("NextChunk", chunk_size=1))
            chunk = yield from restored.next(size)
            yield from restored.ask("Advance", pulse_id=9)
            told[f"{what}, and a step"] = before, refused, chunk, (yield from restored.place())
            yield from restored.ask("Close")
    yield from stream.ask("Reset")
    told["a reset"] = yield from stream.place()
    return told


def _outcome(told: Any) -> Any:
    """What is the same for all sources of what was told: a code, or the warnings of an answer."""
    return told if isinstance(told, str) else told.get("warnings") if isinstance(told, dict) else None


def _same_rules(rules: dict[str, Any], told: Mapping[str, Any], source: str) -> None:
    """Compare the outcomes over one kind of source with those over the kinds before, and note them."""
    for what, outcome in told.items():
        if what != "a restore over more tokens":  # only sources with a length notice it at once
            must_equal(rules.setdefault(what, outcome), outcome, f"{what} over {source}, compared with a list")


LAWS: Final = (
    Law(
        "stream-kinds-alike",
        _kinds_alike,
        {"length": [12, 600], "size": [4, 160], "world_size": [1, 2], "on_end": ["wrap", "stop"]},
        Split(fits=is_read_to_its_end),
    ),
)
