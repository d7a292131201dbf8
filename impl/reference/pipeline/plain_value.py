"""The values that metadata is made of, which every language has."""

from typing import Final

from impl.reference.pipeline.refusal import Refusal

MAX_ITEMS: Final = 2**21
MAX_DEPTH: Final = 64


def invalid(sentence: str) -> Refusal:
    """Return the refusal of metadata."""
    return Refusal("META_INVALID", sentence)


def require_plain(value: object) -> None:
    """Refuse what is not made of dict, list, str, int, float, bool and None, or is endless: META_INVALID."""
    waiting: list[tuple[int, object]] = [(0, value)]
    items = 1
    while waiting:
        depth, item = waiting.pop()
        inside: list[object] = []
        if type(item) is dict:
            inside = [*item.keys(), *item.values()]
        elif type(item) is list:
            inside = item
        elif type(item) not in (str, int, float, bool, type(None)):
            raise invalid(f"a {type(item).__name__} is no plain value")
        items += len(inside)
        # A list inside itself, or one that stands twice in each of forty others, never ends.
        if items > MAX_ITEMS or (inside and depth == MAX_DEPTH):
            raise invalid(f"the metadata holds more than {MAX_ITEMS} items or {MAX_DEPTH} levels")
        waiting += [(depth + 1, part) for part in inside]
