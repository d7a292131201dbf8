"""The expression engine, `cel-expr-python`: its types, conversion of values for it, and its checked syntax tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from cel_expr_python import cel

from conformance.contract.canonical import encode_item
from conformance.contract.types import FLOAT_BYTES, INTEGER_RANGES, ListOf, MapOf, Scalar, Type, Value

_SCALAR_TYPES: Final[Mapping[str, Any]] = {
    "bool": cel.Type.BOOL,
    "string": cel.Type.STRING,
    **dict.fromkeys(("bytes", "bytes16", "bytes32"), cel.Type.BYTES),
    **{name: cel.Type.UINT if name.startswith("u") else cel.Type.INT for name in INTEGER_RANGES},
    **dict.fromkeys(FLOAT_BYTES, cel.Type.DOUBLE),
}


NUL: Final = "\U0010ffff"  # replaces NUL in texts for the engine


class Unjudgeable(ValueError):
    """A value is of its declared type, but the expression engine cannot take it."""


def cel_type(type_: Type) -> Any:
    """The engine's type of a contract type."""
    match type_:
        case Scalar(name):
            return _SCALAR_TYPES[name]
        case ListOf(item):
            return cel.Type.List(cel_type(item))
        case MapOf(item):
            return cel.Type.Map(cel.Type.STRING, cel_type(item))
        case Value():
            return cel.Type.BYTES
    return cel.Type.STRING


def conversion(type_: Type) -> tuple[Any, Callable[[Any], Any]]:
    """The default for an absent value (guards look at has_<path> first) and the conversion for the engine.

    Byte strings are passed as bytearray, because this engine cuts `bytes` at the first NUL. A self-describing value
    is passed as its CBOR bytes, which named functions decode; null is a value like any other.
    """
    match type_:
        case ListOf(item):
            convert = conversion(item)[1]
            if convert is _same:
                return [], list
            return [], lambda value: [convert(element) for element in value]
        case MapOf(item):
            convert = conversion(item)[1]
            return {}, lambda value: {held_text(key): convert(element) for key, element in value.items()}
        case Scalar(name) if name.startswith("bytes"):
            return bytearray(), bytearray
        case Value():
            return bytearray(encode_item(None)), lambda value: bytearray(encode_item(value))
        case Scalar("bool"):
            return False, _same
        case Scalar(name) if name in INTEGER_RANGES:
            return 0, int
        case Scalar(name) if name in FLOAT_BYTES:
            return 0.0, float
    return "", held_text


def little_endian(array: Any) -> bytearray:
    """A tensor's elements in C order, as little-endian bytes."""
    return bytearray(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="C"))


def _same(value: Any) -> Any:
    return value


def held_text(value: str) -> str:
    """A text for the engine, which cuts texts at NUL: U+10FFFF replaces NUL. Raises Unjudgeable."""
    if NUL in value:
        raise Unjudgeable("a text with U+10FFFF in it, which is NUL for the expression engine")
    return value.replace("\0", NUL)


def given_text(value: Any) -> Any:
    """An argument of a named function, where the texts, alone or in lists and maps, have their NULs again."""
    match value:
        case str():
            return value.replace(NUL, "\0") if NUL in value else value
        case list():
            return [given_text(item) for item in value] if value and not isinstance(value[0], int) else value
        case dict():
            return {given_text(key): given_text(item) for key, item in value.items()}
    return value


def engine_function(call: Callable[..., Any], parameters: Sequence[Any], returns: Any) -> Callable[..., Any]:
    """A named function of these engine types, as the engine calls it: it gets and returns texts with their NULs.

    Large arguments are emptied after the call, and large answers after the evaluation, because version 0.1.3 of the
    engine copies every argument and frees neither the copies nor the answers.
    """
    texts = [place for place, kind in enumerate(parameters) if _may_have_text(kind)]
    inside = any(parameters[place] != cel.Type.STRING for place in texts)  # in a list or a map
    large = [place for place, kind in enumerate(parameters) if kind not in _SMALL]
    answers = _may_have_text(returns)
    lends = returns not in _SMALL

    def apply(*values: Any) -> Any:
        given = values
        for place in texts:
            if inside or NUL in values[place]:
                given = tuple(map(given_text, values))
                break
        answer = None
        try:
            answer = call(*given)
            if answers and isinstance(answer, list) and answer and isinstance(answer[0], str):
                answer = list(map(held_text, answer))
            elif answers and isinstance(answer, str):
                answer = held_text(answer)
            if lends and type(answer) in _EMPTIED:
                _LENT.answers.append(answer)
            return answer
        finally:
            for place in large:
                if type(value := values[place]) in _EMPTIED and value is not answer:
                    value.clear()

    return apply if texts or large or answers or lends else call


_SMALL: Final = (cel.Type.BOOL, cel.Type.INT, cel.Type.UINT, cel.Type.DOUBLE, cel.Type.STRING)
_EMPTIED: Final = (bytearray, list, dict)


class _Lent(threading.local):
    """What named functions in this thread answered since the last evaluation ended, and what a signal wants to raise.

    The functions evaluate nothing.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.stops: list[BaseException] = []


_LENT: Final = _Lent()


def evaluate(
    compiled: Any, activation: Any, plain: Callable[[Any], Any], raised: Callable[[Exception], Any] = lambda _: None
) -> Any:
    """The answer to an expression, converted by `plain`; what `raised` makes of an exception, which is mostly None.

    Raises what `postponed` was given meanwhile.
    """
    try:
        found = plain(compiled.eval(activation))
    except Exception as error:  # the engine raises RuntimeError; a named function may raise anything
        found = raised(error)
    finally:
        for answer in _LENT.answers:
            answer.clear()
        _LENT.answers.clear()
    if _LENT.stops:
        raise _LENT.stops.pop()
    return found


def postponed(frame: FrameType | None, stop: BaseException) -> bool:
    """Whether the handler of a signal interrupts a named function: then the evaluation raises `stop` when it ends.

    Raised in the function, it would only be an error of the expression, and the command would go on.
    """
    if frame is None or frame.f_code is evaluate.__code__:
        return False
    while (frame := frame.f_back) is not None:
        if frame.f_code is evaluate.__code__:
            _LENT.stops.append(stop)
            return True
    return False


def plain_value(answer: Any) -> Any:
    """The plain value of an answer; a text if it has none."""
    return answer.plain_value()


def plain_or_none(answer: Any) -> Any:
    """The plain value of an answer; None if it has none. Takes twice the time of `plain_value`."""
    return None if answer.type() == cel.Type.ERROR else answer.plain_value()


def error_text(answer: Any) -> str:
    """The error that an answer is; empty if it is a value."""
    return str(answer.plain_value()) if answer.type() == cel.Type.ERROR else ""


def _may_have_text(type_: Any) -> bool:
    return any(kind in type_.name() for kind in ("STRING", "DYN"))


# -- the checked syntax tree
#
# The tree is a protobuf message, `cel.expr.CheckedExpr`. Only its reference map is read: the names that the checker
# resolved, with all their dots. A search in the text would also find parts of strings and of longer names. The
# tree has no end positions and its macros are expanded, so `syntax.py` finds the spans of text.

# Field numbers of the messages: https://github.com/google/cel-spec/blob/master/proto/cel/expr/checked.proto
_ANY_VALUE: Final = 2
_REFERENCE_MAP: Final = 2
_ENTRY_VALUE: Final = 2
_NAME, _OVERLOADS = 1, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def variables_of(compiled: Any) -> frozenset[str]:
    """The dotted names of the variables of a compiled expression, including those that macros bind."""
    found = set[str]()
    for checked in _parts(compiled.serialize(), _ANY_VALUE):
        for entry in _parts(checked, _REFERENCE_MAP):
            for reference in _parts(entry, _ENTRY_VALUE):
                if not list(_parts(reference, _OVERLOADS)):  # a function has overloads
                    found.update(name.decode() for name in _parts(reference, _NAME))
    return frozenset(found)


def _parts(message: bytes, wanted: int) -> Iterator[bytes]:
    """The contents of every length-delimited field of a protobuf message that has the wanted number."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            if key >> 3 == wanted:
                yield message[at : at + size]
            at += size
        else:
            at += {_FIXED64: 8, _FIXED32: 4}[kind]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset after it."""
    number = shift = 0
    while message[at] & 0x80:
        number |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return number | message[at] << shift, at + 1
