"""The values that metadata is made of, which every language has."""

from typing import Final

from impl.reference.pipeline.refusal import Refusal

MAX_ITEMS: Final = 2**21
MAX_DEPTH: Final = 64
_SHOWN: Final = 80


def is_text(value: object) -> bool:
    """Tell whether something is a text that has bytes: half of a surrogate pair has none."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode("utf-8") == value


def shown(value: object) -> str:
    """Return a short text of any value for a sentence; a number may have too many digits to be printed."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64):
        return repr(value)
    return "a number of many digits" if isinstance(value, int) else f"a {type(value).__name__}"


def invalid(sentence: str) -> Refusal:
    """Return the refusal of metadata."""
    return Refusal("META_INVALID", sentence)


def is_same(one: object, other: object) -> bool:
    """Tell whether two plain values are the same: 1, 1.0 and true are three, 0.0 and -0.0 are two; a NaN is itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        others = {_identity(key): item for key, item in other.items()}
        return len(one) == len(other) and all(
            _identity(key) in others and is_same(item, others[_identity(key)]) for key, item in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and _identity(one) == _identity(other)


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
        elif type(item) is str and not is_text(item):
            raise invalid("a text has half of a surrogate pair")
        elif type(item) not in (str, int, float, bool, type(None)):
            raise invalid(f"a {type(item).__name__} is no plain value")
        items += len(inside)
        # A list inside itself, or one that stands twice in each of forty others, never ends.
        if items > MAX_ITEMS or (inside and depth == MAX_DEPTH):
            raise invalid(f"the metadata holds more than {MAX_ITEMS} items or {MAX_DEPTH} levels")
        waiting += [(depth + 1, part) for part in inside]


def _identity(scalar: object) -> tuple[type, object]:
    # Python takes 1, 1.0 and True for equal, and no NaN for itself.
    return type(scalar), repr(scalar) if isinstance(scalar, float) else scalar
